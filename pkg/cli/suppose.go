package cli

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// suppose makes an upgrade to that version the active one. The notes are what
// it had to take for granted.
func suppose(s *fleet.Snapshot, wanted string, at time.Time) (notes []string, err error) {
	to, err := resolve(*s, wanted)
	if err != nil {
		return nil, err
	}
	if note := newestNote(wanted, to); note != "" {
		notes = append(notes, note)
	}
	if u := ofMinor(s.Upgrades, wanted, false); u != nil && u.Spec.Version != to.String() {
		notes = append(notes, fmt.Sprintf("`kubectl upgrade apply %s` comes back to ClusterUpgrade %s, which asks for %s.", wanted, u.Name, u.Spec.Version))
	}
	object := &v1alpha1.ClusterUpgrade{
		Spec: v1alpha1.ClusterUpgradeSpec{Version: to.String()},
	}
	for _, u := range s.Upgrades {
		switch {
		case u.Status.Outcome != "":
		case u.Spec.Version == to.String():
			note := fmt.Sprintf("ClusterUpgrade %s asks for %s already: this is its plan.", u.Name, to)
			if first, only := leads(*s, &u); only {
				*s = reach(*s, first)
				note += fmt.Sprintf(" It begins where those before it end, at %s.", first)
			}
			notes = append(notes, note)
			s.Upgrades = []v1alpha1.ClusterUpgrade{u}
			return notes, nil
		case !stepsAside(&u):
			notes = append(notes, fmt.Sprintf("ClusterUpgrade %s would come before it; this plan %s.", u.Name, treated(*s, object)))
		}
	}
	if err := refuseQueue(s.Upgrades, object); err != nil {
		notes = append(notes, fmt.Sprintf("`kubectl upgrade apply %s` would be refused: %s.", wanted, err))
	}
	if s.Source.Problem.Reason == v1alpha1.ReasonSourceUnavailable {
		notes = append(notes, fmt.Sprintf("The index of images was not read (%s); this plan takes it that %s is on offer.", s.Source.Problem.Message, to))
	}
	*s = supposeObject(*s, object, at)
	return notes, nil
}

// supposeObject is the snapshot with that upgrade as the active one, in place of
// those that have not ended; once they have, where only they make its way. Where
// the index of images was not read, its image is taken to be on offer.
func supposeObject(s fleet.Snapshot, wanted *v1alpha1.ClusterUpgrade, at time.Time) fleet.Snapshot {
	if to, err := version.Parse(wanted.Spec.Version); err == nil && s.Source.Problem.Reason == v1alpha1.ReasonSourceUnavailable {
		s.Source = presume(s.Nodes, to)
	}
	if first, only := leads(s, wanted); only {
		s = reach(s, first)
	}
	s.Upgrades = slices.DeleteFunc(slices.Clone(s.Upgrades), func(u v1alpha1.ClusterUpgrade) bool { return u.Status.Outcome == "" })
	one := *wanted.DeepCopy()
	one.Name, one.UID, one.CreationTimestamp = supposed, supposed, metav1.NewTime(at)
	s.Upgrades = append(s.Upgrades, one)
	return s
}

// supposed is the name and UID of an upgrade that is only supposed. No object can bear
// it: so no node takes it for the one that it is at work for.
const supposed = "(supposed)"

// decidedAt is when that upgrade could begin at the earliest.
func decidedAt(s fleet.Snapshot, wanted *v1alpha1.ClusterUpgrade) time.Time {
	at := time.Time{}
	for _, u := range s.Upgrades {
		if u.Name == supposed {
			at = u.CreationTimestamp.Time
		}
	}
	if start := wanted.Spec.StartTime; start != nil && start.After(at) {
		return start.Time
	}
	return at
}

var minor = regexp.MustCompile(`^v?1\.(0|[1-9]\d{0,3})$`)

// newestNote says which patch a minor was taken for.
func newestNote(wanted string, to version.Version) string {
	if to.String() == wanted || to.String() == "v"+wanted {
		return ""
	}
	return fmt.Sprintf("%s is %s, its newest patch.", wanted, to)
}

// resolve reads a version, or finds a minor's newest patch on offer: of those
// that there are for every architecture of the cluster, if there is one.
func resolve(s fleet.Snapshot, wanted string) (version.Version, error) {
	m := minor.FindStringSubmatch(wanted)
	if m == nil {
		to, err := version.Parse(wanted)
		if err != nil {
			return to, fmt.Errorf("VERSION %q: want a release such as v1.34.4, or a minor such as v1.34", wanted)
		}
		return to, nil
	}
	complete, partly := newest(s, "v1."+m[1])
	switch problem := s.Source.Problem; {
	case complete != version.Version{}:
		return complete, nil
	case partly != version.Version{}:
		return partly, nil
	case problem.Reason != "":
		return version.Version{}, fmt.Errorf("looking for the newest patch of %s: %s: %s; say the patch too", wanted, problem.Reason, problem.Message)
	}
	return version.Version{}, fmt.Errorf("the source offers no patch of %s; `kubectl upgrade releases` shows what is on offer", wanted)
}

// newest returns a minor's newest patch that is on offer for every architecture of
// the cluster, and the newest of all; the zero version without one. A pre-release
// is never among them: it is asked for by its full name.
func newest(s fleet.Snapshot, line string) (complete, any version.Version) {
	for _, offer := range s.Source.Offers {
		v, err := version.Parse(offer.Version)
		if err != nil || v.Line() != line || v.Pre != "" {
			continue
		}
		if any.Less(v) {
			any = v
		}
		if complete.Less(v) && forEveryNode(s, offer.Version) {
			complete = v
		}
	}
	return complete, any
}

func forEveryNode(s fleet.Snapshot, wanted string) bool {
	return !slices.ContainsFunc(s.Nodes, func(n fleet.Node) bool {
		offered := slices.ContainsFunc(s.Source.Offers, func(o fleet.Offer) bool {
			return o.Version == wanted && o.Image.Architecture == n.Architecture
		})
		return (n.OS == "" || n.OS == "linux") && !offered
	})
}

// presume is a source that offers the version for every node.
func presume(nodes []fleet.Node, to version.Version) fleet.Source {
	var source fleet.Source
	for _, n := range nodes {
		offered := slices.ContainsFunc(source.Offers, func(o fleet.Offer) bool { return o.Image.Architecture == n.Architecture })
		if !offered {
			source.Offers = append(source.Offers, fleet.Offer{Version: to.String(), Image: v1alpha1.Image{Architecture: n.Architecture}})
		}
	}
	return source
}
