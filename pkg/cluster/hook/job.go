package hook

import (
	"fmt"
	"maps"
	"regexp"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// Label marks the Jobs of hooks, with the hook's name. Finalizer keeps them.
const (
	Label     = v1alpha1.Group + "/hook"
	Finalizer = v1alpha1.Group + "/hook"
)

// The annotations of a Job's pod. The CronJob's pod reads them by the downward API.
const (
	HookAnnotation    = v1alpha1.Group + "/hook"    // the hook's name
	WhenAnnotation    = v1alpha1.Group + "/when"    // the hook's point, such as BeforeNode
	UpgradeAnnotation = v1alpha1.Group + "/upgrade" // the ClusterUpgrade's name
	VersionAnnotation = v1alpha1.Group + "/version" // the version that it brings; empty for a Reboot, or new certificates
	FromAnnotation    = v1alpha1.Group + "/from"    // the version before
	NodeAnnotation    = v1alpha1.Group + "/node"    // the Node's name; empty for the whole upgrade
	ReleaseAnnotation = v1alpha1.Group + "/release" // ControlPlane or Node; empty for the whole upgrade
	OutcomeAnnotation = v1alpha1.Group + "/outcome" // how the turn ended; empty before
)

// annotations tell a Job's pod what it is about.
func annotations(t *v1alpha1.HookTurn, run *v1alpha1.HookRun) map[string]string {
	return map[string]string{
		HookAnnotation: run.Name, WhenAnnotation: string(run.When), UpgradeAnnotation: t.Upgrade.Name, VersionAnnotation: t.Version,
		FromAnnotation: t.From, NodeAnnotation: t.Node, ReleaseAnnotation: string(t.Release), OutcomeAnnotation: string(t.Outcome),
	}
}

// newJob returns the Job of a hook.
func newJob(from *batchv1.CronJob, t *v1alpha1.HookTurn, run *v1alpha1.HookRun) *batchv1.Job {
	template := from.Spec.JobTemplate.DeepCopy()
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Name: run.Job, Namespace: v1alpha1.HooksNamespace, Labels: map[string]string{}, Annotations: map[string]string{"cronjob.kubernetes.io/instantiate": "manual"},
		Finalizers: []string{Finalizer},
		// Without blockOwnerDeletion, which takes a right on CronJobs.
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "CronJob", Name: from.Name, UID: from.UID, Controller: ptr.To(true)}},
	}, Spec: template.Spec}
	maps.Copy(job.Labels, template.Labels)
	maps.Copy(job.Annotations, template.Annotations)
	job.Labels[Label] = run.Name
	if job.Spec.Template.Annotations == nil {
		job.Spec.Template.Annotations = map[string]string{}
	}
	maps.Copy(job.Spec.Template.Annotations, annotations(t, run))
	limit := int64(run.TimeoutSeconds)
	if own := job.Spec.ActiveDeadlineSeconds; own != nil {
		limit = min(limit, *own)
	}
	job.Spec.ActiveDeadlineSeconds = &limit
	return job
}

// state returns what has come of a Job, and when it ended. Nil: it has not.
func state(job *batchv1.Job) (one clusterstate.HookJob, ended *time.Time) {
	one = clusterstate.HookJob{UID: string(job.UID)}
	for _, c := range job.Status.Conditions {
		if c.Status != corev1.ConditionTrue || c.Type != batchv1.JobComplete && c.Type != batchv1.JobFailed {
			continue
		}
		one.Ended, one.Succeeded = true, c.Type == batchv1.JobComplete
		if !one.Succeeded {
			one.Reason, one.Message = c.Reason, c.Message
		}
		return one, &c.LastTransitionTime.Time
	}
	if job.DeletionTimestamp != nil {
		one.Deleted = true
		return one, &job.DeletionTimestamp.Time
	}
	return one, nil
}

// refusal is why no Job may be made, until a person acts.
type refusal struct{ why string }

func (r *refusal) Error() string { return r.why }

func refuse(format string, args ...any) error { return &refusal{fmt.Sprintf(format, args...)} }

// check returns why no Job may be made from the CronJob.
func check(from *batchv1.CronJob, t *v1alpha1.HookTurn, run *v1alpha1.HookRun) error {
	switch {
	case from.DeletionTimestamp != nil:
		return refuse("CronJob %s is being deleted: create it again", from.Name)
	case from.Spec.Suspend == nil || !*from.Spec.Suspend:
		return refuse("CronJob %s also runs by its schedule: set its spec.suspend to true", from.Name)
	}
	for key, value := range annotations(t, run) {
		if !harmless.MatchString(value) {
			return refuse("its Job would have the annotation %s: %q, in which a program may read an option or a command", key, value)
		}
	}
	return nil
}

// harmless matches names of objects, versions and words of ours: nothing that begins an option, or that a shell
// expands. The admission policy kubectl-upgrade-hooks says more closely what each annotation may be.
var harmless = regexp.MustCompile(`^([0-9A-Za-z][-+.0-9A-Za-z]*)?$`)
