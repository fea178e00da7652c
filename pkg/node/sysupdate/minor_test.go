//go:build !integration

package sysupdate

import (
	"bytes"
	"encoding/binary"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// TestMinor upgrades a node to the next minor as the verbs do, and checks after each: there is
// exactly one conf, that of the running minor until the activation and the target's from then
// on; no vacuum can delete an image that is needed; and the old image is kept for a rollback.
func TestMinor(t *testing.T) {
	l := node(t, "v1.34.4", relative("v1.34.4"))
	if _, err := disarm(l); err != nil { // as staging does
		t.Fatal(err)
	}
	only(t, l, "kubernetes-v1.34.conf", "v1.34")
	staged := contents(t, l)

	watch := watchConfs(t, l)
	if _, err := Activate(t.Context(), l, args("v1.35.4"), host.ManifestsDir); err != nil {
		t.Fatal(err)
	}
	watch()
	only(t, l, "kubernetes-v1.35.conf", "v1.35")
	if got := linkTarget(t, l); got != relative("v1.35.4") {
		t.Errorf("the symlink points to %s", got)
	}
	// On its way through the reboot no program touches it.
	if Armed(l) {
		t.Error("armed while the activation is pending")
	}
	if _, err := Disarm(l); err != nil {
		t.Fatal(err)
	}
	only(t, l, "kubernetes-v1.35.conf", "v1.35")

	// The node is back with the new minor.
	write(t, l, host.MergedVersionFile, "v1.35.4\n")
	write(t, l, "/proc/sys/kernel/random/boot_id", "boot-2\n")
	if Armed(l) {
		t.Error("armed after the boot")
	}
	for _, version := range []string{"v1.34.4", "v1.35.4"} {
		if !isFile(l.At(absolute(version))) {
			t.Errorf("the image of %s is gone", version)
		}
	}
	guard, err := l.Guard()
	if err != nil || guard == nil || guard.From != "v1.34.4" {
		t.Fatalf("%+v %v", guard, err)
	}
	if diff := cmp.Diff(staged, guard.Restore.Confs); diff != "" || guard.Restore.LinkTarget != relative("v1.34.4") {
		t.Errorf("a rollback would restore the symlink to %s, with %s", guard.Restore.LinkTarget, diff)
	}
}

// TestMinorWithTwoConfs checks that confs of two minors, as the publisher's documentation
// leaves them for a moment, are refused.
func TestMinorWithTwoConfs(t *testing.T) {
	l := node(t, "v1.34.4", relative("v1.34.4"))
	write(t, l, host.ConfDir+"/kubernetes-v1.35.conf", of("v1.35"))
	if _, err := Activate(t.Context(), l, args("v1.35.4"), host.ManifestsDir); err == nil || linkTarget(t, l) != relative("v1.34.4") {
		t.Errorf("%v; the symlink points to %s", err, linkTarget(t, l))
	}
}

// only checks that there is this conf only, of that minor, which cannot change the symlink.
func only(t *testing.T, l host.Layout, name, line string) {
	t.Helper()
	files, err := readConfs(l)
	if err != nil || len(files) != 1 || files[0].name != name {
		t.Fatalf("%+v %v, want %s alone", files, err, name)
	}
	f := files[0]
	if f.conf.Line != line || strings.Contains(f.text, "\nCurrentSymlink=") {
		t.Errorf("%s:\n%s", name, f.text)
	}
}

// watchConfs records each change in the folder of confs. The function that it returns checks
// that there was exactly one conf at every moment, and that none was overwritten in place.
func watchConfs(t *testing.T, l host.Layout) func() {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	const changes = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_MODIFY
	if _, err := unix.InotifyAddWatch(fd, l.At(host.ConfDir), changes); err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for name := range contents(t, l) {
		there[name] = true
	}
	return func() {
		t.Helper()
		defer unix.Close(fd)
		events := readEvents(t, fd)
		moves := 0
		for i, e := range events {
			conf := strings.HasSuffix(e.name, ".conf") && !strings.HasPrefix(e.name, ".")
			switch {
			case !conf:
				continue
			case e.mask&unix.IN_MODIFY != 0:
				t.Errorf("%s was written to in its place", e.name)
			case e.mask&(unix.IN_DELETE|unix.IN_MOVED_FROM) != 0:
				delete(there, e.name)
				// One rename is two events with one cookie; no program sees a state between.
				if half := i+1 < len(events) && events[i+1].cookie == e.cookie && e.cookie != 0; half {
					continue
				}
			default:
				moves++
				there[e.name] = true
			}
			if len(there) != 1 {
				t.Errorf("after %+v there were %v", e, there)
			}
		}
		if moves < 2 {
			t.Errorf("the folder's watcher saw %d confs put in place, want text and name: %+v", moves, events)
		}
	}
}

type event struct {
	mask, cookie uint32
	name         string
}

func readEvents(t *testing.T, fd int) []event {
	t.Helper()
	buffer := make([]byte, 64<<10)
	n, err := unix.Read(fd, buffer)
	if err != nil {
		t.Fatal(err)
	}
	var events []event
	for data := buffer[:n]; len(data) >= unix.SizeofInotifyEvent; {
		length := binary.NativeEndian.Uint32(data[12:])
		name := data[unix.SizeofInotifyEvent : unix.SizeofInotifyEvent+length]
		events = append(events, event{
			mask: binary.NativeEndian.Uint32(data[4:]), cookie: binary.NativeEndian.Uint32(data[8:]),
			name: string(bytes.TrimRight(name, "\x00")),
		})
		data = data[unix.SizeofInotifyEvent+length:]
	}
	return events
}

func write(t *testing.T, l host.Layout, path, text string) {
	t.Helper()
	if err := os.WriteFile(l.At(path), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
