//go:build integration

package host_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// confine runs a program of an image that has only testdata/confined.
func confine(t *testing.T, r host.Confined) (string, error) {
	t.Helper()
	file, err := os.Open("/confined.raw")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	r.Image = file
	out, err := host.RunConfined(t.Context(), r)
	var failed *host.ProgramFailure
	if err != nil && !errors.As(err, &failed) {
		t.Errorf("%s %v: %v", r.Program, r.Args, err)
	}
	return out, err
}

// TestConfined tries what a program of an image must not be able to do. testdata/confined
// prints "NAME: done" if it could.
func TestConfined(t *testing.T) {
	secrets := []string{
		"/etc/kubernetes/admin.conf", "/var/lib/kubelet/pki/key.pem", "/opt/kubectl-upgrade/state/stage.json", "/root/.ssh/id",
		"/home/core/.ssh/id", "/etc/shadow", "/run/dbus/system_bus_socket", "/run/systemd/private", "/run/systemd/journal/socket",
	}
	for _, path := range secrets[:5] {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, nil, 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tcp.Close() })
	_, port, err := net.SplitHostPort(tcp.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	abstract, err := net.Listen("unix", "@confined")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = abstract.Close() })

	for attempt, want := range map[string]string{
		"user":                                  "user: a dynamic one",
		"capabilities":                          "capabilities: none",
		"write":                                 "read-only file system",
		"secrets " + strings.Join(secrets, " "): "secrets: nothing of it is there",
		"processes":                             "no such file",
		"unix /run/dbus/system_bus_socket":      "address family not supported",
		"unix @confined":                        "address family not supported",
		"tcp 127.0.0.1:" + port:                 "address family not supported",
		"netlink":                               "address family not supported",
		"packet":                                "address family not supported",
		"mknod":                                 "read-only file system",
		"open /dev/loop0":                       "no such file",
		"open /dev/loop-control":                "no such file",
		"open /dev/kmsg":                        "no such file",
		"namespace":                             "not permitted",
		"mount":                                 "not permitted",
		"kill":                                  "not permitted",
		"trace":                                 "not permitted",
		"setuid":                                "not permitted",
		"fork":                                  "resource temporarily unavailable",
		"grow":                                  "file too large",
	} {
		out, err := confine(t, host.Confined{Program: "usr/bin/tries", Args: strings.Fields(attempt)})
		if err != nil || !strings.Contains(out, want) || strings.Contains(out, "done") {
			t.Errorf("%s: %s %v, want %q", attempt, out, err, want)
		}
	}
}

// TestConfinedProgramFails checks what is told of a program that exceeds a limit or fails.
func TestConfinedProgramFails(t *testing.T) {
	for name, test := range map[string]struct {
		program, attempt, want string
	}{
		"runs for ever":      {"usr/bin/tries", "sleep", "it did not end within 5s, and was stopped"},
		"prints without end": {"usr/bin/tries", "print", "it prints more than 64 KiB"},
		"prints errors":      {"usr/bin/tries", "complain", "it prints more than 64 KiB"},
		"takes all memory":   {"usr/bin/tries", "memory", "out of memory"},
		"refuses":            {"usr/bin/tries", "refuse", "it ended with the exit status 3: error: no such field"},
		"is not there":       {"usr/bin/none", "", "it ended with the exit status 203"},
		"is no program":      {"usr/bin/text", "", "it ended with the exit status 203"},
	} {
		limit := time.Minute // on a busy machine the others take their time
		if test.attempt == "sleep" {
			limit = 5 * time.Second
		}
		host.SetConfinedTime(t, limit)
		began := time.Now()
		out, err := confine(t, host.Confined{Program: test.program, Args: strings.Fields(test.attempt)})
		if out != "" || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %s %v, want %q", name, out, err, test.want)
		}
		if took := time.Since(began); took > limit+30*time.Second {
			t.Errorf("%s: it took %s", name, took)
		}
	}
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		units, err := exec.CommandContext(t.Context(), "systemctl", "list-units", "--all", "--plain", "--no-legend", "kubectl-upgrade-confined-*").Output()
		if err == nil && len(units) == 0 {
			break
		}
		if time.Since(began) > 10*time.Second {
			t.Fatalf("units are left over: %s %v", units, err)
		}
	}
}

// TestConfinedProgramIsKilled checks that a program that is killed from outside is not at fault.
func TestConfinedProgramIsKilled(t *testing.T) {
	file, err := os.Open("/confined.raw")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	for _, signal := range []string{"SIGKILL", "SIGTERM"} {
		killed := make(chan struct{})
		go func() {
			defer close(killed)
			for range 100 {
				time.Sleep(100 * time.Millisecond)
				kill := exec.Command("systemctl", "kill", "--signal", signal, "kubectl-upgrade-confined-*")
				units, _ := exec.Command("systemctl", "list-units", "--plain", "--no-legend", "--state", "running", "kubectl-upgrade-confined-*").Output()
				if len(units) > 0 && kill.Run() == nil {
					return
				}
			}
		}()
		out, err := host.RunConfined(t.Context(), host.Confined{Image: file, Program: "usr/bin/tries", Args: []string{"sleep"}})
		<-killed
		var failed *host.ProgramFailure
		if err == nil || errors.As(err, &failed) || !strings.Contains(err.Error(), signal) {
			t.Errorf("%s: %q %v, want an error of the unit", signal, out, err)
		}
	}
}

// TestConfinedProgramWorks checks that a script, its neighbours in the image, and the
// standard input work, and that the open file is the one that is mounted.
func TestConfinedProgramWorks(t *testing.T) {
	var complaints strings.Builder
	out, err := confine(t, host.Confined{Program: "usr/bin/script", Args: []string{"echo"}, Stdin: []byte("a: b\n"), Stderr: &complaints})
	if err != nil || !strings.HasPrefix(out, "a: b\n") || complaints.String() != "a script\n" {
		t.Errorf("%q %q %v", out, complaints.String(), err)
	}

	data, err := os.ReadFile("/confined.raw")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("/replaced.raw", data, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open("/replaced.raw")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if err := os.Rename("/later.raw", "/replaced.raw"); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Rename("/replaced.raw", "/later.raw") }()
	out, err = host.RunConfined(t.Context(), host.Confined{Image: file, Program: "usr/bin/tries", Args: []string{"echo"}})
	if err != nil || out != "echo: done" {
		t.Errorf("after another file got its name: %q %v", out, err)
	}
}

// TestConfinedWork checks that a program writes where it may, and nowhere else.
func TestConfinedWork(t *testing.T) {
	for args, want := range map[string]string{"write-in /work": "write-in: done", "write-in /image": "read-only file system", "write-in /": "read-only file system"} {
		out, err := confine(t, host.Confined{Program: "usr/bin/tries", Args: strings.Fields(args), Work: "/work", Env: []string{"UNUSED=1"}})
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%s: %q %v, want %q", args, out, err, want)
		}
	}
}

// TestConfinedFiles checks that a program finds its own files, and none of the run before.
func TestConfinedFiles(t *testing.T) {
	const file = "/etc/kubernetes/kubelet.conf.d/first.conf"
	look := host.Confined{Program: "usr/bin/tries", Args: []string{"secrets", file}}
	with := look
	with.Files = []host.File{{Path: file, Content: []byte("a: b")}}
	if out, err := confine(t, with); err != nil || !strings.Contains(out, "seen: ["+file+"]") {
		t.Errorf("it does not find its file: %q %v", out, err)
	}
	if out, err := confine(t, look); err != nil || !strings.Contains(out, "nothing of it is there") {
		t.Errorf("it finds the file of the run before: %q %v", out, err)
	}
	left, err := filepath.Glob("/run/kubectl-upgrade/confined-*")
	if err != nil || len(left) > 0 {
		t.Errorf("left over: %v %v", left, err)
	}
}

// TestConfinedExecutable runs a program in memory.
func TestConfinedExecutable(t *testing.T) {
	program, err := os.Open(host.Program(host.Root))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = program.Close() }()
	out, err := host.RunConfined(t.Context(), host.Confined{Executable: program, Program: "node-agent", Args: []string{"host", "--help"}})
	if err != nil || !strings.Contains(out, "node-agent host") {
		t.Errorf("%q %v", out, err)
	}
	_, err = host.RunConfined(t.Context(), host.Confined{Executable: program, Program: "node-agent", Args: []string{"--no-such-flag"}})
	var failed *host.ProgramFailure
	if !errors.As(err, &failed) || !strings.Contains(err.Error(), "unknown flag: --no-such-flag") {
		t.Errorf("%v", err)
	}
}

// TestStageConfines stages an image whose kubelet is hostile: it changes nothing on the node,
// and the node tells what it tried.
func TestStageConfines(t *testing.T) {
	const mark = "/evil-ran" // see prepare
	image, err := host.NewImage("v1.34.6", host.Architecture())
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("/evil.raw")
	if err != nil {
		t.Fatal(err)
	}
	hash := fmt.Sprintf("%x", sha256.Sum256(data))
	c := connect(t)
	changes := follow(t, c)
	args := verb.StageArgs{Version: image.Version(), URL: publish(t, image, data, hash), SHA256: hash}
	start(t, c, request(t, verb.Stage, "evil", args), verb.Options{})
	result := finish(t, c, changes, verb.Stage)
	if result.OK || result.Reason != v1alpha1.ReasonContentMismatch || !strings.Contains(result.Message, "cannot create "+mark) {
		t.Errorf("%+v", result)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("the image's kubelet wrote a file on the node")
	}
	if _, err := os.Stat(image.Path()); err == nil {
		t.Error("the image is still on the disk")
	}
}
