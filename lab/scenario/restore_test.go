package scenario

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The page's commands are a script that a shell understands, with each node's own
// values.
func TestRestoreScript(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "rollback.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	for _, step := range []string{"# 1 stop", "# 2 restore", "# 3 start", "# 4 look"} {
		text, err := shellBlock(page, step)
		if err != nil {
			t.Fatal(err)
		}
		script, err := restoreScript(page, map[string]string{"NAME": "cp2", "PEER": "https://10.88.0.12:2380"}, text)
		if err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("bash", "-n", "-c", script).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", step, err, out)
		}
	}
	script, err := restoreScript(page, map[string]string{"NAME": "cp2", "SNAPSHOT": "/root/x.db"}, `ctr() { echo "$@"; }
DATA=/var/lib/etcd; etcdutl snapshot restore "$SNAPSHOT" --name "$NAME"`)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("bash", "-euc", script).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"src=/var/lib,dst=/var/lib", "src=/root,dst=/root", "etcdutl snapshot restore /root/x.db --name cp2"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is not in %s", want, out)
		}
	}
	if _, err := restoreScript(page, map[string]string{"NOT": "there"}, ""); err == nil {
		t.Error("a variable that the page does not have is taken")
	}
}
