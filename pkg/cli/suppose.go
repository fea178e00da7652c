package cli

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// suppose makes an upgrade to that version the active one. The notes are what
// it had to take for granted.
func suppose(s *plan.Snapshot, wanted string, at time.Time) (notes []string, err error) {
	to, err := resolve(s.Source, wanted)
	if err != nil {
		return nil, err
	}
	if to.String() != wanted && "v"+wanted != to.String() {
		notes = append(notes, fmt.Sprintf("%s is %s, its newest patch.", wanted, to))
	}
	var others []v1alpha1.ClusterUpgrade
	for _, u := range s.Upgrades {
		switch {
		case u.Status.Outcome != "":
			others = append(others, u)
		case u.Spec.Version == to.String():
			notes = append(notes, fmt.Sprintf("ClusterUpgrade %s asks for %s already: this is its plan.", u.Name, to))
			s.Upgrades = []v1alpha1.ClusterUpgrade{u}
			return notes, nil
		default:
			notes = append(notes, fmt.Sprintf("ClusterUpgrade %s would come before it; this plan leaves it out.", u.Name))
		}
	}
	if s.Source.Trouble.Reason == v1alpha1.ReasonSourceUnavailable {
		notes = append(notes, fmt.Sprintf("The index of images was not read (%s); this plan takes it that %s is on offer.", s.Source.Trouble.Message, to))
		s.Source = presume(s.Nodes, to)
	}
	others = append(others, v1alpha1.ClusterUpgrade{
		ObjectMeta: metav1.ObjectMeta{Name: supposed, CreationTimestamp: metav1.NewTime(at)},
		Spec:       v1alpha1.ClusterUpgradeSpec{Version: to.String(), Schedule: v1alpha1.ScheduleRespect, Strategy: s.Strategy},
	})
	s.Upgrades = others
	return notes, nil
}

// supposed is the name of an upgrade that is only supposed. No object can bear
// it: so no node takes it for the one that it is at work for.
const supposed = "(supposed)"

var minor = regexp.MustCompile(`^v?1\.(0|[1-9]\d{0,3})$`)

// resolve reads a version, or finds a minor's newest patch on offer.
func resolve(source plan.Source, wanted string) (version.Version, error) {
	m := minor.FindStringSubmatch(wanted)
	if m == nil {
		to, err := version.Parse(wanted)
		if err != nil {
			return to, fmt.Errorf("VERSION %q: want a release such as v1.34.4, or a minor such as v1.34", wanted)
		}
		return to, nil
	}
	var patches []version.Version
	for _, offer := range source.Offers {
		if v, err := version.Parse(offer.Version); err == nil && v.Line() == "v1."+m[1] {
			patches = append(patches, v)
		}
	}
	if len(patches) > 0 {
		return slices.MaxFunc(patches, version.Version.Compare), nil
	}
	if trouble := source.Trouble; trouble.Reason != "" {
		return version.Version{}, fmt.Errorf("looking for the newest patch of %s: %s: %s; say the patch too", wanted, trouble.Reason, trouble.Message)
	}
	return version.Version{}, fmt.Errorf("the source offers no patch of %s", wanted)
}

// presume is a source that offers the version for every node.
func presume(nodes []plan.Node, to version.Version) plan.Source {
	var source plan.Source
	for _, n := range nodes {
		offered := slices.ContainsFunc(source.Offers, func(o plan.Offer) bool { return o.Image.Architecture == n.Architecture })
		if !offered {
			source.Offers = append(source.Offers, plan.Offer{Version: to.String(), Image: v1alpha1.Image{Architecture: n.Architecture}})
		}
	}
	return source
}
