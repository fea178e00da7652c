package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// history is `kubectl upgrade history` with its arguments.
type history struct {
	*program
	output
	pastName // empty: all
}

func newHistory(p *program) *cobra.Command {
	h := &history{program: p}
	cmd := &cobra.Command{
		Use:   "history [NAME]",
		Short: "List past upgrades",
		Long: `Lists the upgrades that have ended, the oldest first. With NAME, that one node by
node, with the checks that were ignored and the path of its etcd snapshot.

It reads UpgradeRecords, which remain when their ClusterUpgrade is deleted. One
that is deleted before its end has the outcome Canceled, and says how its nodes
were then; it leaves no record if no coordinator ran at that moment.
spec.historyLimit of the UpgradePolicy is how many upgrades keep their records.`,
		Example: `  kubectl upgrade history
  kubectl upgrade history v1.35.4
  kubectl upgrade history v1.35.4 \
    -o jsonpath='{.items[0].record[?(@.attempts>1)].name}'`,
		Args:              pastResource.optional,
		ValidArgsFunction: p.complete(endedUpgrades),
		RunE: func(cmd *cobra.Command, args []string) error {
			h.pastName = pastNameIn(args)
			return h.run(cmd.Context())
		},
	}
	h.addTo(cmd)
	return cmd
}

func (h *history) run(ctx context.Context) error {
	reader, err := h.reader()
	if err != nil {
		return err
	}
	items, err := h.read(ctx, reader)
	if err != nil {
		return err
	}
	switch {
	case h.format() == "name":
		for _, e := range items {
			fmt.Fprintln(h.Out, e.Object)
		}
		return nil
	case !h.forPeople():
		return h.print(h.program, view.History{APIVersion: v1alpha1.OutputVersion, Kind: "UpgradeHistory", Items: items})
	}
	h.readName(ctx, reader)
	options := h.drawing()
	options.Wide = h.format() == "wide"
	text := render.HistoryTable(items, options)
	if h.name != "" {
		pages := make([]string, len(items))
		for i, e := range items {
			pages[i] = render.HistoryPage(e, options)
		}
		text = strings.Join(pages, "\n\n")
	}
	_, err = io.WriteString(h.drawn, text)
	return err
}

// read returns the upgrades that have ended; with a name those of that name, with their
// nodes.
func (h *history) read(ctx context.Context, reader *reader) ([]view.Ended, error) {
	upgrades, err := reader.kinds.ClusterUpgrades.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, explain("reading ClusterUpgrades", err)
	}
	records, err := reader.records(ctx)
	if err != nil {
		return nil, err
	}
	if err := h.resolve(clusterstate.Snapshot{Upgrades: upgrades.Items, Records: records}); err != nil {
		return nil, err
	}
	items := view.NewHistory(upgrades.Items, records)
	if h.name == "" {
		for i := range items {
			items[i].Record = nil
		}
		return items, nil
	}
	items = slices.DeleteFunc(items, func(e view.Ended) bool { return e.Name != h.name })
	isThere := slices.ContainsFunc(upgrades.Items, func(u v1alpha1.ClusterUpgrade) bool { return u.Name == h.name })
	switch {
	case len(items) == 0 && isThere:
		return nil, fmt.Errorf("ClusterUpgrade %s has not ended; `kubectl upgrade status` shows how far it is", h.name)
	case len(items) == 0:
		return nil, fmt.Errorf("there is no ClusterUpgrade %q; `kubectl upgrade history` lists those that have ended", h.name)
	}
	return items, nil
}
