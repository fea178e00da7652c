package snapshot

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// runInShell runs a command that we print, with a kubectl that writes down its arguments, one line for each run, and
// the last object that it is given.
func runInShell(t *testing.T, command string) (runs []string, object []byte) {
	t.Helper()
	dir := t.TempDir()
	const kubectl = "#!/bin/sh\nprintf '%s\\n' \"$*\" >>\"$DIR/runs\"\n[ \"$1\" != apply ] || cat >\"$DIR/object\"\n"
	if err := os.WriteFile(filepath.Join(dir, "kubectl"), []byte(kubectl), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	sh := exec.CommandContext(t.Context(), "sh", "-c", command)
	sh.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "DIR="+dir)
	if out, err := sh.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", command, err, out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "runs"))
	if err != nil {
		t.Fatalf("%s runs no kubectl: %v", command, err)
	}
	object, _ = os.ReadFile(filepath.Join(dir, "object")) // a command without one is fine
	return strings.Split(strings.TrimSpace(string(text)), "\n"), object
}

// TestCommandsGrant runs the commands that the check gate-rights prints, and checks what they would apply: JSON, as
// kubectl before 1.33 takes nothing else that begins with a brace, of the ClusterRole that the gate needs.
func TestCommandsGrant(t *testing.T) {
	need := gateNeed{objects: &v1alpha1.ObjectGate{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: "shop", Name: "db"}}
	runs, object := runInShell(t, need.describe("database", &authorizationv1.ResourceAttributes{Group: "apps", Resource: "statefulsets"}).Advice)
	if diff := cmp.Diff([]string{"apply -f -"}, runs); diff != "" {
		t.Errorf("objects, -want +got:\n%s", diff)
	}
	var role rbacv1.ClusterRole
	decoder := json.NewDecoder(strings.NewReader(string(object)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&role); err != nil {
		t.Fatalf("%s: %v", object, err)
	}
	want := rbacv1.ClusterRole{
		TypeMeta:   metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole"},
		ObjectMeta: metav1.ObjectMeta{Name: "gates-statefulsets.apps", Labels: map[string]string{"kubectl-upgrade.dev/aggregate-to-gates": "true"}},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"apps"}, Resources: []string{"statefulsets"}, Verbs: []string{"get", "list"}}},
	}
	if diff := cmp.Diff(want, role); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	_, command, _ := strings.Cut(gateNeed{secret: "token"}.describe("alerts", nil).Advice, "otherwise: ")
	runs, _ = runInShell(t, command)
	if diff := cmp.Diff([]string{
		"-n kubectl-upgrade create role coordinator-secret-token --verb=get --resource=secrets --resource-name=token",
		"-n kubectl-upgrade create rolebinding coordinator-secret-token --role=coordinator-secret-token --serviceaccount=kubectl-upgrade:coordinator",
	}, runs); diff != "" {
		t.Errorf("a Secret, -want +got:\n%s", diff)
	}
}
