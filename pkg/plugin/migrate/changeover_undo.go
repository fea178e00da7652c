package migrate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Undo goes back: the mode as it was, every node given back, the MaintenanceSchedule deleted, the
// UpgradePolicy's fields as they were, and the other program as it was.
func (c *Changeover) Undo(ctx context.Context) error {
	policy, record, err := c.record(ctx)
	if err != nil && !apierrors.IsNotFound(err) { // kubectl-upgrade may have been removed
		return err
	}
	d, err := c.daemonSet(ctx)
	if err != nil {
		return err
	}
	if record == nil && !Paused(d) {
		return fmt.Errorf("there is nothing to undo: %s is not paused, and the UpgradePolicy has no record of a changeover", c.Other.Name)
	}
	if record != nil {
		if policy.Spec.Mode != record.Before.Mode || policy.Spec.Mode == v1alpha1.ModeManage {
			if err := c.changePolicy(ctx, func(policy *v1alpha1.UpgradePolicy) { record.Stop(&policy.Spec) }); err != nil {
				return err
			}
			c.say("upgradepolicy.%s/%s configured: mode: %s", v1alpha1.Group, policy.Name, record.Before.Mode)
		}
		if len(c.DryRun) == 0 {
			if err := c.waitForNodes(ctx, record); err != nil {
				return err
			}
		}
		if err := c.restorePolicy(ctx); err != nil {
			return err
		}
	}
	if c.Other.Resume != nil {
		if err := c.Other.Resume(ctx, c.DryRun); err != nil {
			return err
		}
	}
	if d, err = c.daemonSet(ctx); err != nil { // it may have been written while nodes were given back
		return err
	}
	if Paused(d) {
		if err := c.resume(ctx, d); err != nil {
			return err
		}
		c.say("daemonset.apps/%s resumed: its nodeSelector is as it was", d.Name)
	}
	if record == nil {
		return nil
	}
	return c.forget(ctx)
}

// waitForNodes waits until no node is managed that was not before: until then its agent may
// reboot it.
func (c *Changeover) waitForNodes(ctx context.Context, record *Record) error {
	return c.wait(ctx, func() (string, error) {
		nodes, err := c.Kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return "", fmt.Errorf("reading Nodes: %w", err)
		}
		kept := map[string]bool{}
		for _, n := range nodes.Items {
			if kept[n.Name], err = record.Keeps(n.Labels); err != nil {
				return "", err
			}
		}
		list, err := c.Ours.NodeUpgrades.List(ctx, metav1.ListOptions{})
		if err != nil {
			return "", fmt.Errorf("reading NodeUpgrades: %w", err)
		}
		var left []string
		for _, n := range list.Items {
			if meta.IsStatusConditionTrue(n.Status.Conditions, v1alpha1.ConditionManaged) && !kept[n.Name] {
				left = append(left, n.Name)
			}
		}
		if len(left) == 0 {
			return "", nil
		}
		return fmt.Sprintf("%d nodes to be given back, such as %s", len(left), left[0]), nil
	})
}

// restorePolicy deletes the schedule, and restores the fields.
func (c *Changeover) restorePolicy(ctx context.Context) error {
	_, record, err := c.record(ctx)
	switch {
	case err != nil:
		return err
	case record == nil:
		return errors.New("the UpgradePolicy has lost the record of the changeover")
	}
	if record.Schedule != "" {
		err := c.Ours.MaintenanceSchedules.Delete(ctx, record.Schedule, metav1.DeleteOptions{DryRun: c.DryRun})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("deleting MaintenanceSchedule %s: %w", record.Schedule, err)
		}
		if err == nil {
			c.say("maintenanceschedule.%s/%s deleted", v1alpha1.Group, record.Schedule)
		}
	}
	var changed []string
	if err := c.changePolicy(ctx, func(policy *v1alpha1.UpgradePolicy) { changed = record.Restore(&policy.Spec) }); err != nil {
		return err
	}
	c.say("upgradepolicy.%s/%s configured: as it was", v1alpha1.Group, v1alpha1.PolicyName)
	if len(changed) > 0 {
		c.say("left as they are, because they have been changed since: %s", strings.Join(changed, ", "))
	}
	return nil
}

// forget removes the record, as the last step.
func (c *Changeover) forget(ctx context.Context) error {
	return c.changePolicy(ctx, func(policy *v1alpha1.UpgradePolicy) { delete(policy.Annotations, v1alpha1.MigratedAnnotation) })
}
