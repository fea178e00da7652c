//go:build unix

package cli_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// session is the plugin on a real pseudo-terminal.
type session struct {
	t *testing.T
	*emulator
	keys *os.File
	cmd  *exec.Cmd
	read chan struct{} // closed when all that it wrote has been read
}

func openTerminal(t *testing.T, config *rest.Config, cols, rows int, environment []string, args ...string) *session {
	t.Helper()
	s := &session{t: t, emulator: newEmulator(cols, rows), read: make(chan struct{})}
	s.cmd = exec.Command("kubectl-upgrade", append(args, "--kubeconfig="+apitest.Kubeconfig(t, config))...)
	s.cmd.Env = append(append(os.Environ(), "TERM=xterm-256color", "TZ=Europe/Berlin"), environment...)
	var err error
	s.keys, err = pty.StartWithSize(s.cmd, &pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill(); s.keys.Close() })
	go func() {
		defer close(s.read)
		_, _ = io.Copy(s, s.keys) // ends with an error when the program does
	}()
	return s
}

func (s *session) press(keys string) {
	s.t.Helper()
	if _, err := s.keys.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// await waits until the screen shows the words. The rest of the screen
// may be half drawn; awaitMatch waits for all of it.
func (s *session) await(words string) {
	s.t.Helper()
	s.awaitMatch(regexp.MustCompile(regexp.QuoteMeta(words)))
}

// awaitMatch waits until the screen matches, and returns it.
func (s *session) awaitMatch(want *regexp.Regexp) string {
	s.t.Helper()
	for limit := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		text := s.text()
		if want.MatchString(text) {
			return text
		}
		if time.Now().After(limit) {
			s.t.Fatalf("the screen shows:\n%s\nwhich does not match:\n%s", text, want)
		}
	}
}

// exit waits for the end of the program, checks its exit code and the state of the terminal,
// and returns the screen.
func (s *session) exit(want int) string {
	s.t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- s.cmd.Wait() }()
	select {
	case err := <-ended:
		var failed *exec.ExitError
		if err != nil && !errors.As(err, &failed) {
			s.t.Fatal(err)
		}
	case <-time.After(time.Minute):
		s.t.Fatalf("the program has not ended; the screen shows:\n%s", s.text())
	}
	<-s.read
	if got := s.cmd.ProcessState.ExitCode(); got != want {
		s.t.Errorf("got exit code %d, want %d; the screen shows:\n%s", got, want, s.text())
	}
	if s.onAlt || !s.wrap || !s.cursor {
		s.t.Errorf("the terminal is left on the other screen %t, with cursor %t and wrapping %t, want false, true, true", s.onAlt, s.cursor, s.wrap)
	}
	if len(s.unknown) > 0 {
		s.t.Errorf("the program wrote sequences that a terminal may not know: %q", s.unknown)
	}
	return s.text()
}

// TestTerminalShowsWholeUpgrade checks what a person sees from the question to the end.
func TestTerminalShowsWholeUpgrade(t *testing.T) {
	c, config, args := minorCluster(t)
	s := openTerminal(t, config, 100, 40, nil, args...)
	asked := s.awaitMatch(regexp.MustCompile(`Upgrade 3 nodes of .*https://\S+ to v1\.35\.4\? \[y/N\]`))
	for _, words := range []string{"Minor v1.34.4 -> v1.35.4", "FINDING", "Ignored   control-plane-pod", "DECISION   START"} {
		if !strings.Contains(asked, words) {
			t.Errorf("the screen before the question has no %q:\n%s", words, asked)
		}
	}
	s.press("y\r")
	s.await("waiting for the coordinator")
	c.writeOrders()
	c.trigger()
	const node = "worker-1.eu-central-1.compute.internal"
	c.statuses[node].Slot = "slot-0"
	c.setStep(node, v1alpha1.StepLocking, v1alpha1.ReasonReleased, "takes its slot")
	c.setStep(node, v1alpha1.StepDraining, v1alpha1.ReasonDrainBlocked, "PodDisruptionBudget web/web allows no eviction of pod web/web-0")
	s.awaitMatch(regexp.MustCompile(`(?m)^Cluster:    .*https://(?s:.*)
Upgrade:    v1.35.4, Minor v1.34.4 -> v1.35.4
Progress:   #+\.+ 0 of 3 nodes done, for \d+s
Expected:   (?s:.*?)
Blocked:    worker-1.eu-central-1.compute.internal: DrainBlocked: PodDisruptionBudget web/web allows
            no eviction of pod web/web-0

NODE                                STEP       PROGRESS +TIME   WHY
cp-1                                Idle       \.{12}.*
worker-1.eu-central-1.compute.in…   Draining   #+\.+ +\d+s   DrainBlocked: PodDi.*…
worker-2.eu-central-1.compute.in…   Idle       \.{12}.*

Ctrl-C stops the display, not the upgrade. .*
it with .kubectl upgrade suspend v1.35.4.\.$`))
	c.setStep(node, v1alpha1.StepRebooting, v1alpha1.ReasonReleased, "")
	s.await("Rebooting")
	c.finish()
	left := s.exit(0)
	for _, words := range []string{"clusterupgrade.kubectl-upgrade.dev/v1.35.4 created", "All 3 nodes are done, in ", "OUT OF SERVICE", "kubectl upgrade report v1.35.4 --output-file v1.35.4.html"} {
		if !strings.Contains(left, words) {
			t.Errorf("the screen at the end has no %q:\n%s", words, left)
		}
	}
	if s.colors == 0 {
		t.Error("the screen has no color")
	}
}

func TestNarrowTerminalWithoutColor(t *testing.T) {
	c, config, args := minorCluster(t)
	s := openTerminal(t, config, 50, 24, []string{"NO_COLOR=1"}, append(args, "--yes")...)
	s.await("0 of 3 nodes done")
	c.writeOrders()
	c.trigger()
	c.setStep("cp-1", v1alpha1.StepKubeadm, v1alpha1.ReasonReleased, "kubeadm upgrade apply v1.35.4 runs")
	s.awaitMatch(regexp.MustCompile(`(?m)^Upgrade:    v1.35.4, Minor v1.34.4 -> v1.35.4
Progress:   #+\.+ 0 of 3 nodes done, for \d+s
Expected:   (?s:.*?)
Active:     cp-1: kubeadm upgrade apply v1.35.4
            runs

NODE              STEP     PROGRESS +TIME
cp-1              Kubeadm  #+\.+ +\d+s
worker-1.eu-cen…  Idle     \.{8}.*
worker-2.eu-cen…  Idle     \.{8}.*
`))
	c.finish()
	s.exit(0)
	if s.colors > 0 {
		t.Error("the screen has color in spite of NO_COLOR")
	}
}

// TestTerminalDetachesAndFollowsAgain checks that detaching stops nothing, and that the same
// command afterwards follows the upgrade as another terminal does.
func TestTerminalDetachesAndFollowsAgain(t *testing.T) {
	c, config, args := minorCluster(t)
	s := openTerminal(t, config, 100, 30, nil, append(args, "--yes")...)
	s.await("0 of 3 nodes done")
	c.writeOrders()
	c.trigger()
	c.setStep("cp-1", v1alpha1.StepKubeadm, v1alpha1.ReasonReleased, "kubeadm runs")
	s.await("Kubeadm ")
	other := openTerminal(t, config, 100, 30, nil, "status", "-w")
	other.await("Kubeadm ")
	s.press("\x03")
	left := s.exit(130)
	detached := "The upgrade v1.35.4 continues: `kubectl upgrade status -w` follows it, and `kubectl upgrade suspend v1.35.4` pauses it."
	if !strings.Contains(strings.Join(strings.Fields(left), " "), detached) {
		t.Errorf("the screen does not say how to follow again:\n%s", left)
	}
	u, err := c.ours.ClusterUpgrades.Get(context.Background(), "v1.35.4", metav1.GetOptions{})
	if err != nil || u.Spec.Suspend || u.DeletionTimestamp != nil {
		t.Fatalf("the upgrade was changed: %v, %+v", err, u)
	}
	again := openTerminal(t, config, 100, 30, nil, append(args, "--yes")...) // the same command
	again.await("Kubeadm ")
	a, b := again.text(), other.text()
	for deadline := time.Now().Add(time.Minute); a != b && time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		a, b = again.text(), other.text() // they count seconds, not at the same moment
	}
	if a != b {
		t.Errorf("one terminal shows:\n%s\nand another:\n%s", a, b)
	}
	c.finish()
	other.exit(0)
	again.exit(0)
	list, err := c.ours.ClusterUpgrades.List(context.Background(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		t.Errorf("got %d upgrades, want 1 (%v)", len(list.Items), err)
	}
}

func TestTerminalIsResized(t *testing.T) {
	c, config, args := minorCluster(t)
	s := openTerminal(t, config, 140, 40, nil, append(args, "--yes")...)
	s.await("worker-1.eu-central-1.compute.internal")
	s.resize(50, 20)
	if err := pty.Setsize(s.keys, &pty.Winsize{Cols: 50, Rows: 20}); err != nil {
		t.Fatal(err)
	}
	s.await("worker-1.eu-cen…  Idle")
	s.resize(120, 30)
	if err := pty.Setsize(s.keys, &pty.Winsize{Cols: 120, Rows: 30}); err != nil {
		t.Fatal(err)
	}
	s.await("worker-1.eu-central-1.compute.internal   Idle")
	c.finish()
	s.exit(0)
}

// TestTerminalLimitsRedraws checks that many changes in a short time cause few redraws.
func TestTerminalLimitsRedraws(t *testing.T) {
	c, config, args := minorCluster(t)
	s := openTerminal(t, config, 100, 30, nil, append(args, "--yes")...)
	s.await("0 of 3 nodes done")
	drawn := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.frames
	}
	began, before, changes := time.Now(), drawn(), 0
	// On a busy machine the second picture takes longer.
	for ; time.Since(began) < 2*time.Second || drawn()-before < 2 && time.Since(began) < time.Minute; changes++ {
		c.statuses["cp-1"].Steps = nil // otherwise there would soon be more than the API allows
		c.setStep("cp-1", []v1alpha1.Step{v1alpha1.StepStaging, v1alpha1.StepWaiting}[changes%2], "", "")
	}
	frames, limit := drawn()-before, int(10*time.Since(began).Seconds())
	if frames > limit || frames < 2 {
		t.Errorf("%d changes caused %d redraws in %s, want 2 to %d", changes, frames, time.Since(began), limit)
	}
	c.finish()
	s.exit(0)
}

// TestTerminalAsksBeforeItAbandons checks that a node is abandoned after a yes alone.
func TestTerminalAsksBeforeItAbandons(t *testing.T) {
	c, config, _ := minorCluster(t)
	for _, row := range []struct {
		keys, says string
		code       int
	}{
		{"n\r", "error: nothing was changed", 1},
		{"\r", "error: nothing was changed", 1},
		{"\x03", "Nothing was changed.", 130},
		{"y\r", "nodeupgrade.kubectl-upgrade.dev/cp-1 abandoned", 0},
	} {
		s := openTerminal(t, config, 100, 40, nil, "abandon", "cp-1", "--reason", "- its disk died")
		s.awaitMatch(regexp.MustCompile(`(?s)Is node cp-1 of .*https://\S+ powered off.*\[y/N\]`))
		s.press(row.keys)
		if left := s.exit(row.code); !strings.Contains(left, row.says) {
			t.Errorf("%q: the screen has no %q:\n%s", row.keys, row.says, left)
		}
		node, err := c.ours.NodeUpgrades.Get(context.Background(), "cp-1", metav1.GetOptions{})
		if err != nil || (node.Abandoned != nil) != (row.code == 0) {
			t.Errorf("%q: abandoned is %v (%v)", row.keys, node.Abandoned, err)
		}
	}
}

func TestTerminalAcceptsRefusal(t *testing.T) {
	c, config, args := minorCluster(t)
	for _, row := range []struct {
		keys string
		code int
		says string
	}{
		{"n\r", 1, "error: nothing was changed"},
		{"\r", 1, "error: nothing was changed"},
		{"\x04", 1, "error: nothing was changed"},
		{"\x03", 130, "Nothing was changed."},
	} {
		s := openTerminal(t, config, 100, 40, nil, args...)
		s.await("[y/N]")
		s.press(row.keys)
		if left := s.exit(row.code); !strings.Contains(left, row.says) {
			t.Errorf("%q: the screen has no %q:\n%s", row.keys, row.says, left)
		}
	}
	list, err := c.ours.ClusterUpgrades.List(context.Background(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 0 {
		t.Errorf("got %d upgrades and error %v, want none", len(list.Items), err)
	}
}
