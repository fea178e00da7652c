package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/render"
)

// history is `kubectl upgrade history` with its arguments.
type history struct {
	*program
	output
	name string // empty: all
}

func newHistory(p *program) *cobra.Command {
	h := &history{program: p}
	cmd := &cobra.Command{
		Use:   "history [NAME]",
		Short: "Upgrades that have ended: from, to, when, how long, and how",
		Long: `Lists the upgrades that have ended, the oldest first. With NAME, that one node by
node, with the findings that were let through and where its snapshot of etcd lies.

The history is the ClusterUpgrades themselves: to delete one is to forget it.`,
		Example: `  kubectl upgrade history
  kubectl upgrade history v1.35.4
  kubectl upgrade history v1.35.4 -o jsonpath='{.items[0].record[?(@.attempts>1)].name}'`,
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: p.completeName(func(ctx context.Context, reader *reader) (names []string, err error) {
			list, err := reader.kinds.ClusterUpgrades.List(ctx, metav1.ListOptions{})
			if err != nil {
				return nil, err
			}
			for _, u := range ended(list.Items) {
				names = append(names, u.Name)
			}
			return names, nil
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				h.name = args[0]
			}
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
			fmt.Fprintf(h.Out, "clusterupgrade.%s/%s\n", v1alpha1.Group, e.Name)
		}
		return nil
	case !h.forPeople():
		return h.print(h.program, render.History{APIVersion: v1alpha1.GroupVersion.String(), Kind: "UpgradeHistory", Items: items})
	}
	options := h.drawing()
	options.Wide = h.format() == "wide"
	text := render.HistoryTable(items, options)
	if h.name != "" {
		text = render.HistoryPage(items[0], options)
	}
	_, err = io.WriteString(h.Out, text)
	return err
}

func (h *history) read(ctx context.Context, reader *reader) ([]render.Ended, error) {
	if h.name != "" {
		u, err := reader.kinds.ClusterUpgrades.Get(ctx, h.name, metav1.GetOptions{})
		switch {
		case isMissing(err):
			return nil, fmt.Errorf("there is no ClusterUpgrade %q; `kubectl upgrade history` lists those that have ended", h.name)
		case err != nil:
			return nil, explain("reading ClusterUpgrade "+h.name, err)
		case u.Status.Outcome == "":
			return nil, fmt.Errorf("ClusterUpgrade %s has not ended; `kubectl upgrade status` shows how far it is", h.name)
		}
		one := viewEnded(u)
		one.Record = u.Status.Record
		return []render.Ended{one}, nil
	}
	list, err := reader.kinds.ClusterUpgrades.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, explain("reading ClusterUpgrades", err)
	}
	items := []render.Ended{}
	for _, u := range ended(list.Items) {
		items = append(items, viewEnded(u))
	}
	return items, nil
}

// ended are the upgrades that have, the oldest first.
func ended(upgrades []v1alpha1.ClusterUpgrade) []*v1alpha1.ClusterUpgrade {
	var list []*v1alpha1.ClusterUpgrade
	for i := range upgrades {
		if upgrades[i].Status.Outcome != "" {
			list = append(list, &upgrades[i])
		}
	}
	slices.SortFunc(list, func(a, b *v1alpha1.ClusterUpgrade) int {
		at := func(u *v1alpha1.ClusterUpgrade) int64 {
			if u.Status.FinishedAt == nil {
				return 0
			}
			return u.Status.FinishedAt.Unix()
		}
		return cmp.Or(cmp.Compare(at(a), at(b)), cmp.Compare(a.Name, b.Name))
	})
	return list
}

func viewEnded(u *v1alpha1.ClusterUpgrade) render.Ended {
	v := viewUpgrade(u)
	e := render.Ended{
		Name: v.Name, Type: v.Type, From: v.From, To: v.To, TriggeredAt: v.TriggeredAt, FinishedAt: v.FinishedAt, Outcome: v.Outcome,
		Nodes: u.Status.Nodes, RetryOf: u.Annotations[v1alpha1.RetryOfAnnotation], IgnoreChecks: u.Spec.IgnoreChecks, EtcdSnapshot: u.Status.EtcdSnapshot,
	}
	if c := meta.FindStatusCondition(u.Status.Conditions, v1alpha1.ConditionSucceeded); c != nil {
		e.Reason, e.Message = v1alpha1.Reason(c.Reason), c.Message
	}
	return e
}
