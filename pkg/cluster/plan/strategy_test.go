package plan_test

import (
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// selector parses KEY=VALUE, KEY!=VALUE and !KEY, separated by commas. It returns nil for
// the empty string.
func selector(text string) *v1alpha1.LabelSelector {
	if text == "" {
		return nil
	}
	s := &v1alpha1.LabelSelector{}
	for one := range strings.SplitSeq(text, ",") {
		e := v1alpha1.LabelRequirement{Operator: v1alpha1.LabelOperator(metav1.LabelSelectorOpIn)}
		key, value, _ := strings.Cut(one, "=")
		if name, not := strings.CutPrefix(key, "!"); not {
			e = v1alpha1.LabelRequirement{Key: name, Operator: v1alpha1.LabelOperator(metav1.LabelSelectorOpDoesNotExist)}
		} else if name, not := strings.CutSuffix(key, "!"); not {
			e = v1alpha1.LabelRequirement{Key: name, Operator: v1alpha1.LabelOperator(metav1.LabelSelectorOpNotIn), Values: []v1alpha1.LabelValue{v1alpha1.LabelValue(value)}}
		} else {
			e.Key, e.Values = key, []v1alpha1.LabelValue{v1alpha1.LabelValue(value)}
		}
		s.MatchExpressions = append(s.MatchExpressions, e)
	}
	return s
}

// setStrategy sets approvals, failures and minReadySeconds from an upgrade's options.
func setStrategy(s *v1alpha1.Strategy, option map[string]string) error {
	if _, ok := option["approval"]; ok {
		s.Approval = v1alpha1.ApprovalRequired
	}
	for i, g := range s.Groups {
		for name := range strings.SplitSeq(option["approve-groups"], ",") {
			if name == g.Name {
				s.Groups[i].Approval = v1alpha1.ApprovalRequired
			}
		}
	}
	for i, g := range s.Groups {
		// group-ignores=GROUP:GATE
		if group, gates, ok := strings.Cut(option["group-ignores"], ":"); ok && group == g.Name {
			s.Groups[i].IgnoreGates = strings.Split(gates, ",")
		}
	}
	if text := option["failures"]; text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		s.MaxFailures = ptr.To(int32(n))
	}
	for key, pace := range map[string]func(int32){
		"minready": func(n int32) { s.MinReadySeconds = &n },
		"group-minready": func(n int32) {
			for i := range s.Groups {
				s.Groups[i].MinReadySeconds = &n
			}
		},
	} {
		if text := option[key]; text != "" {
			d, err := time.ParseDuration(text)
			if err != nil {
				return err
			}
			pace(int32(d.Seconds()))
		}
	}
	return nil
}

// offered sets in the policy's status since when the images of a version are on offer.
func (s *sim) offered(version, text string) error {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return err
	}
	status := &s.policy().Status
	offered := v1alpha1.OfferedVersion{Version: version, FirstSeenTime: metav1.NewTime(at)}
	for _, image := range s.Source.Images(version) {
		offered.Images = append(offered.Images, v1alpha1.OfferedImage{Architecture: image.Architecture, Digest: image.Digest, FirstSeenTime: metav1.NewTime(at)})
	}
	status.Offered = slices.DeleteFunc(status.Offered, func(o v1alpha1.OfferedVersion) bool { return o.Version == version })
	status.Offered = append(status.Offered, offered)
	return nil
}
