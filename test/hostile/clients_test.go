package hostile_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// Who answers a client whose answers need no test here.
const (
	own     = "the API server of this cluster, which may have all done anyway"
	persons = "an API server that a person chose, in a process of that person"
)

// clients are the files of the programs that make a client for HTTP, each with its test in this package, or why there is
// none.
var clients = map[string]string{
	"pkg/cluster/source/fetch.go":             "TestHostileIndex",
	"pkg/node/sysupdate/source.go":            "TestHostileIndex",
	"pkg/cluster/web/client.go":               "TestHostileAnswers",
	"pkg/cluster/gate/cluster.go":             "TestHostileAnswers",
	"pkg/cluster/gate/prometheus.go":          "TestHostileAnswers",
	"pkg/cluster/gate/gate.go":                "TestHostileAnswers",
	"pkg/cluster/coordinator/silences.go":     "TestHostileAlertmanager",
	"pkg/cluster/notice/send/send.go":         "TestHostileNotices",
	"pkg/node/facts/kubelethealth.go":         "the kubelet of this node, of which 200 bytes are read",
	"pkg/cluster/snapshot/metrics.go":         own,
	"pkg/cluster/coordinator/command.go":      own,
	"pkg/cluster/metricsserver/review.go":     own,
	"pkg/node/agent/clients.go":               own,
	"pkg/node/guard/health.go":                own,
	"pkg/kube/kinds.go":                       own,
	"pkg/kube/clientset.go":                   own,
	"pkg/kube/user.go":                        own,
	"pkg/plugin/leader/leader.go":             persons,
	"pkg/plugin/cli/reader.go":                persons,
	"pkg/plugin/cli/doctor.go":                persons,
	"pkg/plugin/cli/dryrun.go":                persons,
	"cmd/capi-extension/workload/clusters.go": "the API server of a workload cluster, which client-go reads without a limit: it can end the extension",
}

// makesClient matches what makes a client.
var makesClient = regexp.MustCompile(`http\.(Client\{|DefaultClient|DefaultTransport|Get\(|Head\(|Post)|\brest\.(HTTPClientFor|RESTClientFor|UnversionedRESTClientFor)|\b(kubernetes|dynamic|kube|metadata|discovery)\.New\w*ForConfig|\bweb\.(NewClient|ClientFor)\(`)

// TestEachClientHasATest checks that each client of our programs has a test of what a hostile answer costs, or a reason why it needs none.
func TestEachClientHasATest(t *testing.T) {
	root, here, found := apitest.Root(t), "", map[string]bool{}
	files, err := filepath.Glob("*_test.go")
	for _, file := range files {
		text, readErr := os.ReadFile(file)
		if readErr != nil {
			t.Fatal(readErr)
		}
		here += string(text)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"cmd", "pkg"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if err == nil && makesClient.Match(text) {
				name, _ := filepath.Rel(root, path) // both are below the root
				found[filepath.ToSlash(name)] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for file := range found {
		if clients[file] == "" {
			t.Errorf("%s makes a client: measure what a hostile answer costs, and name the test here", file)
		}
	}
	for file, test := range clients {
		if !found[file] {
			t.Errorf("%s makes no client", file)
		}
		if strings.HasPrefix(test, "Test") && !strings.Contains(here, "func "+test+"(t *testing.T)") {
			t.Errorf("%s: there is no test %s", file, test)
		}
	}
}
