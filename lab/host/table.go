package host

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// machine is what requirements look at: this one, or that of a test.
type machine struct {
	system, architecture string
	user                 int
	root                 string // its root folder
}

func thisMachine() machine {
	return machine{system: runtime.GOOS, architecture: runtime.GOARCH, user: unix.Geteuid(), root: "/"}
}

// requirement is one thing that a lab needs of its machine and cannot bring about.
type requirement struct {
	missing      func(machine) bool
	problem, fix string
}

func (r requirement) check(m machine) error {
	if r.missing(m) {
		return fmt.Errorf("%s: %s", r.problem, r.fix)
	}
	return nil
}

// requirements are checked in this order.
//
// IPv6 is none of them: the lab's addresses are of version 4, and Kubernetes does
// without IPv6 where the kernel has none.
var requirements = []requirement{
	{
		missing: func(m machine) bool {
			return m.system != "linux" || m.architecture != "amd64" && m.architecture != "arm64"
		},
		problem: "a lab needs Linux on amd64 or arm64",
		fix:     "run it in a virtual machine",
	},
	root,
	{
		missing: func(m machine) bool { return m.contains("sys/fs/selinux/enforce", "1") },
		problem: "SELinux is enforcing on this machine, and its policy is not for machines in containers",
		fix:     "run `setenforce 0`, and `setenforce 1` after `lab down`",
	},
}

var root = requirement{
	missing: func(m machine) bool { return m.user != 0 },
	problem: "a lab needs root",
	fix:     "run it again with sudo",
}

// contains reports whether a file is there and has that text.
func (m machine) contains(file, text string) bool {
	content, err := os.ReadFile(filepath.Join(m.root, file))
	return err == nil && strings.TrimSpace(string(content)) == text
}
