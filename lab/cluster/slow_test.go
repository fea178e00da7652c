package cluster

import (
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/timelimit"
)

func TestSlowMachinesPatchKubernetes(t *testing.T) {
	t.Setenv(timelimit.Variable, "10")
	files, err := slowFiles()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	for name, text := range files {
		if !strings.HasPrefix(name, patches+"/") {
			continue
		}
		var operations []struct {
			Op, Path string
			Value    any
		}
		if err := yaml.Unmarshal([]byte(text), &operations); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, o := range operations {
			target, _, _ := strings.Cut(path.Base(name), "+")
			got[target+o.Path] = o.Value
		}
	}
	for field, want := range map[string]any{
		"kube-apiserver/spec/containers/0/livenessProbe/timeoutSeconds":          150.0,
		"etcd/spec/containers/0/readinessProbe/periodSeconds":                    10.0,
		"kube-controller-manager/spec/containers/0/livenessProbe/timeoutSeconds": 150.0,
		"kube-scheduler/spec/containers/0/livenessProbe/periodSeconds":           100.0,
		"kubeletconfiguration/nodeStatusUpdateFrequency":                         "100s",
		"kubeletconfiguration/nodeLeaseDurationSeconds":                          400.0,
	} {
		if diff := cmp.Diff(want, got[field]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", field, diff)
		}
	}
	for file, kind := range map[string]string{"init.yaml": "InitConfiguration", "join.yaml": "JoinConfiguration"} {
		if got := at(render(t, file, config)[kind], "patches", "directory"); got != patches {
			t.Errorf("%s: kubeadm takes patches from %v, want %s", kind, got, patches)
		}
	}
	for _, verb := range []string{"apply", "node"} {
		if got := at(render(t, "upgrade.yaml", config)["UpgradeConfiguration"], verb, "patches", "directory"); got != patches {
			t.Errorf("upgrade %s: kubeadm takes patches from %v, want %s", verb, got, patches)
		}
	}
}

func TestOrdinaryMachinesDoNotPatchKubernetes(t *testing.T) {
	t.Setenv(timelimit.Variable, "")
	if files, err := slowFiles(); err != nil || len(files) > 0 {
		t.Errorf("got %v, %v; want nothing", files, err)
	}
	if got := at(render(t, "init.yaml", config)["InitConfiguration"], "patches"); got != nil {
		t.Errorf("kubeadm has patches: %v", got)
	}
}
