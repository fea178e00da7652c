//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
)

// kuredManifest runs kured on the nodes with the label pool=kured. It is kured's own manifest
// for --reboot-method=signal, with the rights that kured documents.
const kuredManifest = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: kured, namespace: kube-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: kured}
rules:
- {apiGroups: [""], resources: [nodes], verbs: [get, patch]}
- {apiGroups: [""], resources: [pods], verbs: [list, delete, get]}
- {apiGroups: [apps], resources: [daemonsets], verbs: [get, update]}
- {apiGroups: [""], resources: [pods/eviction], verbs: [create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: kured}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: kured}
subjects: [{kind: ServiceAccount, name: kured, namespace: kube-system}]
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: kured, namespace: kube-system}
spec:
  selector: {matchLabels: {name: kured}}
  template:
    metadata: {labels: {name: kured}}
    spec:
      serviceAccountName: kured
      hostPID: true
      nodeSelector: {pool: kured}
      volumes: [{name: sentinel, hostPath: {path: /run, type: Directory}}]
      containers:
      - name: kured
        image: kubectl-upgrade.dev/kured:lab
        args: [--reboot-sentinel=/sentinel/reboot-required, --reboot-method=signal, --period=5s]
        securityContext: {capabilities: {add: [KILL]}}
        env: [{name: KURED_NODE_ID, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]
        volumeMounts: [{mountPath: /sentinel, name: sentinel, readOnly: true}]
`

// beside is a cluster where kubectl-upgrade manages the pool pilot, and kured the pool kured.
type beside struct{ *testCluster }

// TestKuredBeside reboots one worker by kubectl-upgrade and another by kured, both at the same
// time, then exchanges them. KURED is the program of kured: `make e2e-kured KURED=PATH`.
func TestKuredBeside(t *testing.T) {
	c := beside{newCluster(t, 1, 2, "--update-engine")}
	image := filepath.Join(t.TempDir(), "kured.tar")
	c.must(t)(c.Lab.Lab(c.ctx, "build-image", "--binary", os.Getenv("KURED"), "--ref", "kubectl-upgrade.dev/kured:lab", "--out", image))
	c.must(t)(c.Lab.Lab(c.ctx, "load-image", image))
	c.patchPolicy(t, `{"nodeSelector":{"matchLabels":{"pool":"pilot"}},"automatic":[{"type":"Reboot"}]}`)
	c.move(t, "w1", "pilot")
	c.move(t, "w2", "kured")
	c.apply(t, kuredManifest)
	c.apply(t, scenario.OpenSchedule)
	c.startClient(t)

	t.Run("each reboots its own node", func(t *testing.T) { c.bothReboot(t, "w1", "w2") })
	c.must(t)(c.Kube(c.ctx, "delete", "clusterupgrades", "--all")) // at most one automatic Reboot a day
	c.move(t, "w1", "kured")
	c.move(t, "w2", "pilot")
	t.Run("and so when the nodes have changed pools", func(t *testing.T) { c.bothReboot(t, "w2", "w1") })
	t.Run("the web service answered every request", c.checkServed)
}

// move gives the node to a pool, and returns once kubectl-upgrade has taken it over or given
// it back.
func (c beside) move(t *testing.T, node, pool string) {
	t.Helper()
	c.must(t)(c.Kube(c.ctx, "label", "node", node, "--overwrite", "pool="+pool))
	want := metav1.ConditionTrue
	if pool != "pilot" {
		want = metav1.ConditionFalse
	}
	c.eventually(t, 3*time.Minute, node+" is in the pool "+pool, func() error { return c.managed(node, want) })
}

// bothReboot lets both workers ask for a reboot, and checks who reboots them: each once, and
// never both at the same time.
func (c beside) bothReboot(t *testing.T, ours, kureds string) {
	c.stopRecording()
	c.record()
	files := c.filesOf(t)[kureds]
	c.must(t)(c.Exec(c.ctx, kureds, "touch", "/run/reboot-required"))
	c.must(t)(c.Lab.Lab(c.ctx, "update-engine", ours, "need-reboot"))
	for _, node := range []string{ours, kureds} {
		c.eventually(t, 8*time.Minute, node+" was rebooted and is in service", func() error { return c.rebootedOnce(node) })
	}
	c.checkReboots(t, map[string]int{"cp1": 0, ours: 1, kureds: 1})
	c.report(t)(c.neverTogether())
	if diff := cmp.Diff(files, c.filesOf(t)[kureds]); diff != "" {
		t.Errorf("%s is not managed, and files on it changed (-before +after):\n%s", kureds, diff)
	}
	for node, want := range map[string]bool{ours: true, kureds: false} {
		got := false
		if err := record.Walk(c.recorder.Moments(), func(_ record.Moment, s record.State) { got = got || s.Nodes[node].OurCordon }); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%s was cordoned by kubectl-upgrade: %t, want %t", node, got, want)
		}
	}
}

// rebootedOnce returns an error unless the node was rebooted since the recording began, and
// is in service again, without kured's lock.
func (c beside) rebootedOnce(name string) error {
	boots, err := record.BootIDs(c.recorder.Moments())
	if err != nil {
		return err
	}
	if len(boots[name]) < 2 {
		return fmt.Errorf("%s was not rebooted", name)
	}
	node, err := c.kube.CoreV1().Nodes().Get(c.ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if node.Spec.Unschedulable {
		return fmt.Errorf("%s is cordoned", name)
	}
	kured, err := c.kube.AppsV1().DaemonSets("kube-system").Get(c.ctx, "kured", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if lock := kured.Annotations["weave.works/kured-node-lock"]; lock != "" {
		return fmt.Errorf("kured's lock is held: %s", lock)
	}
	return nil
}

// neverTogether returns the moments at which two nodes were cordoned or NotReady.
func (c beside) neverTogether() (broken []record.Broken, err error) {
	err = record.Walk(c.recorder.Moments(), func(m record.Moment, s record.State) {
		if down := s.Down(); len(down) > 1 {
			broken = append(broken, record.Broken{Seen: m.Seen, Message: fmt.Sprintf("revision %d: %v are down together", m.Revision, down)})
		}
	})
	return broken, err
}
