package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// Install atomically copies a program, ImageProgram on a node, to bin/node-agent below root,
// unless that file has the same content. Units need the copy because the
// container's own file is gone when the container ends. A unit that runs the former
// copy is not affected.
func Install(from, root string) error { return OnNode.explain(install(from, root)) }

func install(from, root string) error {
	to := Program(root)
	program, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("reading the program for nodes: %w", err)
	}
	defer func() { _ = program.Close() }()
	if err := os.MkdirAll(StateDir(root), 0o700); err != nil {
		return fmt.Errorf("making the folder for state: %w", err)
	}
	installed, err := contains(to, program)
	if err != nil || installed {
		return err
	}
	if err := removePartial(to); err != nil {
		return fmt.Errorf("removing an interrupted copy of the program: %w", err)
	}
	if err := writeFrom(to, program, 0o755); err != nil {
		return fmt.Errorf("installing the program on the node: %w", err)
	}
	return nil
}

// contains reports whether the file at path exists and has the content of program. It reads
// both piece by piece, as they are larger than the agent's memory. program is at its start
// again afterwards.
func contains(path string, program io.ReadSeeker) (bool, error) {
	there, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading the installed program: %w", err)
	}
	defer func() { _ = there.Close() }()
	equal, err := equalContent(there, program)
	if err != nil {
		return false, fmt.Errorf("comparing the installed program with that of the image: %w", err)
	}
	_, err = program.Seek(0, io.SeekStart)
	return equal, err
}

func equalContent(a, b io.Reader) (bool, error) {
	one, other := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, errA := io.ReadFull(a, one)
		m, errB := io.ReadFull(b, other)
		if !bytes.Equal(one[:n], other[:m]) {
			return false, nil
		}
		switch {
		case ended(errA) && ended(errB):
			return true, nil
		case errA != nil || errB != nil:
			return false, errors.Join(errA, errB)
		}
	}
}

func ended(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// removePartial removes temporary files of interrupted calls of WriteFile for path.
func removePartial(path string) error {
	partial, err := filepath.Glob(filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"*"))
	if err != nil {
		return err
	}
	for _, p := range partial {
		if err := os.Remove(p); err != nil {
			return err
		}
	}
	return nil
}

// runDir has files of one boot, and the mount points of verbs.
const runDir = "/run/kubectl-upgrade"

// HasFiles reports whether kubectl-upgrade keeps files on the node that the verb
// "uninstall" removes.
func (l Layout) HasFiles() bool {
	for _, path := range []string{Root, KeptDir, guardWants, GuardStartFile} {
		if _, err := os.Lstat(l.At(path)); err == nil {
			return true
		}
	}
	return !l.masked(guardUnitFile) && l.exists(guardUnitFile)
}

// StopVerbs stops the units of the interruptible verbs. It fails if one of the others runs.
func StopVerbs(ctx context.Context, log *Log, run Runner, interruptible, others []verb.Verb) error {
	for _, v := range others {
		// It fails with status 3 unless the unit is active.
		if state, _ := run(ctx, log, "systemctl", "is-active", Unit(v)); strings.TrimSpace(state) == "active" {
			return fmt.Errorf("%s is running: the node is being upgraded", Unit(v))
		}
	}
	for _, v := range interruptible {
		if state, _ := run(ctx, log, "systemctl", "is-active", Unit(v)); strings.TrimSpace(state) != "active" {
			continue
		}
		if _, err := run(ctx, log, "systemctl", "stop", Unit(v)); err != nil {
			return fmt.Errorf("stopping %s: %w", Unit(v), err)
		}
	}
	return nil
}

// Uninstall removes what kubectl-upgrade keeps on the node, but for snapshots of etcd, which
// a person may need to restore the cluster. The folder that they are in is removed if it is
// empty.
func (l Layout) Uninstall(ctx context.Context, log *Log, run Runner) error {
	if err := l.DisarmGuard(); err != nil {
		return err
	}
	for _, args := range [][]string{{"daemon-reload"}, {"reset-failed", "kubectl-upgrade-*"}} { // a pattern may match nothing
		if _, err := run(ctx, log, "systemctl", args...); err != nil {
			log.Printf("%v", err)
		}
	}
	for _, dir := range []string{SnapshotsDir, filepath.Dir(SnapshotsDir)} {
		if err := removeEmpty(l.At(dir)); err != nil {
			return err
		}
	}
	for _, dir := range []string{l.At(runDir), l.Root()} {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("removing %s: %w", dir, err)
		}
	}
	return SyncDir(filepath.Dir(l.Root()))
}

// removeEmpty removes a folder unless something is in it.
func removeEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) > 0 {
		return nil
	}
	if err == nil {
		err = os.Remove(dir)
	}
	if err != nil {
		return fmt.Errorf("removing %s: %w", dir, err)
	}
	return nil
}
