package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// writeFile writes a file that a person names. A regular file is replaced as a whole, so that
// who reads it meanwhile reads the old or the new one; it keeps its mode, and mode is that of a
// new one. Anything else stays what it is and is written through: a device, a pipe, and what a
// symlink leads to.
func (p *program) writeFile(file string, mode fs.FileMode, text []byte) error {
	if stream := p.streamAt(file); stream != nil {
		_, err := stream.Write(text)
		return err
	}
	info, err := os.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = replaceFile(file, mode, text)
	case err == nil && info.Mode().IsRegular():
		err = overwrite(file, info.Mode().Perm(), text)
	case err == nil:
		err = writeThrough(file, mode, text)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", file, cause(err))
	}
	return nil
}

// standardOutput is the name that stands for standard output.
const standardOutput = "-"

// streamAt returns the stream of the program that is that file: standard output for "-", and a
// stream for a name such as /dev/stdout. To open that would cut what the stream has written
// before. Nil: it is another file.
func (p *program) streamAt(file string) io.Writer {
	if file == standardOutput {
		return p.Out
	}
	named, err := os.Stat(file)
	if err != nil {
		return nil
	}
	switch {
	case isFile(p.terminalOut, named):
		return p.Out
	case isFile(p.terminalErr, named):
		return p.ErrOut
	}
	return nil
}

// isFile reports whether the stream goes to that file.
func isFile(stream io.Writer, named fs.FileInfo) bool {
	open, is := stream.(*os.File)
	if !is {
		return false
	}
	info, err := open.Stat()
	return err == nil && os.SameFile(info, named)
}

// isRewritable reports whether the file is or will be a regular one, which can be written again.
func (p *program) isRewritable(file string) bool {
	info, err := os.Stat(file)
	return p.streamAt(file) == nil && (err != nil || info.Mode().IsRegular())
}

// isSameFile reports whether both names lead to one regular file.
func isSameFile(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && infoA.Mode().IsRegular() && os.SameFile(infoA, infoB)
}

// overwrite replaces a regular file that may be written. Where the folder takes no other file in its
// place, as with one that is mounted by itself, it is written as it is.
func overwrite(file string, mode fs.FileMode, text []byte) error {
	open, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	open.Close() // Windows replaces no open file
	err = replaceFile(file, mode, text)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EBUSY) {
		return os.WriteFile(file, text, mode)
	}
	return err
}

// replaceFile writes a new file, and gives it the name.
func replaceFile(file string, mode fs.FileMode, text []byte) error {
	temporary, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name()) // fails once it is renamed
	_, err = temporary.Write(text)
	if err := errors.Join(err, temporary.Chmod(mode), temporary.Close()); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), file)
}

// writeThrough writes what is there. As a terminal may read it, control characters are removed.
func writeThrough(file string, mode fs.FileMode, text []byte) error {
	open, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = safe{out: open}.Write(text)
	return errors.Join(err, open.Close())
}

// cause returns what went wrong with a file, without the operation and the name.
func cause(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}
