package guard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

const (
	from, to = "v1.34.4", "v1.35.4"
	oldConf  = host.ConfDir + "/kubernetes-v1.34.conf"
	newConf  = host.ConfDir + "/kubernetes-v1.35.conf"
	doneFile = host.Root + "/state/kubeadm-done.json"
)

// node is a worker in a folder that was activated, and has rebooted, to a kubelet that does not
// become healthy.
type node struct {
	host.Layout
	t      *testing.T
	health Health
	// silent is until when the API server does not answer, and kubelet when the kubelet starts.
	silent, kubelet time.Duration
	clock           time.Duration
	// look is how long each look at the clock takes, 10 seconds if it is zero, and onLook is called at each.
	look   time.Duration
	onLook func()
	// hosts reports whether an API server runs on the node, and asked counts the requests of one, the last at askedAt.
	hosts   bool
	asked   int
	askedAt time.Duration
	boots   int
	softs   int
	reboots int
	ran     []string
	stop    context.CancelFunc
	// fails has the commands that fail.
	fails map[string]bool
	// merges has the version that each refresh merges; when it is empty, that of the symlink.
	merges []string
	// refuses is what systemd-sysext says when it merges nothing.
	refuses string
	// sysext, containerd and gaveUp are states of units; empty: ended, running, starting again.
	sysext, containerd, gaveUp string
	// told is what the guard has written on its Node, and offline reports whether it cannot.
	told    []string
	offline bool
	// onRun is called with each command. Nil: nothing is.
	onRun func(command string)
}

func newNode(t *testing.T, method v1alpha1.Method) *node {
	t.Helper()
	n := &node{Layout: host.Layout{Dir: t.TempDir()}, t: t, health: Health{Kubelet: "refused"}, fails: map[string]bool{}}
	for _, v := range []string{from, to} {
		n.write(host.ImagePath(v, host.Architecture()), v)
	}
	n.write(host.KubeletConfig, "old config")
	n.write(host.KubeletFlags, "old flags")
	n.write(host.ManifestsDir+"/.keep", "")
	n.write("/proc/1/mountinfo", "1 0 0:1 / / rw - ext4 x rw\n")
	n.write(host.Program(host.Root), "program")
	n.boot(from)
	saved, err := n.SaveKubeletFiles(from)
	n.must(err)
	n.write(host.KubeletConfig, "new config")
	n.write(host.KubeletFlags, "new flags")
	n.write(newConf, "new conf")
	n.write(doneFile, "{}")
	link := n.At(host.Link)
	n.must(os.MkdirAll(filepath.Dir(link), 0o755))
	n.must(os.Symlink(host.ImagePath(to, host.Architecture()), link))
	n.must(n.ArmGuard(host.Guard{
		Upgrade: "uid", Method: method, ArmedAt: time.Unix(1, 0), From: from, To: to, BootID: "boot-1", Within: 3 * time.Minute,
		Restore: host.Restore{
			Link: host.Link, LinkTarget: host.ImagePath(from, host.Architecture()),
			Confs: map[string]string{filepath.Base(oldConf): "old conf"}, Files: saved,
		},
	}))
	switch method {
	case v1alpha1.MethodReboot:
		n.boot(to)
	case v1alpha1.MethodSoftReboot:
		n.bootSoftly(to)
	default:
		n.merge(to)
	}
	return n
}

func (n *node) must(err error) {
	n.t.Helper()
	if err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) write(path, text string) {
	n.t.Helper()
	n.must(os.MkdirAll(filepath.Dir(n.At(path)), 0o755))
	n.must(os.WriteFile(n.At(path), []byte(text), 0o644))
}

// boot boots with a version merged, or with nothing.
func (n *node) boot(merged string) {
	n.t.Helper()
	n.boots, n.softs = n.boots+1, 0
	n.must(os.RemoveAll(n.At("/run")))
	n.write("/proc/sys/kernel/random/boot_id", fmt.Sprintf("boot-%d\n", n.boots))
	n.merge(merged)
}

// bootSoftly merges a version, or nothing, in a soft reboot: /run and the boot ID stay.
func (n *node) bootSoftly(merged string) {
	n.t.Helper()
	n.softs++
	n.merge(merged)
}

func (n *node) merge(version string) {
	n.t.Helper()
	if version == "" {
		_ = os.Remove(n.At(host.MergedVersionFile))
		return
	}
	n.write(host.MergedVersionFile, version+"\n")
}

// run is what the programs of the node do.
func (n *node) run(_ context.Context, _ *host.Log, program string, args ...string) (string, error) {
	command := strings.Join(append([]string{program}, args...), " ")
	n.ran = append(n.ran, command)
	if n.onRun != nil {
		n.onRun(command)
	}
	switch {
	case n.fails[command]:
		return "", fmt.Errorf("%s failed", command)
	case strings.Contains(command, "SoftRebootsCount"):
		return fmt.Sprintf("Version=257.1\nSoftRebootsCount=%d\n", n.softs), nil
	case strings.Contains(command, "InactiveExitTimestampMonotonic"):
		return n.showUnits(), nil
	case command == "systemd-sysext refresh":
		return n.refresh()
	case command == "systemctl start --no-block kubelet.service":
		n.gaveUp = ""
	case strings.HasPrefix(command, "systemctl show"):
		return "inactive\n", nil
	case program == "journalctl":
		return "panic: broken", nil
	case strings.HasPrefix(command, "systemctl reboot"):
		n.reboots++
		n.stop()
	}
	return "", nil
}

// showUnits is what systemctl show prints of the units that the guard asks for.
func (n *node) showUnits() string {
	kubelet := fmt.Sprintf("ActiveState=activating\nSubState=auto-restart\nResult=exit-code\nInactiveExitTimestampMonotonic=%d\n", max(n.kubelet, time.Second).Microseconds())
	switch {
	case n.clock < n.kubelet || n.merged() == "":
		kubelet = "ActiveState=inactive\nSubState=dead\nResult=success\nInactiveExitTimestampMonotonic=0\n"
	case n.gaveUp != "":
		kubelet = fmt.Sprintf("ActiveState=failed\nSubState=failed\nResult=%s\nInactiveExitTimestampMonotonic=1000000\n", n.gaveUp)
	}
	return "Id=systemd-sysext.service\nLoadState=loaded\n" + cmp.Or(n.sysext, "ActiveState=active\nSubState=exited\nResult=success\n") +
		"\nId=containerd.service\nLoadState=loaded\n" + cmp.Or(n.containerd, "ActiveState=active\nSubState=running\nResult=success\n") +
		"\nId=kubelet.service\nLoadState=loaded\n" + kubelet
}

// refresh merges what it should.
func (n *node) refresh() (string, error) {
	version := ""
	if len(n.merges) > 0 {
		version, n.merges = n.merges[0], n.merges[1:]
	} else if active, err := n.Active(); err == nil && n.refuses == "" {
		version = active.Version()
	}
	n.merge(version)
	if version == "" && n.refuses != "" {
		return "", fmt.Errorf("systemd-sysext refresh failed (exit status 1): %s", n.refuses)
	}
	return "", nil
}

func (n *node) merged() string {
	merged, err := n.Merged()
	if err != nil {
		return ""
	}
	return merged.Version()
}

// guardian returns the guard of this boot, before it has observed anything.
func (n *node) guardian() *guardian {
	n.t.Helper()
	record, err := n.Guard()
	n.must(err)
	return &guardian{
		Layout: n.Layout, record: *record, log: host.NewLog(io.Discard), run: n.run, rebootWithin: time.Hour,
		check: func(context.Context) (Health, bool) {
			own := n.health
			own.API = ""
			return own, n.hosts
		},
		ask: func(context.Context) answer {
			n.asked, n.askedAt = n.asked+1, n.clock
			if n.clock < n.silent {
				return answer{}
			}
			return answer{given: true, problem: n.health.API}
		},
		annotate: func(_ context.Context, value string) error {
			if n.offline {
				return errors.New("no network")
			}
			report := clusterstate.ParseGuardReport(value)
			if report == nil || report.Upgrade != "uid" {
				n.t.Errorf("the guard wrote %q", value)
				return nil
			}
			n.told = append(n.told, report.Message)
			return nil
		},
		sinceBoot: func() time.Duration {
			n.clock += cmp.Or(n.look, 10*time.Second)
			if n.onLook != nil {
				n.onLook()
			}
			return n.clock
		},
	}
}

// guard runs the guard until it ends or reboots the node, and reports whether it rebooted.
// Each look at the clock passes 10 seconds.
func (n *node) guard() (rebooted bool) {
	n.t.Helper()
	ctx, cancel := context.WithCancel(n.t.Context())
	defer cancel()
	n.stop = cancel
	before := n.reboots
	g := n.guardian()
	err := g.guard(ctx)
	if rebooted = n.reboots > before; !rebooted {
		n.must(err)
		return false
	}
	active, err := n.Active()
	n.must(err)
	n.boot(active.Version())
	return true
}

// checkReturned checks that the node is what it was before the activation, but for the
// record of the rollback.
func (n *node) checkReturned() {
	n.t.Helper()
	active, err := n.Active()
	n.must(err)
	if active.Version() != from {
		n.t.Errorf("the symlink points to %s, want %s", active.Version(), from)
	}
	for path, want := range map[string]string{oldConf: "old conf", host.KubeletConfig: "old config", host.KubeletFlags: "old flags"} {
		if got, err := os.ReadFile(n.At(path)); err != nil || string(got) != want {
			n.t.Errorf("%s has %q (%v), want %q", path, got, err, want)
		}
	}
	n.checkGone(newConf, doneFile)
	n.checkDisarmed()
	r, err := n.Rollback()
	n.must(err)
	if r == nil || r.FinishedAt.IsZero() || r.Message != "refused" || !strings.Contains(r.Log, "panic: broken") || r.Upgrade != "uid" {
		n.t.Errorf("the record is %+v", r)
	}
}

func (n *node) checkBoots(want int) {
	n.t.Helper()
	if got := n.GuardBoots(); got != want {
		n.t.Errorf("the guard counted %d boots, want %d", got, want)
	}
}

func (n *node) checkDisarmed() {
	n.t.Helper()
	if armed, err := n.GuardArmed(); armed || err != nil {
		n.t.Errorf("the guard is still armed (%v)", err)
	}
	n.checkGone("/etc/systemd/system/"+host.GuardUnit, "/etc/systemd/system/multi-user.target.wants/"+host.GuardUnit, host.GuardProgram)
	for _, dir := range []string{host.StateDir(host.Root), "/var/lib/kubelet", "/etc/kubernetes"} {
		n.checkGone(filepath.Join(dir, ".kubectl-upgrade-reserve"))
	}
}

func (n *node) checkGone(paths ...string) {
	n.t.Helper()
	for _, path := range paths {
		if _, err := os.Lstat(n.At(path)); err == nil {
			n.t.Errorf("%s is left", path)
		}
	}
}
