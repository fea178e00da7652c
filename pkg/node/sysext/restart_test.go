package sysext

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// fakeNode is a node whose programs are made of Go.
type fakeNode struct {
	host.Layout
	t        *testing.T
	ran      []string
	refresh  []string // what each refresh leaves merged; "" is nothing
	fails    string   // the command that ends with an error
	kubelets []string // what systemctl show says, one after the other
}

func newNode(t *testing.T, merged, active, mounts string) *fakeNode {
	t.Helper()
	n := &fakeNode{Layout: host.Layout{Dir: t.TempDir()}, t: t, kubelets: []string{"4711\nactive\n"}}
	n.write("/proc/1/mountinfo", "1 0 0:1 / / rw - ext4 x rw\n2 1 0:2 / /usr ro - overlay sysext ro\n"+mounts)
	n.setMerged(merged)
	link := n.At(host.Link)
	if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(host.ImagePath(active, host.Architecture()), link); err != nil {
		t.Fatal(err)
	}
	return n
}

func (n *fakeNode) write(path, text string) {
	n.t.Helper()
	if err := os.MkdirAll(filepath.Dir(n.At(path)), 0o755); err != nil {
		n.t.Fatal(err)
	}
	if err := os.WriteFile(n.At(path), []byte(text), 0o644); err != nil {
		n.t.Fatal(err)
	}
}

// What is merged is what was activated, to the byte.
func TestRestartLooksAtTheBytes(t *testing.T) {
	for content, refused := range map[string]bool{"image": false, "another": true} {
		n := newNode(t, "v1.34.3", "v1.34.4", "")
		n.refresh = []string{"v1.34.4"}
		n.write(host.ImagePath("v1.34.4", host.Architecture()), content)
		sum := sha256.Sum256([]byte("image"))
		if err := n.SetGuard(host.Guard{To: "v1.34.4", SHA256: hex.EncodeToString(sum[:])}); err != nil {
			t.Fatal(err)
		}
		r := &restart{layout: n.Layout, log: host.NewLog(io.Discard), run: n.run, steady: time.Millisecond}
		err := r.restart(t.Context(), "v1.34.4")
		if got := host.ReasonOf(err, "") == v1alpha1.ReasonHashMismatch; got != refused || refused != (len(n.ran) == 0) {
			t.Errorf("%s: %v; ran %v", content, err, n.ran)
		}
	}
}

func (n *fakeNode) setMerged(version string) {
	if version != "" {
		n.write(host.MergedVersionFile, version+"\n")
	} else if err := os.RemoveAll(n.At(host.MergedVersionFile)); err != nil {
		n.t.Fatal(err)
	}
}

func (n *fakeNode) run(_ context.Context, _ *host.Log, program string, args ...string) (string, error) {
	command := program + " " + strings.Join(args, " ")
	if command == "systemctl show --value --property=ActiveState "+host.GuardUnit {
		return "inactive\n", nil
	}
	if strings.HasPrefix(command, "systemctl show") {
		said := n.kubelets[0]
		if len(n.kubelets) > 1 {
			n.kubelets = n.kubelets[1:]
		}
		return said, nil
	}
	n.ran = append(n.ran, command)
	if program == "systemd-sysext" {
		n.setMerged(n.refresh[0])
		n.refresh = n.refresh[1:]
	}
	if command == n.fails {
		return "", errors.New(command + " failed")
	}
	return "", nil
}

func TestRestart(t *testing.T) {
	const refresh, reload, kubelet = "systemd-sysext refresh", "systemctl daemon-reload", "systemctl restart kubelet.service"
	tests := map[string]struct {
		merged, active, mounts string
		refresh                []string
		fails                  string
		ran                    []string
		left, err              string
	}{
		"the new version": {
			merged: "v1.34.3", active: "v1.34.4", refresh: []string{"v1.34.4"},
			ran: []string{refresh, reload, kubelet}, left: "v1.34.4",
		},
		"a second time": {
			merged: "v1.34.4", active: "v1.34.4",
			ran: []string{reload, kubelet}, left: "v1.34.4",
		},
		"something else is active": {
			merged: "v1.34.3", active: "v1.34.3", err: "points to v1.34.3, not to v1.34.4",
		},
		"something is mounted below /usr": {
			merged: "v1.34.3", active: "v1.34.4", mounts: "3 2 0:3 / /usr/share/oem rw - ext4 x rw\n",
			left: "v1.34.3", err: "break what is mounted at /usr/share/oem",
		},
		"busy at first": {
			merged: "v1.34.3", active: "v1.34.4", refresh: []string{"", "v1.34.4"},
			ran: []string{refresh, refresh, reload, kubelet}, left: "v1.34.4",
		},
		"nothing is merged": {
			merged: "v1.34.3", active: "v1.34.4", refresh: []string{"", ""}, fails: refresh,
			ran: []string{refresh, refresh}, err: "nothing is merged now: systemd-sysext refresh failed",
		},
		"the former one is merged again": {
			merged: "v1.34.3", active: "v1.34.4", refresh: []string{"", "v1.34.3"},
			ran: []string{refresh, refresh}, left: "v1.34.3", err: "did not merge v1.34.4: v1.34.3 is merged now",
		},
		"the kubelet cannot be restarted": {
			merged: "v1.34.3", active: "v1.34.4", refresh: []string{"v1.34.4"}, fails: kubelet,
			ran: []string{refresh, reload, kubelet}, left: "v1.34.4", err: "restart kubelet.service failed",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, test.merged, test.active, test.mounts)
			n.refresh, n.fails = test.refresh, test.fails
			r := &restart{layout: n.Layout, log: host.NewLog(io.Discard), run: n.run, steady: time.Millisecond}
			err := r.restart(t.Context(), "v1.34.4")
			if diff := cmp.Diff(test.ran, n.ran); diff != "" {
				t.Errorf("commands (-want +got):\n%s", diff)
			}
			if r.out.Merged != test.left {
				t.Errorf("%q is merged, want %q", r.out.Merged, test.left)
			}
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("error %v, want %q", err, test.err)
			}
			if err == nil && r.out.KubeletPID != 4711 {
				t.Errorf("the kubelet is process %d", r.out.KubeletPID)
			}
		})
	}
}

// A kubelet that ends again and again is none, though each is active for a while.
func TestKubeletStays(t *testing.T) {
	n := newNode(t, "v1.34.4", "v1.34.4", "")
	n.kubelets = []string{"activating\n0\n", "active\n1\n", "active\n2\n", "failed\n0\n", "active\n3\n"}
	r := &restart{layout: n.Layout, log: host.NewLog(io.Discard), run: n.run, steady: 3 * time.Millisecond}
	if err := r.restart(t.Context(), "v1.34.4"); err != nil || r.out.KubeletPID != 3 {
		t.Errorf("process %d, %v", r.out.KubeletPID, err)
	}
	n = newNode(t, "v1.34.4", "v1.34.4", "")
	n.kubelets = []string{"activating\n0\n"}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	r = &restart{layout: n.Layout, log: host.NewLog(io.Discard), run: n.run, steady: 3 * time.Millisecond}
	if err := r.restart(ctx, "v1.34.4"); err == nil || !strings.Contains(err.Error(), "did not keep running") {
		t.Errorf("%v", err)
	}
}

// The guard watches from before the refresh on. If nothing was changed, it is disarmed.
func TestRestartStartsTheGuard(t *testing.T) {
	const reload, start, refresh, stop = "systemctl daemon-reload", "systemctl start --no-block " + host.GuardUnit, "systemd-sysext refresh", "systemctl stop " + host.GuardUnit
	const forget = "systemctl reset-failed " + host.GuardUnit + "*"
	for left, want := range map[string]struct {
		ran   []string
		armed bool
	}{
		"v1.34.4": {[]string{reload, start, refresh, reload, "systemctl restart kubelet.service"}, true},
		"v1.34.3": {[]string{reload, start, refresh, refresh, stop, reload, forget}, false},
		"":        {[]string{reload, start, refresh, refresh}, true},
	} {
		n := newNode(t, "v1.34.3", "v1.34.4", "")
		n.refresh = []string{left, left}
		for _, dir := range []string{"/var/lib/kubelet", "/etc/kubernetes"} {
			n.write(dir+"/.keep", "")
		}
		n.write(host.Program(host.Root), "program")
		if err := n.ArmGuard(host.Guard{From: "v1.34.3", To: "v1.34.4"}); err != nil {
			t.Fatal(err)
		}
		r := &restart{layout: n.Layout, log: host.NewLog(io.Discard), run: n.run, steady: time.Millisecond, startsGuard: true}
		err := r.restart(t.Context(), "v1.34.4")
		armed, armedErr := n.GuardArmed()
		if diff := cmp.Diff(want.ran, n.ran); diff != "" || armed != want.armed || armedErr != nil || (err == nil) != (left == "v1.34.4") {
			t.Errorf("%q is merged afterwards: %v, armed %t (%v), ran (-want +got):\n%s", left, err, armed, armedErr, diff)
		}
	}
}
