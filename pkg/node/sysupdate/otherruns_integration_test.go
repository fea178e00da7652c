//go:build integration

package sysupdate_test

import (
	"bytes"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/sysupdate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// TestOtherRuns upgrades a node by a patch and a minor, rolls it back, and gives it back. At
// each step, and while an image is downloaded, it runs systemd-sysupdate as the timer of this
// version does, and as a person may. None of these runs deletes an image that is needed, or
// moves the symlink.
func TestOtherRuns(t *testing.T) {
	n := newDisturbed(t)
	n.run("before the agent", host.Sysupdate, "-C", "kubernetes", "update")
	if _, err := host.OnNode.Active(); err != nil {
		t.Fatal(err)
	}

	n.do("disarm", func() error { _, err := sysupdate.Disarm(host.OnNode); return err })
	n.want("disarm", "v1.34.3", "v1.34.3")
	n.stage("v1.34.4")
	n.want("stage", "v1.34.3", "v1.34.3", "v1.34.4")
	n.activate("v1.34.4")
	n.want("activate", "v1.34.4", "v1.34.3", "v1.34.4")
	n.boot("v1.34.4")
	n.want("boot, with the guard armed", "v1.34.4", "v1.34.3", "v1.34.4")

	n.stage("v1.35.4")
	n.want("stage a minor", "v1.34.4", "v1.34.4", "v1.35.4")
	n.activate("v1.35.4")
	n.want("activate a minor", "v1.35.4", "v1.34.4", "v1.35.4")
	n.boot("v1.35.4")
	n.want("boot of a minor, with the guard armed", "v1.35.4", "v1.34.4", "v1.35.4")
	if n.cleans && len(n.published("v1.34")) > 0 {
		t.Errorf("this systemd-sysupdate should have deleted its own images of the former minor: %v", n.published("v1.34"))
	}
	n.rollBack()
	n.want("roll back the minor", "v1.34.4", "v1.34.4", "v1.35.4")
	n.boot("v1.34.4")
	n.want("boot after the rollback", "v1.34.4", "v1.34.4", "v1.35.4")

	n.activate("v1.35.4")
	n.boot("v1.35.4")
	n.want("the minor again", "v1.35.4", "v1.34.4", "v1.35.4")
	n.do("remove the definitions", func() error { return os.RemoveAll(host.ConfDir) })
	n.want("remove the definitions", "v1.35.4", "v1.34.4", "v1.35.4")
	if err := os.Mkdir(host.ConfDir, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(host.ConfDir, "kubernetes-v1.35.conf"), publishersConf("v1.35", n.p.url))
	n.do("disarm again", func() error { _, err := sysupdate.Disarm(host.OnNode); return err })

	n.do("give back", func() error { return sysupdate.GiveBack(host.OnNode) })
	n.want("give back", "v1.35.4")
	if _, err := os.Stat(host.KeptDir); err == nil {
		t.Errorf("%s is left", host.KeptDir)
	}
	if n.recorded != n.cleans {
		t.Errorf("systemd-sysupdate records what it installs: %t, and its timer cleans up: %t. Is the database elsewhere?", n.recorded, n.cleans)
	}
}

// disturbed is a node on which systemd-sysupdate is run by others.
type disturbed struct {
	*testing.T
	p *publisher
	// others are the commands of others.
	others [][]string
	// cleans: a run deletes what no definition covers any more.
	cleans bool
	// recorded: a run was seen to have recorded what it has installed.
	recorded bool
	// notified counts the calls of the socket that may refresh the node's sysexts.
	notified atomic.Int32
}

// newest is the newest systemd that the documentation is about.
const newest = 262

func newDisturbed(t *testing.T) *disturbed {
	n := &disturbed{T: t, p: newPublisher(t, "v1.34.2", "v1.34.3", "v1.34.4", "v1.34.5", "v1.35.4")}
	newNode(t, n.p.url)
	for _, dir := range []string{"/var/lib/systemd/sysupdate", notifyDir} {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	build, err := exec.CommandContext(t.Context(), host.Sysupdate, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	timer := n.timer()
	if version, err := strconv.Atoi(strings.Fields(string(build))[1]); err != nil || version > newest {
		t.Logf("Debian has moved on: lab/results/compatibility.md and docs/decisions.md are about systemd %d", newest)
	}
	n.cleans = slices.Contains(timer, "--cleanup=yes")
	t.Logf("%s; its timer runs %s", strings.TrimSpace(strings.SplitN(string(build), "\n", 2)[0]), strings.Join(timer, " "))
	n.others = [][]string{timer, {host.Sysupdate, "-C", "kubernetes", "update"}, {host.Sysupdate, "-C", "kubernetes", "vacuum", "-m", "1"}}
	if n.cleans {
		n.others = append(n.others, []string{host.Sysupdate, "cleanup", "--component-all"})
	}
	n.listen()
	return n
}

// timer returns the command of the service that the timer starts.
func (n *disturbed) timer() []string {
	text, err := os.ReadFile("/usr/lib/systemd/system/systemd-sysupdate.service")
	if err != nil {
		n.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if command, found := strings.CutPrefix(line, "ExecStart="); found {
			return strings.Fields(command)
		}
	}
	n.Fatal("the service has no ExecStart=")
	return nil
}

const notifyDir = "/run/systemd/sysupdate/notify"

// listen listens in the place of systemd-sysupdate-notify-sysext.socket.
func (n *disturbed) listen() {
	if err := os.MkdirAll(notifyDir, 0o755); err != nil {
		n.Fatal(err)
	}
	socket, err := net.Listen("unix", notifyDir+"/io.systemd.sysext")
	if err != nil {
		n.Fatal(err)
	}
	n.Cleanup(func() { _ = socket.Close() })
	go func() {
		for {
			conn, err := socket.Accept()
			if err != nil {
				return
			}
			n.notified.Add(1)
			_ = conn.Close()
		}
	}()
}

// do does something of ours.
func (n *disturbed) do(step string, f func() error) {
	n.Helper()
	if err := f(); err != nil {
		n.Fatalf("%s: %v", step, err)
	}
	if _, err := os.Stat(host.Link); err != nil {
		n.Errorf("%s: the symlink leads to nothing: %v", step, err)
	}
	n.lookAtRecords()
}

// runOthers runs the commands of others. Some fail: of the default component, for example,
// there are no definitions.
func (n *disturbed) runOthers(step string) {
	n.Helper()
	for _, command := range n.others {
		n.run(step, command...)
	}
}

func (n *disturbed) run(step string, command ...string) {
	n.Helper()
	out, err := exec.CommandContext(n.Context(), command[0], command[1:]...).CombinedOutput() //nolint:gosec // what the unit and the test say
	if os.Getenv("OTHERS") != "" {
		n.Logf("%s: %v: %v\n%s", step, command, err, out)
	}
	n.lookAtRecords()
}

// stage stages a version while others run, too.
func (n *disturbed) stage(version string) {
	n.Helper()
	// What others have downloaded would be taken, and nothing be downloaded.
	_ = os.Remove(filepath.Join(host.ImagesDir, imageName(version)))
	ran := false
	n.p.meanwhile = func() {
		n.runOthers("while " + version + " is downloaded")
		ran = true
		n.notified.Store(0)
	}
	n.do("stage "+version, func() error { _, err := stage(n.T, n.p, version, version); return err })
	if !ran {
		n.Errorf("%s was not downloaded", version)
	}
	if calls := n.notified.Load(); calls > 0 {
		n.Errorf("staging called the socket that refreshes the node's sysexts %d times", calls)
	}
}

func (n *disturbed) activate(version string) {
	n.Helper()
	args := verb.ActivateArgs{Version: version, SHA256: hashOf(imageOf(n.T, version))}
	n.do("activate "+version, func() error {
		_, err := sysupdate.Activate(n.Context(), host.OnNode, args, host.ManifestsDir)
		return err
	})
}

// boot has the node run a version, and the agent look at it.
func (n *disturbed) boot(version string) {
	n.Helper()
	n.runOthers("shutdown")
	write(n.T, host.MergedVersionFile, version+"\n")
	n.runOthers("boot of " + version)
	if sysupdate.Armed(host.OnNode) {
		n.do("disarm after the boot", func() error { _, err := sysupdate.Disarm(host.OnNode); return err })
	}
}

// rollBack does what the guard does.
func (n *disturbed) rollBack() {
	n.Helper()
	guard, err := host.OnNode.Guard()
	if err != nil {
		n.Fatal(err)
	}
	confs, _ := filepath.Glob(host.ConfDir + "/*")
	for _, path := range confs {
		_ = os.Remove(path)
	}
	n.runOthers("within the rollback")
	for name, text := range guard.Restore.Confs {
		write(n.T, filepath.Join(host.ConfDir, name), text)
	}
	_ = os.Remove(host.Link)
	if err := os.Symlink(guard.Restore.LinkTarget, host.Link); err != nil {
		n.Fatal(err)
	}
}

// want runs others, and checks that the symlink leads to a version's image, and that the images
// are kept.
func (n *disturbed) want(step, active string, kept ...string) {
	n.Helper()
	n.runOthers(step)
	if now, err := host.OnNode.Active(); err != nil || now.Version() != active {
		n.Errorf("%s: the symlink points to %+v (%v), want %s", step, now, err, active)
	}
	if data, err := os.ReadFile(host.Link); err != nil || !bytes.Equal(data, imageOf(n.T, active)) {
		n.Errorf("%s: the symlink leads to %d bytes (%v), which are not %s", step, len(data), err, active)
	}
	for _, version := range kept {
		data, err := os.ReadFile(host.ImagePath(version, host.Architecture()))
		if err != nil || !bytes.Equal(data, imageOf(n.T, version)) {
			n.Errorf("%s: the image of %s: %d bytes, %v", step, version, len(data), err)
		}
	}
}

// published returns the files of a minor that other runs have downloaded.
func (n *disturbed) published(line string) []string {
	files, _ := filepath.Glob(filepath.Join(host.ImagesDir, "kubernetes-"+line+".*"))
	return files
}

// lookAtRecords checks that systemd-sysupdate's database has nothing of ours.
func (n *disturbed) lookAtRecords() {
	n.Helper()
	_ = filepath.WalkDir("/var/lib/systemd/sysupdate", func(path string, _ fs.DirEntry, _ error) error {
		target, err := os.Readlink(path)
		if err != nil {
			return nil
		}
		if n.recorded = true; strings.Contains(target, "kubectl-upgrade") {
			n.Errorf("the database of systemd-sysupdate has %s", target)
		}
		return nil
	})
}
