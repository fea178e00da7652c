//go:build integration

package host_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// tokenAccess is a kubeconfig of a kubelet that needs no other file.
const tokenAccess = `{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],
	"clusters":[{"name":"c","cluster":{"server":"https://10.0.0.1:6443"}}],"users":[{"name":"u","user":{"token":"t"}}]}`

// mergedFormer merges a real image of v1.34.3, whose kubelet a unit starts.
func mergedFormer(t *testing.T) {
	t.Helper()
	former := host.ImagePath("v1.34.3", host.Architecture())
	command(t, "cp", "--backup", "--suffix=.aside", "/former.raw", former)
	put(t, "/etc/systemd/system/multi-user.target.d/kubelet.conf", "[Unit]\nUpholds=kubelet.service\n")
	put(t, host.KubeletAccess, tokenAccess)
	command(t, "systemd-sysext", "merge")
	t.Cleanup(func() {
		_ = exec.Command("systemd-sysext", "unmerge").Run()
		_ = os.Rename(former+".aside", former)
		_ = os.Remove("/run/kubectl-upgrade/rehearsal.json")
	})
}

// rehearsed gathers the facts, and returns what they say of a boot with v1.34.4.
func rehearsed(t *testing.T) v1alpha1.Rehearsal {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), host.Program(host.Root), "host", "facts").Output()
	var result verb.Result
	var facts verb.HostFacts
	if err == nil {
		err = json.Unmarshal(out, &result)
	}
	if err == nil {
		err = result.Decode(&facts)
	}
	if err != nil {
		t.Fatal(err)
	}
	if r := facts.Node.Rehearsed("v1.34.4"); r != nil {
		return *r
	}
	t.Fatalf("no rehearsal of v1.34.4: %+v", facts.Node.Rehearsals)
	return v1alpha1.Rehearsal{}
}

// leftovers returns what a trial must not leave: loop devices, mounts, units, files.
func leftovers(t *testing.T) string {
	t.Helper()
	var all []string
	for _, args := range [][]string{
		{"sh", "-c", "for f in " + host.KeptDir + "/*.raw; do losetup --associated $f; done"},                 // all machines share the devices
		{"sh", "-c", "findmnt --noheadings --list --output=TARGET,SOURCE,FSTYPE | grep -v ^/run/credentials"}, // of services that start
		{"systemd-sysext", "status"},
		{"sh", "-c", "ls -d /run/kubectl-upgrade/files-* /run/systemd/original /run/systemd/extensions 2>&1; ls /run/systemd/sysext"},
		{"systemctl", "show", "--property=ActiveState,InvocationID,NeedDaemonReload", "kubelet.service"}, // systemd 262 restarts what an image names
		{"systemctl", "list-units", "--all", "--plain", "--no-legend", "kubectl-upgrade-trial-*", "kubectl-upgrade-confined-*"},
	} {
		out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput()
		if err != nil && args[0] != "sh" {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
		all = append(all, string(out))
	}
	return strings.Join(all, "\n")
}

// TestRehearsal makes nodes of which public reports say that they did not come back, and checks that a rehearsal names the
// cause, leaves nothing behind, and is silent on usual nodes.
func TestRehearsal(t *testing.T) {
	mergedFormer(t)
	before := leftovers(t)
	link := "../.." + host.ImagePath("v1.34.3", host.Architecture())
	for _, test := range []struct {
		name string
		make func(*testing.T)
		want string // the reason and a part of the message; empty: silent
	}{
		{"a usual node", func(*testing.T) {}, ""},
		{"a file that is no image (systemd#32762)", func(t *testing.T) { put(t, "/etc/extensions/other.raw", "text") },
			"NothingMerges /etc/extensions/other.raw"},
		{"a second link to the image (sysext-bakery#140)", func(t *testing.T) { symlink(t, link, "/etc/extensions/kubernetes-v1.34.raw") },
			"NothingMerges /etc/extensions/kubernetes-v1.34.raw"},
		{"an extension with files in /opt (Flatcar#1448)", func(t *testing.T) {
			put(t, "/etc/extensions/kata/usr/lib/extension-release.d/extension-release.kata", "ID=_any\n")
			put(t, "/etc/extensions/kata/opt/kata/bin/kata", "text")
			t.Cleanup(func() { _ = os.RemoveAll("/etc/extensions/kata") })
		}, "FolderReadOnly kata"},
		{"kubelet.service in /etc (KubeOne)", func(t *testing.T) {
			put(t, "/opt/bin/kubelet", "\x7fELF")
			put(t, "/etc/systemd/system/kubelet.service", "[Service]\nExecStart=/opt/bin/kubelet\n")
		}, "KubeletElsewhere /etc/systemd/system/kubelet.service starts /opt/bin/kubelet"},
		{"a flag that the kubelet does not have", func(t *testing.T) {
			t.Cleanup(func() { _ = exec.Command("systemctl", "daemon-reload").Run() }) // after the file is removed
			put(t, "/etc/systemd/system/kubelet.service.d/flag.conf", "[Service]\nExecStart=\nExecStart=/usr/bin/kubelet --refused\n")
			command(t, "systemctl", "daemon-reload")
		}, "KubeletRefuses unknown flag: --refused"},
		{"a kubelet.conf that is empty (kubernetes#34956)", func(t *testing.T) {
			command(t, "truncate", "--size=0", host.KubeletAccess)
			t.Cleanup(func() { _ = os.WriteFile(host.KubeletAccess, []byte(tokenAccess), 0o600) })
		}, "AgentCannotBegin /etc/kubernetes/kubelet.conf is empty"},
		{"a masked extension (Flatcar's guide)", func(t *testing.T) { symlink(t, os.DevNull, "/etc/extensions/docker-flatcar.raw") }, ""},
		{"a folder as an extension", func(t *testing.T) {
			put(t, "/etc/extensions/tools/usr/lib/extension-release.d/extension-release.tools", "ID=_any\n")
			t.Cleanup(func() { _ = os.RemoveAll("/etc/extensions/tools") })
		}, ""},
		{"an extension for another operating system", func(t *testing.T) {
			put(t, "/var/lib/extensions/foreign/usr/lib/extension-release.d/extension-release.foreign", "ID=other\n")
			t.Cleanup(func() { _ = os.RemoveAll("/var/lib/extensions/foreign") })
		}, ""},
		{"mounts of programs below /opt", func(t *testing.T) {
			command(t, "sh", "-c", "mkdir -p /opt/a && mount -t tmpfs a /opt/a && mkdir /opt/a/b && mount -t tmpfs b /opt/a/b")
			t.Cleanup(func() { _ = exec.Command("umount", "-l", "/opt/a").Run() })
		}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.make(t)
			found := rehearsed(t)
			var told []string
			for _, p := range found.Problems {
				told = append(told, string(p.Reason)+" "+p.Message)
			}
			if len(found.Untried) > 0 || len(found.LeftOut) > 0 {
				t.Errorf("not tried: %q %q", found.Untried, found.LeftOut)
			}
			reason, part, _ := strings.Cut(test.want, " ")
			if got := strings.Join(told, "; "); (test.want == "") != (got == "") || !strings.HasPrefix(got, reason) || !strings.Contains(got, part) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if diff := cmp.Diff(before, eventuallyAs(t, before)); diff != "" {
		t.Errorf("left behind (-before +after):\n%s", diff)
	}
}

func symlink(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(path) })
}

// eventuallyAs returns the leftovers once they are as before, or after half a minute: systemd unloads a unit some time after
// its end.
func eventuallyAs(t *testing.T, before string) (after string) {
	t.Helper()
	for range 300 {
		if after = leftovers(t); after == before {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	return after
}

// TestRehearsalKilled kills the trial's unit at ten moments. Nothing is left, and no problem is made up.
func TestRehearsalKilled(t *testing.T) {
	mergedFormer(t)
	before := leftovers(t)
	killed := 0
	for i := range 10 {
		_ = os.Remove("/run/kubectl-upgrade/rehearsal.json")
		delay := time.Duration(20+60*i) * time.Millisecond
		done := make(chan bool)
		go func() {
			for began := time.Now(); time.Since(began) < 20*time.Second; time.Sleep(2 * time.Millisecond) {
				units, _ := filepath.Glob("/sys/fs/cgroup/systemd/system.slice/kubectl-upgrade-trial-*")
				if more, _ := filepath.Glob("/sys/fs/cgroup/system.slice/kubectl-upgrade-trial-*"); len(more) > 0 {
					units = more
				}
				if len(units) > 0 {
					time.Sleep(delay)
					done <- exec.Command("systemctl", "kill", "--signal=KILL", filepath.Base(units[0])).Run() == nil
					return
				}
			}
			done <- false
		}()
		found := rehearsed(t)
		if <-done {
			killed++
		}
		if len(found.Problems) > 0 {
			t.Errorf("killed after %s: %+v", delay, found.Problems)
		}
		if diff := cmp.Diff(before, eventuallyAs(t, before)); diff != "" {
			t.Fatalf("killed after %s, left behind (-before +after):\n%s", delay, diff)
		}
	}
	if killed == 0 {
		t.Error("no trial was killed")
	}
	t.Logf("%d of 10 were killed", killed)
}
