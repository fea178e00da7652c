package etcd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// TestRestore takes a snapshot, destroys every member, and restores them with the commands of
// docs/rollback.md.
func TestRestore(t *testing.T) {
	for _, members := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d members", members), func(t *testing.T) {
			t.Parallel()
			nodes := newCluster(t, members)
			put(t, nodes[0], "before", "1")
			out := nodes[0].mustTake("v1.35.4")
			put(t, nodes[0], "after", "2")
			put(t, nodes[0], "before", "3")
			last := revision(t, nodes[0])
			for _, n := range nodes {
				n.destroy()
			}
			for _, n := range nodes {
				n.restore(nodes[0].l.At(out.Path), initialCluster(nodes))
			}
			for _, n := range nodes {
				n.start(initialCluster(nodes))
			}
			for _, n := range nodes {
				n.await()
				if got := get(t, n, "before"); got != "1" {
					t.Errorf("%s: before is %q", n.name, got)
				}
				if got := get(t, n, "after"); got != "" {
					t.Errorf("%s: after is %q", n.name, got)
				}
			}
			if now := revision(t, nodes[0]); now <= last {
				t.Errorf("revision %d is not past %d, which clients have seen", now, last)
			}
			if got := strings.Fields(healthy(Health(t.Context(), nodes[0].l))); len(got) != members {
				t.Errorf("healthy: %q", got)
			}
		})
	}
}

// restore runs the page's commands, with this node's values.
func (n *node) restore(file, cluster string) {
	n.t.Helper()
	etcdutl := apitest.Path(n.t, "etcdutl")
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", block(n.t, "# 2 restore"))
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(etcdutl)+":"+os.Getenv("PATH"),
		"SNAPSHOT="+file, "DATA="+n.dataDir(), "NAME="+n.name, "PEER="+n.peer, "CLUSTER="+cluster)
	if printed, err := cmd.CombinedOutput(); err != nil {
		n.t.Fatalf("%v\n%s", err, printed)
	}
}

// TestRestoreRefusesDamage checks that etcdutl refuses a damaged file, as the page says.
func TestRestoreRefusesDamage(t *testing.T) {
	t.Parallel()
	n := newCluster(t, 1)[0]
	path := n.l.At(n.mustTake("u").Path)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	n.destroy()
	cmd := exec.Command(apitest.Path(t, "etcdutl"), "snapshot", "restore", path, "--data-dir", n.dataDir())
	if printed, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(printed), "sha256") {
		t.Errorf("%v\n%s", err, printed)
	}
}

// block returns the page's shell block that begins with that line.
func block(t *testing.T, first string) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(apitest.Root(t), "docs", "rollback.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(page), "```sh\n"+first+"\n")
	text, _, ended := strings.Cut(text, "```")
	if !found || !ended {
		t.Fatalf("docs/rollback.md has no block %q", first)
	}
	return text
}

func put(t *testing.T, n *node, key, value string) {
	t.Helper()
	if _, err := n.dial().Put(t.Context(), key, value); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, n *node, key string) string {
	t.Helper()
	answer, err := n.dial().Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if len(answer.Kvs) == 0 {
		return ""
	}
	return string(answer.Kvs[0].Value)
}

func revision(t *testing.T, n *node) int64 {
	t.Helper()
	answer, err := n.dial().Get(t.Context(), "health")
	if err != nil {
		t.Fatal(err)
	}
	return answer.Header.Revision
}
