package cli

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/changeover"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/migrate"
)

// conclude shows what the settings become. With --apply or --undo it changes over from the
// other program, or back.
func (m *migration) conclude(ctx context.Context, result migrate.Result, other func(kubernetes.Interface) (changeover.Other, error)) error {
	if err := m.chooseNodes(&result); err != nil {
		return err
	}
	if !m.undo {
		if err := m.show(ctx, result); err != nil {
			return err
		}
	}
	if !m.apply && !m.undo {
		return nil
	}
	kube, reader, err := m.clients()
	if err != nil {
		return err
	}
	program, err := other(kube)
	if err != nil {
		return err
	}
	return m.changeOver(ctx, &changeover.Changeover{Kube: kube, Ours: reader.kinds, Other: program}, result)
}

// changeOver applies the result, or undoes it.
func (m *migration) changeOver(ctx context.Context, c *changeover.Changeover, result migrate.Result) error {
	ctx, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	c.Out, c.Every, c.DryRun = m.Out, time.Second, m.dryRun.options()
	switch {
	case m.dryRun.mode == dryRunClient:
		return m.describe(c, result)
	case m.undo:
		if err := m.ask(ctx, fmt.Sprintf("Go back to %s?", result.Program), "nothing was changed"); err != nil {
			return err
		}
		return c.Undo(ctx)
	}
	fmt.Fprintln(m.Out)
	if err := c.Prepare(ctx, result); err != nil {
		return err
	}
	undone := result.Program + " was not paused, and what was created has no effect yet (--apply continues, --undo removes it)"
	if err := m.ask(ctx, fmt.Sprintf("Pause %s, and let kubectl-upgrade manage the nodes?", result.Program), undone); err != nil {
		return err
	}
	return c.Start(ctx, result)
}

// ask asks a person whether to continue. It returns nil for a yes, or with --yes.
func (m *migration) ask(ctx context.Context, question, undone string) error {
	if m.yes || m.dryRun.mode != dryRunNone {
		return nil
	}
	return m.question(ctx, question, undone)
}

// describe says what would be done.
func (m *migration) describe(c *changeover.Changeover, result migrate.Result) error {
	steps := []string{
		fmt.Sprintf("create MaintenanceSchedule %s", m.schedule),
		"set strategy and nodeSelector of UpgradePolicy " + v1alpha1.PolicyName + ", whose mode stays Observe",
		fmt.Sprintf("pause DaemonSet %s/%s: its nodeSelector matches no node", c.Other.Namespace, c.Other.DaemonSet),
		"wait until its pods are gone",
		"set mode: Manage and automatic of UpgradePolicy " + v1alpha1.PolicyName,
	}
	if m.undo {
		steps = []string{
			"set the mode of UpgradePolicy " + v1alpha1.PolicyName + " as it was",
			"wait until every node is given back",
			fmt.Sprintf("delete MaintenanceSchedule %s, and set the UpgradePolicy's fields as they were", m.schedule),
			fmt.Sprintf("resume DaemonSet %s/%s: its nodeSelector is as it was", c.Other.Namespace, c.Other.DaemonSet),
		}
	}
	fmt.Fprintf(m.Out, "\n%s would be changed over in these steps%s:\n", result.Program, m.dryRun)
	for i, step := range steps {
		fmt.Fprintf(m.Out, "%d. %s\n", i+1, step)
	}
	return nil
}
