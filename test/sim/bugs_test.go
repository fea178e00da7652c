package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// root is the product's source.
const root = "../.."

// build builds this test with a bug, and returns the program.
func (b bug) build(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	replace := map[string]string{}
	for i, e := range b.edits {
		path, err := filepath.Abs(filepath.Join(root, e.file))
		if err != nil {
			t.Fatal(err)
		}
		from := path
		if replace[path] != "" {
			from = replace[path]
		}
		source, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(source, []byte(e.old)); n != 1 {
			t.Fatalf("%q is %d times in %s, want once", e.old, n, e.file)
		}
		replace[path] = filepath.Join(dir, fmt.Sprintf("%d.go", i))
		if err := os.WriteFile(replace[path], bytes.Replace(source, []byte(e.old), []byte(e.new), 1), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	file, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "sim.test")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", file, "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", b.name, err, out)
	}
	return program
}

// bugLimit is how many seeds may be needed to catch a bug.
const bugLimit = 2000

var failed = regexp.MustCompile(`make sim SEED=(\d+): ([^:]+): (.*)`)

// TestBugs puts each bug into the product, and runs seeds until one fails. It takes
// minutes, and runs if BUGS is set: to all, or to a part of a name. FIRST is the first seed.
func TestBugs(t *testing.T) {
	chosen := os.Getenv("BUGS")
	if chosen == "" {
		t.Skip("set BUGS")
	}
	for _, b := range bugs {
		if chosen != "all" && !strings.Contains(b.name, chosen) {
			continue
		}
		t.Run(b.name, func(t *testing.T) {
			program := b.build(t)
			var seed uint64
			var match []string
			for first := number(t, "FIRST", 1); ; first = seed + 1 {
				match, seed = b.catch(t, program, first)
				without := simulate(t, newScript(seed), false).failure
				if without == "" {
					break // it is the bug
				}
				t.Logf("seed %d fails without the bug too: %s", seed, without)
			}
			writeBug(t, b.name, fmt.Sprintf("| %s | %d | %s |", b.name, seed, match[2]))
			t.Logf("seed %d: %s: %.200s", seed, match[2], match[3])
		})
	}
}

// catch runs seeds until one fails.
func (b bug) catch(t *testing.T, program string, first uint64) (match []string, seed uint64) {
	t.Helper()
	command := exec.Command(program, "-test.run", "^TestPromises$", "-test.timeout", "30m")
	command.Env = append(os.Environ(), fmt.Sprintf("SEEDS=%d", bugLimit), fmt.Sprintf("FIRST=%d", first))
	out, _ := command.CombinedOutput()
	if match = failed.FindStringSubmatch(string(out)); match == nil {
		t.Fatalf("%d seeds did not catch it:\n%.2000s", bugLimit, out)
	}
	seed, err := strconv.ParseUint(match[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return match, seed
}

// TestBugsApply checks that each bug still fits the product's source, and is in the page.
func TestBugsApply(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if rows := bytes.Count(table.FindSubmatch(text)[2], []byte("\n")); rows != len(bugs) {
		t.Errorf("%s has %d bugs, want %d: run make sim-bugs", page, rows, len(bugs))
	}
	for _, b := range bugs {
		if !bytes.Contains(text, []byte("| "+b.name+" |")) {
			t.Errorf("%s does not have the bug %q: run make sim-bugs", page, b.name)
		}
		changed := map[string][]byte{}
		for _, e := range b.edits {
			source := changed[e.file]
			if source == nil {
				var err error
				if source, err = os.ReadFile(filepath.Join(root, e.file)); err != nil {
					t.Fatal(err)
				}
			}
			if n := bytes.Count(source, []byte(e.old)); n != 1 {
				t.Errorf("%s: %q is %d times in %s, want once", b.name, e.old, n, e.file)
			}
			changed[e.file] = bytes.Replace(source, []byte(e.old), []byte(e.new), 1)
		}
	}
}
