//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/capi"
)

// surprise is a setting with which Cluster API replaces machines at a change of the version without
// asking the extension.
type surprise struct {
	name    string
	workers bool // of a MachineDeployment, not of the KubeadmControlPlane
	set     func(*unstructured.Unstructured)
	words   string // of the refusal
	// begins is true if Cluster API makes or deletes a Machine at once.
	begins bool
}

var past = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Format(time.RFC3339)

var surprises = []surprise{
	{name: "control plane with maxSurge 1", begins: true, words: "maxSurge 1", set: func(o *unstructured.Unstructured) {
		set(o, int64(1), "spec", "rollout", "strategy", "rollingUpdate", "maxSurge")
	}},
	{name: "control plane with one replica", words: "fewer than three", set: func(o *unstructured.Unstructured) {
		set(o, int64(1), "spec", "replicas")
		set(o, int64(1), "spec", "rollout", "strategy", "rollingUpdate", "maxSurge")
	}},
	{name: "control plane with rollout.before", words: "rollout.before", set: func(o *unstructured.Unstructured) {
		set(o, int64(21), "spec", "rollout", "before", "certificatesExpiryDays")
	}},
	{name: "control plane with rollout.after", words: "rollout.after", set: func(o *unstructured.Unstructured) {
		set(o, past, "spec", "rollout", "after")
	}},
	{name: "workers with maxSurge 1 and maxUnavailable 0", workers: true, begins: true, words: "maxUnavailable is 1", set: func(o *unstructured.Unstructured) {
		set(o, int64(1), "spec", "rollout", "strategy", "rollingUpdate", "maxSurge")
		set(o, int64(0), "spec", "rollout", "strategy", "rollingUpdate", "maxUnavailable")
	}},
	{name: "workers with OnDelete", workers: true, words: "OnDelete", set: func(o *unstructured.Unstructured) {
		set(o, "OnDelete", "spec", "rollout", "strategy", "type")
		unstructured.RemoveNestedField(o.Object, "spec", "rollout", "strategy", "rollingUpdate")
	}},
	{name: "workers with rollout.after", workers: true, words: "rollout.after", set: func(o *unstructured.Unstructured) {
		set(o, past, "spec", "rollout", "after")
	}},
}

// onUncovered is the annotation that lets Cluster API replace machines.
const onUncovered = "kubectl-upgrade.dev/on-uncovered"

func (s surprise) of() (resource schema.GroupVersionResource, name string, version []string) {
	if s.workers {
		return capiDeployments, capi.Workers, []string{"spec", "template", "spec", "version"}
	}
	return capiControlPlanes, capi.ControlPlane, []string{"spec", "version"}
}

// surprisesRefused checks that the change is refused before it begins, and that it is not with the
// annotation. Nothing is written.
func (m *managed) surprisesRefused(t *testing.T) {
	var said []string
	for _, s := range surprises {
		resource, name, version := s.of()
		next := nextVersion(t, m.wanted(t).workers)
		err := m.tryChange(resource, name, func(o *unstructured.Unstructured) {
			s.set(o)
			set(o, next, version...)
		}, metav1.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), s.words) || !strings.Contains(err.Error(), "annotate") {
			t.Errorf("%s: got the error %v, want one about %q that names the annotation", s.name, err, s.words)
			continue
		}
		said = append(said, s.words)
		t.Logf("%s: %v", s.name, err)
		err = m.tryChange(resource, name, func(o *unstructured.Unstructured) {
			s.set(o)
			set(o, next, version...)
			annotate(o, onUncovered, "Replace")
		}, metav1.DryRunAll)
		if err != nil {
			t.Errorf("%s, annotated with Replace: %v", s.name, err)
		}
	}
	m.said = "refused because of " + strings.Join(said, ", ")
}

func annotate(o *unstructured.Unstructured, name, value string) {
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[name] = value
	o.SetAnnotations(annotations)
}

// surprisesSeen shows that Cluster API does begin to replace machines: those of a control plane without
// asking, and those of workers although the extension answers that they can be updated. The lab has no
// node for one more machine, so that none of those that there are is deleted before the change is
// taken back.
func (m *managed) surprisesSeen(t *testing.T) {
	next := m.nextPatch(t)
	for _, s := range surprises {
		if !s.begins {
			continue
		}
		resource, name, version := s.of()
		former := m.get(t, resource, name)
		asked := m.questions(t)
		known := len(m.machineNames(t))
		m.change(t, resource, name, func(o *unstructured.Unstructured) {
			s.set(o)
			annotate(o, onUncovered, "Replace")
			set(o, next, version...)
		})
		m.eachSecond(t, 2*time.Minute, s.name+": Cluster API makes one more Machine", func() error {
			if got := len(m.machineNames(t)); got != known+1 {
				return fmt.Errorf("there are %d, want %d", got, known+1)
			}
			return nil
		})
		if after := m.questions(t); after != asked && !s.workers {
			t.Errorf("%s: the extension was asked %d times", s.name, after-asked)
		}
		m.change(t, resource, name, func(o *unstructured.Unstructured) {
			o.SetAnnotations(former.GetAnnotations())
			o.Object["spec"] = former.DeepCopy().Object["spec"]
		})
		m.awaitWanted(t, 5*time.Minute)
	}
	m.said = "one more Machine: of the control plane without asking, of the workers although the extension said yes"
}

func (m *managed) machineNames(t *testing.T) []string {
	t.Helper()
	machines, err := m.list(capiMachines)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, machine := range machines {
		names = append(names, machine.GetName())
	}
	return names
}

// questions returns how often the extension was asked whether machines can be updated in place.
func (m *managed) questions(t *testing.T) int {
	t.Helper()
	log, err := os.ReadFile(m.extensionLog())
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(log), "hook=CanUpdateMachine")
}

var healthChecks = schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: "machinehealthchecks"}

// createHealthCheck has Cluster API replace a machine whose node is not Ready for 20 seconds, until the
// test ends.
func (m *managed) createHealthCheck(t *testing.T) {
	t.Helper()
	client := m.management.Resource(healthChecks).Namespace(capi.Namespace)
	check := object("cluster.x-k8s.io/v1beta2", "MachineHealthCheck", "impatient", map[string]any{
		"clusterName": capi.ClusterName,
		"selector":    map[string]any{"matchLabels": map[string]any{"cluster.x-k8s.io/cluster-name": capi.ClusterName}},
		"checks": map[string]any{"unhealthyNodeConditions": []any{
			map[string]any{"type": "Ready", "status": "Unknown", "timeoutSeconds": int64(20)},
			map[string]any{"type": "Ready", "status": "False", "timeoutSeconds": int64(20)},
		}},
	})
	if _, err := client.Create(m.ctx, check, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Delete(m.ctx, check.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}
