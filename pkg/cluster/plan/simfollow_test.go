package plan_test

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// followed sets what a cluster that is followed has run: versions, each with since=, until=, behind=,
// problem=, blocked= and digest=, which is that of this cluster's source by default.
func (s *script) followed(gate string, words []string) error {
	var ran []v1alpha1.RanVersion
	for _, word := range words {
		name, value, isField := strings.Cut(word, "=")
		if !isField {
			one := v1alpha1.RanVersion{Version: word}
			for _, image := range s.Source.Images(word) {
				one.Digests = append(one.Digests, v1alpha1.ImageDigest{Architecture: image.Architecture, Digest: image.Digest})
			}
			ran = append(ran, one)
			continue
		}
		if err := setRan(&ran[len(ran)-1], name, value); err != nil {
			return err
		}
	}
	s.answer(gate, v1alpha1.GateOpen, "https://staging.example runs something")
	s.Policy.GateStatus(gate).Ran = ran
	return nil
}

func setRan(one *v1alpha1.RanVersion, name, value string) error {
	switch name {
	case "since", "until":
		at, err := time.Parse(time.RFC3339, value)
		if err != nil {
			return err
		}
		if name == "since" {
			one.SinceTime = &metav1.Time{Time: at}
		} else {
			one.UntilTime = &metav1.Time{Time: at}
		}
	case "behind":
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil {
			return err
		}
		one.Behind = int32(n)
	case "problem":
		one.Problem = strings.ReplaceAll(value, "_", " ")
	case "blocked":
		one.Blocked = strings.ReplaceAll(value, "_", " ")
	case "digest":
		for i := range one.Digests {
			one.Digests[i].Digest = v1alpha1.DigestOf(strings.Repeat(value, 64))
		}
	case "without":
		one.Digests = one.Digests[1:]
	default:
		return fmt.Errorf("unknown field %s", name)
	}
	return nil
}
