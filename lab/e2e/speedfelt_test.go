//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/performance"
)

const feltText = "`make e2e-speed CASE=Felt KURED=PATH SUC=PATH`" + ` takes each of %d workers of the [lab](../README.md) to %[1]d patches, each time by another program, in turns and on an otherwise idle cluster. Out of service is from the cordon to the uncordon, as a watch from outside sees them: it is what people feel. Image and ` + "`kubeadm upgrade node`" + ` come before that for all. Each worker has one pod that takes 2 s to end.

- **kubectl-upgrade** has its defaults: ` + "`settleSeconds: %d`, `minReadySeconds: %d`" + `.
- **The script** is that of [a worker out of service](#real-nodes-a-worker-out-of-service), and waits for nothing but Ready.
- **kured** %s, ` + "`--period=5s --reboot-method=signal`" + `, without a lock release delay: it looks for the sentinel, which is set once the symlink points to the new image, and uncordons when its pod runs again.
- **system-upgrade-controller** %s: a Plan of one node with ` + "`drain`" + `, whose container points the symlink to the image and reboots; after the boot it starts a pod anew, which drains, finds the version merged, and ends; then the controller uncordons.`

// felt is a run that takes workers out of service by one program after the other.
type felt struct {
	*outageRun
	took map[string][]time.Duration
}

// The columns of the table, in the order in which a worker has its turns.
var feltBy = []string{"kubectl-upgrade, defaults", "bare script", "kured", "system-upgrade-controller"}

// TestSpeedFelt measures how long workers are out of service at default settings, beside other programs. KURED and SUC are the
// programs of kured and of system-upgrade-controller, KURED_VERSION and SUC_VERSION what they are.
func TestSpeedFelt(t *testing.T) {
	if os.Getenv("KURED") == "" || os.Getenv("SUC") == "" {
		t.Fatal("KURED and SUC have to be the paths of kured's and system-upgrade-controller's programs: make e2e-speed CASE=Felt KURED=… SUC=…")
	}
	f := &felt{outageRun: &outageRun{speed: newSpeed(t, len(feltBy))}, took: map[string][]time.Duration{}}
	f.script = &byHand{testCluster: f.testCluster, log: t.Logf}
	f.patchPolicy(t, `{"strategy":{"settleSeconds":null,"minReadySeconds":null}}`)
	f.installOthers(t)
	for round, version := 0, to; round < len(feltBy); round, version = round+1, nextPatch(t, version) {
		f.publish(t, version)
		f.one(t, version, "cp1")
		f.keepDNS(t)
		for i, worker := range f.workers() {
			f.awaitPods(t)
			by := feltBy[(i+round)%len(feltBy)]
			outage := f.by(t, by, version, worker)
			t.Logf("%s by %s: %s", worker, by, outage.Length())
			f.took[by] = append(f.took[by], outage.Length())
		}
	}
	f.writeFelt(t)
}

// by takes a worker to a version by a program.
func (f *felt) by(t *testing.T, program, version, worker string) record.Outage {
	t.Helper()
	switch program {
	case feltBy[0]:
		return f.one(t, version, worker)
	case feltBy[1]:
		return f.manually(t, version, worker)
	}
	if err := f.script.prepare(worker, version, "node"); err != nil {
		t.Fatal(err)
	}
	return f.outages(t, 1, func() {
		if program == feltBy[2] {
			f.must(t)(f.Kube(f.ctx, "label", "node", worker, "pool=kured"))
			f.must(t)(f.Exec(f.ctx, worker, "systemd-run", "--quiet", "sh", "-c", fmt.Sprintf(keptLink, imageName(version))))
			f.must(t)(f.Exec(f.ctx, worker, "touch", "/run/reboot-required"))
			defer func() { f.must(t)(f.Kube(f.ctx, "label", "node", worker, "pool-")) }()
		} else {
			f.apply(t, fmt.Sprintf(sucPlan, worker, version, imageName(version)))
			defer func() { f.must(t)(f.Kube(f.ctx, "-n", "system-upgrade", "delete", "plan", "to-"+worker)) }()
		}
		f.eventually(t, 10*time.Minute, worker+" is back in service", func() error { return f.backInService(worker, version) })
	})[0]
}

// backInService returns an error unless the worker has been cordoned and uncordoned since the recording began, and runs the version.
func (f *felt) backInService(worker, version string) error {
	node, err := f.kube.CoreV1().Nodes().Get(f.ctx, worker, metav1.GetOptions{})
	if err != nil {
		return err
	}
	outages, err := record.Outages(f.recorder.Moments())
	if err == nil && (len(outages) == 0 || node.Spec.Unschedulable || node.Status.NodeInfo.KubeletVersion != version) {
		err = fmt.Errorf("%d outages; unschedulable %t, kubelet %s", len(outages), node.Spec.Unschedulable, node.Status.NodeInfo.KubeletVersion)
	}
	return err
}

// keptLink points the symlink to an IMAGE until the node reboots. kured takes up to a minute before it looks for the sentinel
// first, and our agent would put the symlink back meanwhile, as that of an image that was not tried.
const keptLink = `while ln -sfn /opt/extensions/kubernetes/%s /etc/extensions/kubernetes.raw; do sleep 0.5; done`

// sucPlan is what takes one worker to a version: NAME VERSION IMAGE.
const sucPlan = `
apiVersion: upgrade.cattle.io/v1
kind: Plan
metadata: {name: to-%[1]s, namespace: system-upgrade}
spec:
  concurrency: 1
  version: %[2]s
  serviceAccountName: system-upgrade
  nodeSelector: {matchLabels: {kubernetes.io/hostname: %[1]s}}
  drain: {force: true}
  upgrade:
    image: kubectl-upgrade.dev/busybox:lab
    command: [/busybox, chroot, /host, sh, -euc]
    args: ["[ $(cat /usr/local/share/kubernetes-version) != %[2]s ] || exit 0; ln -sfn /opt/extensions/kubernetes/%[3]s /etc/extensions/kubernetes.raw; systemctl reboot; sleep 600"]
`

// sucManifest runs the controller with the rights of an administrator, as it drains by kubectl.
const sucManifest = `
apiVersion: v1
kind: Namespace
metadata: {name: system-upgrade}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: system-upgrade, namespace: system-upgrade}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: system-upgrade}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: system-upgrade, namespace: system-upgrade}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: system-upgrade-controller, namespace: system-upgrade}
spec:
  selector: {matchLabels: {app: suc}}
  template:
    metadata: {labels: {app: suc, upgrade.cattle.io/controller: system-upgrade-controller}}
    spec:
      serviceAccountName: system-upgrade
      nodeSelector: {node-role.kubernetes.io/control-plane: ""}
      tolerations: [{operator: Exists}]
      containers:
      - name: controller
        image: kubectl-upgrade.dev/suc:lab
        env:
        - {name: SYSTEM_UPGRADE_CONTROLLER_NAME, value: system-upgrade-controller}
        - {name: SYSTEM_UPGRADE_CONTROLLER_THREADS, value: "2"}
        - {name: SYSTEM_UPGRADE_CONTROLLER_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
        - {name: SYSTEM_UPGRADE_CONTROLLER_NODE_NAME, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
        - {name: SYSTEM_UPGRADE_JOB_BACKOFF_LIMIT, value: "99"}
        - {name: SYSTEM_UPGRADE_JOB_KUBECTL_IMAGE, value: kubectl-upgrade.dev/kubectl:lab}
        - {name: SYSTEM_UPGRADE_JOB_IMAGE_PULL_POLICY, value: IfNotPresent}
`

// installOthers installs kured and system-upgrade-controller.
func (f *felt) installOthers(t *testing.T) {
	t.Helper()
	busybox := strings.TrimSpace(f.must(t)(f.Lab.Lab(f.ctx, "packages", "busybox-static")))
	kubectl := filepath.Join(filepath.Dir(f.Kubeconfig), "bin", "kubectl")
	for name, program := range map[string]string{
		"kured": os.Getenv("KURED"), "suc": os.Getenv("SUC"), "kubectl": kubectl, "busybox": filepath.Join(busybox, "usr", "bin", "busybox"),
	} {
		image := filepath.Join(t.TempDir(), name+".tar")
		f.must(t)(f.Lab.Lab(f.ctx, "build-image", "--binary", program, "--ref", "kubectl-upgrade.dev/"+name+":lab", "--out", image))
		f.must(t)(f.Lab.Lab(f.ctx, "load-image", image))
	}
	f.apply(t, kuredManifest)
	f.apply(t, sucManifest)
	f.must(t)(f.Kube(f.ctx, "-n", "system-upgrade", "rollout", "status", "deployment/system-upgrade-controller", "--timeout", "3m"))
	f.eventually(t, 2*time.Minute, "Plans can be created", func() error { _, err := f.Kube(f.ctx, "get", "plans.upgrade.cattle.io", "-A"); return err })
}

func (f *felt) writeFelt(t *testing.T) {
	pace := v1alpha1.DefaultStrategy().Pace
	middle := []string{fmt.Sprintf("out of service, median of %d", len(feltBy)), ""}
	slowest, ratios := []string{"the slowest", ""}, []string{"to the script", "≤ 4.5 ×"}
	for _, by := range feltBy {
		middle = append(middle, seconds(median(f.took[by])))
		slowest = append(slowest, seconds(slices.Max(f.took[by])))
		ratios = append(ratios, ratio(median(f.took[by]), median(f.took[feltBy[1]])))
	}
	write(t, performance.Section{
		Name: "felt", Order: 5, Title: "Real nodes: what people feel",
		Text:   fmt.Sprintf(feltText, len(feltBy), *pace.SettleSeconds, *pace.MinReadySeconds, env("KURED_VERSION", ""), env("SUC_VERSION", "")),
		Tables: []performance.Table{{Columns: append([]string{"", "goal"}, feltBy...), Rows: [][]string{middle, slowest, ratios}}},
	})
}
