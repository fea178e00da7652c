package migrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/doctor"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/request"
)

// manager is the name under which fields are written.
const manager = "kubectl-upgrade"

// Changeover changes a cluster over from another program.
type Changeover struct {
	Kube kubernetes.Interface
	Ours *kube.Kinds
	// Other is the program.
	Other Other
	// DryRun is the option of the same name of each write.
	DryRun []string
	// Out gets a line for each step.
	Out io.Writer
	// Every is the time between two reads while it waits.
	Every time.Duration
}

// Other is a program that reboots nodes.
type Other struct {
	Name string
	// Namespace and DaemonSet are those of its pods.
	Namespace, DaemonSet string
	// Busy returns what it does with a node now. Empty: nothing.
	Busy func(context.Context, *appsv1.DaemonSet) (string, error)
	// Pause and Resume do what is needed beside the DaemonSet. Nil: nothing.
	Pause, Resume func(ctx context.Context, dryRun []string) error
}

func (c *Changeover) say(format string, args ...any) {
	suffix := ""
	if len(c.DryRun) > 0 {
		suffix = " (server dry run)"
	}
	fmt.Fprintf(c.Out, format+"%s\n", append(args, suffix)...)
}

func (c *Changeover) daemonSet(ctx context.Context) (*appsv1.DaemonSet, error) {
	d, err := c.Kube.AppsV1().DaemonSets(c.Other.Namespace).Get(ctx, c.Other.DaemonSet, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading DaemonSet %s/%s: %w", c.Other.Namespace, c.Other.DaemonSet, err)
	}
	return d, nil
}

// Prepare creates the MaintenanceSchedule and sets the strategy, gates and notices. Nothing of that has an effect
// while the UpgradePolicy's mode is Observe. If it is Manage, for a part of the nodes, only the
// record is written, and Start does the rest.
func (c *Changeover) Prepare(ctx context.Context, result Result) error {
	policy, record, err := c.record(ctx)
	if err != nil {
		return err
	}
	if record == nil {
		if err := c.mayPrepare(ctx, policy, result); err != nil {
			return err
		}
		fresh, err := NewRecord(result, policy.Spec)
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
func (c *Changeover) mayPrepare(ctx context.Context, policy *v1alpha1.UpgradePolicy, result Result) error {
	nodes, err := c.Ours.NodeUpgrades.List(ctx, metav1.ListOptions{Limit: 1})
	switch owner := request.GitOwner(policy); {
	case err != nil:
		return fmt.Errorf("reading NodeUpgrades: %w", err)
	case result.Schedule == nil:
		return fmt.Errorf("the window of %s is not known, or never opens: nothing was changed", result.Program)
	case policy.Spec.Mode == v1alpha1.ModeManage && !result.NodesChosen:
		return fmt.Errorf("the mode of UpgradePolicy %s is Manage, so some nodes are managed already: say with -l which ones are to be managed afterwards, or -l all", policy.Name)
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
		return fmt.Errorf("%s owns DaemonSet %s/%s and would resume it: pause or remove it there, as docs/migrate.md says", owner, d.Namespace, d.Name)
	}
	return nil
}

func (c *Changeover) createSchedule(ctx context.Context, wanted *v1alpha1.MaintenanceSchedule) error {
	if wanted == nil {
		return nil
	}
	_, err := c.Ours.MaintenanceSchedules.Create(ctx, wanted, metav1.CreateOptions{FieldManager: manager, FieldValidation: metav1.FieldValidationStrict, DryRun: c.DryRun})
	if apierrors.IsAlreadyExists(err) {
		there, err := c.Ours.MaintenanceSchedules.Get(ctx, wanted.Name, metav1.GetOptions{})
		switch {
		case err != nil:
			return fmt.Errorf("reading MaintenanceSchedule %s: %w", wanted.Name, err)
		case !SameWindows(there, wanted):
			return fmt.Errorf("there is another MaintenanceSchedule %s: choose a name with --schedule NAME", wanted.Name)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("creating MaintenanceSchedule %s: %w", wanted.Name, doctor.Undeclared(err))
	}
	c.say("maintenanceschedule.%s/%s created", v1alpha1.Group, wanted.Name)
	return nil
}

// Start pauses the other program, waits until its pods are gone, and then lets kubectl-upgrade
// manage the nodes.
func (c *Changeover) Start(ctx context.Context, result Result) error {
	switch _, record, err := c.record(ctx); {
	case err != nil:
		return err
	case record == nil && len(c.DryRun) == 0:
		return errors.New("the UpgradePolicy has no record of the changeover: it has to be prepared first")
	}
	if err := c.pauseDaemonSet(ctx); err != nil {
		return err
	}
	if c.Other.Pause != nil {
		if err := c.Other.Pause(ctx, c.DryRun); err != nil {
			return err
		}
	}
	if len(c.DryRun) == 0 {
		if err := c.waitForPods(ctx); err != nil {
			return err
		}
	}
	_, record, err := c.record(ctx)
	if err != nil {
		return err
	}
	if err := c.createSchedule(ctx, result.Schedule); err != nil {
		return err
	}
	if record != nil { // without one, this is a dry run
		if err := c.changePolicy(ctx, func(policy *v1alpha1.UpgradePolicy) { record.Start(&policy.Spec) }); err != nil {
			return err
		}
	}
	c.say("upgradepolicy.%s/%s configured: mode: Manage", v1alpha1.Group, v1alpha1.PolicyName)
	return nil
}

// pauseDaemonSet pauses the DaemonSet if it is not paused, and the program has no node in its
// hands. It reads and decides again if another client has written the DaemonSet meanwhile: that
// may have been its lock.
func (c *Changeover) pauseDaemonSet(ctx context.Context) error {
	const tries = 5
	for i := 1; ; i++ {
		d, err := c.daemonSet(ctx)
		if err != nil || Paused(d) {
			return err
		}
		busy, err := c.Other.Busy(ctx, d)
		if err != nil {
			return err
		}
		if busy != "" {
			return fmt.Errorf("%s: wait until that is over, and run this command again. Nothing was paused", busy)
		}
		err = c.pause(ctx, d)
		if err == nil {
			c.say("daemonset.apps/%s paused: its nodeSelector matches no node", d.Name)
			return nil
		}
		if i == tries || !changedMeanwhile(err) {
			return err
		}
	}
}

// waitForPods waits until no pod of the program is left. A pod may have taken a node into its
// hands in its last moment.
func (c *Changeover) waitForPods(ctx context.Context) error {
	err := c.wait(ctx, func() (string, error) {
		d, err := c.daemonSet(ctx)
		if err != nil {
			return "", err
		}
		pods, err := c.pods(ctx, d)
		if err != nil || len(pods) == 0 {
			return "", err
		}
		return fmt.Sprintf("%d pods of %s to end, such as %s", len(pods), c.Other.Name, pods[0].Name), nil
	})
	if err != nil {
		return err
	}
	d, err := c.daemonSet(ctx)
	if err != nil {
		return err
	}
	busy, err := c.Other.Busy(ctx, d)
	if err == nil && busy != "" {
		err = fmt.Errorf("%s: it began while it was paused, and the node may be cordoned. `kubectl upgrade migrate %s --undo` lets it finish; then run this command again",
			busy, strings.ToLower(c.Other.Name))
	}
	return err
}

// wait calls left until it returns nothing, and says what it waits for.
func (c *Changeover) wait(ctx context.Context, left func() (string, error)) error {
	said := ""
	for {
		what, err := left()
		if err != nil || what == "" {
			return err
		}
		if what != said {
			fmt.Fprintf(c.Out, "waiting for %s\n", what)
			said = what
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("still waiting for %s (%w); the same command continues", what, ctx.Err())
		case <-time.After(c.Every):
		}
	}
}

// record reads the UpgradePolicy, and the record of the changeover on it: nil if there is none.
func (c *Changeover) record(ctx context.Context) (*v1alpha1.UpgradePolicy, *Record, error) {
	policy, err := c.Ours.UpgradePolicies.Get(ctx, v1alpha1.PolicyName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil, fmt.Errorf("there is no UpgradePolicy %s: install kubectl-upgrade first (docs/install.md); its coordinator creates it (%w)", v1alpha1.PolicyName, err)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading UpgradePolicy %s: %w", v1alpha1.PolicyName, err)
	}
	text, migrated := policy.Annotations[v1alpha1.MigratedAnnotation]
	if !migrated {
		return policy, nil, nil
	}
	record, err := ParseRecord(text)
	if err == nil && !strings.EqualFold(record.Program, c.Other.Name) {
		err = fmt.Errorf("this cluster was changed over from %s: `kubectl upgrade migrate %s --undo` goes back", record.Program, strings.ToLower(record.Program))
	}
	return policy, &record, err
}

// changePolicy changes the UpgradePolicy, again if another client has written it meanwhile.
func (c *Changeover) changePolicy(ctx context.Context, change func(*v1alpha1.UpgradePolicy)) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		policy, err := c.Ours.UpgradePolicies.Get(ctx, v1alpha1.PolicyName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		patch, err := changesOf(policy, change)
		if err != nil {
			return err
		}
		options := metav1.PatchOptions{FieldManager: manager, FieldValidation: metav1.FieldValidationStrict, DryRun: c.DryRun}
		_, err = c.Ours.UpgradePolicies.Patch(ctx, policy.Name, types.MergePatchType, patch, options)
		return err
	})
	if err != nil {
		return fmt.Errorf("changing UpgradePolicy %s: %w", v1alpha1.PolicyName, doctor.Undeclared(err))
	}
	return nil
}

// changesOf changes the policy, and returns what that changed as a merge patch for the version that was read.
// An update would remove fields that this version does not know.
func changesOf(policy *v1alpha1.UpgradePolicy, change func(*v1alpha1.UpgradePolicy)) ([]byte, error) {
	was := policy.DeepCopy()
	was.ResourceVersion = ""
	before, err := json.Marshal(was)
	if err != nil {
		return nil, err
	}
	change(policy)
	after, err := json.Marshal(policy)
	if err != nil {
		return nil, err
	}
	return jsonpatch.CreateMergePatch(before, after)
}
