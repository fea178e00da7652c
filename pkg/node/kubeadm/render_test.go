package kubeadm

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// printedByKubeadm is what kubeadm 1.34 prints in a dry run, cut.
const printedByKubeadm = `[init] Using Kubernetes version: v1.34.4
[dryrun] Would write file "/etc/kubernetes/manifests/etcd.yaml" with content:
apiVersion: v1
kind: Pod
metadata: {name: etcd}
spec: {containers: [{name: etcd, image: "registry.k8s.io/etcd:3.6.5-0"}]}
[kubelet-start] Writing kubelet configuration to file "/rendered/config.yaml"
[dryrun] Would write file "/etc/kubernetes/manifests/kube-apiserver.yaml" with content:
apiVersion: v1
kind: Pod
metadata: {name: kube-apiserver}
spec:
  containers:
  - name: kube-apiserver
    command:
    - kube-apiserver
    - --authorization-mode=Node,RBAC
[dryrun] Would write file "/var/lib/kubelet/config.yaml" with content:
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
`

func TestRender(t *testing.T) {
	rendering := Rendering{
		Version: "v1.34.4", ClusterConfiguration: "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nkubernetesVersion: v1.34.3\n",
		NodeName: "cp1", Address: "10.0.0.1", Port: 6443, Patches: []host.File{{Path: "/etc/kubernetes/patches/etcd.json", Content: []byte("{}")}},
	}
	var ran host.Confined
	answer := func(printed string, err error) {
		runConfined = func(_ context.Context, r host.Confined) (string, error) {
			ran = r
			return printed, err
		}
	}
	t.Cleanup(func() { runConfined = host.RunConfined })

	answer(printedByKubeadm, host.NewProgramFailure("it ended with the exit status 1"))
	pods, err := Render(t.Context(), nil, rendering, nil)
	if err != nil || len(pods) != 2 || pods["etcd"] == nil || len(pods["kube-apiserver"].Spec.Containers[0].Command) != 2 {
		t.Errorf("%v, %v", pods, err)
	}
	for _, want := range []string{"kubernetesVersion: v1.34.4\n", "---\n", "advertiseAddress: 10.0.0.1\n", "bindPort: 6443\n", "name: cp1\n", "directory: /patches\n", "apiVersion: kubeadm.k8s.io/v1beta4\n"} {
		if !strings.Contains(string(ran.Stdin), want) {
			t.Errorf("the configuration lacks %q:\n%s", want, ran.Stdin)
		}
	}
	if len(ran.Files) != 1 || ran.Files[0].Path != "/patches/etcd.json" || ran.Work == "" {
		t.Errorf("%+v", ran)
	}

	answer("", host.NewProgramFailure("it ended with the exit status 1: unrecognized feature-gate key: X"))
	var refused *host.ProgramFailure
	if _, err := Render(t.Context(), nil, rendering, nil); !errors.As(err, &refused) || !strings.Contains(err.Error(), "feature-gate key") {
		t.Errorf("a refusal: %v", err)
	}
	if !strings.Contains(string(ran.Stdin), "kind: ClusterConfiguration") {
		t.Errorf("not tried without the gates: %s", ran.Stdin)
	}
	runConfined = func(_ context.Context, r host.Confined) (string, error) { // as one that knows a gate no more
		if strings.Contains(string(r.Stdin), "featureGates") {
			return "", host.NewProgramFailure("unrecognized feature-gate key: EtcdLearnerMode")
		}
		return printedByKubeadm, nil
	}
	gated := rendering
	gated.ClusterConfiguration += "featureGates: {EtcdLearnerMode: true}\n"
	if pods, err := Render(t.Context(), nil, gated, nil); err != nil || pods["etcd"] == nil {
		t.Errorf("a gate that kubeadm upgrade passes over: %v", err)
	}
	answer("", nil)
	if _, err := Render(t.Context(), nil, rendering, nil); !errors.As(err, &refused) {
		t.Errorf("nothing printed: %v", err)
	}
	answer("", errors.New("no systemd"))
	if _, err := Render(t.Context(), nil, rendering, nil); err == nil || errors.As(err, &refused) {
		t.Errorf("it could not be tried: %v", err)
	}
}

// TestPulled checks what is kept of a pull.
func TestPulled(t *testing.T) {
	l := host.Layout{Dir: t.TempDir()}
	if last, err := LastPulled(l); err != nil || last.Version != "" {
		t.Errorf("before the first: %+v, %v", last, err)
	}
	if err := os.MkdirAll(host.StateDir(l.Root()), 0o700); err != nil {
		t.Fatal(err)
	}
	want := Pulled{Version: "v1.34.4", ClusterConfiguration: "kind: ClusterConfiguration", Images: []string{"a", "b"}}
	if err := want.write(l); err != nil {
		t.Fatal(err)
	}
	if last, err := LastPulled(l); err != nil || last.Version != want.Version || len(last.Images) != 2 {
		t.Errorf("%+v, %v", last, err)
	}
	if err := os.WriteFile(PulledFile(l), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LastPulled(l); err == nil {
		t.Error("half a file was read")
	}
}
