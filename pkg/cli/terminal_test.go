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
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/internal/apitest"
)

// session is the plugin at a real pseudo-terminal, with a person before it.
type session struct {
	t *testing.T
	*emulator
	keys *os.File
	cmd  *exec.Cmd
	read chan struct{} // closed when all that it wrote has been read
}

func open(t *testing.T, config *rest.Config, cols, rows int, environment []string, args ...string) *session {
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

// await waits until the screen shows the words.
func (s *session) await(words string) string {
	s.t.Helper()
	for limit := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if text := s.text(); strings.Contains(text, words) {
			return text
		}
		if time.Now().After(limit) {
			s.t.Fatalf("waiting for %q; the screen shows:\n%s", words, s.text())
		}
	}
}

// exit waits for the end, and looks at how the terminal was left.
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
	case <-time.After(20 * time.Second):
		s.t.Fatalf("it does not end; the screen shows:\n%s", s.text())
	}
	<-s.read
	if got := s.cmd.ProcessState.ExitCode(); got != want {
		s.t.Errorf("exit code %d, want %d; the screen shows:\n%s", got, want, s.text())
	}
	if s.onAlt || !s.wrap || !s.cursor {
		s.t.Errorf("the terminal is left without its own screen (%t), its cursor (%t) or wrapping (%t)", s.onAlt, s.cursor, s.wrap)
	}
	if len(s.trouble) > 0 {
		s.t.Errorf("a terminal may not know: %q", s.trouble)
	}
	return s.text()
}

// The whole of it, as a person sees it.
func TestTerminalShowsAnUpgradeFromTheQuestionToTheEnd(t *testing.T) {
	w, config, args := minorWorld(t)
	s := open(t, config, 100, 40, nil, args...)
	asked := s.await("Upgrade 3 nodes to v1.35.4? [y/N]")
	for _, words := range []string{"Minor v1.34.4 -> v1.35.4", "FINDING", "Ignored   control-plane-pod", "DECISION   START"} {
		if !strings.Contains(asked, words) {
			t.Errorf("before the question, %q is missing:\n%s", words, asked)
		}
	}
	s.press("y\r")
	s.await("the coordinator has not taken it up yet")
	w.ask()
	w.trigger()
	const node = "worker-1.eu-central-1.compute.internal"
	w.statuses[node].Slot = "slot-0"
	w.step(node, v1alpha1.StepLocking, v1alpha1.ReasonReleased, "takes its slot")
	w.step(node, v1alpha1.StepDraining, v1alpha1.ReasonDrainBlocked, "PodDisruptionBudget web/web allows no eviction of pod web/web-0")
	want := regexp.MustCompile(`(?m)^Upgrade:    v1.35.4, Minor v1.34.4 -> v1.35.4
Progress:   #+\.+ 0 of 3 nodes done, for 0:\d\d
Predicted:  .*
Blocked:    worker-1.eu-central-1.compute.internal: DrainBlocked: PodDisruptionBudget web/web allows
            no eviction of pod web/web-0

NODE                                STEP       PROGRESS +TIME   WHY
cp-1                                Idle       \.{12}.*
worker-1.eu-central-1.compute.in…   Draining   #+\.+ +0:\d\d   DrainBlocked: PodDi.*…
worker-2.eu-central-1.compute.in…   Idle       \.{12}.*

Ctrl-C detaches, and the upgrade goes on: .*
suspend v1.35.4. stops it before the next node.$`)
	if got := s.await("DrainBlocked"); !want.MatchString(got) {
		t.Errorf("the screen shows:\n%s\nwhich does not match:\n%s", got, want)
	}
	w.step(node, v1alpha1.StepRebooting, v1alpha1.ReasonReleased, "")
	s.await("Rebooting")
	w.finish()
	left := s.exit(0)
	for _, words := range []string{"clusterupgrade.kubectl-upgrade.dev/v1.35.4 created", "Succeeded: all 3 nodes are done", "3 of 3 nodes done, in 0:"} {
		if !strings.Contains(left, words) {
			t.Errorf("%q is not left behind:\n%s", words, left)
		}
	}
	if s.colors == 0 {
		t.Error("it has no color")
	}
}

func TestTerminalThatIsNarrowAndHasNoColor(t *testing.T) {
	w, config, args := minorWorld(t)
	s := open(t, config, 50, 24, []string{"NO_COLOR=1"}, append(args, "--yes")...)
	s.await("0 of 3 nodes done")
	w.ask()
	w.trigger()
	w.step("cp-1", v1alpha1.StepKubeadm, v1alpha1.ReasonReleased, "kubeadm upgrade apply v1.35.4 runs")
	want := regexp.MustCompile(`(?m)^Upgrade:    v1.35.4, Minor v1.34.4 -> v1.35.4
Progress:   #+\.+ 0 of 3 nodes done, for 0:\d\d
Predicted:  .*
At work:    cp-1: kubeadm upgrade apply v1.35.4
            runs

NODE              STEP     PROGRESS +TIME
cp-1              Kubeadm  #+\.+ +0:\d\d
worker-1.eu-cen…  Idle     \.{8}.*
worker-2.eu-cen…  Idle     \.{8}.*
`)
	if got := s.await("Kubeadm "); !want.MatchString(got) {
		t.Errorf("the screen shows:\n%s\nwhich does not match:\n%s", got, want)
	}
	w.finish()
	s.exit(0)
	if s.colors > 0 {
		t.Error("it is colored in spite of NO_COLOR")
	}
}

// To detach stops nothing, and a person who comes back sees what the others see.
func TestTerminalDetachesAndComesBack(t *testing.T) {
	w, config, args := minorWorld(t)
	s := open(t, config, 100, 30, nil, append(args, "--yes")...)
	s.await("0 of 3 nodes done")
	w.ask()
	w.trigger()
	w.step("cp-1", v1alpha1.StepKubeadm, v1alpha1.ReasonReleased, "kubeadm runs")
	s.await("Kubeadm ")
	other := open(t, config, 100, 30, nil, "status", "-w")
	other.await("Kubeadm ")
	s.press("\x03")
	left := s.exit(130)
	said := "Detached: upgrade v1.35.4 goes on. `kubectl upgrade status -w` follows it again, `kubectl upgrade suspend v1.35.4` stops it before the next node."
	if !strings.Contains(strings.ReplaceAll(left, "\n", ""), said) {
		t.Errorf("it does not say how to come back:\n%s", left)
	}
	u, err := w.ours.ClusterUpgrades.Get(context.Background(), "v1.35.4", metav1.GetOptions{})
	if err != nil || u.Spec.Suspend || u.DeletionTimestamp != nil {
		t.Fatalf("the upgrade is not as it was: %v, %+v", err, u)
	}
	again := open(t, config, 100, 30, nil, append(args, "--yes")...) // the very same line
	again.await("Kubeadm ")
	for range 50 {
		if again.text() == other.text() {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if a, b := again.text(), other.text(); a != b {
		t.Errorf("one terminal shows:\n%s\nand another:\n%s", a, b)
	}
	w.finish()
	other.exit(0)
	again.exit(0)
	list, err := w.ours.ClusterUpgrades.List(context.Background(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		t.Errorf("there are %d upgrades, want 1 (%v)", len(list.Items), err)
	}
}

func TestTerminalIsResized(t *testing.T) {
	w, config, args := minorWorld(t)
	s := open(t, config, 140, 40, nil, append(args, "--yes")...)
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
	w.finish()
	s.exit(0)
}

// Many changes in a short time become few pictures.
func TestTerminalIsNotFlooded(t *testing.T) {
	w, config, args := minorWorld(t)
	s := open(t, config, 100, 30, nil, append(args, "--yes")...)
	s.await("0 of 3 nodes done")
	s.mu.Lock()
	before := s.frames
	s.mu.Unlock()
	began := time.Now()
	changes := 0
	for ; time.Since(began) < 2*time.Second; changes++ {
		w.statuses["cp-1"].Steps = nil // else there would soon be more than the API takes
		w.step("cp-1", []v1alpha1.Step{v1alpha1.StepStaging, v1alpha1.StepWaiting}[changes%2], "", "")
	}
	s.mu.Lock()
	frames, limit := s.frames-before, int(10*time.Since(began).Seconds())
	s.mu.Unlock()
	if frames > limit || frames < 2 {
		t.Errorf("%d changes became %d pictures in %s", changes, frames, time.Since(began))
	}
	w.finish()
	s.exit(0)
}

func TestTerminalTakesNoForAnAnswer(t *testing.T) {
	w, config, args := minorWorld(t)
	for _, row := range []struct {
		keys string
		code int
		says string
	}{
		{"n\r", 1, "error: nothing was begun"},
		{"\r", 1, "error: nothing was begun"},
		{"\x04", 1, "error: nothing was begun"},
		{"\x03", 130, "Nothing was begun."},
	} {
		s := open(t, config, 100, 40, nil, args...)
		s.await("[y/N]")
		s.press(row.keys)
		if left := s.exit(row.code); !strings.Contains(left, row.says) {
			t.Errorf("%q: it does not say %q:\n%s", row.keys, row.says, left)
		}
	}
	list, err := w.ours.ClusterUpgrades.List(context.Background(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 0 {
		t.Errorf("there are %d upgrades (%v)", len(list.Items), err)
	}
}
