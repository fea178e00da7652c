//go:build e2e

package e2e

import (
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// onLab returns the action of a command of the lab, such as kill w1.
func onLab(args ...string) action {
	return func(f *faultRun) error { _, err := f.Lab.Lab(f.ctx, args...); return err }
}

// kubectl returns the action of a kubectl command. It is retried for a while: the API server may
// be on its way back.
func kubectl(args ...string) action {
	return func(f *faultRun) error {
		return waitUntil(time.Minute, func() error { _, err := f.Kube(f.ctx, args...); return err })
	}
}

// onNode returns the action of a shell script on a node.
func onNode(node, script string) action {
	return func(f *faultRun) error { _, err := f.Exec(f.ctx, node, "sh", "-ec", script); return err }
}

// applied returns the action that applies a manifest.
func applied(manifest func() string) action {
	return func(f *faultRun) error { return f.KubeApply(f.ctx, manifest()) }
}

func text(s string) func() string { return func() string { return s } }

// all returns the action that does the actions one after the other.
func all(actions ...action) action {
	return func(f *faultRun) error {
		for _, do := range actions {
			if err := do(f); err != nil {
				return err
			}
		}
		return nil
	}
}

// tolerant returns the action without its error: a node that is booting runs no commands.
func tolerant(do action) action {
	return func(f *faultRun) error { _ = do(f); return nil }
}

// stuckBudget allows no eviction of the pod of Deployment stuck, which runs on w1.
const stuckBudget = `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: stuck, namespace: default}
spec: {minAvailable: 1, selector: {matchLabels: {app: stuck}}}
`

func (c *testCluster) block() error {
	_, err := c.Kube(c.ctx, "-n", "default", "rollout", "status", "deployment/stuck", "--timeout", "2m")
	return errors.Join(err, c.KubeApply(c.ctx, stuckBudget))
}

func (c *testCluster) unblock() error {
	_, err := c.Kube(c.ctx, "-n", "default", "delete", "poddisruptionbudget", "stuck")
	return err
}

const (
	// apiGone stops the only API server, and apiBack starts it again.
	apiGone = "mv /etc/kubernetes/manifests/kube-apiserver.yaml /root/"
	apiBack = "mv /root/kube-apiserver.yaml /etc/kubernetes/manifests/"
)

// failingWebhook returns a webhook that fails closed and has no server.
func failingWebhook(group, resource string) func() string {
	return text(fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: fault}
webhooks:
  - name: fault.example.com
    sideEffects: None
    admissionReviewVersions: [v1]
    failurePolicy: Fail
    timeoutSeconds: 2
    clientConfig: {url: "https://10.88.0.1:1/"}
    rules: [{apiGroups: [%q], apiVersions: ["*"], operations: ["*"], resources: [%q]}]
`, group, resource))
}

var noWebhook = kubectl("delete", "validatingwebhookconfiguration", "fault")

// slowPod makes the pod of Deployment stuck take ten minutes to end, as one that ignores
// SIGTERM.
const slowPod = `{"spec":{"template":{"spec":{"terminationGracePeriodSeconds":600,
"containers":[{"name":"pause","lifecycle":{"preStop":{"sleep":{"seconds":590}}}}]}}}}`

const quickPod = `{"spec":{"template":{"spec":{"terminationGracePeriodSeconds":1,
"containers":[{"name":"pause","lifecycle":null}]}}}}`

func patchStuck(patch string) action {
	return all(
		kubectl("-n", "default", "patch", "deployment", "stuck", "--type", "strategic", "-p", patch),
		kubectl("-n", "default", "rollout", "status", "deployment/stuck", "--timeout", "2m"),
	)
}

var killStuck = kubectl("-n", "default", "delete", "pods", "-l", "app=stuck", "--grace-period=0", "--force")

// addFinalizer gives the pod of Deployment stuck a finalizer, and removeFinalizer removes it.
// A pod of the case before, which is being deleted, takes none.
func addFinalizer(f *faultRun) error {
	return waitUntil(time.Minute, func() error { return f.patchPods(`{"metadata":{"finalizers":["example.com/wait"]}}`) })
}
func removeFinalizer(f *faultRun) error { return f.patchPods(`{"metadata":{"finalizers":null}}`) }

func (f *faultRun) patchPods(patch string) error {
	pods, err := f.kube.CoreV1().Pods("default").List(f.ctx, metav1.ListOptions{LabelSelector: "app=stuck"})
	if err != nil {
		return err
	}
	for _, pod := range pods.Items {
		if _, err := f.Kube(f.ctx, "-n", "default", "patch", "pod", pod.Name, "--type", "merge", "-p", patch); err != nil {
			return err
		}
	}
	return nil
}

func killAgentOf(node string) action {
	return func(f *faultRun) error {
		_, _ = f.killAgent(f.ctx, node) // there is no process while it restarts, or the node does
		return nil
	}
}

var killCoordinators = kubectl("-n", v1alpha1.Namespace, "delete", "pod", "-l", "app.kubernetes.io/component=coordinator", "--grace-period=0", "--force")

// twoLeaders deletes the leader's Lease again and again: each time the other coordinator
// becomes leader too, and the former one notices a moment later.
func twoLeaders(f *faultRun) error {
	for end := time.Now().Add(40 * time.Second); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
		_, _ = f.Kube(f.ctx, "-n", v1alpha1.Namespace, "delete", "lease", "coordinator", "--ignore-not-found", "--wait=false")
	}
	return nil
}

// patchSlot patches the Lease of the only slot.
func patchSlot(patch string) action {
	return kubectl("-n", v1alpha1.Namespace, "patch", "lease", "slot-0", "--type", "merge", "-p", patch)
}

// giveSlotTo makes another node the holder of the slot.
func giveSlotTo(name string) action {
	return func(f *faultRun) error {
		node, err := f.kube.CoreV1().Nodes().Get(f.ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		owner := name + "/" + string(node.UID)
		return patchSlot(fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}},"spec":{"holderIdentity":%q}}`, v1alpha1.ReservedForAnnotation, owner, owner))(f)
	}
}

// abandon declares w1 lost. From then on its state counts no more for the promises.
func abandon(f *faultRun) error {
	f.forget("w1")
	_, err := f.Upgrade(f.ctx, "abandon", "w1", "--yes", "--reason", "disk died, ticket 4711")
	return err
}

func (f *faultRun) forget(node string) { f.forgotten = map[string]time.Time{node: time.Now()} }

// deleteNodeOf deletes the Node of that name.
func deleteNodeOf(name string) action {
	return func(f *faultRun) error {
		f.forget(name)
		return kubectl("delete", "node", name)(f)
	}
}

// ended waits until the upgrade has succeeded.
func ended(f *faultRun) error { return waitUntil(6*time.Minute, f.succeeded) }

// w2Rebooted waits until the upgrade has rebooted w2, and w2 is in service again.
func w2Rebooted(f *faultRun) error {
	return waitUntil(6*time.Minute, func() error {
		boots, err := record.BootIDs(f.recorder.Moments())
		if err != nil {
			return err
		}
		if len(boots["w2"]) < 2 {
			return errors.New("w2 has not rebooted")
		}
		return f.testCluster.at("w2", v1alpha1.StepIdle)
	})
}

func deleteUpgrade(f *faultRun) error {
	return kubectl("delete", "clusterupgrade", f.id)(f)
}

// anew deletes the upgrade, and makes another one under its name.
func anew(f *faultRun) error {
	return errors.Join(deleteUpgrade(f), f.createUpgrade(f.id))
}

// secondUpgrade creates another upgrade, which has to wait.
func secondUpgrade(f *faultRun) error { return f.createUpgrade(f.id + "-two") }

func bothSucceeded(f *faultRun) error {
	if err := waitUntil(6*time.Minute, f.succeeded); err != nil {
		return err
	}
	two := *f
	two.id += "-two"
	return waitUntil(4*time.Minute, two.succeeded)
}

// none waits for nothing: what is left over is checked anyway.
func none(*faultRun) error { return nil }

// killWhileManifestsMove cuts cp1's power when kubeadm has begun to replace static pods.
func killWhileManifestsMove(f *faultRun) error {
	const begun = "while ! ls /etc/kubernetes/tmp/kubeadm-backup-manifests-*/*.yaml >/dev/null 2>&1; do sleep 0.05; done"
	return all(onNode("cp1", begun), onLab("kill", "cp1"))(f)
}

// staged waits until every node has staged the patch, and withdraws it.
func staged(f *faultRun) error {
	err := waitUntil(5*time.Minute, func() error {
		nodes, err := f.nodeUpgrades()
		for _, node := range nodes {
			if node.Status.Versions.Staged != to {
				return errors.New(describe(node))
			}
		}
		return err
	})
	return errors.Join(err, all(onLab("withdraw", to), deleteUpgrade, open)(f))
}

// unpublished withdraws an image that cannot be staged, and deletes the upgrade to it.
func unpublished(f *faultRun) error {
	return all(onLab("withdraw", to), deleteUpgrade, open, withoutUpgrade)(f)
}

// withoutUpgrade waits until no upgrade is left.
func withoutUpgrade(f *faultRun) error {
	return waitUntil(4*time.Minute, func() error { return errors.Join(f.nodesIdle(), f.nodesInService(nil)) })
}

// deleteCRDs removes every kind of kubectl-upgrade with all objects, and restoreCRDs puts the
// kinds and the policy back, and asks for the upgrade again.
func deleteCRDs(f *faultRun) error {
	_, err := f.Kube(f.ctx, "delete", "-k", f.root+"/manifests/crd", "--timeout", "1m")
	return err
}

func restoreCRDs(f *faultRun) error {
	steps := all(
		kubectl("apply", "--server-side", "-k", f.root+"/manifests/crd"),
		kubectl("wait", "--for", "condition=Established", "crd", "--all", "--timeout", "1m"),
		kubectl("apply", "--server-side", "--force-conflicts", "--field-manager", "lab", "-f", f.root+"/lab/manifests/policy.yaml"),
		applied(text(scenario.OpenSchedule)),
	)
	return errors.Join(steps(f), waitUntil(time.Minute, func() error { return f.createUpgrade(f.id) }))
}

var certificate = regexp.MustCompile(`(?m)client-(?:certificate|key)-data: (\S+)`)

// rotateCertificate gives w1's kubelet a new key and certificate, and removes the old one, as
// the kubelet does when it rotates its certificate.
func rotateCertificate(f *faultRun) error {
	config, err := f.Exec(f.ctx, "cp1", "kubeadm", "kubeconfig", "user", "--client-name", "system:node:w1", "--org", "system:nodes")
	if err != nil {
		return err
	}
	var pem strings.Builder
	for _, match := range certificate.FindAllStringSubmatch(config, -1) {
		part, err := base64.StdEncoding.DecodeString(match[1])
		if err != nil {
			return err
		}
		pem.Write(part)
	}
	script := fmt.Sprintf(`cd /var/lib/kubelet/pki
old=$(readlink -f kubelet-client-current.pem)
new=kubelet-client-$(date +%%Y-%%m-%%d-%%H-%%M-%%S).pem
umask 077; echo %s | base64 -d >$new
ln -sf /var/lib/kubelet/pki/$new kubelet-client-current.pem
rm $old; systemctl restart kubelet`, base64.StdEncoding.EncodeToString([]byte(pem.String())))
	return onNode("w1", script)(f)
}

// restartAll replaces both workloads of kubectl-upgrade, as the installation of another
// version does.
var restartAll = all(
	kubectl("-n", v1alpha1.Namespace, "rollout", "restart", "daemonset/node-agent"),
	kubectl("-n", v1alpha1.Namespace, "rollout", "restart", "deployment/coordinator"),
)

// frozen, closed and open change the schedules.
var (
	frozen = applied(func() string { return scenario.Freeze(time.Now()) })
	thawed = kubectl("delete", "maintenanceschedule", "freeze")
	closed = applied(func() string { return scenario.ClosedSchedule(time.Now()) })
	open   = applied(text(scenario.OpenSchedule))
)
