package memory

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// unwanted are packages, with those below, that the agent must not link: Go initializes each
// package when a program starts, whether or not it is used, and that memory is needed on
// every node.
var unwanted = []string{
	"k8s.io/client-go/kubernetes", // every kind of Kubernetes: package kube has those that an agent needs
	"k8s.io/client-go/informers",
	"k8s.io/kubectl",
	"k8s.io/cli-runtime",
	"sigs.k8s.io/kustomize",
	"go.etcd.io/etcd", // this and the next three: for the verbs on the host, which the program node-agent runs
	"google.golang.org/grpc",
	"k8s.io/cri-api",
	"github.com/ProtonMail/go-crypto",
	"golang.org/x/crypto/x509roots",                             // 150 certificates: the agent asks the API server alone, which has the cluster's own
	"github.com/nicholas-fedor/shoutrrr",                        // for the program send-notice
	"github.com/prometheus",                                     // only the coordinator serves metrics
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/guard", // as all that runs on the host itself
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/kubeadm",
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/snapshot",
}

func TestAgentLinksOnlyWhatItNeeds(t *testing.T) {
	agent := dependencies(t, "../../cmd/agent")
	// A package that nothing links any more may have a new name.
	others := dependencies(t, "-test", "../../cmd/coordinator", "../../cmd/send-notice", "../../cmd/node-agent", "../../pkg/node/drain", "../../pkg/plugin/cli")
	for _, name := range unwanted {
		if i := slices.IndexFunc(agent, below(name)); i >= 0 {
			t.Errorf("cmd/agent links %s", agent[i])
		}
		if !slices.ContainsFunc(others, below(name)) {
			t.Errorf("no program and no test links %s: remove it from this list, or correct it", name)
		}
	}
}

// TestCoordinatorLinksNoTemplates checks for the library that sends notices, which fills in templates:
// Go then links every method of every type, and the program becomes 29 MB larger.
func TestCoordinatorLinksNoTemplates(t *testing.T) {
	sends := below("github.com/nicholas-fedor/shoutrrr")
	if all := dependencies(t, "../../cmd/coordinator"); slices.ContainsFunc(all, sends) {
		t.Error("cmd/coordinator links the library: only cmd/send-notice may")
	}
	if all := dependencies(t, "../../cmd/send-notice"); !slices.ContainsFunc(all, sends) {
		t.Error("cmd/send-notice does not link the library")
	}
}

func below(name string) func(string) bool {
	return func(path string) bool { return path == name || strings.HasPrefix(path, name+"/") }
}

// dependencies returns the packages that other packages link.
func dependencies(t *testing.T, args ...string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", append([]string{"list", "-deps"}, args...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}
