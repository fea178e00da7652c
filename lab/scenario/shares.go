package scenario

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Share is how much of an upgrade's time went into one kind of work.
type Share struct {
	Name string
	Took time.Duration
}

// Overhead is the Share of everything else: taking and freeing slots, cordons,
// checks, and the time in which no node was at work.
const Overhead = "our own overhead"

// kinds are the kinds of work that an upgrade needs. If several nodes are at work,
// the first kind in this order counts.
var kinds = []struct {
	name  string
	steps []v1alpha1.Step
}{
	{"kubeadm", []v1alpha1.Step{v1alpha1.StepKubeadm}},
	{"etcd snapshot", []v1alpha1.Step{v1alpha1.StepSnapshotting}},
	{"drain", []v1alpha1.Step{v1alpha1.StepDraining}},
	{"reboot", []v1alpha1.Step{v1alpha1.StepRebooting, v1alpha1.StepRestarting}},
	{"waiting for Ready", []v1alpha1.Step{v1alpha1.StepVerifying, v1alpha1.StepChecking}},
	{"settle", []v1alpha1.Step{v1alpha1.StepSettling, v1alpha1.StepObserving}},
	{"staging", []v1alpha1.Step{v1alpha1.StepStaging}},
}

// Shares returns how the time between two instants was spent. Every instant counts
// once, for the first kind of work that a node did then.
func Shares(nodes []v1alpha1.NodeRecord, from, to time.Time) []Share {
	cuts := []time.Time{from, to}
	for _, node := range nodes {
		for _, s := range node.Steps {
			cuts = append(cuts, within(s.StartTime.Time, from, to))
			if s.EndTime != nil {
				cuts = append(cuts, within(s.EndTime.Time, from, to))
			}
		}
	}
	slices.SortFunc(cuts, time.Time.Compare)
	took := map[string]time.Duration{}
	for i := 1; i < len(cuts); i++ {
		if span := cuts[i].Sub(cuts[i-1]); span > 0 {
			took[kindAt(nodes, cuts[i-1].Add(span/2))] += span
		}
	}
	var shares []Share
	for _, kind := range kinds {
		shares = append(shares, Share{kind.name, took[kind.name]})
	}
	return append(shares, Share{Overhead, took[Overhead]})
}

func within(t, from, to time.Time) time.Time {
	if t.Before(from) {
		return from
	}
	if t.After(to) {
		return to
	}
	return t
}

func kindAt(nodes []v1alpha1.NodeRecord, at time.Time) string {
	for _, kind := range kinds {
		for _, node := range nodes {
			if slices.Contains(kind.steps, stepAt(node, at)) {
				return kind.name
			}
		}
	}
	return Overhead
}

func stepAt(node v1alpha1.NodeRecord, at time.Time) v1alpha1.Step {
	for _, s := range node.Steps {
		if !at.Before(s.StartTime.Time) && (s.EndTime == nil || at.Before(s.EndTime.Time)) {
			return s.Step
		}
	}
	return ""
}

// PrintShares prints them with their percentages.
func PrintShares(out io.Writer, shares []Share) {
	var all time.Duration
	for _, s := range shares {
		all += s.Took
	}
	for _, s := range shares {
		_, _ = fmt.Fprintf(out, "%-20s %9.2f s %6.1f %%\n", s.Name, s.Took.Seconds(), 100*s.Took.Seconds()/all.Seconds())
	}
	_, _ = fmt.Fprintf(out, "%-20s %9.2f s\n", "in all", all.Seconds())
}
