package hook

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
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
