package changeover

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/migrate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/request"
)

// Prepare creates the MaintenanceSchedule and sets the strategy. Nothing of that has an effect
// while the UpgradePolicy's mode is Observe. If it is Manage, for a part of the nodes, only the
// record is written, and Start does the rest.
func (c *Changeover) Prepare(ctx context.Context, result migrate.Result) error {
	policy, record, err := c.record(ctx)
	if err != nil {
		return err
	}
	if record == nil {
		if err := c.mayPrepare(ctx, policy, result); err != nil {
			return err
		}
		fresh, err := migrate.NewRecord(result, policy.Spec)
		if err != nil {
			return err
		}
		record = &fresh
	}
	if policy.Spec.Mode == v1alpha1.ModeManage {
		return c.changePolicy(ctx, func(policy *v1alpha1.UpgradePolicy) {
			metav1.SetMetaDataAnnotation(&policy.ObjectMeta, v1alpha1.MigratedAnnotation, record.String())
		})
	}
	if err := c.createSchedule(ctx, result.Schedule); err != nil {
		return err
	}
	err = c.changePolicy(ctx, func(policy *v1alpha1.UpgradePolicy) {
		metav1.SetMetaDataAnnotation(&policy.ObjectMeta, v1alpha1.MigratedAnnotation, record.String())
		record.Prepare(&policy.Spec)
	})
	if err != nil {
		return err
	}
	c.say("upgradepolicy.%s/%s configured: strategy; its mode is still %s", v1alpha1.Group, policy.Name, record.Before.Mode)
	return nil
}

// mayPrepare returns why a changeover cannot begin.
func (c *Changeover) mayPrepare(ctx context.Context, policy *v1alpha1.UpgradePolicy, result migrate.Result) error {
	nodes, err := c.Ours.NodeUpgrades.List(ctx, metav1.ListOptions{Limit: 1})
	switch owner := request.GitOwner(policy); {
	case err != nil:
		return fmt.Errorf("reading NodeUpgrades: %w", err)
	case result.Schedule == nil:
		return fmt.Errorf("the window of %s is not known, or never opens: nothing was changed", result.Program)
	case policy.Spec.Mode == v1alpha1.ModeManage && !result.NodesChosen:
		return fmt.Errorf("the mode of UpgradePolicy %s is Manage, so some nodes are managed already: say with --node-selector which ones are to be managed afterwards, or --node-selector all", policy.Name)
	case owner != "" && !strings.HasPrefix(owner, "Helm"):
		return fmt.Errorf("%s owns UpgradePolicy %s and would undo the change: put there what -o yaml prints", owner, policy.Name)
	case len(nodes.Items) == 0:
		return errors.New("no agent has reported: without agents nothing would reboot nodes any more. Wait until `kubectl get nodeupgrades` lists the nodes")
	}
	d, err := c.daemonSet(ctx)
	if err != nil {
		return err
	}
	if owner := request.GitOwner(d); owner != "" && !strings.HasPrefix(owner, "Helm") {
		return fmt.Errorf("%s owns DaemonSet %s/%s and would resume it: pause or remove it there, as docs/kured.md says", owner, d.Namespace, d.Name)
	}
	return nil
}

func (c *Changeover) createSchedule(ctx context.Context, wanted *v1alpha1.MaintenanceSchedule) error {
	if wanted == nil {
		return nil
	}
	_, err := c.Ours.MaintenanceSchedules.Create(ctx, wanted, metav1.CreateOptions{FieldManager: manager, DryRun: c.DryRun})
	if apierrors.IsAlreadyExists(err) {
		there, err := c.Ours.MaintenanceSchedules.Get(ctx, wanted.Name, metav1.GetOptions{})
		switch {
		case err != nil:
			return fmt.Errorf("reading MaintenanceSchedule %s: %w", wanted.Name, err)
		case !migrate.SameWindows(there, wanted):
			return fmt.Errorf("there is another MaintenanceSchedule %s: choose a name with --schedule NAME", wanted.Name)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("creating MaintenanceSchedule %s: %w", wanted.Name, err)
	}
	c.say("maintenanceschedule.%s/%s created", v1alpha1.Group, wanted.Name)
	return nil
}
