//go:build skew

package skew

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/former"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// build is one version of kubectl-upgrade: a checkout, and the folder with its programs.
type build struct{ name, root, bin string }

func (b build) plugin() string { return filepath.Join(b.bin, "kubectl-upgrade") }

// pair is a plugin, and the version of CRDs, admission policies, coordinator and agents.
type pair struct{ plugin, cluster build }

// said is what a plugin says that ends otherwise than asked.
type said struct{ pair, verb, text string }

// results are what the page shows.
type results struct {
	cells map[int][]string // of each row, a cell for each pair
	said  []said
}

// TestSkew runs each row with each pair, and writes the page.
func TestSkew(t *testing.T) {
	today := build{"today's", apitest.Root(t), filepath.Join(apitest.Root(t), "bin", "skew")}
	before := build{"former", os.Getenv("FORMER"), filepath.Join(os.Getenv("FORMER"), "bin")}
	if before.root == "" {
		t.Fatal("FORMER is not set: `make test-skew` builds the former version")
	}
	found := &results{cells: map[int][]string{}}
	for _, p := range []pair{{before, today}, {today, before}, {today, today}} {
		t.Run(p.String(), func(t *testing.T) { p.run(t, found) })
	}
	if page := os.Getenv("PAGE"); page != "" && !t.Failed() {
		if err := os.WriteFile(page, []byte(found.page()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func (p pair) String() string { return p.plugin.name + " plugin, " + p.cluster.name + " cluster" }

func (p pair) run(t *testing.T, found *results) {
	c := startClusters(t, p.cluster)
	for i, r := range rows {
		t.Run(fmt.Sprintf("%02d %s", i+1, r.verb), func(t *testing.T) {
			cell := "no such verb"
			if !r.added || p.plugin.name != "former" {
				got := c.try(t, p.plugin, r)
				var text string
				if cell, text = got.judge(t, p, r); text != "" {
					found.said = append(found.said, said{p.String(), r.verb, text})
				}
				if got.err != nil { // what comes next needs it
					if problem := c.try(t, p.cluster, r).problem; problem != "" {
						t.Errorf("with the cluster's own plugin: %s", problem)
					}
				}
			}
			t.Log(cell)
			found.cells[i] = append(found.cells[i], cell)
			if out, err := c.shell(t, r.after); err != nil {
				t.Fatalf("preparing the next row: %v\n%s", err, out)
			}
		})
	}
}

// toUpdate is what a line says of the part to update.
func (p pair) toUpdate() string {
	if p.plugin.name == "former" {
		return "update the plugin"
	}
	return "update kubectl-upgrade on the cluster"
}

// judge returns how the row went, and what the plugin said that goes with it.
func (got tried) judge(t *testing.T, p pair, r row) (cell, text string) {
	t.Helper()
	told, before := strings.Contains(got.stderr, p.toUpdate()), p.plugin.name == "former"
	switch {
	case got.problem == "" && before && r.former != "":
		t.Error("it works: the row needs no words for the former plugin any more")
		return "works", ""
	case got.problem == "" && told:
		return "works, says what to update", ""
	case got.problem == "":
		return "works", ""
	case got.err != nil && told:
		return "refused, says what to update", got.stderr
	case told && r.object == "":
		return "shows less, says what to update", got.problem
	case got.err != nil && before: // no version before v0.1.0 compares versions
		return "refused", got.stderr
	case before && r.former != "":
		return r.former, ""
	}
	t.Errorf("%s\n%s\n%s", got.problem, got.stderr, got.stdout)
	return "wrong", ""
}

// tried is what came of a run.
type tried struct {
	err            error
	stdout, stderr string
	problem        string // why it is not what was asked for
}

// try runs the row with a plugin.
func (c *clusters) try(t *testing.T, with build, r row) (got tried) {
	t.Helper()
	cmd := c.command(t, fmt.Sprintf("%s %s %s", with.plugin(), r.verb, r.args))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	got.err = cmd.Run()
	got.stdout, got.stderr = out.String(), errs.String()
	if (got.err != nil) != r.fails {
		got.problem = fmt.Sprintf("exit: %v", got.err)
		return got
	}
	got.err = nil
	for _, text := range r.shows {
		if !strings.Contains(got.stdout+got.stderr, text) {
			got.problem = fmt.Sprintf("%q is not shown", text)
		}
	}
	if problem := c.look(t, r); problem != "" {
		got.problem = problem
	}
	return got
}

// look compares the object with what is asked for.
func (c *clusters) look(t *testing.T, r row) string {
	t.Helper()
	if r.object == "" {
		return ""
	}
	text, err := c.shell(t, "kubectl get -o json "+r.object)
	if r.want == "" {
		if err == nil {
			return r.object + " is still there"
		}
		return ""
	}
	var want, got map[string]any
	if err := errors.Join(err, json.Unmarshal([]byte(r.want), &want), json.Unmarshal([]byte(text), &got)); err != nil {
		return fmt.Sprintf("reading %s: %v: %s", r.object, err, text)
	}
	former.Convert(got)
	return lacks(r.object, want, got)
}

// lacks says what of want is not in got.
func lacks(at string, want, got any) string {
	switch want := want.(type) {
	case map[string]any:
		object, _ := got.(map[string]any)
		for name, value := range want {
			if problem := lacks(at+"."+name, value, object[name]); problem != "" {
				return problem
			}
		}
	case []any:
		list, _ := got.([]any)
		if len(list) != len(want) {
			return fmt.Sprintf("%s has %d items, want %d", at, len(list), len(want))
		}
		for i, value := range want {
			if problem := lacks(fmt.Sprintf("%s[%d]", at, i), value, list[i]); problem != "" {
				return problem
			}
		}
	default:
		if want != got {
			return fmt.Sprintf("%s is %v, want %v", at, got, want)
		}
	}
	return ""
}

// clusters are dev and staging, as `make play` starts them.
type clusters struct{ exports string }

// startClusters starts the clusters of a version, with v1.34.4 and v1.34.5 published.
func startClusters(t *testing.T, of build) *clusters {
	t.Helper()
	etcd := apitest.Path(t, "etcd")
	cmd := exec.CommandContext(t.Context(), filepath.Join(of.bin, "play"), "--clusters", "2", "--nodes", "2", "--speed", "8")
	cmd.Dir, cmd.Env = of.root, append(os.Environ(), "KUBE_ASSETS="+filepath.Dir(etcd))
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() })
	c := &clusters{exports: exportsIn(out)}
	prepare := `kubectl patch upgradepolicy cluster --type merge -p '{"spec":{"strategy":{"approval":"Required"}}}'
		play publish v1.34.4 && play publish v1.34.5`
	if out, err := c.shell(t, prepare); err != nil || c.exports == "" {
		t.Fatalf("starting the clusters: %v\n%s", err, out)
	}
	return c
}

// exportsIn returns the line that another terminal needs, and reads on.
func exportsIn(out io.Reader) string {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if line := strings.TrimSpace(lines.Text()); strings.HasPrefix(line, "export ") {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return line
		}
	}
	return ""
}

func (c *clusters) command(t *testing.T, text string) *exec.Cmd {
	t.Helper()
	return exec.CommandContext(t.Context(), "bash", "-ec", c.exports+"\n"+text)
}

// shell runs commands in the context dev, and returns their output.
func (c *clusters) shell(t *testing.T, text string) (string, error) {
	t.Helper()
	out, err := c.command(t, text).CombinedOutput()
	return string(out), err
}
