//go:build e2e

package e2e

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// patch is an upgrade of some nodes to another patch: v1.34.4, except in a soak.
type patch struct {
	nodes  []string        // none: all
	all    bool            // the upgrade names no nodes, and nodes that join late follow it
	method v1alpha1.Method // "": Reboot
	broken string          // the kind of broken image, if any
	settle int             // seconds; 0: 4
	watch  int             // minReadySeconds
	guard  int             // seconds; 0: 60
}

// upgraded returns the nodes that the upgrade of this case upgrades, in their order.
func (f *faultRun) upgraded() []string {
	if f.patch != nil {
		return f.patch.nodes
	}
	return []string{"w1", "w2"}
}

// first returns the node whose steps the fault is injected at.
func (f *faultRun) first() string { return f.upgraded()[0] }

// beforePatch returns the nodes to v1.34.3, with a control plane that they may follow.
func (f *faultRun) beforePatch() error {
	if f.first() != "cp1" {
		if err := f.patchControlPlane(); err != nil {
			return err
		}
	}
	for _, node := range f.patch.nodes {
		if err := f.downgrade(node); err != nil {
			return err
		}
	}
	return nil
}

// patchControlPlane upgrades cp1 to v1.34.4, unless it runs that already.
func (f *faultRun) patchControlPlane() error {
	node, err := f.kube.CoreV1().Nodes().Get(f.ctx, "cp1", metav1.GetOptions{})
	if err != nil || node.Status.NodeInfo.KubeletVersion == to {
		return err
	}
	const name = "control-plane"
	steps := all(onLab("publish", to), awaitOffered, applied(text(patchManifest(name, to, patch{nodes: []string{"cp1"}}))))
	if err := steps(f); err != nil {
		return err
	}
	if err := waitUntil(10*time.Minute, func() error { return f.testCluster.succeeded(name) }); err != nil {
		return err
	}
	return all(kubectl("delete", "clusterupgrade", name), onLab("withdraw", to))(f)
}

// downgraded is what a person does to return a node to v1.34.3, which is no way that
// kubectl-upgrade has. On a control plane kubeadm returns the static pods too.
var downgraded = `rm -f /opt/extensions/kubernetes/kubernetes-` + to + `-* ` + kept + `kubernetes-` + to + `-* /opt/kubectl-upgrade/state/kubeadm-done.json
[ "$(cat /usr/local/share/kubernetes-version)" = ` + from + ` ] && exit
ln -sfn $(ls ` + kept + imageName(from) + ` /opt/extensions/kubernetes/` + imageName(from) + ` 2>/dev/null | head -n 1) /etc/extensions/kubernetes.raw
systemd-sysext refresh
[ ! -e /etc/kubernetes/manifests/kube-apiserver.yaml ] || kubeadm upgrade apply ` + from + ` --force --yes --certificate-renewal=false
systemctl restart kubelet`

// downgrade returns a node to v1.34.3, and waits until its new agent reports that.
func (f *faultRun) downgrade(node string) error {
	if _, err := f.Exec(f.ctx, node, "sh", "-ec", downgraded); err != nil {
		return err
	}
	_, _ = f.killAgent(f.ctx, node) // the new one reads its node at once
	return waitUntil(3*time.Minute, func() error {
		kubelet, err := f.kube.CoreV1().Nodes().Get(f.ctx, node, metav1.GetOptions{})
		if err != nil {
			return err
		}
		agent, err := f.ours.NodeUpgrades.Get(f.ctx, node, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if running := kubelet.Status.NodeInfo.KubeletVersion; running != from || agent.Status.Versions.Kubelet != from || agent.Status.Versions.NextBoot != from {
			return fmt.Errorf("%s: kubelet %s, %s", node, running, describe(*agent))
		}
		return nil
	})
}

// startPatch publishes the patch, and creates the upgrade.
func (f *faultRun) startPatch() error {
	publish := append([]string{"publish", to}, f.publish...)
	if f.patch.broken != "" {
		publish = append(publish, "--broken", f.patch.broken)
	}
	return all(onLab(publish...), awaitOffered, applied(text(patchManifest(f.id, to, *f.patch))))(f)
}

// awaitOffered waits until the coordinator has read that the patch is offered.
func awaitOffered(f *faultRun) error {
	time.Sleep(indexRead) // an earlier index may offer it with another digest
	return waitUntil(time.Minute, func() error {
		policy, err := f.ours.UpgradePolicies.Get(f.ctx, v1alpha1.PolicyName, metav1.GetOptions{})
		if err == nil && !slices.ContainsFunc(policy.Status.Offered, func(o v1alpha1.OfferedVersion) bool { return o.Version == to }) {
			err = errors.New("the policy does not offer " + to)
		}
		return err
	})
}

// patchManifest returns an upgrade of the patch's nodes, or of all. In the cases of TestFaults
// the image may be broken, and the guard gives it only a minute.
func patchManifest(name, version string, p patch) string {
	selector, guard := "", ""
	if len(p.nodes) > 0 {
		guard = fmt.Sprintf(", guardSeconds: %d", cmp.Or(p.guard, 60))
	}
	if len(p.nodes) > 0 && !p.all {
		nodes, _ := json.Marshal(p.nodes)
		selector = fmt.Sprintf("\n  nodeSelector: {matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: %s}]}", nodes)
	}
	return fmt.Sprintf(`
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: ClusterUpgrade
metadata: {name: %s}
spec:
  version: %s
  strategy: {method: %s, settleSeconds: %d, minReadySeconds: %d, drain: {timeoutSeconds: 600}%s}%s
`, name, version, cmp.Or(p.method, v1alpha1.MethodReboot), cmp.Or(p.settle, 4), p.watch, guard, selector)
}

// patched waits until the upgrade has succeeded, and checks that its nodes run the patch.
func patched(f *faultRun) error {
	if err := waitUntil(8*time.Minute, f.succeeded); err != nil {
		return err
	}
	for _, node := range f.patch.nodes {
		merged, err := f.Exec(f.ctx, node, "cat", "/usr/local/share/kubernetes-version")
		if err != nil {
			return err
		}
		if strings.TrimSpace(merged) != to {
			return fmt.Errorf("%s has merged %s, want %s", node, merged, to)
		}
	}
	return nil
}

// runsPatch returns the action that waits until a node runs the patch, and is in service.
func runsPatch(node string) action {
	return func(f *faultRun) error {
		return waitUntil(8*time.Minute, func() error {
			object, err := f.kube.CoreV1().Nodes().Get(f.ctx, node, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if running := object.Status.NodeInfo.KubeletVersion; running != to {
				return fmt.Errorf("%s runs %s, want %s", node, running, to)
			}
			return f.testCluster.at(node, v1alpha1.StepIdle)
		})
	}
}

// rolledBack waits until the guard has returned the first node to v1.34.3, and deletes the
// upgrade.
func rolledBack(f *faultRun) error {
	began := time.Now()
	if err := waitUntil(outOfService, func() error { return f.serves(f.id, f.first()) }); err != nil {
		return errors.New(f.late(began, outOfService, err.Error()))
	}
	got, err := f.statusOf(f.first())
	if err != nil {
		return err
	}
	f.said = fmt.Sprintf("%s %s: %s", f.first(), got.Reason, got.Message)
	if got.Reason != v1alpha1.ReasonRolledBack {
		return errors.New(f.said)
	}
	return all(deleteUpgrade, withoutUpgrade)(f)
}

// neverBegan returns the action that checks that a node was in service all the time.
func neverBegan(node string) action { //nolint:unparam // the cases say which node waits
	return func(f *faultRun) error {
		for _, m := range f.recorder.Moments() {
			var u v1alpha1.NodeUpgrade
			if m.Resource != v1alpha1.NodeUpgrades.Resource || m.Object.GetName() != node || m.Deleted {
				continue
			}
			if err := record.Convert(m, &u); err != nil {
				return err
			}
			if phase := u.Status.Step.Info().Phase; phase == v1alpha1.PhaseRevocable || phase == v1alpha1.PhaseCommitted {
				return fmt.Errorf("%s has begun: it was in the step %s", node, u.Status.Step)
			}
		}
		return nil
	}
}
