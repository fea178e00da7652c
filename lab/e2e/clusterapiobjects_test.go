//go:build e2e

package e2e

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/retry"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/capi"
)

// inProgress is Cluster API's annotation of a Machine that it updates in place.
const inProgress = "in-place-updates.internal.cluster.x-k8s.io/update-in-progress"

// skipRemediation is the annotation that keeps health checks away from a Machine.
const skipRemediation = "cluster.x-k8s.io/skip-remediation"

func object(apiVersion, kind, name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name}, "spec": spec,
	}}
}

func base64Of(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

// field returns a field, or nothing.
func field(object *unstructured.Unstructured, path ...string) string {
	value, _, _ := unstructured.NestedString(object.Object, path...)
	return value
}

// condition returns the status and the message of a condition.
func condition(object *unstructured.Unstructured, name string) (status, message string) {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, one := range conditions {
		if fields, ok := one.(map[string]any); ok && fields["type"] == name {
			return fmt.Sprint(fields["status"]), fmt.Sprint(fields["message"])
		}
	}
	return "", ""
}

func conditionIs(object *unstructured.Unstructured, name, want string) error {
	if status, message := condition(object, name); status != want {
		return fmt.Errorf("%s %s has condition %s=%q: %s", object.GetKind(), object.GetName(), name, status, message)
	}
	return nil
}

// set sets a field of an object of the example, which has only fields of known types.
func set(object *unstructured.Unstructured, value any, path ...string) {
	if err := unstructured.SetNestedField(object.Object, value, path...); err != nil {
		panic(err)
	}
}

func (m *managed) list(resource schema.GroupVersionResource) ([]unstructured.Unstructured, error) {
	list, err := m.management.Resource(resource).Namespace(capi.Namespace).List(m.ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

func (m *managed) get(t *testing.T, resource schema.GroupVersionResource, name string) *unstructured.Unstructured {
	t.Helper()
	found, err := m.management.Resource(resource).Namespace(capi.Namespace).Get(m.ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// change changes an object as a person with an editor does.
func (m *managed) change(t *testing.T, resource schema.GroupVersionResource, name string, change func(*unstructured.Unstructured)) {
	t.Helper()
	if err := m.tryChange(resource, name, change); err != nil {
		t.Fatal(err)
	}
}

func (m *managed) tryChange(resource schema.GroupVersionResource, name string, change func(*unstructured.Unstructured), flags ...string) error {
	client := m.management.Resource(resource).Namespace(capi.Namespace)
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		found, err := client.Get(m.ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(found)
		_, err = client.Update(m.ctx, found, metav1.UpdateOptions{DryRun: flags})
		return err
	})
}

// setVersion asks Cluster API for a version as docs/capi.md says: the version and what names it are
// changed at once, in the KubeadmControlPlane and in the MachineDeployment.
func (m *managed) setVersion(t *testing.T, version string) {
	t.Helper()
	m.setControlPlane(t, version)
	m.setWorkers(t, version)
}

func (m *managed) setControlPlane(t *testing.T, version string) {
	t.Helper()
	additional := m.additionalConfig(t, version)
	m.change(t, capiControlPlanes, capi.ControlPlane, func(o *unstructured.Unstructured) {
		set(o, version, "spec", "version")
		set(o, additional, "spec", "kubeadmConfigSpec", "ignition", "containerLinuxConfig", "additionalConfig")
	})
}

func (m *managed) setWorkers(t *testing.T, version string) {
	t.Helper()
	name := m.template(t, version, func(*unstructured.Unstructured) {})
	m.change(t, capiDeployments, capi.Workers, func(o *unstructured.Unstructured) {
		set(o, version, "spec", "template", "spec", "version")
		set(o, name, "spec", "template", "spec", "bootstrap", "configRef", "name")
	})
}

// template copies the workers' KubeadmConfigTemplate for a version, with a change, and returns its name:
// Cluster API does not look at a template again that has kept its name.
func (m *managed) template(t *testing.T, version string, change func(*unstructured.Unstructured)) string {
	t.Helper()
	deployment := m.get(t, capiDeployments, capi.Workers)
	template := m.get(t, capiTemplates, field(deployment, "spec", "template", "spec", "bootstrap", "configRef", "name"))
	fresh := object(template.GetAPIVersion(), template.GetKind(), "", nil)
	fresh.SetGenerateName(capi.Workers + "-" + strings.ReplaceAll(version, ".", "-") + "-")
	fresh.Object["spec"] = template.Object["spec"]
	set(fresh, m.additionalConfig(t, version), "spec", "template", "spec", "ignition", "containerLinuxConfig", "additionalConfig")
	change(fresh)
	made, err := m.management.Resource(capiTemplates).Namespace(capi.Namespace).Create(m.ctx, fresh, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made.GetName()
}

func (m *managed) additionalConfig(t *testing.T, version string) string {
	t.Helper()
	additional, err := capi.AdditionalConfig(version, "http://10.88.0.1:8080")
	if err != nil {
		t.Fatal(err)
	}
	return additional
}

// versions are those of the control planes and of the workers. Workers may have a later patch.
type versions struct{ controlPlanes, workers string }

// of returns the version of a node.
func (v versions) of(node string) string {
	if strings.HasPrefix(node, "cp") {
		return v.controlPlanes
	}
	return v.workers
}

// wanted returns the versions that the KubeadmControlPlane and the MachineDeployment ask for.
func (m *managed) wanted(t *testing.T) versions {
	t.Helper()
	return versions{
		controlPlanes: field(m.get(t, capiControlPlanes, capi.ControlPlane), "spec", "version"),
		workers:       field(m.get(t, capiDeployments, capi.Workers), "spec", "template", "spec", "version"),
	}
}

// nextPatch publishes the patch after the present one, made of released programs, and returns its version.
func (m *managed) nextPatch(t *testing.T, flags ...string) string {
	t.Helper()
	now := m.wanted(t).workers
	next := nextVersion(t, now)
	publish := []string{"publish", next}
	if next != released(now) {
		publish = append(publish, "--programs-of", released(now))
	}
	m.must(t)(m.Lab.Lab(m.ctx, append(publish, flags...)...))
	return next
}

func nextVersion(t *testing.T, now string) string {
	t.Helper()
	var minor, patch int
	if _, err := fmt.Sscanf(now, "v1.%d.%d", &minor, &patch); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("v1.%d.%d", minor, patch+1)
}

// released returns the newest version that was released and is not newer than a version of its minor.
func released(version string) string {
	if strings.HasPrefix(version, "v1.35.") {
		return minorTo
	}
	return to
}

// machineUIDs returns the UIDs of the Machines by their nodes.
func (m *managed) machineUIDs(t *testing.T) map[string]string {
	t.Helper()
	machines, err := m.list(capiMachines)
	if err != nil {
		t.Fatal(err)
	}
	uids := map[string]string{}
	for _, machine := range machines {
		uids[field(&machine, "status", "nodeRef", "name")] = string(machine.GetUID())
	}
	for _, node := range m.nodes {
		if uids[node] == "" || len(uids) != len(m.nodes) {
			t.Fatalf("the Machines' nodes are %v, want %v", uids, m.nodes)
		}
	}
	return uids
}

// awaitWanted waits until each Machine and each node has the version that is asked for, and Cluster API
// has nothing to do.
func (m *managed) awaitWanted(t *testing.T, limit time.Duration) {
	t.Helper()
	want := m.wanted(t)
	m.eachSecond(t, limit, fmt.Sprintf("all Machines and nodes have %+v", want), func() error { return m.allHave(want) })
}

func (m *managed) allHave(want versions) error {
	machines, err := m.list(capiMachines)
	if err != nil {
		return err
	}
	for _, machine := range machines {
		if got := field(&machine, "spec", "version"); got != want.of(field(&machine, "status", "nodeRef", "name")) {
			return fmt.Errorf("Machine %s has version %s", machine.GetName(), got) //nolint:staticcheck // the name of a kind
		}
		if _, updating := machine.GetAnnotations()[inProgress]; updating {
			_, message := condition(&machine, "Updating")
			return fmt.Errorf("Machine %s is being updated: %s", machine.GetName(), message) //nolint:staticcheck // the name of a kind
		}
		if err := errors.Join(conditionIs(&machine, "UpToDate", "True"), conditionIs(&machine, "Ready", "True")); err != nil {
			return err
		}
	}
	for _, owner := range []struct {
		resource schema.GroupVersionResource
		name     string
	}{{capiControlPlanes, capi.ControlPlane}, {capiDeployments, capi.Workers}} {
		object, err := m.management.Resource(owner.resource).Namespace(capi.Namespace).Get(m.ctx, owner.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if err := conditionIs(object, "RollingOut", "False"); err != nil {
			return err
		}
	}
	return m.nodesHave(want)
}

// nodesHave returns an error unless each node runs its version and is in service.
func (m *managed) nodesHave(want versions) error {
	nodes, err := m.kube.CoreV1().Nodes().List(m.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, node := range nodes.Items {
		if got := node.Status.NodeInfo.KubeletVersion; got != want.of(node.Name) || node.Spec.Unschedulable {
			return fmt.Errorf("node %s has %s, unschedulable: %t", node.Name, got, node.Spec.Unschedulable)
		}
	}
	if len(nodes.Items) != len(m.nodes) {
		return fmt.Errorf("there are %d nodes, want %d", len(nodes.Items), len(m.nodes))
	}
	return nil
}

// checkNothingReplaced checks every version of every Machine since the case began: none was made or
// deleted.
func (m *managed) checkNothingReplaced(t *testing.T, before map[string]string) {
	t.Helper()
	known := map[string]bool{}
	for _, uid := range before {
		known[uid] = true
	}
	seen := map[string]bool{}
	for _, moment := range m.history.Moments() {
		if moment.Resource != capiMachines.Resource {
			continue
		}
		name, uid := moment.Object.GetName(), string(moment.Object.GetUID())
		if seen[uid] {
			continue
		}
		if !known[uid] {
			t.Errorf("Cluster API made Machine %s", name)
			seen[uid] = true
		}
		if moment.Deleted || moment.Object.GetDeletionTimestamp() != nil {
			t.Errorf("Cluster API deleted Machine %s", name)
			seen[uid] = true
		}
	}
}

// checkMarksGone checks that no Machine still keeps health checks away.
func (m *managed) checkMarksGone(t *testing.T) {
	t.Helper()
	machines, err := m.list(capiMachines)
	if err != nil {
		t.Fatal(err)
	}
	for _, machine := range machines {
		if value, marked := machine.GetAnnotations()[skipRemediation]; marked {
			t.Errorf("Machine %s still has the annotation %s=%s", machine.GetName(), skipRemediation, value)
		}
	}
}

// awaitEvent waits for an event about an object of Cluster API, and keeps its text for the page.
func (m *managed) awaitEvent(t *testing.T, limit time.Duration, kind, words string) {
	t.Helper()
	m.eachSecond(t, limit, fmt.Sprintf("an event of a %s says %q", kind, words), func() error {
		var others []string
		for _, moment := range m.history.Moments() {
			message := field(moment.Object, "message")
			if moment.Resource != coreEvents.Resource || field(moment.Object, "involvedObject", "kind") != kind {
				continue
			}
			if strings.Contains(message, words) {
				m.said = message
				return nil
			}
			if !slices.Contains(others, message) {
				others = append(others, message)
			}
		}
		return fmt.Errorf("its events say %q", others)
	})
}

// awaitUpdating waits until a Machine's condition Updating has these words, and keeps its text for the page.
func (m *managed) awaitUpdating(t *testing.T, limit time.Duration, words string) (node string) {
	t.Helper()
	m.eachSecond(t, limit, fmt.Sprintf("a Machine says %q", words), func() error {
		machines, err := m.list(capiMachines)
		if err != nil {
			return err
		}
		var others []string
		for _, machine := range machines {
			_, message := condition(&machine, "Updating")
			if strings.Contains(message, words) {
				m.said, node = message, field(&machine, "status", "nodeRef", "name")
				return nil
			}
			others = append(others, machine.GetName()+": "+message)
		}
		return fmt.Errorf("they say %q", others)
	})
	return node
}

// staysAt checks for a while that no node leaves its version, or reboots.
func (m *managed) staysAt(t *testing.T, span time.Duration, now versions) {
	t.Helper()
	m.checkUndisturbed(t, span)
	if err := m.nodesHave(now); err != nil {
		t.Error(err)
	}
}
