package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// Words are a row as people say it: the state in a word or two, in capital letters where a person has
// something to solve there, and a sentence. when writes a time.
func (r *Row) Words(when func(time.Time) string) (state, sentence string) {
	state, sentence = r.words(when)
	if r.also != "" {
		sentence = strings.TrimPrefix(sentence+"; "+r.also, "; ")
	}
	return state, sentence
}

func (r *Row) words(when func(time.Time) string) (state, sentence string) {
	message := strings.TrimSuffix(r.Message, "; "+r.also)
	switch follow := r.waitsFor(); {
	case r.Repeated:
		return "same as", r.SameAs
	case r.State == StateSilent:
		return "SILENT", message
	case r.State == StateFailed && len(r.failed) > 1:
		return "FAILED", fmt.Sprintf("%d nodes failed; %s", len(r.failed), r.failed[0].FailureWords())
	case r.State == StateFailed && len(r.failed) == 1:
		return "FAILED", r.failed[0].FailureWords()
	case r.State == StateFailed:
		return "FAILED", message
	case follow != nil && r.NeedsPerson:
		return "FOLLOWS", follow.words(when)
	case follow != nil:
		return "follows", follow.words(when)
	case r.NeedsPerson:
		return "WAITS", message
	case r.State == StateActive:
		return "upgrades", message
	case r.Reason == v1alpha1.ReasonExcluded:
		return "frozen", message
	case r.State == StateWaiting:
		return "waits", message
	case message == "" && r.Behind != nil:
		return "idle", fmt.Sprintf("lacks %s since %s", r.Behind.Version, when(r.Behind.Since))
	}
	return "idle", message
}

// waitsFor returns the cluster that this one follows and waits for. Nil: it waits for something else, or for nothing.
func (r *Row) waitsFor() *Follow {
	if !waitsForCluster(r.Reason) {
		return nil
	}
	for i := range r.Follows {
		if r.Follows[i].Message != "" {
			return &r.Follows[i]
		}
	}
	return nil
}

// words say what a cluster waits for that follows another one, such as "staging until Sun 01:00".
func (f *Follow) words(when func(time.Time) string) string {
	name := cmp.Or(f.Context, "gate "+f.Gate)
	_, does, is := strings.Cut(f.Message, " follows a cluster that ")
	switch {
	case f.failedWith != "":
		return name + ", which failed with " + f.failedWith
	case f.Until != nil:
		return name + " until " + when(*f.Until)
	case !is:
		return name + ": " + f.Message
	case f.hold.Reason == v1alpha1.ReasonNotSoaked && !f.hold.Stalls() && f.Context != "":
		return name // whose own row says why it is not there yet
	}
	return name + ", which " + does
}

// Next returns the version that is next, or the upgrade that brings none. Empty: nothing is.
func (r *Row) Next() string {
	switch {
	case r.Upgrade != nil:
		return cmp.Or(r.Upgrade.To, r.Upgrade.Name)
	case r.Behind != nil:
		return r.Behind.Version
	}
	return ""
}

// Attention says how many clusters need a person, such as "1 of 3 clusters needs a person", and returns the command
// that shows those. Empty: there is none.
func (s *Status) Attention() (sentence, command string) {
	var names []string
	for _, r := range s.Items {
		if r.counts && r.NeedsPerson && r.State != StateSilent {
			names = append(names, r.Context)
		}
	}
	switch all := Count(s.Summary.Clusters); len(names) {
	case 0:
		return "", ""
	case 1:
		return fmt.Sprintf("1 of %s needs a person", all), "kubectl upgrade status --context " + Quote(names[0])
	default:
		command = "kubectl upgrade fleet status"
		for _, name := range names[:min(len(names), view.MostNames)] {
			command += " " + Quote(name)
		}
		return fmt.Sprintf("%d of %s need a person", len(names), all), command
	}
}

// FollowersBehind reports whether a cluster has yet to take, by itself, what a cluster that it follows runs.
func (s *Status) FollowersBehind() bool {
	runs := map[string]version.Version{}
	for _, r := range s.Items {
		if v, err := version.Parse(r.Version); err == nil {
			runs[r.Context] = v
		}
	}
	return slices.ContainsFunc(s.Items, func(r Row) bool {
		own, known := runs[r.Context]
		return known && r.takes && !r.NeedsPerson && slices.ContainsFunc(r.Follows, func(f Follow) bool {
			leader, shown := runs[f.Context]
			return shown && f.failedWith == "" && own.Less(leader)
		})
	})
}
