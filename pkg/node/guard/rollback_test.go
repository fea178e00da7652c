package guard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

func TestRollback(t *testing.T) {
	n := newNode(t, v1alpha1.MethodReboot)
	if !n.guard() || n.guard() || n.reboots != 1 {
		t.Errorf("%d reboots, want 1: %q", n.reboots, n.ran)
	}
	n.checkReturned()
}

func TestHealthyNodeStays(t *testing.T) {
	n := newNode(t, v1alpha1.MethodReboot)
	n.health = Health{}
	if n.guard() {
		t.Error("a healthy node was rebooted")
	}
	if active, err := n.Active(); err != nil || active.Version() != to {
		t.Errorf("the symlink points to %v (%v)", active, err)
	}
	n.checkDisarmed()
	if r, err := n.Rollback(); r != nil || err != nil {
		t.Errorf("a rollback is recorded: %+v %v", r, err)
	}
}

// An interrupted rollback is continued from each of its intermediate states, after the
// guard was killed and after a power cut.
func TestInterruptedRollbackIsContinued(t *testing.T) {
	changes := []func(n *node){
		func(n *node) {
			n.must(n.SetRollback(verb.Rollback{
				Upgrade: "uid", From: from, To: to, Message: "refused", Log: "panic: broken",
				StartedAt: time.Now(), BootID: fmt.Sprintf("boot-%d", n.boots),
			}))
		},
		func(n *node) { n.must(n.ReleaseReserve()) },
		func(n *node) { n.write(oldConf, "old conf") },
		func(n *node) { n.must(os.Remove(n.At(newConf))) },
		func(n *node) { n.write(host.KubeletConfig, "old config") },
		func(n *node) { n.write(host.KubeletFlags, "old flags") },
		func(n *node) { n.must(n.ForgetKubeadm()) },
		func(n *node) {
			n.must(os.Remove(n.At(host.Link)))
			n.must(os.Symlink(host.ImagePath(from, host.Architecture()), n.At(host.Link)))
		},
	}
	for done := range len(changes) + 1 {
		for _, powerCut := range []bool{false, true} {
			t.Run(fmt.Sprintf("after %d changes, power cut %t", done, powerCut), func(t *testing.T) {
				n := newNode(t, v1alpha1.MethodReboot)
				for _, change := range changes[:done] {
					change(n)
				}
				if powerCut {
					active, err := n.Active()
					n.must(err)
					n.boot(active.Version())
				}
				for n.guard() {
					if n.reboots > 1 {
						t.Fatal("the node was rebooted twice")
					}
				}
				n.checkReturned()
			})
		}
	}
}

// A guard that is killed again and again: the limit counts from its first start in the boot,
// and what it finds must still last.
func TestKilledGuardReachesItsLimit(t *testing.T) {
	n := newNode(t, v1alpha1.MethodReboot)
	record, err := n.Guard()
	n.must(err)
	for range 18 {
		n.clock += 10 * time.Second
		g := &guardian{Layout: n.Layout, record: *record, log: host.NewLog(io.Discard), run: n.run, sinceBoot: func() time.Duration { return n.clock }}
		n.must(g.observeBoot(t.Context()))
		n.must(g.observeStart())
	}
	begin := n.clock
	if !n.guard() {
		t.Fatal("it was not rolled back")
	}
	if took := n.clock - begin; took < Steady || took > 2*time.Minute {
		t.Errorf("the last guard took %s, 170 s after the first began", took)
	}
	if boots := n.GuardBoots(); boots != 1 {
		t.Errorf("%d boots were counted, want 1", boots)
	}
}

// The API server is silent at the limit: the guard stays armed until it answers, and then gives
// the kubelet time to report.
func TestSilentAPIServer(t *testing.T) {
	n := newNode(t, v1alpha1.MethodReboot)
	n.health, n.silent = Health{API: "NotReady"}, 20*time.Minute
	if !n.guard() {
		t.Fatal("a node whose kubelet never became Ready was not rolled back")
	}
	if n.clock < n.silent+AnswersFor || n.clock > n.silent+AnswersFor+2*time.Minute {
		t.Errorf("it was rolled back after %s, and the API server answered after %s", n.clock, n.silent)
	}
	n = newNode(t, v1alpha1.MethodReboot)
	n.health, n.silent = Health{}, 20*time.Minute
	if n.guard() || n.clock < n.silent {
		t.Errorf("the guard of a Ready node ended after %s, and the API server answered after %s", n.clock, n.silent)
	}
	n.checkDisarmed()
}

// The limit counts from the kubelet's start, which waits for the network.
func TestKubeletThatStartsLate(t *testing.T) {
	n := newNode(t, v1alpha1.MethodReboot)
	n.kubelet = 2 * time.Minute
	if !n.guard() {
		t.Fatal("it was not rolled back")
	}
	if n.clock < 5*time.Minute || n.clock > 6*time.Minute {
		t.Errorf("it was rolled back after %s, want 3 minutes after the kubelet's start", n.clock)
	}
}

// A version that resets the node never reaches the limit.
func TestResettingVersionReturns(t *testing.T) {
	n := newNode(t, v1alpha1.MethodReboot)
	for range MaxBoots {
		record, err := n.Guard()
		n.must(err)
		g := &guardian{Layout: n.Layout, record: *record, log: host.NewLog(io.Discard), sinceBoot: func() time.Duration { return n.clock }}
		n.must(g.observeStart())
		n.boot(to)
	}
	begin := n.clock
	if !n.guard() || n.clock-begin > time.Minute {
		t.Errorf("it was not rolled back at once, but after %s", n.clock-begin)
	}
}

// While the API server is silent the guard stays armed. Boots that were healthy at their limit do
// not count among those that never reach it.
func TestHealthyBootsDoNotCount(t *testing.T) {
	n := newNode(t, v1alpha1.MethodReboot)
	n.silent = 24 * time.Hour
	for boot := range MaxBoots + 2 {
		n.health = Health{Kubelet: "refused"} // as it has only begun to start
		g := n.guardian()
		n.must(g.observeBoot(t.Context()))
		n.must(g.observeStart())
		for begin := n.clock; n.clock < begin+5*time.Minute; n.health = (Health{}) {
			if verdict, why := g.verdict(t.Context()); verdict != Watch {
				t.Fatalf("boot %d, after %s: %s: %s", boot, n.clock-begin, verdict, why)
			}
		}
		n.boot(to)
	}
	n.checkBoots(0)
}

// A guard that was confirmed, or whose activation was replaced, changes nothing.
func TestDisarmedGuardEnds(t *testing.T) {
	n := newNode(t, v1alpha1.MethodReboot)
	record, err := n.Guard()
	n.must(err)
	g := &guardian{Layout: n.Layout, record: *record, log: host.NewLog(io.Discard), run: n.run, sinceBoot: func() time.Duration { return 0 }, check: func(context.Context) (Health, bool) { return n.health, true }}
	later := *record
	later.ArmedAt = later.ArmedAt.Add(time.Second)
	n.must(n.SetGuard(later))
	if err := g.guard(t.Context()); err == nil {
		t.Error("the guard did not notice another activation")
	}
	n.must(n.DisarmGuard())
	n.must(g.guard(t.Context()))
	if err := g.begin(t.Context(), "refused"); err == nil {
		t.Error("a rollback began although the guard was disarmed")
	}
	if r, err := n.Rollback(); r != nil || err != nil {
		t.Errorf("a rollback is recorded: %+v %v", r, err)
	}
}

// A full disk: the record and the files need the space that was reserved.
func TestRollbackUsesTheReserve(t *testing.T) {
	n := newNode(t, v1alpha1.MethodReboot)
	if info, err := os.Stat(n.At(host.StateDir(host.Root), ".kubectl-upgrade-reserve")); err != nil || info.Size() < 1<<20 {
		t.Fatalf("nothing is reserved: %v %v", info, err)
	}
	n.guard()
	n.checkGone(host.StateDir(host.Root) + "/.kubectl-upgrade-reserve")
}

// The record is written to reserved space: a program that fills the disk cannot take it. The
// other reserves are freed after that.
func TestRecordIsWrittenToTheReserve(t *testing.T) {
	n := newNode(t, v1alpha1.MethodReboot)
	held, err := os.Open(n.At(host.StateDir(host.Root), ".kubectl-upgrade-reserve")) // so that no other file gets its inode
	n.must(err)
	defer held.Close()
	reserve, err := held.Stat()
	n.must(err)
	recorded := false
	n.onRun = func(command string) {
		if !strings.HasPrefix(command, "journalctl") {
			return
		}
		recorded = true
		if r, err := n.Rollback(); err != nil || r == nil || r.Message != "refused" {
			t.Errorf("the record is %+v (%v)", r, err)
		}
		record, err := os.Stat(n.At(host.StateDir(host.Root), "rollback.json"))
		if err != nil || !os.SameFile(record, reserve) {
			t.Errorf("the record is not in the reserved space (%v)", err)
		}
		for _, dir := range []string{"/var/lib/kubelet", "/etc/kubernetes"} {
			if _, err := os.Stat(n.At(dir, ".kubectl-upgrade-reserve")); err != nil {
				t.Errorf("before the record was written: %v", err)
			}
		}
	}
	if !n.guard() || n.guard() || !recorded {
		t.Errorf("%d reboots, want 1: %q", n.reboots, n.ran)
	}
	n.checkReturned()
}

// A record that cannot be written does not keep a node out of service for ever.
func TestRollbackWithoutRecord(t *testing.T) {
	n := newNode(t, v1alpha1.MethodReboot)
	// A folder in the record's place cannot be replaced by a file.
	n.write(host.StateDir(host.Root)+"/rollback.json/x", "")
	if !n.guard() {
		t.Fatal("it was not rolled back")
	}
	if active, err := n.Active(); err != nil || active.Version() != from {
		t.Errorf("the symlink points to %v (%v)", active, err)
	}
}

func TestRebootIsForced(t *testing.T) {
	n := newNode(t, v1alpha1.MethodReboot)
	n.fails["systemctl reboot --ignore-inhibitors"] = true
	if !n.guard() || !slices.Contains(n.ran, "systemctl reboot --force") {
		t.Errorf("ran %q", n.ran)
	}
}

// With method Restart a node that has never merged the new version needs no reboot: the verb
// was killed before its refresh.
func TestRollbackOfRestartThatNeverMerged(t *testing.T) {
	n := newNode(t, v1alpha1.MethodRestart)
	n.merge(from)
	n.health = Health{}
	if n.guard() {
		t.Errorf("the node was rebooted: %q", n.ran)
	}
	if active, err := n.Active(); err != nil || active.Version() != from {
		t.Errorf("the symlink points to %v (%v)", active, err)
	}
	n.checkDisarmed()
}

// A rollback ends although a saved file is gone.
func TestRollbackWithoutSavedFiles(t *testing.T) {
	n := newNode(t, v1alpha1.MethodReboot)
	n.must(n.KeepKubeletFiles())
	if !n.guard() || n.guard() {
		t.Errorf("%d reboots, want 1", n.reboots)
	}
	n.checkDisarmed()
	if r, err := n.Rollback(); err != nil || r == nil || r.FinishedAt.IsZero() {
		t.Errorf("the record is %+v (%v)", r, err)
	}
}

// With method Restart a node whose former image cannot be merged reboots, once.
func TestRollbackOfRestart(t *testing.T) {
	n := newNode(t, v1alpha1.MethodRestart)
	n.merges = []string{"", ""}
	if !n.guard() || n.guard() || n.reboots != 1 {
		t.Errorf("%d reboots, want 1: %q", n.reboots, n.ran)
	}
	n.checkReturned()
}

// With method Restart a verb that still runs must not refresh and restart at the same time as
// the rollback.
func TestRollbackStopsRestartVerb(t *testing.T) {
	n := newNode(t, v1alpha1.MethodRestart)
	n.merges = []string{"", ""}
	n.guard()
	stop, reboot := slices.Index(n.ran, "systemctl stop "+host.Unit(verb.Restart)), slices.Index(n.ran, "systemctl reboot --ignore-inhibitors")
	if stop < 0 || stop > reboot {
		t.Errorf("ran %q", n.ran)
	}
}

// A node that cannot return, as the former image is gone, says so.
func TestFormerImageIsGone(t *testing.T) {
	n := newNode(t, v1alpha1.MethodReboot)
	n.must(os.Remove(n.At(host.ImagePath(from, host.Architecture()))))
	if n.guard() {
		t.Error("it was rebooted")
	}
	n.checkDisarmed()
	r, err := n.Rollback()
	n.must(err)
	want := "refused; the image of " + from + " is gone, so the node cannot return to it"
	if r == nil || !r.Impossible || r.Message != want || !strings.Contains(r.Log, "panic: broken") || r.FinishedAt.IsZero() {
		t.Errorf("the record is %+v, want the message %q", r, want)
	}
}

func TestStop(t *testing.T) {
	n := newNode(t, v1alpha1.MethodReboot)
	n.must(n.StopGuard(t.Context(), host.NewLog(io.Discard), n.run))
	n.checkDisarmed()
	if want := "systemctl stop " + host.GuardUnit; n.ran[0] != want {
		t.Errorf("ran %q, want %q first", n.ran, want)
	}
	n.must(n.StopGuard(t.Context(), host.NewLog(io.Discard), n.run)) // a second time
}

// Stop does not take effect once a rollback has begun, even at that very moment.
func TestStopDuringRollback(t *testing.T) {
	n := newNode(t, v1alpha1.MethodReboot)
	begins := func(ctx context.Context, log *host.Log, program string, args ...string) (string, error) {
		n.must(n.SetRollback(verb.Rollback{Upgrade: "uid", From: from, To: to, Message: "refused"}))
		return n.run(ctx, log, program, args...)
	}
	for _, run := range []func(context.Context, *host.Log, string, ...string) (string, error){begins, n.run} {
		err := n.StopGuard(t.Context(), host.NewLog(io.Discard), run)
		if host.ReasonOf(err, "") != v1alpha1.ReasonRolledBack {
			t.Errorf("%v", err)
		}
	}
	if armed, _ := n.GuardArmed(); !armed || n.ran[len(n.ran)-1] != "systemctl start --no-block "+host.GuardUnit {
		t.Errorf("armed %t, ran %q", armed, n.ran)
	}
}

func TestOneGuardAtATime(t *testing.T) {
	n := newNode(t, v1alpha1.MethodReboot)
	unlock, err := tryLock(n.Layout)
	n.must(err)
	if _, err := tryLock(n.Layout); !errors.Is(err, unix.EWOULDBLOCK) {
		t.Errorf("two guards have the lock (%v)", err)
	}
	unlock()
	again, err := tryLock(n.Layout)
	n.must(err)
	again()
}
