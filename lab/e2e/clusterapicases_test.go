//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/capi"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/timelimit"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// capiCases are the cases of TestClusterAPI, in the order in which they run. A control plane takes some
// three minutes, most of which kubeadm waits for static pods: what workers can show, they do alone.
var capiCases = []capiCase{
	{name: "patch", what: "a patch by two fields, asked for while no window is open; then one opens; a web service is asked all the time", run: (*managed).patch},
	{name: "surprises-refused", what: "a version is asked for where Cluster API would replace machines without asking", run: (*managed).surprisesRefused},
	{name: "uncovered", what: "more changes than the version, and is changed back", run: (*managed).uncovered},
	{name: "window-closes", what: "a patch of the workers; the window closes after the first one has begun", run: (*managed).windowCloses},
	{name: "extension-gone", what: "a patch of the workers; the extension is killed while the first one is being updated, and is away for three minutes", run: (*managed).extensionGone},
	{name: "management-gone", what: "a patch of the workers; the management cluster is lost while the first one is being updated, and comes back after a minute", run: (*managed).managementGone},
	{name: "paused", what: "a patch of the workers; the Cluster is paused while the first one is being updated, and is no longer after a minute", run: (*managed).paused},
	{name: "bad-image", what: "a patch of the workers whose kubelet ends at once, beside a MachineHealthCheck that waits for 20 s; a good image is published, and the upgrade retried", run: (*managed).badImage},
	{name: "minor", what: "a minor by two fields, while a web service is asked", run: (*managed).minor},
	{name: "surprises-seen", what: "the same as in `surprises-refused` where it is annotated that machines may be replaced: Cluster API begins to; then it is changed back", run: (*managed).surprisesSeen, replaces: true},
}

// patch asks for the next released patch while no window is open. It checks that the KubeadmControlPlane
// waits before it begins, and that all machines go on by themselves once a window opens.
func (m *managed) patch(t *testing.T) {
	now := m.wanted(t)
	m.apply(t, scenario.ClosedSchedule(time.Now()))
	m.ask(t, to)
	m.awaitEvent(t, 5*time.Minute, "KubeadmControlPlane", "window")
	m.staysAt(t, time.Minute, now)
	m.apply(t, scenario.OpenSchedule)
	m.awaitUpgraded(t, to)
}

// minor upgrades to the next minor.
func (m *managed) minor(t *testing.T) {
	m.ask(t, minorTo)
	m.awaitUpgraded(t, minorTo)
}

// ask asks Cluster API for a version of all machines.
func (m *managed) ask(t *testing.T, version string) {
	m.must(t)(m.Lab.Lab(m.ctx, "publish", version))
	m.watchControlPlane(t)
	m.setVersion(t, version)
}

// awaitUpgraded waits until all machines have the version that was asked for. Each node reboots once, and
// nothing is out of service longer than by `kubectl upgrade apply`.
func (m *managed) awaitUpgraded(t *testing.T, version string) {
	began := time.Now()
	m.awaitWanted(t, 25*time.Minute)
	t.Logf("Cluster API upgraded %d machines to %s in %s", len(m.nodes), version, time.Since(began).Round(time.Second))
	reboots := map[string]int{}
	for _, node := range m.nodes {
		reboots[node] = 1
	}
	m.checkReboots(t, reboots)
	m.checkMinorStaticPods(t, version)
	m.checkServed(t)
	m.checkControlPlaneAnswered(t)
}

// windowCloses checks that the machine that is being updated is finished, and that no other one begins.
func (m *managed) windowCloses(t *testing.T) {
	next := m.nextPatch(t)
	m.setWorkers(t, next)
	first := m.awaitBegun(t)
	m.apply(t, scenario.ClosedSchedule(time.Now()))
	m.eventually(t, 8*time.Minute, first+" is done", func() error { return m.reached(first, next) })
	m.awaitUpdating(t, 5*time.Minute, "window")
	m.checkNothingBegins(t, time.Minute)
	m.apply(t, scenario.OpenSchedule)
	m.awaitWanted(t, 20*time.Minute)
}

// reached returns an error unless a node has the version, and rests.
func (m *managed) reached(name, version string) error {
	node, err := m.ours.NodeUpgrades.Get(m.ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if node.Status.Step != v1alpha1.StepIdle || node.Status.Versions.Kubelet != version {
		return errors.New(describe(*node))
	}
	return nil
}

// awaitBegun waits until a node is past its last check, and returns its name.
func (m *managed) awaitBegun(t *testing.T) (name string) {
	t.Helper()
	m.eventually(t, 8*time.Minute, "a node has begun", func() error {
		nodes, err := m.nodeUpgrades()
		if err != nil {
			return err
		}
		i := slices.IndexFunc(nodes, func(n v1alpha1.NodeUpgrade) bool {
			return n.Status.Step.Info().Phase == v1alpha1.PhaseCommitted
		})
		if i < 0 {
			return fmt.Errorf("none of %d has", len(nodes))
		}
		name = nodes[i].Name
		return nil
	})
	return name
}

// uncovered changes a flag of kubelets beside the version, which would take new machines.
func (m *managed) uncovered(t *testing.T) {
	now, next := m.wanted(t), m.nextPatch(t)
	flag := []any{
		map[string]any{"name": "provider-id", "value": "lab://@NODE@"},
		map[string]any{"name": "v", "value": "3"},
	}
	arguments := []string{"joinConfiguration", "nodeRegistration", "kubeletExtraArgs"}
	deployment := m.get(t, capiDeployments, capi.Workers)
	former := field(deployment, "spec", "template", "spec", "bootstrap", "configRef", "name")
	changed := m.template(t, next, func(o *unstructured.Unstructured) {
		setSlice(o, flag, append([]string{"spec", "template", "spec"}, arguments...)...)
	})
	m.change(t, capiDeployments, capi.Workers, func(o *unstructured.Unstructured) {
		set(o, next, "spec", "template", "spec", "version")
		set(o, changed, "spec", "template", "spec", "bootstrap", "configRef", "name")
	})
	m.change(t, capiControlPlanes, capi.ControlPlane, func(o *unstructured.Unstructured) {
		set(o, next, "spec", "version")
		setSlice(o, flag, append([]string{"spec", "kubeadmConfigSpec"}, arguments...)...)
	})
	m.awaitEvent(t, 5*time.Minute, "MachineDeployment", "kubeletExtraArgs")
	m.awaitEvent(t, 5*time.Minute, "KubeadmControlPlane", "kubeletExtraArgs")
	m.staysAt(t, time.Minute, now)
	m.change(t, capiControlPlanes, capi.ControlPlane, func(o *unstructured.Unstructured) {
		set(o, now.controlPlanes, "spec", "version")
		setSlice(o, flag[:1], append([]string{"spec", "kubeadmConfigSpec"}, arguments...)...)
	})
	m.change(t, capiDeployments, capi.Workers, func(o *unstructured.Unstructured) {
		set(o, now.workers, "spec", "template", "spec", "version")
		set(o, former, "spec", "template", "spec", "bootstrap", "configRef", "name")
	})
	m.awaitWanted(t, 5*time.Minute)
	m.checkReboots(t, map[string]int{"cp1": 0, "cp2": 0, "cp3": 0, "w1": 0, "w2": 0})
}

func setSlice(object *unstructured.Unstructured, value []any, path ...string) {
	if err := unstructured.SetNestedSlice(object.Object, value, path...); err != nil {
		panic(err) // the example has these fields
	}
}

// extensionGone checks that the node that has begun is finished, that no other begins, and that Cluster
// API goes on with the extension.
func (m *managed) extensionGone(t *testing.T) {
	next := m.nextPatch(t)
	m.setWorkers(t, next)
	first := m.awaitBegun(t)
	m.stopExtension()
	m.eventually(t, 8*time.Minute, first+" is done", func() error { return m.reached(first, next) })
	time.Sleep(3 * time.Minute)
	m.startExtension(t)
	m.awaitWanted(t, 20*time.Minute)
}

// managementGone checks the same without the management cluster: workload clusters do not need it.
func (m *managed) managementGone(t *testing.T) {
	next := m.nextPatch(t)
	m.setWorkers(t, next)
	first := m.awaitBegun(t)
	m.must(t)(m.Lab.Lab(m.ctx, "stop-management"))
	m.eventually(t, 8*time.Minute, first+" is done", func() error { return m.reached(first, next) })
	time.Sleep(time.Minute)
	m.must(t)(m.Lab.Lab(m.ctx, "up"))
	m.awaitWanted(t, 20*time.Minute)
}

// paused checks that the node that has begun is finished, and that no other begins while the Cluster is
// paused.
func (m *managed) paused(t *testing.T) {
	next := m.nextPatch(t)
	m.setWorkers(t, next)
	first := m.awaitBegun(t)
	m.pause(t, true)
	m.eventually(t, 8*time.Minute, first+" is done", func() error { return m.reached(first, next) })
	m.checkNothingBegins(t, time.Minute)
	m.pause(t, false)
	m.awaitWanted(t, 20*time.Minute)
}

func (m *managed) pause(t *testing.T, paused bool) {
	t.Helper()
	m.change(t, capiClusters, capi.ClusterName, func(o *unstructured.Unstructured) { set(o, paused, "spec", "paused") })
}

// badImage checks that the machine returns to its version, and that Cluster API shows why, until a
// person retries.
func (m *managed) badImage(t *testing.T) {
	m.createHealthCheck(t)
	next := m.nextPatch(t, "--broken", "crash")
	m.setWorkers(t, next)
	node := m.awaitUpdating(t, 15*time.Minute, "was returned to its former version")
	m.checkNothingBegins(t, time.Minute)
	member, err := m.kube.CoreV1().Nodes().Get(m.ctx, node, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s has %s: %s", node, member.Status.NodeInfo.KubeletVersion, m.said)
	if member.Status.NodeInfo.KubeletVersion == next {
		t.Errorf("%s runs the broken image", node)
	}
	m.must(t)(m.Lab.Lab(m.ctx, "publish", next, "--programs-of", released(next)))
	time.Sleep(timelimit.Scale(indexRead))
	m.must(t)(m.Upgrade(m.ctx, "apply", next, "--retry", "--yes", "--detach"))
	m.awaitWanted(t, 20*time.Minute)
}
