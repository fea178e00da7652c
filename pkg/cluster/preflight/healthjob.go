package preflight

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// healthJobName is how the names of kubeadm's Jobs begin.
const healthJobName = "upgrade-health-check"

// Refusal is what the API server says to an object of kubeadm's that it would not take.
type Refusal struct {
	Kind    string // Job or Pod
	Message string // the API server's
}

// HealthJob returns the Job that kubeadm of the upgrade's version creates in kube-system before `kubeadm upgrade apply`
// changes anything, as at that time (createJob in cmd/kubeadm/app/phases/upgrade/health.go). Nil: this upgrade runs no
// `kubeadm upgrade apply` any more.
func HealthJob(f Facts, at time.Time) *batchv1.Job {
	c := newChecker(f)
	if !c.appliesKubeadm() {
		return nil
	}
	release := releaseOf(c.to)
	lasts := int64((release.jobTimeout + 5*time.Second).Seconds())
	var config ClusterConfiguration
	if c.KubeadmConfig != nil {
		config = c.KubeadmConfig.ClusterConfiguration
	}
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: clusterstate.KubeadmNamespace, Name: fmt.Sprintf("%s-%d", healthJobName, at.UnixMilli())},
		Spec: batchv1.JobSpec{
			BackoffLimit:            ptr.To[int32](0),
			TTLSecondsAfterFinished: ptr.To(int32(lasts)), //nolint:gosec // a minute or so
			ActiveDeadlineSeconds:   ptr.To(lasts),
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy:   corev1.RestartPolicyNever,
				SecurityContext: &corev1.PodSecurityContext{RunAsUser: ptr.To[int64](999), RunAsGroup: ptr.To[int64](999), RunAsNonRoot: ptr.To(true)},
				Tolerations:     []corev1.Toleration{{Key: clusterstate.ControlPlaneLabel, Effect: corev1.TaintEffectNoSchedule}},
				Containers:      []corev1.Container{{Name: healthJobName, Image: config.repository() + "/pause:" + release.pause, Args: []string{"-v"}}},
			}},
		},
	}
}

// releaseOf returns what the version's kubeadm brings, or what the newest one that is known does.
func releaseOf(v version.Version) kubeadmRelease {
	if release, read := kubeadmReleases[v.Minor]; read {
		return release
	}
	return kubeadmReleases[slices.Max(slices.Collect(maps.Keys(kubeadmReleases)))]
}

// checkHealthJob finds why kubeadm's Job would not be done in time.
func (c *checker) checkHealthJob() {
	if !c.appliesKubeadm() {
		return
	}
	add := func(level v1alpha1.FindingLevel, advice, format string, args ...any) {
		begin := fmt.Sprintf("kubeadm upgrade apply %s waits %.0f seconds for a Job in kube-system", c.to, releaseOf(c.to).jobTimeout.Seconds())
		c.add(v1alpha1.Finding{ID: "health-job", Level: level, Object: kubeadmObject("Job", healthJobName), Advice: advice, Message: begin + fmt.Sprintf(format, args...)})
	}
	if c.HealthJob != nil {
		add(v1alpha1.LevelWarn, "", ", and the API server refuses its %s: %.700s.", c.HealthJob.Kind, sentence(c.HealthJob.Message))
	}
	tainted, windows, free := c.jobNodes()
	const issue = "where it may take longer (https://github.com/kubernetes/kubeadm/issues/3282)"
	switch {
	case len(windows) > 0 && len(free) > 0:
		add(v1alpha1.LevelWarn, "Cordon them until the first control plane is upgraded: kubectl cordon -l kubernetes.io/os=windows.",
			", which may run on a Windows node, %s: %s.", issue, nodeNames(windows))
	case len(windows) > 0:
		add(v1alpha1.LevelWarn, "", ", which only Windows nodes take, %s: %s.", issue, nodeNames(windows))
	case len(free) == 0 && len(tainted) > 0:
		add(v1alpha1.LevelBlock, "", ", and no node takes its pod: each one that is not cordoned has a taint that the pod does not tolerate (%s).", taintsOf(tainted))
	}
}

// jobNodes returns the schedulable nodes by what becomes of kubeadm's Job there. Where there is none, kubeadm creates no Job.
// A node that an upgrade has out of service comes back.
func (c *checker) jobNodes() (tainted, windows, free []*node) {
	for _, n := range c.all {
		away := n.isAway()
		switch {
		case n.Spec.Unschedulable && !away:
		case len(n.repels()) > 0 && !away:
			tainted = append(tainted, n)
		case n.Node.Status.NodeInfo.OperatingSystem == windowsOS:
			windows = append(windows, n)
		default:
			free = append(free, n)
		}
	}
	return tainted, windows, free
}

// windowsOS is what Windows nodes report as their operating system.
const windowsOS = "windows"

// repels returns the keys of the node's taints that kubeadm's Job does not tolerate: it tolerates that of control planes. Kubernetes
// removes those of nodes that are not Ready.
func (n *node) repels() (keys []string) {
	for _, taint := range n.Spec.Taints {
		own := taint.Key == clusterstate.ControlPlaneLabel && taint.Value == "" && taint.Effect == corev1.TaintEffectNoSchedule
		passes := n.ready() && (taint.Key == corev1.TaintNodeNotReady || taint.Key == corev1.TaintNodeUnreachable)
		if !own && !passes && taint.Effect != corev1.TaintEffectPreferNoSchedule {
			keys = append(keys, taint.Key)
		}
	}
	return keys
}

// taintsOf returns the first few nodes with the taints of each.
func taintsOf(list []*node) string {
	var out []string
	for _, n := range list {
		out = append(out, fmt.Sprintf("%s: %s", n.name, strings.Join(n.repels(), " and ")))
	}
	return names(out)
}
