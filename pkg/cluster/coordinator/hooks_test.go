package coordinator_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/hook"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// jobs end Jobs of hooks, as the Job controller does.
type jobs struct {
	sync.Mutex
	*cluster
	fails map[string]bool // hooks whose Jobs fail
	order []string        // what ran, such as "leave w1"
}

// startJobs ends each Job a moment after it was created, until the test ends.
func (c *cluster) startJobs() *jobs {
	j := &jobs{cluster: c, fails: map[string]bool{}}
	var done sync.WaitGroup
	done.Go(func() {
		for c.Context().Err() == nil {
			time.Sleep(200 * time.Millisecond)
			j.endAll(c.Context())
		}
	})
	c.Cleanup(done.Wait)
	return j
}

func (j *jobs) endAll(ctx context.Context) {
	list, err := j.kube.BatchV1().Jobs(v1alpha1.HooksNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	j.Lock()
	defer j.Unlock()
	for i := range list.Items {
		job := &list.Items[i]
		if len(job.Status.Conditions) > 0 {
			continue
		}
		about := job.Spec.Template.Annotations
		name, now := about[hook.HookAnnotation], metav1.Now()
		ends := batchv1.JobComplete
		if j.fails[name] {
			ends = batchv1.JobFailed
		} else {
			job.Status.CompletionTime, job.Status.Succeeded = &now, 1
		}
		job.Status.StartTime, job.Status.UncountedTerminatedPods = &now, &batchv1.UncountedTerminatedPods{}
		before := map[batchv1.JobConditionType]batchv1.JobConditionType{batchv1.JobComplete: batchv1.JobSuccessCriteriaMet, batchv1.JobFailed: batchv1.JobFailureTarget}[ends]
		for _, kind := range []batchv1.JobConditionType{before, ends} {
			job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue, Reason: "Test", Message: "it ended", LastTransitionTime: now})
		}
		if _, err := j.kube.BatchV1().Jobs(job.Namespace).UpdateStatus(ctx, job, metav1.UpdateOptions{}); err == nil {
			j.order = append(j.order, strings.Join(strings.Fields(name+" "+about[hook.NodeAnnotation]+" "+about[hook.OutcomeAnnotation]), " "))
		}
	}
}

func (j *jobs) ran() []string {
	j.Lock()
	defer j.Unlock()
	return slices.Clone(j.order)
}

func (j *jobs) setFails(name string, fails bool) {
	j.Lock()
	defer j.Unlock()
	j.fails[name] = fails
}

// TestHooks checks that Jobs are made from CronJobs around each node and the upgrade, in their order,
// while two coordinators run; that one which fails holds the other node; and that a retry runs it again.
func TestHooks(t *testing.T) {
	c := newCluster(t, "w1", "w2")
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "x"}}}}
	_, err := c.kube.BatchV1().CronJobs(v1alpha1.HooksNamespace).Create(t.Context(), &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: "any"}, Spec: batchv1.CronJobSpec{
		Schedule: "0 0 1 1 *", Suspend: ptr.To(true), JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: template}},
	}}, metav1.CreateOptions{})
	c.must(err)
	for command := range strings.SplitSeq(hook.Grant("any"), " && ") {
		if out, err := apitest.Kubectl(t, c.config, strings.Fields(command)[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
	c.policy(func(p *v1alpha1.UpgradePolicy) {
		p.Spec.Automatic = nil
		p.Spec.Strategy.MaxUnavailable = nil
		for name, when := range map[string]v1alpha1.HookPoint{"prepare": v1alpha1.BeforeUpgrade, "leave": v1alpha1.BeforeNode, "join": v1alpha1.AfterNode, "report": v1alpha1.AfterUpgrade} {
			p.Spec.Hooks = append(p.Spec.Hooks, v1alpha1.Hook{Name: name, When: when, CronJobName: "any"})
		}
	})
	j := c.startJobs()
	j.setFails("join", true)
	c.startCoordinator("one")
	c.startCoordinator("two")
	c.startAgentWith("w1", requiresReboot)
	c.startAgentWith("w2", requiresReboot)
	c.schedule("always", func(*v1alpha1.MaintenanceSchedule) {})
	create := func(name string, retryOf *v1alpha1.RetriedUpgrade) {
		u := &v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.ClusterUpgradeSpec{Type: v1alpha1.TypeReboot, RetryOf: retryOf}}
		_, err := c.ours.ClusterUpgrades.Create(t.Context(), u, metav1.CreateOptions{})
		c.must(err)
	}
	create("first", nil)
	c.awaitReason(v1alpha1.ReasonHookFailed)
	if got, want := j.ran(), []string{"prepare", "leave w1", "join w1 Succeeded"}; !slices.Equal(got, want) {
		t.Errorf("before the retry: %q, want %q", got, want)
	}
	if out := c.outages.nodes(); slices.Contains(out, "w2") {
		t.Error("w2 went out of service after a hook had failed")
	}
	j.setFails("join", false)
	time.Sleep(1100 * time.Millisecond) // times of objects have whole seconds
	create("second", &v1alpha1.RetriedUpgrade{Name: "first"})
	c.eventually(func() string {
		u, err := c.ours.ClusterUpgrades.Get(t.Context(), "second", metav1.GetOptions{})
		c.must(err)
		policy, err := c.ours.UpgradePolicies.Get(t.Context(), v1alpha1.PolicyName, metav1.GetOptions{})
		c.must(err)
		if u.Status.Outcome != v1alpha1.OutcomeSucceeded || len(policy.Status.HookTurns) > 0 {
			return fmt.Sprintf("%s, turns %+v", u.Status.Outcome, policy.Status.HookTurns)
		}
		return ""
	})
	want := []string{"prepare", "leave w1", "join w1 Succeeded", "join w1 Succeeded", "report Failed", "prepare", "leave w2", "join w2 Succeeded", "report Succeeded"}
	got := j.ran()
	slices.Sort(got[4:6]) // what follows the first upgrade and what precedes the second
	slices.Sort(want[4:6])
	if !slices.Equal(got, want) {
		t.Errorf("in all: %q, want %q", got, want)
	}
}
