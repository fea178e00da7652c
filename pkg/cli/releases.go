package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// releases is `kubectl upgrade releases` with its arguments.
type releases struct {
	*program
	output
}

func newReleases(p *program) *cobra.Command {
	r := &releases{program: p}
	cmd := &cobra.Command{
		Use:   "releases",
		Short: "What is on offer, what runs, what is staged, what is out of support",
		Long: `Shows for each minor the newest patch that the source of images offers for every
architecture of the cluster, on how many nodes which version runs, which lies
staged on their disks, and until when Kubernetes itself publishes patches for it.

The index of images is read from here, from the address in the UpgradePolicy. The
days on which support ends are written into this plugin: of a
minor that is newer than the plugin it says that it does not know.`,
		Example: `  kubectl upgrade releases
  kubectl upgrade releases -o jsonpath='{.items[?(@.support=="Ended")].minor}'`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return r.run(cmd.Context()) },
	}
	r.addTo(cmd)
	return cmd
}

func (r *releases) run(ctx context.Context) error {
	reader, err := r.reader()
	if err != nil {
		return err
	}
	o, err := reader.read(ctx)
	if err != nil {
		return err
	}
	s := fleet.Snapshot{Nodes: nodesOf(o), NodeUpgrades: o.nodeUpgrades}
	policy, err := reader.policy(ctx)
	s.Source = r.readSource(ctx, policy, err)
	items := viewReleases(s, r.now())
	switch {
	case r.format() == "name":
		for _, one := range items {
			fmt.Fprintln(r.Out, one.Minor)
		}
		return nil
	case !r.forPeople():
		return r.print(r.program, render.ReleaseList{APIVersion: v1alpha1.GroupVersion.String(), Kind: "ReleaseList", Items: items})
	}
	_, err = io.WriteString(r.drawn, render.Releases(items, r.drawing()))
	return err
}

// viewReleases has every minor that is on offer, runs, or is staged.
func viewReleases(s fleet.Snapshot, now time.Time) []render.Release {
	minors := map[string]version.Version{}
	see := func(text string) (line string, known bool) {
		v, err := version.Parse(text)
		if err != nil {
			return "", false
		}
		minors[v.Line()] = v
		return v.Line(), true
	}
	for _, offer := range s.Source.Offers {
		see(offer.Version)
	}
	runs, staged := map[string]map[string]int{}, map[string]map[string]int{}
	count := func(in map[string]map[string]int, text string) {
		if line, known := see(text); known {
			if in[line] == nil {
				in[line] = map[string]int{}
			}
			in[line][text]++
		}
	}
	kubelets := map[string]string{}
	for _, n := range s.Nodes {
		count(runs, n.Kubelet)
		kubelets[n.Name] = n.Kubelet
	}
	for _, u := range s.NodeUpgrades {
		if u.Status.Versions.Staged != kubelets[u.Name] {
			count(staged, u.Status.Versions.Staged)
		}
	}
	items := []render.Release{}
	for _, line := range slices.SortedFunc(maps.Keys(minors), func(a, b string) int { return minors[a].Compare(minors[b]) }) {
		one := render.Release{Minor: line, Runs: counted(runs[line]), Staged: counted(staged[line])}
		complete, any := newest(s, line)
		if complete != (version.Version{}) {
			one.Newest = complete.String()
		}
		if complete.Less(any) {
			one.Partly = any.String()
		}
		var end time.Time
		if one.Support, end = minors[line].SupportOf(now); !end.IsZero() {
			one.SupportEnds = end.Format(time.DateOnly)
		}
		items = append(items, one)
	}
	return items
}

// counted are the numbers, the oldest version first.
func counted(numbers map[string]int) []render.Count {
	var list []render.Count
	for _, text := range slices.SortedFunc(maps.Keys(numbers), func(a, b string) int {
		left, _ := version.Parse(a) // only what could be read was counted
		right, _ := version.Parse(b)
		return left.Compare(right)
	}) {
		list = append(list, render.Count{Version: text, Nodes: numbers[text]})
	}
	return list
}
