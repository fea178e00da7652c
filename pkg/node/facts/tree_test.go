package facts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

var now = time.Date(2026, 11, 21, 1, 2, 3, 4, time.UTC)

// tree is a node's files by their paths. A text that begins with "-> " is a
// link's target.
type tree map[string]string

// ordinary is a control-plane node as kubeadm and the bakery's image make it.
func ordinary() tree {
	return tree{
		"/sys/fs/cgroup/memory/tasks":                     "",
		"/proc/1/mountinfo":                               "1 0 254:0 / / rw - ext4 /dev/vda rw\n2 1 0:40 / /usr ro - overlay sysext ro\n",
		host.KubeletFlags:                                 `KUBELET_KUBEADM_ARGS="--container-runtime-endpoint=unix:///run/containerd/containerd.sock --pod-infra-container-image=registry.k8s.io/pause:3.10"` + "\n",
		host.KubeletConfig:                                "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncgroupDriver: systemd\nstaticPodPath: /etc/kubernetes/manifests\n",
		host.ManifestsDir + "/kube-apiserver.yaml":        manifest("kube-apiserver", "registry.k8s.io/kube-apiserver:v1.34.3"),
		"/etc/kubernetes/pki/ca.crt":                      pemOf("kubernetes", now.AddDate(10, 0, 0), true),
		"/etc/kubernetes/pki/ca.key":                      "-----BEGIN RSA PRIVATE KEY-----\n-----END RSA PRIVATE KEY-----\n",
		"/opt/kubectl-upgrade/state/facts.json":           "{}",
		"/usr/lib/systemd/system/systemd-sysupdate.timer": "[Timer]\n",
	}
}

// manifest is a static pod as kubeadm writes it, with a container of another program.
func manifest(component, image string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + component + ", namespace: kube-system}\nspec:\n  containers:\n" +
		"  - {name: sidecar, image: 'other:v9'}\n  - {name: " + component + ", image: '" + image + "', command: [" + component + "]}\n"
}

// services are how systemd starts a node's services, by their names.
type services map[string]service

func (s services) ask(name string) (service, error) { return s[name], nil }

// kubelet is how the bakery's image starts the kubelet.
func kubelet() service {
	return service{
		command: []string{"/usr/bin/kubelet", "$KUBELET_KUBECONFIG_ARGS", "$KUBELET_CONFIG_ARGS", "$KUBELET_KUBEADM_ARGS", "$KUBELET_EXTRA_ARGS"},
		environment: []string{
			"KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf",
			"KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml",
		},
		files: []string{"/var/lib/kubelet/kubeadm-flags.env", "/etc/sysconfig/kubelet"},
	}
}

// setting returns the service with more assignments, such as a drop-in's.
func (s service) setting(environment ...string) service {
	s.environment = append(s.environment, environment...)
	return s
}

// started returns the service with another command.
func (s service) started(command ...string) service {
	s.command = command
	return s
}

// running returns the service with a main process.
func (s service) running(main int) service {
	s.main = main
	return s
}

// reading returns the service with other environment files.
func (s service) reading(files ...string) service {
	s.files = files
	return s
}

func (files tree) on(t *testing.T) host.Layout {
	t.Helper()
	l := host.Layout{Dir: t.TempDir()}
	for path, text := range files {
		at := l.At(path)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			err = os.Symlink(target, at)
		} else {
			err = os.WriteFile(at, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// with changes the ordinary node: an empty text takes a file away.
func with(changes tree) tree {
	files := ordinary()
	for path, text := range changes {
		if files[path] = text; text == "" {
			delete(files, path)
		}
	}
	return files
}

func gather(t *testing.T, changes tree) v1alpha1.NodeFacts {
	t.Helper()
	return gatherWith(t, changes, services{"kubelet.service": kubelet()})
}

func gatherWith(t *testing.T, changes tree, s services) v1alpha1.NodeFacts {
	t.Helper()
	return newGatherer(with(changes).on(t), s.ask).forChecks(now)
}

// wantProblem wants exactly one problem that has the text, or none for "".
func wantProblem(t *testing.T, facts v1alpha1.NodeFacts, text string) {
	t.Helper()
	if text == "" && len(facts.Problems) > 0 {
		t.Errorf("problems: %q", facts.Problems)
	}
	if text != "" && (len(facts.Problems) != 1 || !strings.Contains(facts.Problems[0], text)) {
		t.Errorf("problems %q, want %q", facts.Problems, text)
	}
}
