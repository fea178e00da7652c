package rehearsal

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/facts"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// Seen is what a trial of the merge saw.
type Seen struct {
	// Mutable are the hierarchies in a mutable mode, for which nothing was merged.
	Mutable []string `json:"mutable,omitempty"`
	// Said are the lines that systemd-sysext printed, and Ended is how it ended; empty: it succeeded.
	Said  []string `json:"said,omitempty"`
	Ended string   `json:"ended,omitempty"`
	// Refused is the file of the extension that systemd-sysext could not read, and Mounts are those that were below the
	// hierarchies as it merged; both for the message.
	Refused string   `json:"refused,omitempty"`
	Mounts  []string `json:"mounts,omitempty"`
	// Merged is the version of Kubernetes that is merged; empty: none is.
	Merged string `json:"merged,omitempty"`
	// Extensions are the names of those that are merged, sorted.
	Extensions []string `json:"extensions,omitempty"`
	// ReadOnly are the extensions that make host.Root read-only, as they bring files of its hierarchy.
	ReadOnly []string `json:"readOnly,omitempty"`
	Kubelet  Service  `json:"kubelet"`
	Runtime  Service  `json:"runtime"`
}

// Service is how the next boot would start a service.
type Service struct {
	facts.UnitFile
	// Missing are the files that it needs and that are not there: its program, and the configuration that a flag names.
	Missing []string `json:"missing,omitempty"`
	// Script reports whether its program is a script, which may start another program.
	Script bool `json:"script,omitempty"`
}

// look returns what is merged, and what a boot would start.
func look(l host.Layout) Seen {
	seen := Seen{Kubelet: service(l, "kubelet.service"), Runtime: service(l, "containerd.service")}
	if merged, err := l.Merged(); err == nil {
		seen.Merged = merged.Version()
	}
	seen.Extensions = l.MergedExtensions()
	seen.ReadOnly = l.ReadOnlyExtensions()
	return seen
}

// programDirs are where systemd looks for a program without a path (systemd.exec(5), ExecSearchPath=).
var programDirs = []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}

// service reads the files of a service, and looks whether what they name is there.
func service(l host.Layout, name string) Service {
	s := Service{UnitFile: facts.ReadUnitFile(l, name)}
	if len(s.Command) == 0 {
		return s
	}
	program := s.Command[0]
	if !filepath.IsAbs(program) {
		for _, dir := range slices.Backward(programDirs) {
			if _, err := os.Stat(l.At(dir, program)); err == nil {
				s.Command[0] = filepath.Join(dir, program)
			}
		}
		program = s.Command[0]
	}
	if !isFile(l, program) {
		s.Missing = append(s.Missing, program)
	}
	s.Script = isScript(l, program)
	for i, arg := range s.Command[1:] {
		value, given := strings.CutPrefix(arg, "--config=")
		if !given && (arg == "--config" || arg == "-c") && i+2 < len(s.Command) {
			value = s.Command[i+2]
		}
		if filepath.IsAbs(value) && !isFile(l, value) {
			s.Missing = append(s.Missing, value)
		}
	}
	return s
}

func isFile(l host.Layout, path string) bool {
	info, err := os.Stat(l.At(path))
	return err == nil && info.Mode().IsRegular()
}

func isScript(l host.Layout, path string) bool {
	if !isFile(l, path) {
		return false
	}
	file, err := os.Open(l.At(path))
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	start := make([]byte, 2)
	_, err = io.ReadFull(file, start)
	return err == nil && bytes.Equal(start, []byte("#!"))
}
