//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/timelimit"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/former"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// ourVersion is one version of kubectl-upgrade: a checkout whose programs are built, and the tag of its image.
type ourVersion struct{ root, tag string }

// updateWay is an order in which the parts of kubectl-upgrade get another version. While only first has it, the upgrade
// goes on.
type updateWay struct {
	name        string
	first, rest func(*testing.T, ourVersion)
}

// selfRun is the cluster of TestSelf.
type selfRun struct {
	*testCluster
	former, today ourVersion
	rounds        int
}

// TestSelf exchanges kubectl-upgrade in the middle of an upgrade, while one node drains and another one reboots: the former
// version by today's in each order of its parts, and back. Each node has to reboot once for each upgrade.
func TestSelf(t *testing.T) {
	c := newLab(t, 3, 2)
	s := &selfRun{testCluster: c, former: ourVersion{os.Getenv("FORMER"), "former"}, today: ourVersion{c.root, "dev"}}
	if s.former.root == "" {
		t.Fatal("FORMER is not set: `make e2e-self` builds the former version")
	}
	for _, v := range []ourVersion{s.former, s.today} {
		s.must(t)(s.Lab.Lab(s.ctx, "load-image", filepath.Join(v.root, "bin", "node-agent.tar")))
	}
	s.applyManifests(t, s.former, "")
	if err := s.Configure(s.ctx, s.former.root, v1alpha1.ModeManage); err != nil {
		t.Fatal(err)
	}
	s.connect(t)
	s.apply(t, scenario.OpenSchedule)
	s.must(t)(s.Lab.Lab(s.ctx, "publish", to))
	for _, way := range s.ways() {
		for _, v := range []ourVersion{s.today, s.former} {
			if !t.Run(way.name+" to "+v.tag, func(t *testing.T) { s.exchange(t, way, v) }) {
				t.FailNow()
			}
		}
	}
	t.Run("no node had two slots, and no more than two were taken", func(t *testing.T) { s.checkSlots(t, 2) })
}

func (s *selfRun) ways() []updateWay {
	part := func(folder string) func(*testing.T, ourVersion) {
		return func(t *testing.T, v ourVersion) { s.applyManifests(t, v, folder) }
	}
	all := part("")
	return []updateWay{
		{"kubectl apply", all, nil},
		{"CRDs first", part("crd"), all},
		{"agents first", part("agent"), all},
		{"coordinator first", part("coordinator"), all},
		{"Helm", s.helm, nil},
	}
}

// applyManifests applies a folder of the version's manifests, all of them if it is empty.
func (s *selfRun) applyManifests(t *testing.T, v ourVersion, folder string) {
	t.Helper()
	text := s.must(t)(s.Kube(s.ctx, "kustomize", filepath.Join(v.root, "manifests", folder)))
	text = strings.ReplaceAll(text, "kubectl-upgrade/node-agent:dev", "kubectl-upgrade/node-agent:"+v.tag)
	err := s.KubeApply(s.ctx, text)
	for range 10 { // an API server may be busy
		if err == nil {
			return
		}
		time.Sleep(5 * time.Second)
		err = s.KubeApply(s.ctx, text)
	}
	t.Fatal(err)
}

// helm installs the version's chart over what is there.
func (s *selfRun) helm(t *testing.T, v ourVersion) {
	charts, err := filepath.Glob(filepath.Join(v.root, "dist", "charts", "*.tgz"))
	if err != nil || len(charts) != 1 {
		t.Fatalf("want one chart in %s: %v %v", v.root, charts, err)
	}
	s.program(t, "helm", "upgrade", "--install", "kubectl-upgrade", charts[0], "--namespace", "kubectl-upgrade", "--take-ownership", "--force-conflicts", "--set", "image.tag="+v.tag)
}

// exchange begins an upgrade, waits until w1 drains, which a budget blocks, and w2 reboots, and brings the parts to the version.
func (s *selfRun) exchange(t *testing.T, way updateWay, v ourVersion) {
	s.rounds++
	name := fmt.Sprintf("round-%d", s.rounds)
	s.apply(t, stuck)
	s.must(t)(s.Kube(s.ctx, "-n", "default", "rollout", "status", "deployment/stuck", "--timeout", "2m"))
	s.begin(t, name)
	s.eventually(t, 15*time.Minute, "w1 drains and w2 reboots", func() error {
		if err := s.at("w1", v1alpha1.StepDraining); err != nil {
			return err
		}
		return s.at("w2", v1alpha1.StepRebooting)
	})
	specs := s.specs(t, name)
	began := time.Now()
	way.first(t, v)
	if way.rest != nil {
		s.awaitRollouts(t)
		s.readByBoth(t)
		s.unblock(t)
		s.rebootsOrIsHeld(t)
		way.rest(t, v)
		s.awaitRollouts(t)
	} else {
		s.awaitRollouts(t)
		s.unblock(t)
	}
	if err := s.Configure(s.ctx, v.root, v1alpha1.ModeManage); err != nil { // the policy's file in the version's shape
		t.Fatal(err)
	}
	s.readByBoth(t)
	t.Logf("exchanged in %s", time.Since(began).Round(time.Second))
	s.eventually(t, 10*time.Minute, "the upgrade has succeeded", func() error { return s.upgradeSucceeded(name) })
	if diff := cmp.Diff(specs, s.specs(t, name)); diff != "" {
		t.Errorf("a spec has changed (-before +after):\n%s", diff)
	}
	want := map[string]int{}
	for _, node := range s.nodes {
		want[node] = s.rounds
	}
	s.checkReboots(t, want)
	s.eventually(t, time.Minute, "no slot is held", func() error {
		if held := s.held(t, ""); held > 0 {
			return fmt.Errorf("%d slots are held", held)
		}
		return nil
	})
}

// rebootsOrIsHeld waits until w1 reboots, while only a part has the other version. An agent may not be able to: CRDs of another
// version have other names for fields without which it must not go on. It is then held, with its slot, and `doctor` says why.
func (s *selfRun) rebootsOrIsHeld(t *testing.T) {
	t.Helper()
	err := errors.New("not yet")
	for deadline := time.Now().Add(timelimit.Scale(3 * time.Minute)); err != nil && time.Now().Before(deadline); time.Sleep(time.Second) {
		err = s.at("w1", v1alpha1.StepRebooting)
	}
	if err == nil {
		return
	}
	cmd := exec.CommandContext(s.ctx, filepath.Join(s.today.root, "bin", "kubectl-upgrade"), "doctor")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.Kubeconfig)
	out, _ := cmd.CombinedOutput() // it fails, as the cluster cannot be managed
	said := regexp.MustCompile(`(?m)^.*\b(fail|warn)\b.*$`).FindAllString(string(out), -1)
	if len(said) == 0 || s.held(t, "w1/") != 1 {
		t.Errorf("%v, it holds %d slots, and doctor says:\n%s", err, s.held(t, "w1/"), out)
	}
	t.Logf("held: %v; doctor says:\n%s", err, strings.Join(said, "\n"))
}

// patchRound is the round whose upgrade is a patch. In the others all nodes reboot, which takes minutes less.
const patchRound = 3

// begin requests an upgrade of all nodes.
func (s *selfRun) begin(t *testing.T, name string) {
	t.Helper()
	what := "version: " + to
	if s.rounds != patchRound {
		what = "type: Reboot"
		for _, node := range s.nodes {
			s.must(t)(s.Exec(s.ctx, node, "touch", "/run/reboot-required"))
		}
	}
	s.apply(t, fmt.Sprintf(`
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: ClusterUpgrade
metadata: {name: %s}
spec:
  %s
  strategy: {maxUnavailable: 2, drain: {timeoutSeconds: 900}}
`, name, what))
}

// unblock lets w1 drain. It has its slot until then, whichever version its agent has.
func (s *selfRun) unblock(t *testing.T) {
	t.Helper()
	if err := s.at("w1", v1alpha1.StepDraining); err != nil {
		t.Error(err)
	}
	if held := s.held(t, "w1/"); held != 1 {
		t.Errorf("w1 drains and holds %d slots", held)
	}
	s.must(t)(s.Kube(s.ctx, "-n", "default", "delete", "poddisruptionbudget", "stuck"))
}

// held returns how many slots are held by a holder whose identity begins so.
func (s *selfRun) held(t *testing.T, prefix string) (n int) {
	t.Helper()
	slots, err := s.kube.CoordinationV1().Leases(v1alpha1.Namespace).List(s.ctx, metav1.ListOptions{LabelSelector: v1alpha1.SlotLabel})
	if err != nil {
		t.Fatal(err)
	}
	for _, lease := range slots.Items {
		if holder := lease.Spec.HolderIdentity; holder != nil && *holder != "" && strings.HasPrefix(*holder, prefix) {
			n++
		}
	}
	return n
}

func (s *selfRun) awaitRollouts(t *testing.T) {
	t.Helper()
	for _, workload := range []string{"daemonset/node-agent", "deployment/coordinator"} {
		s.must(t)(s.Kube(s.ctx, "-n", v1alpha1.Namespace, "rollout", "status", workload, "--timeout", "5m"))
	}
}

// readByBoth reads the cluster with the plugins of both versions: each shows it, or says in one line what it does not know.
func (s *selfRun) readByBoth(t *testing.T) {
	t.Helper()
	for _, v := range []ourVersion{s.former, s.today} {
		for _, verb := range []string{"status", "history", "plan", "doctor", "version"} {
			cmd := exec.CommandContext(s.ctx, filepath.Join(v.root, "bin", "kubectl-upgrade"), verb)
			cmd.Env = append(os.Environ(), "KUBECONFIG="+s.Kubeconfig)
			out, err := cmd.CombinedOutput()
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			if err != nil && verb != "doctor" && len(lines) > 1 && !strings.HasPrefix(lines[len(lines)-1], "error: ") || strings.Contains(string(out), "panic") {
				t.Errorf("%s of %s: %v\n%s", verb, v.tag, err, out)
			}
			t.Logf("%s of %s: %v, %d lines, the last: %s", verb, v.tag, err, len(lines), lines[len(lines)-1])
		}
	}
}

// specs returns what people have written, in today's shape: the specs of the policy, the schedules and the upgrade.
func (s *selfRun) specs(t *testing.T, upgrade string) map[string]string {
	t.Helper()
	specs := map[string]string{}
	for _, object := range []string{"upgradepolicy/cluster", "maintenanceschedule/lab", "clusterupgrade/" + upgrade} {
		var read map[string]any
		if err := json.Unmarshal([]byte(s.must(t)(s.Kube(s.ctx, "get", object, "-o", "json"))), &read); err != nil {
			t.Fatal(err)
		}
		former.Convert(read)
		specs[object] = fmt.Sprint(read["spec"])
	}
	return specs
}
