//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// What the workers have beside what every node has.
const (
	lateResource = "lab.example.com/gpu"
	lateDriver   = "late.example.com"
	lateDevices  = 8
	// lateFile of a node says how late its device plugin and its CSI driver register after each start of their pod.
	lateFile = "/etc/lab-late"
)

// lateParts are a device plugin and a CSI driver, as one DaemonSet, and a DaemonSet whose pod is not Ready for 90 seconds
// after each start, where the node says so.
const lateParts = `
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: {name: ` + lateDriver + `}
spec: {attachRequired: false}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: plugin, namespace: default}
spec:
  selector: {matchLabels: {app: plugin}}
  template:
    metadata: {labels: {app: plugin}}
    spec:
      affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: node-role.kubernetes.io/control-plane, operator: DoesNotExist}]}]}}}
      tolerations: [{operator: Exists}]
      terminationGracePeriodSeconds: 1
      containers:
        - name: plugin
          image: kubectl-upgrade.dev/lab-late:dev
          imagePullPolicy: IfNotPresent
          env:
            - {name: DELAY_FILE, value: /host` + lateFile + `}
            - {name: RESOURCE, value: ` + lateResource + `}
            - {name: COUNT, value: "8"}
            - {name: DRIVER, value: ` + lateDriver + `}
            - {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
          volumeMounts:
            - {name: kubelet, mountPath: /var/lib/kubelet}
            - {name: etc, mountPath: /host/etc, readOnly: true}
      volumes:
        - {name: kubelet, hostPath: {path: /var/lib/kubelet}}
        - {name: etc, hostPath: {path: /etc}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: slow, namespace: default}
spec:
  selector: {matchLabels: {app: slow}}
  template:
    metadata: {labels: {app: slow}}
    spec:
      nodeSelector: {lab-slow: "true"}
      tolerations: [{operator: Exists}]
      terminationGracePeriodSeconds: 1
      containers:
        - name: web
          image: kubectl-upgrade.dev/lab-web:dev
          imagePullPolicy: IfNotPresent
          readinessProbe: {httpGet: {path: /, port: 8080}, initialDelaySeconds: 90, periodSeconds: 1}
`

// wholeCase is a reboot of w1, which goes first, and of w2.
type wholeCase struct {
	name string
	late string // what lateFile says; empty: the node has none
	// prepare changes the cluster before the upgrade, and undo changes it back.
	prepare, undo func(*testCluster, *testing.T)
	strategy      string // beside settleSeconds
	// step is where w1 waits, and lacks matches its message. Then act goes on: what is missing comes by itself if it is nil.
	step  v1alpha1.Step
	lacks string
	act   func(*testCluster, *testing.T)
}

var wholeCases = []wholeCase{
	{
		name: "late", late: "90s", step: v1alpha1.StepSettling,
		lacks: "^" + lateResource + " 0 of 8; driver " + lateDriver + "$",
	},
	{
		name: "never", late: "never", strategy: "whole: {timeoutSeconds: 60}", step: v1alpha1.StepFailed,
		lacks: "^not back 1m0s after the settle time: " + lateResource + " 0 of 8; driver " + lateDriver + "$",
		act: func(c *testCluster, t *testing.T) {
			if err := c.waits("w2"); err != nil {
				t.Errorf("while w1 has failed: %v", err)
			}
			c.checkStatus(t, "NotWhole", lateResource)
			c.registers(t, "w1", "")
			c.registers(t, "w2", "")
			c.must(t)(c.Kube(c.ctx, "-n", "default", "delete", "pod", "-l", "app=plugin", "--field-selector", "spec.nodeName=w1"))
		},
	},
	{
		name: "ignored", late: "never", strategy: "whole: {resources: Ignore, drivers: Ignore}",
	},
	{
		name: "daemonset", step: v1alpha1.StepSettling, lacks: "^DaemonSet default/slow$",
		prepare: func(c *testCluster, t *testing.T) {
			c.must(t)(c.Kube(c.ctx, "label", "node", "w1", "lab-slow=true"))
			c.eventually(t, 5*time.Minute, "the slow pod is Ready", func() error { return c.slowReady() })
		},
		undo: func(c *testCluster, t *testing.T) { c.must(t)(c.Kube(c.ctx, "label", "node", "w1", "lab-slow-")) },
	},
	{
		name: "taint", step: v1alpha1.StepObserving, lacks: "taint lab.example.com/not-yet:NoSchedule$",
		prepare: func(c *testCluster, t *testing.T) { go c.taintOnReturn(t) },
		act: func(c *testCluster, t *testing.T) {
			if err := c.waits("w2"); err != nil {
				t.Errorf("while w1 is tainted: %v", err)
			}
			node, err := c.kube.CoreV1().Nodes().Get(c.ctx, "w1", metav1.GetOptions{})
			if err != nil || node.Spec.Unschedulable {
				t.Errorf("w1 waits for its taint and is cordoned, or cannot be read: %v", err)
			}
			c.must(t)(c.Kube(c.ctx, "taint", "node", "w1", "lab.example.com/not-yet-"))
		},
	},
	{
		name: "removed", late: "never", step: v1alpha1.StepSettling, strategy: "whole: {resources: Ignore}",
		lacks: "^driver " + lateDriver + "; DaemonSet default/slow$",
		prepare: func(c *testCluster, t *testing.T) {
			c.must(t)(c.Kube(c.ctx, "label", "node", "w1", "lab-slow=true"))
			c.eventually(t, 5*time.Minute, "the slow pod is Ready", func() error { return c.slowReady() })
		},
		act: func(c *testCluster, t *testing.T) {
			c.must(t)(c.Kube(c.ctx, "-n", "default", "delete", "daemonset", "slow"))
			c.must(t)(c.Kube(c.ctx, "delete", "csidriver", lateDriver))
		},
	},
}

// TestWhole reboots two workers that have a device plugin, a CSI driver and a DaemonSet of which one comes late, never, or is
// removed meanwhile, and one that gets a taint. FAULT_CASES is a regular expression that selects cases: `make e2e-whole
// CASE=late`.
func TestWhole(t *testing.T) {
	selected := regexp.MustCompile(env("FAULT_CASES", ""))
	c := newCluster(t, 1, 2)
	c.apply(t, scenario.OpenSchedule)
	if _, err := c.StartWeb(c.ctx); err != nil { // the slow DaemonSet has its image
		t.Fatal(err)
	}
	c.loadLate(t)
	ran := 0
	for _, one := range wholeCases {
		if !selected.MatchString(one.name) {
			continue
		}
		if !t.Run(one.name, func(t *testing.T) { one.run(t, c) }) {
			return // the next one would begin with what this one left
		}
		ran++
	}
	c.report(t)(record.Promises(c.recorder.Moments(), 1))
	c.checkHours(t)
	c.checkReboots(t, map[string]int{"cp1": 0, "w1": ran, "w2": ran})
}

// loadLate loads the image of the device plugin and the driver into the nodes.
func (c *testCluster) loadLate(t *testing.T) {
	t.Helper()
	dir := filepath.Join(c.root, "bin")
	tar := filepath.Join(dir, "lab-late.tar")
	c.must(t)(c.Lab.Lab(c.ctx, "build-image", "--binary", filepath.Join(dir, "lab-late"), "--ref", "kubectl-upgrade.dev/lab-late:dev", "--out", tar))
	c.must(t)(c.Lab.Lab(c.ctx, "load-image", tar))
}

func (w wholeCase) run(t *testing.T, c *testCluster) {
	c.apply(t, lateParts)
	for _, name := range []string{"w1", "w2"} {
		c.eventually(t, 5*time.Minute, name+" has its devices and its driver", func() error { return c.hasLate(name) })
		c.registers(t, name, w.late)
	}
	if w.prepare != nil {
		w.prepare(c, t)
	}
	name := "whole-" + w.name
	c.apply(t, fmt.Sprintf(`
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: ClusterUpgrade
metadata: {name: %s}
spec:
  type: Reboot
  rebootPolicy: Always
  nodeSelector: {matchExpressions: [{key: node-role.kubernetes.io/control-plane, operator: DoesNotExist}]}
  strategy: {settleSeconds: 5, minReadySeconds: 0, groups: [{name: first, nodeSelector: {matchLabels: {kubernetes.io/hostname: w1}}}], %s}
`, name, w.strategy))
	if w.lacks != "" {
		c.eventually(t, 10*time.Minute, "w1 lacks "+w.lacks, func() error { return c.lacks("w1", w.step, w.lacks) })
	}
	if w.act != nil {
		w.act(c, t)
	}
	c.eventually(t, 15*time.Minute, name+" has succeeded", func() error { return c.succeeded(name) })
	for _, node := range []string{"w1", "w2"} {
		c.registers(t, node, "")
	}
	if w.undo != nil {
		w.undo(c, t)
	}
	// Where they were never to register, they do now.
	c.must(t)(c.Kube(c.ctx, "-n", "default", "delete", "pod", "-l", "app=plugin"))
}

// registers has a node's plugin and driver register that late from now on.
func (c *testCluster) registers(t *testing.T, node, late string) {
	t.Helper()
	command := "rm -f " + lateFile
	if late != "" {
		command = "echo " + late + " >" + lateFile
	}
	c.must(t)(c.Exec(c.ctx, node, "sh", "-c", command))
}

// hasLate returns an error unless the node has its devices and its driver.
func (c *testCluster) hasLate(name string) error {
	node, err := c.kube.CoreV1().Nodes().Get(c.ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if devices := node.Status.Allocatable[lateResource]; devices.Value() != lateDevices {
		return fmt.Errorf("%s has %s of %d devices", name, devices.String(), lateDevices)
	}
	drivers, err := c.kube.StorageV1().CSINodes().Get(c.ctx, name, metav1.GetOptions{})
	if err == nil && len(drivers.Spec.Drivers) != 1 {
		err = fmt.Errorf("%s has the drivers %v", name, drivers.Spec.Drivers)
	}
	return err
}

// lacks returns an error unless the node waits in that step, or has failed, with such a message.
func (c *testCluster) lacks(name string, step v1alpha1.Step, words string) error {
	node, err := c.ours.NodeUpgrades.Get(c.ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if reason, message := node.Status.Cause(); node.Status.Step != step || reason != v1alpha1.ReasonNotWhole || !regexp.MustCompile(words).MatchString(message) {
		return errors.New(describe(*node))
	}
	return nil
}

// waits returns an error if the node has begun, or is cordoned.
func (c *testCluster) waits(name string) error {
	upgrade, err := c.ours.NodeUpgrades.Get(c.ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	node, err := c.kube.CoreV1().Nodes().Get(c.ctx, name, metav1.GetOptions{})
	if err == nil && (node.Spec.Unschedulable || upgrade.Status.Step != v1alpha1.StepWaiting) {
		err = errors.New(describe(*upgrade))
	}
	return err
}

// slowReady returns an error unless the pod of the slow DaemonSet is Ready.
func (c *testCluster) slowReady() error {
	ready, err := c.Kube(c.ctx, "-n", "default", "get", "daemonset", "slow", "-o", "jsonpath={.status.desiredNumberScheduled} {.status.numberReady}")
	if err == nil && strings.TrimSpace(ready) != "1 1" {
		err = fmt.Errorf("desired and ready: %s", ready)
	}
	return err
}

// taintOnReturn taints w1 while it is out of service, as a controller does that lets no pod come before its agent runs.
func (c *testCluster) taintOnReturn(t *testing.T) {
	for c.ctx.Err() == nil {
		node, err := c.ours.NodeUpgrades.Get(c.ctx, "w1", metav1.GetOptions{})
		if err == nil && node.Status.Step == v1alpha1.StepRebooting {
			if _, err = c.Kube(c.ctx, "taint", "node", "w1", "lab.example.com/not-yet=:NoSchedule"); err == nil {
				return
			}
			t.Log(err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}
