package hook

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// TestJobsOfOthers creates Jobs of other people, and updates their status as controllers do, in a
// cluster without a CronJob for hooks: nothing of ours refuses them. kubeadm makes such Jobs.
func TestJobsOfOthers(t *testing.T) {
	w := newWorld(t)
	w.must(w.admin.BatchV1().CronJobs(v1alpha1.HooksNamespace).Delete(t.Context(), "leave", metav1.DeleteOptions{}))
	create := func(namespace string) error {
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{GenerateName: "upgrade-health-check-"}, Spec: cronJob("any").Spec.JobTemplate.Spec}
		_, err := w.coordinator.BatchV1().Jobs(namespace).Create(t.Context(), job, metav1.CreateOptions{})
		return err
	}
	// Admission policies count a moment after they are created.
	for end := time.Now().Add(time.Minute); !isPolicy(create(v1alpha1.HooksNamespace)); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("a Job that is made from no CronJob: %v", create(v1alpha1.HooksNamespace))
		}
	}
	for _, namespace := range []string{"default", metav1.NamespaceSystem, v1alpha1.HooksNamespace} {
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}, Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "x"}},
		}}}}
		job, err := w.admin.BatchV1().Jobs(namespace).Create(t.Context(), job, metav1.CreateOptions{})
		w.must(err)
		now := metav1.Now()
		job.Status = batchv1.JobStatus{StartTime: &now, Active: 1}
		if _, err := w.admin.BatchV1().Jobs(namespace).UpdateStatus(t.Context(), job, metav1.UpdateOptions{}); err != nil {
			t.Errorf("namespace %s: %v", namespace, err)
		}
		if create(namespace) == nil {
			t.Errorf("the coordinator created a Job that is made from no CronJob, in %s", namespace)
		}
	}
}

// isPolicy reports whether the error is that of our admission policy.
func isPolicy(err error) bool {
	return err != nil && strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'kubectl-upgrade-hooks'")
}

// TestAnnotationsOfJobs has the coordinator tell hooks what no program should read as an option or a command: our
// admission policy refuses the Job, and the coordinator does not create it.
func TestAnnotationsOfJobs(t *testing.T) {
	w := newWorld(t)
	w.grant(w.config, "leave")
	from, err := w.admin.BatchV1().CronJobs(v1alpha1.HooksNamespace).Get(t.Context(), "leave", metav1.GetOptions{})
	w.must(err)
	turn := w.store(v1alpha1.HookRunning, "").Status.HookTurns[0]
	create := func(key, value string) error {
		job := newJob(from, &turn, &turn.Hooks[0])
		if key != "" {
			job.Spec.Template.Annotations[key] = value
		}
		_, err := w.coordinator.BatchV1().Jobs(v1alpha1.HooksNamespace).Create(t.Context(), job, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	for end := time.Now().Add(time.Minute); create("", "") != nil || create(NodeAnnotation, "--all") == nil; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("as it is: %v; --all: %v", create("", ""), create(NodeAnnotation, "--all"))
		}
	}
	for key, values := range map[string][]string{
		HookAnnotation: {"", "-x", "a b"}, WhenAnnotation: {"", "Now"}, UpgradeAnnotation: {"", "--all", "$(x)"}, NodeAnnotation: {"--all", "-l", "w1 w2", "w1;x", "w1/x"},
		VersionAnnotation: {"--all", "v1.34.5;x", "v1.34", "$(x)"}, FromAnnotation: {"v1.34.4$(x)", "`x`", "v1.34.4 x"}, ReleaseAnnotation: {"All"}, OutcomeAnnotation: {"-f", "a b"},
	} {
		for _, value := range values {
			if err := create(key, value); !isPolicy(err) || !strings.Contains(err.Error(), "annotation") {
				t.Errorf("%s: %q: %v", key, value, err)
			}
		}
	}
	for _, value := range []string{"", "v1.34.4", "v1.34.4-rc.1+k3s1"} {
		if err := create(FromAnnotation, value); err != nil {
			t.Errorf("from %q: %v", value, err)
		}
	}
}

// TestNoOptions checks that no Job is made of which an annotation might be read as an option, or expanded by a shell.
func TestNoOptions(t *testing.T) {
	run := v1alpha1.HookRun{Name: "leave", When: v1alpha1.BeforeNode}
	for node, harmless := range map[string]bool{"w1": true, "ip-10-0-0-1.eu": true, "": true, "--all": false, "$(x)": false, "w1 w2": false, "w1\nw2": false} {
		turn := v1alpha1.HookTurn{Upgrade: v1alpha1.UpgradeReference{Name: "v1.34.5-2"}, Version: "v1.34.5", From: "v1.34.4+k3s1", Node: node}
		if err := check(cronJob("leave"), &turn, &run); (err == nil) != harmless {
			t.Errorf("node %q: %v", node, err)
		}
	}
}

// TestPolicyWithTurns deletes the UpgradePolicy while hooks run, which would not end without it: that is refused with what to
// wait for, also for administrators. It goes once they have ended; and with its CRD at any time, as in an uninstall.
func TestPolicyWithTurns(t *testing.T) {
	w := newWorld(t)
	remove := func(options ...string) error {
		err := w.ours.UpgradePolicies.Delete(t.Context(), v1alpha1.PolicyName, metav1.DeleteOptions{DryRun: options})
		return err
	}
	w.store(v1alpha1.HookRunning, "")
	for end := time.Now().Add(time.Minute); remove(metav1.DryRunAll) == nil; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a policy is deleted while the hook before w1 runs")
		}
	}
	for _, state := range []v1alpha1.HookState{v1alpha1.HookPending, v1alpha1.HookRunning} {
		w.store(state, "")
		if err := remove(); err == nil || !strings.Contains(err.Error(), "hooks around node w1 have not ended") {
			t.Fatalf("%s: %v", state, err)
		}
	}
	w.store(v1alpha1.HookSucceeded, "")
	w.must(remove(metav1.DryRunAll))
	w.store(v1alpha1.HookRunning, "")
	if out, err := apitest.Kubectl(t, w.config, "delete", "crd", "upgradepolicies.kubectl-upgrade.dev", "--timeout=1m").CombinedOutput(); err != nil {
		t.Fatalf("the uninstall: %v\n%s", err, out)
	}
	apitest.InstallCRDs(t, w.config) // other tests use this API server, too
}
