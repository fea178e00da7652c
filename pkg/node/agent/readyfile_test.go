package agent

import (
	"os"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// TestProbe checks that the DaemonSet's probe runs a command of this program, that it never
// restarts an agent soon, and that the program can write its file.
func TestProbe(t *testing.T) {
	text, err := os.ReadFile("../../../manifests/agent/daemonset.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var daemonSet appsv1.DaemonSet
	if err := yaml.UnmarshalStrict(text, &daemonSet); err != nil {
		t.Fatal(err)
	}
	container := daemonSet.Spec.Template.Spec.Containers[0]
	probe := container.StartupProbe
	if probe == nil || probe.Exec == nil || len(probe.Exec.Command) < 2 || probe.Exec.Command[0] != "/agent" {
		t.Fatalf("the probe is %+v", probe)
	}
	if command, _, err := NewCommand("").Find(probe.Exec.Command[1:]); err != nil || command.Name() != "ready" {
		t.Errorf("it runs %q: %v", probe.Exec.Command, err)
	}
	if limit := probe.FailureThreshold * probe.PeriodSeconds; limit < 24*60*60 {
		t.Errorf("the agent is restarted after %d s", limit)
	}
	i := slices.IndexFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == readyDir })
	if i < 0 || container.VolumeMounts[i].ReadOnly {
		t.Errorf("nothing writable is mounted at %s", readyDir)
	}
}
