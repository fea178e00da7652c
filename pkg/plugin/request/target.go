package request

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

var minor = regexp.MustCompile(`^v?1\.(0|[1-9]\d{0,3})$`)

// CheckVersion returns an error unless the text names a release or a minor.
func CheckVersion(text string) error {
	if minor.MatchString(text) {
		return nil
	}
	_, err := parse(text)
	return err
}

// parse returns the release that the text names.
func parse(text string) (version.Version, error) {
	v, err := version.Parse(text)
	if err != nil {
		return v, fmt.Errorf("VERSION %q: expected a version such as v1.34.4, or a minor such as v1.34", text)
	}
	return v, nil
}

// Target returns the version that the request asks for, and where it names a minor a
// note about the patch. A minor for which there is an unfinished upgrade is that
// upgrade's patch: it was chosen when that was created.
func (r Upgrade) Target(s fleet.Snapshot, at time.Time) (to version.Version, note string, err error) {
	u := unfinishedTo(s, r.Version, r.Retry, at)
	if u == nil {
		return resolve(s, r.Version)
	}
	to, err = version.Parse(u.Spec.Version)
	more := ""
	if newer, _ := Newest(s, to.Line()); to.Less(newer) {
		more = fmt.Sprintf("; %s is available too: `kubectl upgrade apply %s` requests it", newer, newer)
	}
	return to, fmt.Sprintf("%s is %s, the patch of ClusterUpgrade %s%s.", r.Version, to, u.Name, more), err
}

// unfinishedTo returns the unfinished upgrade to the newest patch of the minor. Nil:
// there is none, or text is no minor. With retry, one that failed does not count.
func unfinishedTo(s fleet.Snapshot, text string, retry bool, at time.Time) (found *v1alpha1.ClusterUpgrade) {
	m := minor.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	var highest version.Version
	for _, u := range queueOf(s, at) {
		to, err := version.Parse(u.Spec.Version)
		counts := err == nil && to.Line() == "v1."+m[1] && to.Pre == "" && (!retry || !hasFailed(u.ClusterUpgrade))
		if counts && !to.Less(highest) {
			found, highest = u.ClusterUpgrade, to
		}
	}
	return found
}

// resolve reads a version, or finds a minor's newest patch on offer: of those that
// there are for every architecture of the cluster, if there is one. The note says
// which patch a minor was taken for.
func resolve(s fleet.Snapshot, text string) (to version.Version, note string, err error) {
	m := minor.FindStringSubmatch(text)
	if m == nil {
		to, err = parse(text)
		return to, "", err
	}
	to, newest := Newest(s, "v1."+m[1])
	if to == (version.Version{}) {
		to = newest
	}
	switch problem := s.Source.Problem; {
	case to != version.Version{}:
		return to, fmt.Sprintf("%s is %s, its newest patch.", text, to), nil
	case problem.Reason != "":
		return to, "", fmt.Errorf("looking for the newest patch of %s: %s: %s; give the full version", text, problem.Reason, problem.Message)
	}
	return to, "", fmt.Errorf("the source offers no patch of %s; `kubectl upgrade releases` lists what is available", text)
}

// Newest returns a minor's newest patch that is on offer for every architecture of
// the cluster, and the newest of all; the zero version without one. A pre-release
// is never among them: a request has to give its full name.
func Newest(s fleet.Snapshot, line string) (complete, newest version.Version) {
	for _, offer := range s.Source.Offers {
		v, err := version.Parse(offer.Version)
		if err != nil || v.Line() != line || v.Pre != "" {
			continue
		}
		if newest.Less(v) {
			newest = v
		}
		if complete.Less(v) && offeredToAll(s, offer.Version) {
			complete = v
		}
	}
	return complete, newest
}

// offeredToAll reports whether the version is on offer for every node.
func offeredToAll(s fleet.Snapshot, text string) bool {
	return !slices.ContainsFunc(s.Nodes, func(n fleet.Node) bool {
		offered := slices.ContainsFunc(s.Source.Offers, func(o fleet.Offer) bool {
			return o.Version == text && o.Image.Architecture == n.Architecture
		})
		return (n.OS == "" || n.OS == "linux") && !offered
	})
}
