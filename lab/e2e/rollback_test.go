//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestRollback takes a patch back that works at first: on one node, on all, in the middle of the upgrade
// itself, and when the source no longer offers the former version. A web service is asked meanwhile.
func TestRollback(t *testing.T) {
	r := &rollbacks{testCluster: newCluster(t, 1, 2)}
	r.startClient(t)
	r.apply(t, scenario.OpenSchedule)
	for _, step := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"the patch reaches every node", r.patch},
		{"a node is taken back alone, and stays on hold", r.alone},
		{"all nodes go back, and one stages its former image again", r.all},
		{"what was taken back is not applied again by mistake", r.blocked},
		{"a rollback in the middle of the upgrade ends it", r.middle},
		{"the source no longer offers the former version", r.withdrawn},
		{"the promises held at every moment", r.checkPromises},
		{"the web service answered every request", r.checkServed},
	} {
		if !t.Run(step.name, step.run) {
			t.FailNow()
		}
	}
}

// rollbacks is the cluster of TestRollback.
type rollbacks struct {
	*testCluster
	files map[string]string // the kubelet's files of each node, as they were with the former version
}

// kubeletFiles returns the hashes of the kubelet's files of each node.
func (r *rollbacks) kubeletFiles(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, name := range r.nodes {
		files[name] = r.must(t)(r.Exec(r.ctx, name, "sha256sum", "/var/lib/kubelet/config.yaml", "/var/lib/kubelet/kubeadm-flags.env"))
	}
	return files
}

// tune gives a node's kubelet a setting that kubeadm's configuration does not have, so that its files
// of both versions differ.
func (r *rollbacks) tune(t *testing.T, node string) {
	t.Helper()
	r.must(t)(r.Exec(r.ctx, node, "sh", "-c", "echo 'registryBurst: 13' >>/var/lib/kubelet/config.yaml && systemctl restart kubelet"))
	r.eventually(t, time.Minute, node+" is Ready", r.everyNodeReady)
}

func (r *rollbacks) patch(t *testing.T) {
	r.tune(t, "w1")
	r.files = r.kubeletFiles(t)
	r.must(t)(r.Lab.Lab(r.ctx, "publish", to))
	time.Sleep(indexRead)
	t.Log(r.must(t)(r.Upgrade(r.ctx, "apply", to, "--yes")))
	r.checkKubelets(t, map[string]string{"cp1": to, "w1": to, "w2": to})
	if now := r.kubeletFiles(t); now["w1"] == r.files["w1"] {
		t.Error("kubeadm has not rewritten w1's configuration, so that nothing shows whether it comes back")
	}
}

func (r *rollbacks) alone(t *testing.T) {
	t.Log(r.must(t)(r.Upgrade(r.ctx, "rollback", "w1", "--to", from, "--reason", "w1 loses its volumes", "--yes")))
	r.checkKubelets(t, map[string]string{"cp1": to, "w1": from, "w2": to})
	r.checkFiles(t, "w1")
	node, err := r.kube.CoreV1().Nodes().Get(r.ctx, "w1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, held := node.Labels[v1alpha1.HoldLabel]; !held {
		t.Errorf("w1 is not on hold: %v", node.Labels)
	}
	r.checkTakenBack(t, to, "w1 loses its volumes")
	r.checkNothingBegins(t, 20*time.Second)
}

func (r *rollbacks) all(t *testing.T) {
	r.must(t)(r.Kube(r.ctx, "label", "node", "w1", v1alpha1.HoldLabel+"-"))
	r.removeImage(t, "w2")
	t.Log(r.must(t)(r.Upgrade(r.ctx, "rollback", "--all", "--to", from, "--reason", "volumes get lost", "--yes")))
	r.checkKubelets(t, map[string]string{"cp1": from, "w1": from, "w2": from})
	for _, name := range r.nodes {
		r.checkFiles(t, name)
	}
	r.checkNothingBegins(t, 20*time.Second)
}

func (r *rollbacks) blocked(t *testing.T) {
	said, err := r.Upgrade(r.ctx, "apply", to, "--yes")
	if err == nil || !strings.Contains(said, "version-blocked") || !strings.Contains(said, "volumes get lost") {
		t.Errorf("%s was taken back, and is applied again (%v): %s", to, err, said)
	}
	t.Log(r.must(t)(r.Upgrade(r.ctx, "apply", to, "--ignore-check", "version-blocked=the volumes were not its fault", "--yes", "--detach")))
	r.eventually(t, 10*time.Minute, "cp1 runs "+to, func() error { return r.runs("cp1", to) })
	policy, err := r.ours.UpgradePolicies.Get(r.ctx, v1alpha1.PolicyName, metav1.GetOptions{})
	if err != nil || len(policy.Status.TakenBack) > 0 {
		t.Errorf("a person has allowed %s, and status.takenBack is still %v (%v)", to, policy.Status.TakenBack, err)
	}
}

func (r *rollbacks) middle(t *testing.T) {
	r.eventually(t, 5*time.Minute, "a worker drains", func() error { return r.anyNodeAt(v1alpha1.StepDraining, "cp1") })
	t.Log(r.must(t)(r.Upgrade(r.ctx, "rollback", "--all", "--to", from, "--reason", "it was its fault", "--yes")))
	r.checkKubelets(t, map[string]string{"cp1": from, "w1": from, "w2": from})
	upgrades, err := r.ours.ClusterUpgrades.List(r.ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	superseded := slices.ContainsFunc(upgrades.Items, func(u v1alpha1.ClusterUpgrade) bool {
		return u.Spec.Version == to && u.Status.Outcome == v1alpha1.OutcomeSuperseded
	})
	if !superseded {
		t.Error("the upgrade that was taken back has not ended as Superseded")
	}
}

func (r *rollbacks) withdrawn(t *testing.T) {
	t.Log(r.must(t)(r.Upgrade(r.ctx, "apply", to, "--ignore-check", "version-blocked=once more", "--yes")))
	r.must(t)(r.Lab.Lab(r.ctx, "withdraw", from))
	time.Sleep(indexRead)
	r.removeImage(t, "w2")
	t.Log(r.must(t)(r.Upgrade(r.ctx, "rollback", "--all", "--to", from, "--reason", "again", "--yes", "--detach")))
	r.eventually(t, 15*time.Minute, "cp1 and w1 go back", func() error {
		if err := r.runs("cp1", from); err != nil {
			return err
		}
		return r.runs("w1", from)
	})
	r.awaitStatus(t, v1alpha1.ReasonNotOffered, "", "w2")
	r.must(t)(r.Lab.Lab(r.ctx, "publish", from))
	r.eventually(t, 15*time.Minute, "w2 goes back, too", func() error { return r.runs("w2", from) })
	t.Log(r.must(t)(r.Upgrade(r.ctx, "history")))
}

// removeImage removes the former image from a node's disk.
func (r *rollbacks) removeImage(t *testing.T, node string) {
	t.Helper()
	r.must(t)(r.Exec(r.ctx, node, "rm", "-f", kept+imageName(from), "/opt/extensions/kubernetes/"+imageName(from)))
}

// runs returns an error unless the node's kubelet is of that version, and the node in service.
func (c *testCluster) runs(node, version string) error {
	one, err := c.kube.CoreV1().Nodes().Get(c.ctx, node, metav1.GetOptions{})
	switch {
	case err != nil:
		return err
	case one.Status.NodeInfo.KubeletVersion != version || one.Spec.Unschedulable:
		return fmt.Errorf("%s runs %s (unschedulable: %t)", node, one.Status.NodeInfo.KubeletVersion, one.Spec.Unschedulable)
	}
	return nil
}

// checkKubelets checks which kubelets run, and that the static pods of the control plane have stayed.
func (r *rollbacks) checkKubelets(t *testing.T, want map[string]string) {
	t.Helper()
	for name, version := range want {
		if err := r.runs(name, version); err != nil {
			t.Error(err)
		}
		r.checkActive(t, name, version)
		r.guardGone(t, name)
	}
	manifests := r.must(t)(r.Exec(r.ctx, "cp1", "sh", "-c", "grep -h image: /etc/kubernetes/manifests/kube-*.yaml"))
	if strings.Count(manifests, ":"+to) != 3 {
		t.Errorf("the static pods of cp1 are not at %s: %s", to, manifests)
	}
}

// checkFiles checks that the kubelet has the files again with which it ran the former version.
func (r *rollbacks) checkFiles(t *testing.T, node string) {
	t.Helper()
	if now := r.kubeletFiles(t); now[node] != r.files[node] {
		t.Errorf("%s has other files of the kubelet than with %s before:\n%s\n%s", node, from, now[node], r.files[node])
	}
}

// checkTakenBack checks that the policy's status has a version that was taken back.
func (r *rollbacks) checkTakenBack(t *testing.T, version, reason string) {
	t.Helper()
	policy, err := r.ours.UpgradePolicies.Get(r.ctx, v1alpha1.PolicyName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, taken := range policy.Status.TakenBack {
		if taken.Version == version && taken.Comment == reason {
			return
		}
	}
	t.Errorf("status.takenBack does not have %s because %q: %v", version, reason, policy.Status.TakenBack)
}

func (r *rollbacks) checkPromises(t *testing.T) {
	r.report(t)(record.Promises(r.recorder.Moments(), 1))
	r.report(t)(record.Skew(r.recorder.Moments()))
}
