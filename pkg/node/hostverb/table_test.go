package hostverb

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// TestEntriesAreComplete checks that no verb lacks a column: it would run without a limit, or
// fail without a reason.
func TestEntriesAreComplete(t *testing.T) {
	seen := map[verb.Verb]bool{}
	for _, e := range Table {
		if e.Verb == "" || e.Help == "" || e.Timeout <= 0 || e.Failed == "" {
			t.Errorf("verb %q lacks a column: %+v", e.Verb, e)
		}
		if seen[e.Verb] {
			t.Errorf("verb %q is in the table twice", e.Verb)
		}
		seen[e.Verb] = true
	}
	for _, name := range names(t) {
		if !seen[name] {
			t.Errorf("verb %q is not in the table", name)
		}
	}
}

// names returns the constants of package verb.
func names(t *testing.T) []verb.Verb {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "verb", "verb.go"), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var found []verb.Verb
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for _, value := range spec.Values {
			name, err := strconv.Unquote(value.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, verb.Verb(name))
		}
		return true
	})
	if len(found) == 0 {
		t.Fatal("package verb has no constants")
	}
	return found
}

// TestRequests checks that the host's side parses what the agent sends.
func TestRequests(t *testing.T) {
	ctx := context.Background()
	order := Input{
		Spec: v1alpha1.NodeUpgradeSpec{
			Upgrade: &v1alpha1.UpgradeReference{Name: "patch", UID: "1"}, Version: "v1.34.4", Kubeadm: v1alpha1.KubeadmNode,
			Pace:  v1alpha1.Pace{GuardSeconds: ptr.To[int32](180)},
			Image: &v1alpha1.Image{URL: "https://example.com/image.raw", Digest: v1alpha1.DigestOf("abc"), Architecture: "amd64"},
		},
		Method:               v1alpha1.MethodReboot,
		Active:               "v1.34.5",
		Keyring:              func(context.Context) (string, error) { return "keys", nil },
		ClusterConfiguration: func(context.Context) (string, error) { return "kind: ClusterConfiguration", nil },
	}
	want := map[verb.Verb]string{
		verb.Facts:    `null`,
		verb.Disarm:   `null`,
		verb.Stage:    `{"version":"v1.34.4","url":"https://example.com/image.raw","sha256":"abc","keyring":"keys"}`,
		verb.Pull:     `{"version":"v1.34.4","sha256":"abc","clusterConfiguration":"kind: ClusterConfiguration"}`,
		verb.Snapshot: `{"upgrade":"patch"}`,
		verb.Kubeadm:  `{"version":"v1.34.4","command":"Node","sha256":"abc"}`,
		verb.Activate: `{"version":"v1.34.4","sha256":"abc","upgrade":"1","method":"Reboot","guardWithin":180000000000}`,
		verb.Restart:  `{"version":"v1.34.5"}`,
		verb.Confirm:  `null`,
		verb.Etcd:     `null`,

		verb.Uninstall: `null`,
	}
	for _, e := range Table {
		request, err := e.Request(ctx, "k", order)
		if err != nil || request.Verb != e.Verb || request.Key != "k" || string(request.Args) != want[e.Verb] {
			t.Errorf("%s: %s %v", e.Verb, request.Args, err)
		}
		options := e.Options(order)
		if options.RuntimeMax != e.Timeout || options.WholeNode != (e.Verb == verb.Restart) {
			t.Errorf("%s: %+v", e.Verb, options)
		}
		mounts := host.MountImage{Source: host.ImagePath("v1.34.4", host.Architecture()), Destination: host.ImageMount}
		if e.MountsImage != (len(options.MountImages) == 1 && options.MountImages[0] == mounts) {
			t.Errorf("%s mounts %+v", e.Verb, options.MountImages)
		}
	}
}

// TestEmptyOrder checks that an order without an image and an upgrade requests no verb.
func TestEmptyOrder(t *testing.T) {
	for _, v := range []verb.Verb{verb.Stage, verb.Pull, verb.Snapshot, verb.Kubeadm, verb.Activate} {
		e, ok := Lookup(v)
		if _, err := e.Request(t.Context(), "k", Input{}); !ok || err == nil {
			t.Errorf("an empty order requests %s", v)
		}
	}
}
