package preflight_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
)

func healthJobScenes() []scene {
	taint := func(key, value string, effect corev1.TaintEffect, nodes ...string) func(*preflight.Facts) {
		return func(f *preflight.Facts) {
			for _, name := range nodes {
				node(f, name).Spec.Taints = append(node(f, name).Spec.Taints, corev1.Taint{Key: key, Value: value, Effect: effect})
			}
		}
	}
	const own = "node-role.kubernetes.io/control-plane"
	all, planes, workers := []string{"cp-1", "cp-2", "cp-3", "worker-1", "worker-2"}, []string{"cp-1", "cp-2", "cp-3"}, []string{"worker-1", "worker-2"}
	cordon := func(nodes ...string) func(*preflight.Facts) {
		return func(f *preflight.Facts) {
			for _, name := range nodes {
				node(f, name).Spec.Unschedulable = true
				taint("node.kubernetes.io/unschedulable", "", corev1.TaintEffectNoSchedule, name)(f)
			}
		}
	}
	windows := func(f *preflight.Facts) {
		n := machine("win-1", false)
		n.Status.NodeInfo.OperatingSystem = "windows"
		f.Nodes = append(f.Nodes, n)
	}
	refused := func(f *preflight.Facts) {
		f.HealthJob = &preflight.Refusal{Kind: "Pod", Message: `pods "x" is forbidden: exceeded quota: few, requested: pods=1, used: pods=9, limited: pods=9`}
	}
	const noSchedule, noExecute = corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute
	const block, warn, unsupported = "Block health-job Job/kube-system/upgrade-health-check", "Warn health-job Job/kube-system/upgrade-health-check", "Warn unsupported"
	return []scene{
		{check: "health-job", name: "no node takes it", alter: taint("dedicated", "shop", noSchedule, all...), want: []string{block}},
		{check: "health-job", name: "nor another effect", alter: then(
			taint("dedicated", "", noExecute, workers...), taint("CriticalAddonsOnly", "true", noSchedule, planes...)), want: []string{block}},
		{check: "health-job", name: "60 seconds", alter: to("v1.36.3", "v1.37.2", taint("dedicated", "shop", noSchedule, all...)), want: []string{block}},
		{check: "health-job", name: "a control plane takes it", alter: then(taint("dedicated", "", noSchedule, workers...), taint(own, "", noSchedule, planes...))},
		{check: "health-job", name: "another value than the tolerated one", alter: then(taint("dedicated", "", noSchedule, workers...), taint(own, "yes", noSchedule, planes...)), want: []string{block}},
		{check: "health-job", name: "only cordoned nodes would", alter: then(taint("dedicated", "", noSchedule, planes...), cordon(workers...)), want: []string{block}},
		{check: "health-job", name: "kubeadm creates none where all are cordoned", alter: cordon(all...)},
		{check: "health-job", name: "a preference", alter: taint("dedicated", "", corev1.TaintEffectPreferNoSchedule, all...)},
		{check: "health-job", name: "nodes have just become Ready", alter: taint("node.kubernetes.io/not-ready", "", noSchedule, all...)},
		{check: "health-job", name: "workers are not Ready", alter: then(taint("node.kubernetes.io/unreachable", "", noSchedule, workers...),
			taint("dedicated", "", noSchedule, planes...), func(f *preflight.Facts) {
				unready(f, "worker-1")
				unready(f, "worker-2")
			}), want: []string{block}},
		{check: "health-job", name: "one comes back", alter: then(taint("dedicated", "", noSchedule, all...), func(f *preflight.Facts) {
			upgrade(f, "worker-1").Status.Step = v1alpha1.StepRebooting
		})},
		{check: "health-job", name: "a Windows node may take it", alter: windows, want: []string{warn, unsupported}},
		{check: "health-job", name: "only a Windows node takes it", alter: then(windows, taint("dedicated", "", noSchedule, all...)), want: []string{warn, unsupported}},
		{check: "health-job", name: "a Windows node with a taint", alter: then(windows, taint("os", "windows", noSchedule, "win-1")), want: []string{unsupported}},
		{check: "health-job", name: "the API server refuses it", alter: refused, want: []string{warn}},
		{check: "health-job", name: "kubeadm upgrade apply has run", alter: then(refused, taint("dedicated", "", noSchedule, all...), func(f *preflight.Facts) {
			upgrade(f, "cp-1").Status.Versions.Kubeadm = "v1.35.4"
		})},
		{check: "health-job", name: "only a reboot", alter: then(refused, taint("dedicated", "", noSchedule, all...), func(f *preflight.Facts) { reboots(f, "cp-1") })},
	}
}

// The Job is as kubeadm 1.35 creates it.
func TestHealthJob(t *testing.T) {
	f := cluster(3, 0)
	f.KubeadmConfig.ImageRepository = "registry.example/k8s"
	job, err := json.Marshal(preflight.HealthJob(*f, time.UnixMilli(1795376960739)))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"metadata":{"name":"upgrade-health-check-1795376960739","namespace":"kube-system"},"spec":{"activeDeadlineSeconds":20,"backoffLimit":0,` +
		`"template":{"metadata":{},"spec":{"containers":[{"name":"upgrade-health-check","image":"registry.example/k8s/pause:3.10.1","args":["-v"],"resources":{}}],` +
		`"restartPolicy":"Never","securityContext":{"runAsUser":999,"runAsGroup":999,"runAsNonRoot":true},` +
		`"tolerations":[{"key":"node-role.kubernetes.io/control-plane","effect":"NoSchedule"}]}},"ttlSecondsAfterFinished":20},"status":{}}`
	if diff := cmp.Diff(want, string(job)); diff != "" {
		t.Errorf("job (-want +got):\n%s", diff)
	}
	f.Upgrade.Spec.Version, f.KubeadmConfig = "v1.99.0", nil // the newest that is known
	if image := preflight.HealthJob(*f, now).Spec.Template.Spec.Containers[0].Image; image != "registry.k8s.io/pause:3.10.2" {
		t.Errorf("image %s", image)
	}
	reboots(f, "cp-1")
	if preflight.HealthJob(*f, now) != nil {
		t.Error("a reboot has a Job")
	}
}
