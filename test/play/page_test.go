package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// block matches the commands of the page.
var block = regexp.MustCompile("(?s)```console run\n(.*?)```")

// TestPage types what docs/play.md says, and ends what it started with Ctrl-C.
func TestPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(apitest.Root(t), "docs", "play.md"))
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, "--clusters", "3", "--nodes", "1", "--speed", "8")
	p.awaitLine("/env")
	p.command("kubectl upgrade doctor", []string{"ok … coordinator … 1 of 1 pods are Ready", "ok … agents … 1 of 1 agents are Ready", "ok … versions …"}) // the README's first step
	commands := 0
	for _, match := range block.FindAllStringSubmatch(string(page), -1) {
		for _, text := range strings.Split("\n"+match[1], "\n$ ")[1:] {
			lines := strings.Split(strings.TrimSpace(text), "\n")
			if strings.HasPrefix(lines[0], "kubectl upgrade block ") { // a node has failed before
				p.command("kubectl get nodeupgrade cp1 -o jsonpath={.status.kubeletLog}", []string{"a pretended node, on which no kubelet ran: …"})
			}
			p.command(lines[0], lines[1:])
			commands++
		}
	}
	if commands < 15 {
		t.Errorf("the page has only %d commands", commands)
	}
	p.end(os.Interrupt)
}

// command types a command until it shows what the page shows of it. Only what changes nothing is typed
// again.
func (p *running) command(command string, wants []string) {
	p.Helper()
	reads := regexp.MustCompile(`^kubectl upgrade (fleet )?(status|plan|history)`).MatchString(command)
	began := time.Now()
	for deadline := began.Add(4 * time.Minute); ; time.Sleep(time.Second) {
		cmd := exec.CommandContext(p.Context(), "bash", "-c", p.exports+"\n"+command)
		cmd.Env = append(os.Environ(), "HOME="+p.dir) // kubectl keeps a cache there
		out, err := cmd.CombinedOutput()
		fails := slices.ContainsFunc(wants, func(want string) bool { return strings.HasPrefix(want, "error: ") })
		if missing := lacks(string(out), wants); (err != nil) != fails || missing != "" {
			if reads && err == nil && time.Now().Before(deadline) {
				continue
			}
			p.Fatalf("$ %s: %v\n%s\nthe page shows %q, which is not there", command, err, out, missing)
		}
		p.Logf("%5.1fs  $ %s", time.Since(began).Seconds(), command)
		return
	}
}

// lacks returns the first of the lines that the output does not have. … stands for anything.
func lacks(output string, wants []string) string {
	for _, want := range wants {
		parts := strings.Split(regexp.QuoteMeta(strings.TrimSpace(want)), "…")
		for i := range parts {
			parts[i] = strings.TrimSpace(parts[i])
		}
		if !regexp.MustCompile(`(?m)^\s*` + strings.ReplaceAll(strings.Join(parts, ".*"), " ", `\s+`)).MatchString(output) {
			return want
		}
	}
	return ""
}

func TestLacks(t *testing.T) {
	const output = "NAME   STEP\ncp1    Idle   why\n"
	for want, there := range map[string]bool{"cp1 … why": true, "cp1 Idle": true, "w1 …": false, "Idle": false, "cp1 … Waiting": false} {
		if got := lacks(output, []string{want}) == ""; got != there {
			t.Errorf("%q: there: %t, want %t", want, got, there)
		}
	}
}
