package memory

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// later is how long a program runs before it is measured again: Go collects garbage every two
// minutes at least.
const later = 150 * time.Second

// BenchmarkMemory starts programs as they are released, on a real API server, and reports
// their memory when they have started and later: all that is resident, and which part of it
// is anonymous and which is pages of the program's file.
func BenchmarkMemory(b *testing.B) {
	config := apitest.Start(b)
	apitest.InstallCRDs(b, config)
	c := newCluster(b, config)
	b.Run("agent", func(b *testing.B) {
		dir := account(b, config)
		measure(b, "agent", c.agentReported, "--node="+ownNode, "--kubelet-config="+apitest.Kubeconfig(b, config),
			"--service-account="+dir, "--bus=unix:path="+filepath.Join(dir, "no-bus"))
	})
	b.Run("coordinator", func(b *testing.B) {
		measure(b, "coordinator", c.coordinatorPlanned, "--kubeconfig="+apitest.Kubeconfig(b, config), "--leader-elect=false", "--metrics-address=")
	})
}

// measure builds a program, starts it, and reports its memory once started says that it has
// started, and later.
func measure(b *testing.B, name string, started func() bool, args ...string) {
	program := filepath.Join(b.TempDir(), name)
	build := exec.CommandContext(b.Context(), "go", "build", "-buildvcs=false", "-trimpath", "-ldflags=-s -w", "-o", program, "../../cmd/"+name)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	for b.Loop() {
		cmd := exec.CommandContext(b.Context(), program, args...)
		cmd.Env = []string{} // as in the container
		var log strings.Builder
		cmd.Stderr = &log
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		for i := 0; !started(); i++ {
			if i > 1200 {
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
				b.Fatalf("%s has not started:\n%s", name, log.String())
			}
			time.Sleep(100 * time.Millisecond)
		}
		report(b, cmd.Process.Pid, "start")
		time.Sleep(later)
		report(b, cmd.Process.Pid, "later")
		_ = cmd.Process.Signal(syscall.SIGTERM) // fails only where it has ended
		_ = cmd.Wait()
	}
}

func report(b *testing.B, pid int, when string) {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		if name != "VmRSS" && name != "RssAnon" && name != "RssFile" {
			continue
		}
		var kib float64
		if _, err := fmt.Sscan(value, &kib); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(kib/1024, name+"-MiB-"+when)
	}
}

// account returns a folder such as a pod has for its ServiceAccount.
func account(b *testing.B, config *rest.Config) string {
	b.Helper()
	dir := b.TempDir()
	ca, err := os.ReadFile(config.CAFile)
	if err != nil {
		b.Fatal(err)
	}
	for name, text := range map[string][]byte{"token": []byte(config.BearerToken), "ca.crt": ca} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return dir
}
