//go:build e2e

package e2e

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestCertificates keeps clusters alive whose certificates live for a quarter of an hour: a person has them renewed once, and
// then they are renewed by themselves, also after a freeze, with agents that are killed, and with a power cut. Nothing
// is cordoned or rebooted, and no request is lost, but in the power cut. DURATION is how long it lasts at least; FAULT_CASES is a regular expression that selects sizes.
func TestCertificates(t *testing.T) {
	selected := regexp.MustCompile(env("FAULT_CASES", ""))
	for _, size := range []struct{ controlPlanes, workers int }{{1, 1}, {3, 2}} {
		if name := fmt.Sprintf("%d+%d", size.controlPlanes, size.workers); selected.MatchString(name) {
			t.Run(name, func(t *testing.T) { renewAgainAndAgain(t, size.controlPlanes, size.workers) })
		}
	}
	if selected.MatchString("expired") {
		t.Run("expired", comeBackExpired)
	}
	if selected.MatchString("elsewhere") {
		t.Run("elsewhere", leaveOthers)
	}
}

// short is the life of each certificate that kubeadm issues.
const short = 15 * time.Minute

// newShortLived creates a cluster whose certificates live that long.
func newShortLived(t *testing.T, controlPlanes, workers int) *renewals {
	t.Helper()
	changes := filepath.Join(t.TempDir(), "kubeadm.yaml")
	config := fmt.Sprintf("apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\ncertificateValidityPeriod: %s\n", short)
	if err := os.WriteFile(changes, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return &renewals{testCluster: newCluster(t, controlPlanes, workers, "--kubeadm", changes)}
}

// renewals is a cluster whose certificates are renewed.
type renewals struct {
	*testCluster
	seen map[string]bool // the upgrades that were awaited
}

// shares is a static pod that mounts admin.conf, as kube-vip does. Its program is only the pause.
const shares = `image=$(ctr -n k8s.io images ls -q | grep pause | grep -v sha256 | head -n 1)
printf 'apiVersion: v1\nkind: Pod\nmetadata: {name: kube-vip, namespace: kube-system}\nspec:\n  hostNetwork: true
  containers: [{name: kube-vip, image: "%s", imagePullPolicy: IfNotPresent, volumeMounts: [{name: config, mountPath: /etc/kubernetes/admin.conf}]}]
  volumes: [{name: config, hostPath: {path: /etc/kubernetes/admin.conf}}]\n' "$image" >/etc/kubernetes/manifests/kube-vip.yaml
for i in $(seq 60); do ctr -n k8s.io containers ls | grep -q pause && break; sleep 1; done`

func renewAgainAndAgain(t *testing.T, controlPlanes, workers int) {
	r := newShortLived(t, controlPlanes, workers)
	r.startClient(t)
	r.must(t)(r.Exec(r.ctx, "cp1", "sh", "-ec", shares))
	r.apply(t, scenario.OpenSchedule)
	watched := r.watchService("")
	began := time.Now()

	name := "by-a-person"
	r.apply(t, fmt.Sprintf("apiVersion: kubectl-upgrade.dev/v1alpha1\nkind: ClusterUpgrade\nmetadata: {name: %s}\nspec: {type: Certificates, comment: lab}\n", name))
	r.seen = map[string]bool{name: true}
	r.awaitRenewal(t, name)
	r.checkAPI(t, watched)
	r.apply(t, scenario.Automatic(v1alpha1.TypeCertificates))
	type round struct {
		what string
		do   func(t *testing.T, upgrade string)
	}
	undisturbed := round{"undisturbed", func(*testing.T, string) {}}
	rounds := []round{undisturbed, {"after a freeze of everything", r.frozen}, {"with agents that are killed", r.killInTurn}}
	lasts, err := time.ParseDuration(cmp.Or(os.Getenv("DURATION"), "0s"))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(rounds) || time.Since(began) < lasts; i++ {
		round := undisturbed
		if i < len(rounds) {
			round = rounds[i]
		}
		if i == 1 {
			r.apply(t, freezeOfAll)
		}
		upgrade := r.next(t)
		round.do(t, upgrade)
		r.awaitRenewal(t, upgrade)
		t.Logf("%s, %s after the cluster was ready: %s", round.what, time.Since(began).Round(time.Second), r.figures(t, upgrade))
		r.checkAPI(t, watched)
	}
	t.Log(watched.check(t, r.testCluster))
	r.checkInService(t)

	upgrade := r.next(t)
	r.powerCut(t, upgrade)
	r.awaitRenewal(t, upgrade)
	t.Logf("with a power cut, %s after the cluster was ready: %s", time.Since(began).Round(time.Second), r.figures(t, upgrade))
	t.Log("\n" + r.must(t)(r.Upgrade(r.ctx, "certificates")))
}

// next waits for the next automatic renewal, and returns its name.
func (r *renewals) next(t *testing.T) (name string) {
	t.Helper()
	r.eventually(t, short, "the next renewal is due", func() error {
		list, err := r.ours.ClusterUpgrades.List(r.ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, u := range list.Items {
			if u.Spec.Type == v1alpha1.TypeCertificates && !r.seen[u.Name] {
				name, r.seen[u.Name] = u.Name, true
				return nil
			}
		}
		return fmt.Errorf("there is no other upgrade than %v", r.seen)
	})
	return name
}

// awaitRenewal waits until the upgrade has succeeded, and checks what it has left on each control plane.
func (r *renewals) awaitRenewal(t *testing.T, upgrade string) {
	t.Helper()
	r.eventually(t, short, upgrade+" has succeeded", func() error { return r.succeededOn(upgrade, len(r.controlPlanes())) })
	for _, node := range r.controlPlanes() {
		r.eventually(t, 2*time.Minute, node+" has new certificates, and its programs use them", func() error { return r.hasNew(node, upgrade) })
		if said, err := r.Exec(r.ctx, node, "sh", "-c", "ls /var/lib/kubectl-upgrade/certificates.json"); err == nil {
			t.Errorf("%s still has the copy of its former keys: %s", node, said)
		}
	}
}

// hasNew returns an error unless the node's certificates are of that upgrade, and in use.
func (r *renewals) hasNew(node, upgrade string) error {
	order, err := r.ours.NodeUpgrades.Get(r.ctx, node, metav1.GetOptions{})
	if err != nil {
		return err
	}
	renewed := order.Status.CertificatesRenewed
	if renewed == nil || renewed.Upgrade.Name != upgrade || len(renewed.Names) < 9 {
		return fmt.Errorf("the last renewal is %+v", renewed)
	}
	for _, program := range []string{"kube-controller-manager", "kube-scheduler"} {
		if !slices.Contains(renewed.Restarted, program) {
			return fmt.Errorf("%s was not restarted: %v", program, renewed.Restarted)
		}
	}
	if slices.Contains(renewed.Restarted, "kube-apiserver") || slices.Contains(renewed.Restarted, "etcd") {
		return fmt.Errorf("what loads its certificates by itself was restarted: %v", renewed.Restarted)
	}
	if shares := slices.Contains(renewed.Restarted, "kube-vip"); shares != (node == "cp1") {
		return fmt.Errorf("kube-vip was restarted: %t", shares)
	}
	facts, err := r.ours.NodeInventories.Get(r.ctx, node, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, c := range facts.Certificates {
		if c.RenewedBy != v1alpha1.RenewedByKubeadm {
			continue
		}
		if c.InUse == v1alpha1.UsesFormer || c.WrittenTime == nil || renewed.Time.Sub(c.WrittenTime.Time) > 10*time.Minute {
			return fmt.Errorf("%s was written %v, and %v is in use", c.Path, c.WrittenTime, c.InUse)
		}
	}
	return nil
}

// figures says how long the upgrade took, and how long before their end the certificates were renewed.
func (r *renewals) figures(t *testing.T, upgrade string) string {
	t.Helper()
	u, err := r.ours.ClusterUpgrades.Get(r.ctx, upgrade, metav1.GetOptions{})
	if err != nil || u.Status.StartTime == nil || u.Status.EndTime == nil {
		t.Fatal(upgrade, err)
	}
	return fmt.Sprintf("%s took %s", upgrade, u.Status.EndTime.Sub(u.Status.StartTime.Time))
}

// freezeOfAll is a freeze that stops the renewal of certificates, too.
const freezeOfAll = `
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: MaintenanceSchedule
metadata: {name: freeze}
spec:
  maintenanceExclusions:
    - {name: freeze, startTime: "2026-01-01T00:00:00Z", endTime: "2099-01-01T00:00:00Z", comment: the lab freezes everything}
`

// frozen checks that the upgrade says that a certificate will end in the freeze, and ends the freeze.
func (r *renewals) frozen(t *testing.T, upgrade string) {
	r.eventually(t, time.Minute, upgrade+" says that a certificate ends before the freeze does", func() error {
		u, err := r.ours.ClusterUpgrades.Get(r.ctx, upgrade, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, one := range u.Status.Conditions {
			if one.Type == v1alpha1.ConditionStalled && one.Reason == string(v1alpha1.ReasonCertificateEndsFirst) {
				t.Log(one.Message)
				return nil
			}
		}
		return fmt.Errorf("its conditions are %+v", u.Status.Conditions)
	})
	r.must(t)(r.Kube(r.ctx, "delete", "maintenanceschedule", "freeze"))
}

// killInTurn kills the agent of each control plane while it renews.
func (r *renewals) killInTurn(t *testing.T, _ string) {
	for _, node := range r.controlPlanes() {
		r.eachSecond(t, short, node+" renews", func() error { return r.at(node, v1alpha1.StepKubeadm) })
		if _, err := r.killAgent(r.ctx, node); err != nil {
			t.Log(node, err)
		}
	}
}

// powerCut cuts the power of the last control plane while it renews, and powers it on.
func (r *renewals) powerCut(t *testing.T, _ string) {
	names := r.controlPlanes()
	node := names[len(names)-1]
	r.eachSecond(t, short, node+" renews", func() error { return r.at(node, v1alpha1.StepKubeadm) })
	r.must(t)(r.Lab.Lab(r.ctx, "kill", node))
	time.Sleep(5 * time.Second)
	r.must(t)(r.Lab.Lab(r.ctx, "start", node))
}

// checkAPI checks that the API server answered at each moment at which certificates were renewed. At others the machine may have
// stood still.
func (r *renewals) checkAPI(t *testing.T, watched *service) {
	t.Helper()
	list, err := r.ours.ClusterUpgrades.List(r.ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	during, others := 0, 0
	for _, a := range watched.api.Answers() {
		renews := slices.ContainsFunc(list.Items, func(u v1alpha1.ClusterUpgrade) bool {
			began, ended := u.Status.StartTime, u.Status.EndTime
			return began != nil && a.Ended.After(began.Time) && (ended == nil || a.Asked.Before(ended.Add(30*time.Second)))
		})
		switch {
		case renews && a.Err != nil:
			t.Error(r.told(a.Asked, a.Ended, fmt.Sprintf("the API did not answer at %s, during a renewal: %v", a.Asked.Format(time.TimeOnly), a.Err)))
		case renews:
			during++
		case a.Err != nil:
			others++
			t.Log(r.told(a.Asked, a.Ended, fmt.Sprintf("the API did not answer at %s, in no renewal: %v", a.Asked.Format(time.TimeOnly), a.Err)))
		}
	}
	t.Logf("the API answered each of %d requests during renewals; of others, %d failed", during, others)
}

// checkInService checks that no node was cordoned, and none has booted.
func (r *renewals) checkInService(t *testing.T) {
	t.Helper()
	for _, m := range r.recorder.Moments() {
		var node corev1.Node
		if m.Resource == "nodes" && record.Convert(m, &node) == nil && node.Spec.Unschedulable {
			t.Errorf("%s was cordoned at %s", node.Name, m.Seen.Format(time.TimeOnly))
		}
	}
	still := map[string]int{}
	for _, node := range r.nodes {
		still[node] = 0
	}
	r.checkReboots(t, still)
}

// comeBackExpired waits until every certificate of a cluster has ended, looks at what works still, and does what
// docs/troubleshooting.md says.
func comeBackExpired(t *testing.T) {
	r := newShortLived(t, 1, 1)
	r.startClient(t)
	watched := r.watchService("")
	began := time.Now()
	r.eventually(t, 2*short, "the API server's certificate has ended", func() error {
		_, err := r.Kube(r.ctx, "get", "nodes")
		switch {
		case err == nil:
			return errors.New("kubectl still answers")
		case !strings.Contains(err.Error(), "certificate has expired"):
			return fmt.Errorf("kubectl says: %w", err)
		}
		return nil
	})
	t.Logf("expired %s after the cluster was ready; a container goes on to run: %s", time.Since(began).Round(time.Second), watched.check(t, r.testCluster))
	for _, command := range wayOut(t, r.root) {
		t.Log(command)
		r.must(t)(r.Exec(r.ctx, "cp1", "sh", "-ec", command))
	}
	r.eventually(t, 3*time.Minute, "the API server answers", func() error { _, err := r.Kube(r.ctx, "get", "nodes"); return err })
	for _, node := range r.nodes {
		r.eventually(t, 3*time.Minute, node+" is Ready", func() error {
			_, err := r.Kube(r.ctx, "wait", "--for", "condition=Ready", "node/"+node, "--timeout", "1s")
			return err
		})
	}
	r.apply(t, scenario.OpenSchedule)
	r.apply(t, scenario.Automatic(v1alpha1.TypeCertificates))
	r.seen = map[string]bool{}
	upgrade := r.next(t)
	r.eventually(t, short, upgrade+" has succeeded", func() error { return r.succeededOn(upgrade, len(r.controlPlanes())) })
}

// leaveOthers takes the keys of authorities away from a control plane, as where they are kept elsewhere: what they have issued
// stays as it is, and the rest is renewed. Without any key there is nothing to renew.
func leaveOthers(t *testing.T) {
	r := &renewals{testCluster: newCluster(t, 1, 1)}
	r.apply(t, scenario.OpenSchedule)
	content := func(name string) string {
		return r.must(t)(r.Exec(r.ctx, "cp1", "sha256sum", "/etc/kubernetes/pki/"+name))
	}
	before := map[string]string{"apiserver.crt": content("apiserver.crt"), "front-proxy-client.crt": content("front-proxy-client.crt"), "etcd/server.crt": content("etcd/server.crt")}
	r.must(t)(r.Exec(r.ctx, "cp1", "mv", "/etc/kubernetes/pki/ca.key", "/root/"))
	r.eventually(t, 12*time.Minute, "the agent has seen that a key is elsewhere", func() error {
		if said := r.must(t)(r.Upgrade(r.ctx, "certificates")); !strings.Contains(said, "elsewhere") {
			return fmt.Errorf("kubectl upgrade certificates says:\n%s", said)
		}
		return nil
	})
	t.Log("\n" + r.must(t)(r.Upgrade(r.ctx, "certificates", "renew", "--reason", "lab", "--yes", "--detach")))
	list, err := r.ours.ClusterUpgrades.List(r.ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%d upgrades: %v", len(list.Items), err)
	}
	r.eventually(t, 10*time.Minute, "what has its key is renewed", func() error { return r.succeededOn(list.Items[0].Name, 1) })
	for name, former := range before {
		if renewed := content(name) != former; renewed != (name != "apiserver.crt") {
			t.Errorf("%s was renewed: %t", name, renewed)
		}
	}
	r.must(t)(r.Exec(r.ctx, "cp1", "sh", "-c", "mv /etc/kubernetes/pki/front-proxy-ca.key /root/; mv /etc/kubernetes/pki/etcd/ca.key /root/etcd-ca.key"))
	r.eventually(t, 12*time.Minute, "a renewal is refused where no key is", func() error {
		said, err := r.Upgrade(r.ctx, "certificates", "renew", "--reason", "lab", "--yes", "--dry-run")
		if err == nil {
			return fmt.Errorf("it is not refused: %s", said)
		}
		t.Log(err)
		return nil
	})
}

// wayOut returns the commands of the page for a cluster whose certificates have all ended.
func wayOut(t *testing.T, root string) (commands []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs/troubleshooting.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## All certificates have expired")
	_, block, _ := strings.Cut(section, "```\n")
	block, _, found := strings.Cut(block, "```")
	if !found {
		t.Fatal("docs/troubleshooting.md has no commands for a cluster whose certificates have all ended")
	}
	return []string{block}
}
