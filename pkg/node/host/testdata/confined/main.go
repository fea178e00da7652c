// Command confined is a program of an image that tries what it must not be able to do. Each
// argument is one attempt; it prints "NAME: done" or "NAME: the error".
package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

var attempts = map[string]func() error{
	"user": func() error {
		if os.Getuid() == 0 || os.Getgid() == 0 {
			return nil
		}
		if os.Getuid() < 61184 || os.Getuid() > 65519 { // systemd.exec(5), DynamicUser=
			return fmt.Errorf("number %d", os.Getuid())
		}
		return errors.New("a dynamic one")
	},
	"capabilities": func() error {
		status, err := os.ReadFile("/proc/self/status")
		if err != nil {
			return err
		}
		for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
			if !strings.Contains(string(status), set+":\t0000000000000000\n") {
				return nil
			}
		}
		return errors.New("none")
	},
	"write": func() error {
		return errors.Join(filepath.WalkDir("/", func(path string, d fs.DirEntry, err error) error {
			if strings.HasPrefix(path, "/proc/") || strings.HasPrefix(path, "/usr/") || strings.HasPrefix(path, "/sys/") {
				return fs.SkipDir
			}
			if err != nil || !d.IsDir() {
				return nil
			}
			if os.WriteFile(filepath.Join(path, "written"), []byte("x"), 0o600) == nil {
				fmt.Println("written to", path)
			}
			return nil
		}), os.WriteFile("/usr/written", nil, 0o600), os.WriteFile("/image/written", nil, 0o600))
	},
	"write-in": func() error { return os.WriteFile(filepath.Join(os.Args[2], "written"), nil, 0o600) },
	"secrets": func() error {
		var seen []string
		for _, path := range os.Args[2:] {
			if _, err := os.Lstat(path); err == nil {
				seen = append(seen, path)
			}
		}
		if len(seen) > 0 {
			fmt.Println("seen:", seen)
			return nil
		}
		return errors.New("nothing of it is there")
	},
	"processes": func() error { _, err := os.Stat("/proc/1"); return err },
	"unix":      func() error { return dial("unix", os.Args[2]) },
	"tcp":       func() error { return dial("tcp", os.Args[2]) },
	"netlink":   func() error { return socket(unix.AF_NETLINK, unix.SOCK_RAW) },
	"packet":    func() error { return socket(unix.AF_PACKET, unix.SOCK_RAW) },
	"mknod":     func() error { return unix.Mknod("/dev/x", unix.S_IFBLK|0o600, int(unix.Mkdev(7, 0))) },
	"open":      func() error { _, err := os.Open(os.Args[2]); return err },
	"namespace": func() error { return unix.Unshare(unix.CLONE_NEWUSER) },
	"mount":     func() error { return unix.Mount("x", "/tmp", "tmpfs", 0, "") },
	"kill":      func() error { return unix.Kill(1, 0) },
	"trace":     func() error { return unix.PtraceAttach(1) },
	"setuid":    func() error { return unix.Setuid(0) },
	"fork": func() error {
		for range 1000 {
			if err := exec.Command("/proc/self/exe", "sleep").Start(); err != nil {
				return err
			}
		}
		return nil
	},
	"sleep": func() error { time.Sleep(time.Hour); return nil },
	"memory": func() error {
		var all [][]byte
		for range 4 << 10 {
			block := make([]byte, 1<<20)
			for i := 0; i < len(block); i += 4096 {
				block[i] = 1
			}
			all = append(all, block)
		}
		_ = all
		return nil
	},
	"print":    func() error { return flood(os.Stdout) },
	"complain": func() error { return flood(os.Stderr) },
	"grow":     func() error { return unix.Ftruncate(1, 1<<30) },
	"echo":     func() error { _, err := io.Copy(os.Stdout, os.Stdin); return err },
	"refuse": func() error {
		fmt.Fprintln(os.Stderr, "error: no such field")
		os.Exit(3)
		return nil
	},
}

func flood(to *os.File) error {
	for {
		if _, err := to.WriteString(strings.Repeat("x", 1000)); err != nil {
			return err
		}
	}
}

func dial(network, address string) error {
	c, err := net.DialTimeout(network, address, time.Second)
	if err == nil {
		_ = c.Close()
	}
	return err
}

func socket(family, kind int) error {
	_, err := unix.Socket(family, kind, 0)
	return err
}

func main() {
	name := os.Args[1]
	if err := attempts[name](); err != nil {
		fmt.Printf("%s: %v\n", name, err)
		return
	}
	fmt.Println(name + ": done")
}
