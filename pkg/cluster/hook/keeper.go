package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedbatchv1 "k8s.io/client-go/kubernetes/typed/batch/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
)

// Pause is how soon Jobs are read again while a hook runs.
const Pause = 2 * time.Second

// keptFor is how long a Job is kept after its end. A coordinator that was stopped meanwhile does not
// create it a second time.
const keptFor = 5 * time.Minute

// restPause is how soon Jobs are read again while no hook runs, until all are gone.
const restPause = time.Minute

// Keeper reads and writes the Jobs of hooks. It is used by one goroutine.
type Keeper struct {
	jobs     typedbatchv1.BatchV1Interface
	log      *slog.Logger
	policies kube.Kind[*v1alpha1.UpgradePolicy, *v1alpha1.UpgradePolicyList]
	read     []batchv1.Job
	readAt   time.Time
	problems map[string]clusterstate.HookJob // why Jobs could not be created, by name
}

// NewKeeper returns a Keeper that has read nothing.
func NewKeeper(jobs typedbatchv1.BatchV1Interface, ours *kube.Kinds, log *slog.Logger) *Keeper {
	return &Keeper{jobs: jobs, log: log, policies: ours.UpgradePolicies, problems: map[string]clusterstate.HookJob{}}
}

// Read returns the Jobs of hooks. Nil: there is no need to. If they cannot be read, it returns that as the
// problem of those that run, and an error.
func (k *Keeper) Read(ctx context.Context, policy *v1alpha1.UpgradePolicy, now time.Time) (map[string]clusterstate.HookJob, error) {
	// While a hook runs, the Jobs have to be newer than the policy: one that is missing is gone.
	runs := running(policy)
	rests := len(k.read) > 0 || len(policy.Spec.Hooks) > 0 && k.readAt.IsZero()
	if len(runs) > 0 || rests && now.Sub(k.readAt) >= restPause {
		list, err := k.jobs.Jobs(v1alpha1.HooksNamespace).List(ctx, metav1.ListOptions{LabelSelector: Label})
		if err != nil {
			jobs := make(map[string]clusterstate.HookJob, len(runs))
			for name := range runs {
				jobs[name] = clusterstate.HookJob{Problem: "the Jobs of hooks cannot be read: " + oneLine(err)}
			}
			return jobs, fmt.Errorf("reading the Jobs of hooks: %w", err)
		}
		k.read, k.readAt = list.Items, now
	}
	if k.readAt.IsZero() {
		return nil, nil
	}
	jobs := make(map[string]clusterstate.HookJob, len(k.read))
	for i := range k.read {
		jobs[k.read[i].Name], _ = state(&k.read[i])
	}
	for name, problem := range k.problems {
		_, there := jobs[name]
		if _, awaited := runs[name]; awaited && !there {
			jobs[name] = problem
		} else {
			delete(k.problems, name)
		}
	}
	return jobs, nil
}

// running returns the Jobs of the hooks that run, as stored: their UIDs by their names.
func running(policy *v1alpha1.UpgradePolicy) map[string]string {
	uids := map[string]string{}
	for _, t := range policy.Status.HookTurns {
		for _, run := range t.Hooks {
			if run.State == v1alpha1.HookRunning {
				uids[run.Job] = run.JobUID
			}
		}
	}
	return uids
}

// Write creates the Jobs of the hooks that run according to the stored policy, and lets those go that
// ended some time ago. What keeps a Job from being created is in the next Read.
func (k *Keeper) Write(ctx context.Context, policy *v1alpha1.UpgradePolicy, now time.Time) error {
	for i := range policy.Status.HookTurns {
		t := &policy.Status.HookTurns[i]
		for j := range t.Hooks {
			run := &t.Hooks[j]
			there := slices.ContainsFunc(k.read, func(job batchv1.Job) bool { return job.Name == run.Job })
			if run.State != v1alpha1.HookRunning || run.JobUID != "" || there || run.GivesUp() && now.After(run.Deadline()) {
				continue
			}
			if err := k.create(ctx, t, run); err != nil {
				problem, refused := explain(run, err)
				k.problems[run.Job] = clusterstate.HookJob{Problem: problem, Refused: refused}
				k.log.Warn("the Job of a hook cannot be created", "hook", run.Name, "job", run.Job, "problem", problem)
			} else {
				delete(k.problems, run.Job)
			}
			k.readAt = time.Time{} // the next Read sees it
		}
	}
	return k.letGo(ctx, policy, now)
}

// create creates the Job of a hook. The policy is read again right before: the one that is known may be
// old, and the Job may have been created and be gone.
func (k *Keeper) create(ctx context.Context, t *v1alpha1.HookTurn, run *v1alpha1.HookRun) error {
	from, err := k.jobs.CronJobs(v1alpha1.HooksNamespace).Get(ctx, run.CronJobName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if err := check(from, t, run); err != nil {
		return err
	}
	policy, err := k.policies.Get(ctx, v1alpha1.PolicyName, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading the UpgradePolicy: %w", err)
	}
	if uid, runs := running(policy)[run.Job]; !runs || uid != "" {
		return nil
	}
	_, err = k.jobs.Jobs(v1alpha1.HooksNamespace).Create(ctx, newJob(from, t, run), metav1.CreateOptions{})
	switch {
	case apierrors.IsAlreadyExists(err):
		return nil
	case err != nil:
		return err
	}
	k.log.Info("a hook begins", "hook", run.Name, "when", run.When, "node", t.Node, "upgrade", t.Upgrade.Name, "job", run.Job)
	return nil
}

// explain returns why a Job could not be created, with what to do, in one line, and whether a person has to act first.
func explain(run *v1alpha1.HookRun, err error) (problem string, refused bool) {
	text := oneLine(err)
	var wrong *refusal
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("CronJob %s/%s does not exist: create it, or take hook %s out of spec.hooks of UpgradePolicy %s",
			v1alpha1.HooksNamespace, run.CronJobName, run.Name, v1alpha1.PolicyName), true
	case apierrors.IsForbidden(err) && (strings.HasPrefix(text, "cronjobs") || strings.Contains(text, "may not start")):
		// The command comes first: the end of a long message is cut off.
		return fmt.Sprintf("the coordinator may not start CronJob %s; `%s`, by its owner, lets it (%s)", run.CronJobName, Grant(run.CronJobName), text), true
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), errors.As(err, &wrong):
		return fmt.Sprintf("%s; or take hook %s out of spec.hooks of UpgradePolicy %s", text, run.Name, v1alpha1.PolicyName), true
	}
	return text, false
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// Grant returns the command by which a CronJob's owner lets the coordinator start it.
func Grant(cronJob string) string {
	const command = "kubectl -n NAMESPACE create role start-CRONJOB --verb=get,start --resource=cronjobs.batch --resource-name=CRONJOB && " +
		"kubectl -n NAMESPACE create rolebinding start-CRONJOB --role=start-CRONJOB --serviceaccount=OURS:coordinator"
	return strings.NewReplacer("NAMESPACE", v1alpha1.HooksNamespace, "CRONJOB", cronJob, "OURS", v1alpha1.Namespace).Replace(command)
}

// letGo removes our finalizer from Jobs that ended some time ago, and for which no end is waited for. Where the policy only
// observes it removes all: an uninstall begins so, and a finalizer that is left would keep the Jobs' namespace for ever.
func (k *Keeper) letGo(ctx context.Context, policy *v1alpha1.UpgradePolicy, now time.Time) error {
	runs := running(policy)
	var problems []error
	for i := range k.read {
		job := &k.read[i]
		_, ended := state(job)
		_, awaited := runs[job.Name]
		kept := !policy.Observes() && (ended == nil || now.Sub(*ended) < keptFor || awaited)
		if kept || !slices.Contains(job.Finalizers, Finalizer) {
			continue
		}
		others := slices.DeleteFunc(slices.Clone(job.Finalizers), func(f string) bool { return f == Finalizer })
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": job.UID, "resourceVersion": job.ResourceVersion, "finalizers": others}})
		if err != nil {
			return err
		}
		_, err = k.jobs.Jobs(v1alpha1.HooksNamespace).Patch(ctx, job.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			problems = append(problems, fmt.Errorf("removing the finalizer of Job %s: %w", job.Name, err))
		}
		k.readAt = time.Time{}
	}
	return errors.Join(problems...)
}
