package verb

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestEntriesAreComplete checks that no verb lacks a column: it would run without a limit, or
// fail without a reason.
func TestEntriesAreComplete(t *testing.T) {
	seen := map[Verb]bool{}
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
func names(t *testing.T) []Verb {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "entries.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var found []Verb
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if of, typed := spec.Type.(*ast.Ident); !typed || of.Name != "Verb" {
			return false
		}
		for _, value := range spec.Values {
			name, err := strconv.Unquote(value.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, Verb(name))
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
	order := Input{
		Spec: v1alpha1.NodeUpgradeSpec{
			Upgrade: &v1alpha1.UpgradeReference{Name: "patch", UID: "1"}, Version: "v1.34.4", Kubeadm: v1alpha1.KubeadmNode,
			Pace:  v1alpha1.Pace{GuardSeconds: ptr.To[int32](180)},
			Image: &v1alpha1.Image{URL: "https://example.com/image.raw", Digest: v1alpha1.DigestOf("abc"), Architecture: "amd64"},
		},
		Method:               v1alpha1.MethodReboot,
		Active:               "v1.34.5",
		Keyring:              "keys",
		ClusterConfiguration: func() (string, error) { return "kind: ClusterConfiguration", nil },
		KubeProxyConfig:      func() (string, error) { return "mode: nftables", nil },
	}
	want := map[Verb]string{
		Facts:    `null`,
		Disarm:   `null`,
		Stage:    `{"version":"v1.34.4","url":"https://example.com/image.raw","sha256":"abc","keyring":"keys"}`,
		Pull:     `{"version":"v1.34.4","sha256":"abc","clusterConfiguration":"kind: ClusterConfiguration","kubeProxyConfig":"mode: nftables"}`,
		Snapshot: `{"upgrade":"patch"}`,
		Kubeadm:  `{"version":"v1.34.4","command":"Node","sha256":"abc"}`,
		Renew:    `{"upgrade":{"name":"patch","uid":"1"},"clusterConfiguration":"kind: ClusterConfiguration"}`,
		PutBack:  `null`,
		Activate: `{"version":"v1.34.4","sha256":"abc","upgrade":"1","method":"Reboot","guardWithin":180000000000}`,
		Restart:  `{"version":"v1.34.5"}`,
		Confirm:  `null`,
		Etcd:     `null`,

		Uninstall: `null`,
	}
	for _, e := range Table {
		request, err := e.Request("k", order)
		if err != nil || request.Verb != e.Verb || request.Key != "k" || string(request.Args) != want[e.Verb] {
			t.Errorf("%s: %s %v", e.Verb, request.Args, err)
		}
		options := e.Options(order)
		if options.RuntimeMax != e.Timeout || options.WholeNode != (e.Verb == Restart) {
			t.Errorf("%s: %+v", e.Verb, options)
		}
		if e.MountsImage != (options.MountImage == "v1.34.4") {
			t.Errorf("%s mounts %q", e.Verb, options.MountImage)
		}
	}
}

// TestEmptyOrder checks that an order without an image and an upgrade requests no verb.
func TestEmptyOrder(t *testing.T) {
	for _, v := range []Verb{Stage, Pull, Snapshot, Kubeadm, Activate} {
		e, ok := Lookup(v)
		if _, err := e.Request("k", Input{}); !ok || err == nil {
			t.Errorf("an empty order requests %s", v)
		}
	}
}
