package cli_test

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/snapshot"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/cli"
)

func fault(none map[string]int) { none["a"]++ }

// faulty is a transport with a fault at the requests for a path. It answers the others.
type faulty struct{ path string }

func (f faulty) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.Contains(r.URL.Path, f.path) {
		fault(nil)
	}
	body := `{"items": []}`
	if strings.HasSuffix(r.URL.Path, "/pods") {
		body = `{"items": [{"metadata": {"name": "a", "labels": {"component": "kube-apiserver"}, "annotations": {"kubernetes.io/config.mirror": "a", "kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint": "127.0.0.1:1"}}}]}`
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// crashes are faults in goroutines.
var crashes = map[string]func(ctx context.Context, c snapshot.Clients){
	// one that client-go starts
	"no such path": func(ctx context.Context, _ snapshot.Clients) {
		go wait.UntilWithContext(ctx, func(context.Context) { fault(nil) }, time.Hour)
		time.Sleep(time.Minute)
	},
	"upgradepolicies": func(ctx context.Context, c snapshot.Clients) { _, _ = snapshot.ReadShown(ctx, c, time.Now()) },
	"kubelet-config": func(ctx context.Context, c snapshot.Clients) {
		_, _ = snapshot.ReadPreflight(ctx, c, v1alpha1.ClusterUpgrade{Spec: v1alpha1.ClusterUpgradeSpec{Version: "v1.34.5"}}, nil)
	},
	"/metrics": func(ctx context.Context, c snapshot.Clients) {
		_, _ = snapshot.ReadPreflight(ctx, c, v1alpha1.ClusterUpgrade{}, nil)
	},
}

// crash is a program with one of the faults.
func crash() {
	cli.CrashInOneLine(os.Stderr, "v1.2.3")
	config := &rest.Config{Host: "https://127.0.0.1:1", WrapTransport: func(http.RoundTripper) http.RoundTripper { return faulty{os.Args[1]} }}
	ours, err := kube.NewKinds(config)
	if err != nil {
		panic(err)
	}
	crashes[os.Args[1]](context.Background(), snapshot.Clients{Kube: kubernetes.NewForConfigOrDie(config), Ours: ours, Access: config})
}

// TestCrashOfAGoroutineIsOneLine runs that program: no stack reaches a person, and the exit code is
// not 2, which means that there is something to do.
func TestCrashOfAGoroutineIsOneLine(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "kubectl-upgrade-crash") // testscript.Main goes by the name
	if err := os.Symlink(self, link); err != nil {
		t.Fatal(err)
	}
	for fault := range crashes {
		t.Run(fault, func(t *testing.T) {
			var errOut strings.Builder
			cmd := exec.CommandContext(t.Context(), link, fault)
			cmd.Stderr = &errOut
			exit := (*exec.ExitError)(nil)
			want := regexp.MustCompile(`^error: this is a fault of kubectl upgrade v1\.2\.3, at crash_test\.go:\d+: assignment to entry in nil map; please report this line at https://\S+\n$`)
			if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != 1 || !want.MatchString(errOut.String()) {
				t.Errorf("got %v and %q", err, errOut.String())
			}
		})
	}
}

// TestGoroutinesHandleCrashes checks that each goroutine in the plugin's packages begins with what
// makes its fault one line.
func TestGoroutinesHandleCrashes(t *testing.T) {
	folders := []string{"../../cluster/snapshot", "../../cluster/source", "../../slot", "../../rules", "../../cluster/plan", "../../cluster/preflight", "../../kube", "../../schedule", "../../image/signature", "../../image", "../../program", "../../../cmd/kubectl-upgrade"}
	for _, pattern := range []string{"../*", "../*/*"} {
		found, err := filepath.Glob(pattern)
		must(t, err)
		folders = append(folders, found...)
	}
	goroutines := 0
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		must(t, err)
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			text, err := os.ReadFile(name)
			must(t, err)
			positions := token.NewFileSet()
			file, err := parser.ParseFile(positions, name, text, parser.SkipObjectResolution)
			must(t, err)
			ast.Inspect(file, func(node ast.Node) bool {
				var begun ast.Expr
				switch n := node.(type) {
				case *ast.GoStmt:
					begun = n.Call
				case *ast.CallExpr:
					if called, is := n.Fun.(*ast.SelectorExpr); is && called.Sel.Name == "Go" && !isKinds(called.X) {
						begun = n.Args[0]
					}
				}
				if begun == nil {
					return true
				}
				goroutines++
				source := string(text[positions.Position(begun.Pos()).Offset:positions.Position(begun.End()).Offset])
				if !handlesCrash.MatchString(source) {
					t.Errorf("%s: this goroutine has to begin with `defer utilruntime.HandleCrash()`: %s", positions.Position(begun.Pos()), source)
				}
				return true
			})
		}
	}
	if goroutines < 8 {
		t.Errorf("found %d goroutines, so that this test proves nothing", goroutines)
	}
}

// isKinds reports whether it is the kinds of package snapshot, whose goroutines handle their crashes.
func isKinds(receiver ast.Expr) bool {
	name, is := receiver.(*ast.Ident)
	return is && name.Name == "k"
}

// handlesCrash matches a goroutine that handles its crash: itself, by a function that does, or by
// client-go.
var handlesCrash = regexp.MustCompile(`^func\(\) \{\s*defer utilruntime\.HandleCrash|withoutStack\(|\{ ended <- work\(\) \}|^informer\.RunWithContext|^f\.readPrograms\(`)
