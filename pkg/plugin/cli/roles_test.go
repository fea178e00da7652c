package cli_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/cli"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

const roleObjects = `
kind: ClusterUpgrade
metadata: {name: u}
spec: {version: v1.34.4}
---
kind: Node
metadata: {name: w-1}
---
kind: NodeUpgrade
metadata: {name: w-1}
status: {step: Failed, conditions: [{type: UpToDate, status: "False", reason: RebootFailed, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]}
`

// viewCommands and editCommands are all commands that need a cluster, in an order in which
// each has something to do.
var (
	viewCommands = []string{
		"status", "status w-1", "plan", "plan v1.34.5", "windows", "windows --node w-1", "version", "history", "report u", "releases", "certificates", "migrate timer",
	}
	editCommands = []string{
		"freeze f --for 1h --reason x --dry-run=server", "freeze f --for 1h --reason x", "unfreeze f --dry-run=server", "unfreeze f",
		"suspend u --dry-run=server", "suspend u", "resume u --dry-run=server", "resume u", "approve u --dry-run=server", "approve u",
		"abandon w-1 --reason x --dry-run=server", "abandon w-1 --reason x --yes",
	}
)

// TestRolesAllowTheirCommands checks that each command works with the role that is meant for
// it, and that a role which does not allow it is refused in one line.
func TestRolesAllowTheirCommands(t *testing.T) {
	config := apitest.Start(t)
	apitest.InstallCRDs(t, config)
	removeObjects(t, config)
	images := httptest.NewServer(http.NotFoundHandler())
	defer images.Close()
	applyObjects(t, config, roleObjects)
	applyObjects(t, config, "kind: UpgradePolicy\nmetadata: {name: cluster}\nspec: {mode: Manage, source: {url: "+images.URL+"/, transportPolicy: AllowHTTP}}")
	manifests := filepath.Join(apitest.Root(t), "manifests")
	for _, args := range [][]string{
		{"apply", "-f", filepath.Join(manifests, "namespace.yaml")},
		{"apply", "-k", filepath.Join(manifests, "people")},
	} {
		if out, err := apitest.Kubectl(t, config, args...).CombinedOutput(); err != nil {
			t.Fatalf("kubectl %s: %v\n%s", args, err, out)
		}
	}
	roles := bindRoles(t, config)
	for _, command := range viewCommands {
		for user := range roles {
			if out, errOut, code := runCommand(t, config, user, command); code != 0 || strings.Contains(out+errOut, "orbidden") {
				t.Errorf("%s: `%s` exits with %d, want 0: %s%s", user, command, code, out, errOut)
			}
		}
	}
	for _, command := range editCommands {
		if _, errOut, code := runCommand(t, config, "kubectl-upgrade-view", command); code != 1 || strings.Count(errOut, "\n") != 1 || !strings.Contains(errOut, "; ask the cluster's administrators for that right") {
			t.Errorf("a user who may view: `%s` exits with %d, want 1 and one line: %s", command, code, errOut)
		}
		if _, errOut, code := runCommand(t, config, "kubectl-upgrade-edit", command); code != 0 || strings.Contains(errOut, "orbidden") {
			t.Errorf("a user who may edit: `%s` exits with %d, want 0: %s", command, code, errOut)
		}
	}
	for user, want := range map[string]string{"kubectl-upgrade-view": "no\n", "kubectl-upgrade-edit": "yes\n"} {
		// can-i exits with 1 for no.
		if out, _ := apitest.Kubectl(t, config, "auth", "can-i", "create", "clusterupgrades", "--as="+user).Output(); string(out) != want {
			t.Errorf("may %s create an upgrade: got %q, want %q", user, out, want)
		}
	}
	checkAggregation(t, config, roles)
}

// bindRoles binds each role to a user of its name, and returns the roles.
func bindRoles(t *testing.T, config *rest.Config) map[string]*rbacv1.ClusterRole {
	t.Helper()
	client := kubernetes.NewForConfigOrDie(config).RbacV1()
	roles := map[string]*rbacv1.ClusterRole{}
	for _, name := range []string{"kubectl-upgrade-view", "kubectl-upgrade-edit"} {
		role, err := client.ClusterRoles().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		roles[name] = role
		_, err = client.ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	return roles
}

// checkAggregation checks into which of Kubernetes' own roles ours are aggregated: by default
// into none, and with manifests/aggregation by roles that consist of ours.
func checkAggregation(t *testing.T, config *rest.Config, roles map[string]*rbacv1.ClusterRole) {
	t.Helper()
	overlay := t.TempDir()
	manifests, err := filepath.Rel(overlay, filepath.Join(apitest.Root(t), "manifests"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), []byte("components: ["+manifests+"/aggregation]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := apitest.Kubectl(t, config, "apply", "-k", overlay).CombinedOutput(); err != nil {
		t.Fatalf("kubectl apply: %v\n%s", err, out)
	}
	client := kubernetes.NewForConfigOrDie(config).RbacV1().ClusterRoles()
	for _, which := range []string{"view", "edit"} {
		role, err := client.Get(t.Context(), "kubectl-upgrade-aggregate-to-"+which, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		selector, err := metav1.LabelSelectorAsSelector(&role.AggregationRule.ClusterRoleSelectors[0])
		if err != nil || !selector.Matches(labels.Set(roles["kubectl-upgrade-"+which].Labels)) {
			t.Errorf("%s does not consist of kubectl-upgrade-%s (%v)", role.Name, which, err)
		}
		roles[role.Name] = role
	}
	want := map[string]string{
		"kubectl-upgrade-view": "", "kubectl-upgrade-edit": "",
		"kubectl-upgrade-aggregate-to-view": "view edit admin", "kubectl-upgrade-aggregate-to-edit": "edit admin",
	}
	got := map[string]string{}
	for name, role := range roles {
		var into []string
		for _, one := range []string{"view", "edit", "admin"} {
			if role.Labels["rbac.authorization.k8s.io/aggregate-to-"+one] == "true" {
				into = append(into, one)
			}
		}
		got[name] = strings.Join(into, " ")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("aggregated into (-want +got):\n%s", diff)
	}
}

// runCommand runs a command as that user, or as the administrator if user is empty.
func runCommand(t *testing.T, config *rest.Config, user, command string) (out, errOut string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	args := append(strings.Fields(command), "--kubeconfig="+apitest.Kubeconfig(t, config))
	if user != "" {
		args = append(args, "--as="+user)
	}
	code = cli.Run(t.Context(), args, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &stdout, ErrOut: &stderr}, "test")
	return stdout.String(), stderr.String(), code
}
