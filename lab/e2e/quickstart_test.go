//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestQuickStart types the four commands of README.md, and prints how long each takes. The pool
// gets a patch, no file of another node changes, and the commands of README.md that uninstall
// leave every node as it was: `make e2e-install`.
func TestQuickStart(t *testing.T) {
	c := newLab(t, 1, 2)
	c.must(t)(c.Lab.Lab(c.ctx, "load-image", c.imageTar()))
	c.must(t)(c.Lab.Lab(c.ctx, "publish", to))
	c.must(t)(c.Kube(c.ctx, "label", "node", "w1", "pool=pilot"))
	files, objects := c.filesOf(t), c.objects(t)

	readme := c.readREADME(t)
	dir := readme.folder(t, c)
	commands := commandLine.FindAllStringSubmatch(readme.section("Quick start"), -1)
	if len(commands) != 5 || !strings.HasPrefix(commands[0][1], "FROM=https://") {
		t.Fatalf("the quick start has these commands, want one that sets FROM, and four: %q", commands)
	}
	from := "FROM=file://" + filepath.Join(dir, "release") + "; "
	c.typed(t, dir, from+commands[1][1])
	c.typed(t, dir, from+commands[2][1])
	c.waitUntilInstalled(t)
	c.connect(t)
	c.patchPolicy(t, `{"source":{"url":"http://10.88.0.1:8080/","transportPolicy":"AllowHTTP","intervalSeconds":2},"strategy":{"settleSeconds":5,"minReadySeconds":0}}`)
	c.eventually(t, time.Minute, "the source is ready", c.sourceReady)
	c.typed(t, dir, commands[3][1])
	c.typed(t, dir, commands[4][1])
	c.eventually(t, 15*time.Minute, "the patch has reached the pool", func() error { return c.succeededOn(to, 1) })
	c.eventually(t, time.Minute, "the nodes that are not in the pool are as they were", func() error { // but while facts are read
		after := c.filesOf(t)
		for _, name := range []string{"cp1", "w2"} {
			if diff := cmp.Diff(files[name], after[name]); diff != "" {
				return fmt.Errorf("%s was changed (-before +after):\n%s", name, diff)
			}
		}
		return nil
	})

	c.stopRecording()
	for _, command := range commandLine.FindAllStringSubmatch(readme.section("Uninstall"), -1) {
		c.typed(t, dir, command[1])
	}
	after := c.filesOf(t)
	for _, name := range c.nodes {
		if diff := cmp.Diff(withoutKubernetesImage(files[name]), withoutKubernetesImage(after[name])); diff != "" {
			t.Errorf("%s is not as it was (-before +after):\n%s", name, diff)
		}
	}
	if diff := cmp.Diff(objects, c.objects(t)); diff != "" {
		t.Errorf("the cluster is not as it was (-before +after):\n%s", diff)
	}
}

// typed runs a command of README.md, and prints how long it takes.
func (c *testCluster) typed(t *testing.T, dir, command string) {
	t.Helper()
	began := time.Now()
	out, err := c.shell(dir, command)
	t.Logf("%s\n%s(%s)", command, out, time.Since(began).Round(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
}

// waitUntilInstalled waits until each node has its agent, and the coordinator runs.
func (c *testCluster) waitUntilInstalled(t *testing.T) {
	t.Helper()
	began := time.Now()
	for _, workload := range []string{"daemonset/node-agent", "deployment/coordinator"} {
		c.must(t)(c.Kube(c.ctx, "-n", v1alpha1.Namespace, "rollout", "status", workload, "--timeout", "3m"))
	}
	t.Logf("coordinator and agents run %s later", time.Since(began).Round(100*time.Millisecond))
}

// readme is the text of README.md.
type readme string

func (c *testCluster) readREADME(t *testing.T) readme {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	return readme(text)
}

// section returns the text below a heading of the second level, in which programs are not
// installed for the whole machine.
func (r readme) section(heading string) string {
	_, text, _ := strings.Cut(string(r), "\n## "+heading+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	return strings.NewReplacer("sudo tar", "tar", " /usr/local/bin ", " usr-local-bin ").Replace(text)
}

var (
	yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")
	startTime = regexp.MustCompile(`startTime: ".*?"`)
	endTime   = regexp.MustCompile(`endTime: ".*?"`)
	byDay     = regexp.MustCompile(`FREQ=WEEKLY;BYDAY=[A-Z,]+`)
)

// folder returns a folder with the files that the quick start needs: pool.yaml, whose window is open now, and
// in release those that it downloads of a version, made from this checkout.
func (r readme) folder(t *testing.T, c *testCluster) string {
	t.Helper()
	dir := t.TempDir()
	for _, sub := range []string{"release", "usr-local-bin"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := c.shell(dir, "tar -czf release/kubectl-upgrade_linux_amd64.tar.gz -C "+filepath.Join(c.root, "bin")+" kubectl-upgrade"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c.program(t, "release", "install", "--manifests", filepath.Join(c.root, "manifests"), "--image", pinnedImage(t), "--out", filepath.Join(dir, "release", "install.yaml"))
	pool := yamlBlock.FindStringSubmatch(r.section("Quick start"))[1]
	now := time.Now()
	pool = startTime.ReplaceAllString(pool, `startTime: "`+now.Add(-time.Minute).Format(time.RFC3339)+`"`)
	pool = endTime.ReplaceAllString(pool, `endTime: "`+now.Add(3*time.Hour).Format(time.RFC3339)+`"`)
	pool = byDay.ReplaceAllString(pool, "FREQ=DAILY")
	if err := os.WriteFile(filepath.Join(dir, "pool.yaml"), []byte(pool), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}
