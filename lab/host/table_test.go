package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRequirements(t *testing.T) {
	good := machine{system: "linux", architecture: "arm64", user: 0}
	for name, c := range map[string]struct {
		change func(*machine)
		files  map[string]string
		want   string
	}{
		"good":               {},
		"SELinux permissive": {files: map[string]string{"sys/fs/selinux/enforce": "0"}},
		"SELinux enforcing": {
			files: map[string]string{"sys/fs/selinux/enforce": "1"},
			want:  "SELinux is enforcing on this machine, and its policy is not for machines in containers: run `setenforce 0`, and `setenforce 1` after `lab down`",
		},
		"no root": {
			change: func(m *machine) { m.user = 1000 },
			want:   "a lab needs root: run it again with sudo",
		},
		"another processor": {
			change: func(m *machine) { m.architecture = "riscv64" },
			want:   "a lab needs Linux on amd64 or arm64: run it in a virtual machine",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := good
			m.root = t.TempDir()
			for file, text := range c.files {
				path := filepath.Join(m.root, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if c.change != nil {
				c.change(&m)
			}
			found := []string{}
			for _, one := range requirements {
				if err := one.check(m); err != nil {
					found = append(found, err.Error())
				}
			}
			if got := strings.Join(found, "\n"); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
