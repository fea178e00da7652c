package host

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// What a confined program printed, and how it ended.

// confinedOutputs are files in memory: the standard input and outputs of a confined program.
type confinedOutputs struct {
	in, out, err *os.File
	kept         bool // out is not read: it may have more than confinedOutput, and the caller has it
}

func confinedFiles(stdin []byte) (f *confinedOutputs, err error) {
	f = &confinedOutputs{}
	if f.out, err = inMemory("output", nil); err != nil {
		return nil, err
	}
	if f.err, err = inMemory("errors", nil); err == nil && stdin != nil {
		f.in, err = inMemory("input", stdin)
	}
	if err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

// inMemory returns a file in memory with that content, which will be read from its start.
func inMemory(name string, content []byte) (*os.File, error) {
	file, err := newMemoryFile(name)
	if err != nil {
		return nil, err
	}
	if _, err = file.Write(content); err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

func (f *confinedOutputs) close() {
	for _, file := range []*os.File{f.in, f.out, f.err} {
		_ = file.Close() // of nil it is an error
	}
}

// confinedEnd is how a confined unit ended (systemd.exec(5), $SERVICE_RESULT, and $EXIT_CODE and
// $EXIT_STATUS as numbers of waitid(2)).
type confinedEnd struct {
	result       string
	code, status int32
	peak         uint64 // the most memory that it used; zero: that is not known, as before systemd 255
}

// ownSignals are the signals that end a program because of what it does itself. Any other one is
// sent by a person, by another program, or by the kernel when the node's memory runs out.
var ownSignals = []unix.Signal{
	unix.SIGABRT, unix.SIGBUS, unix.SIGFPE, unix.SIGILL, unix.SIGSEGV, unix.SIGSYS, unix.SIGTRAP, unix.SIGXFSZ,
}

// Exit statuses of systemd.exec(5) for what went wrong before the program ran. EXEC is the
// program's own fault: it is for another architecture, or no program.
const (
	firstSetupStatus = 200
	lastSetupStatus  = 245
	execStatus       = 203
)

// exited is the code of a process that ended by itself, CLD_EXITED of waitid(2).
const exited = 1

// result returns the standard output, or the error that the end and the outputs tell.
func (f *confinedOutputs) result(end confinedEnd, stderr io.Writer) (string, error) {
	var stdout string
	var long bool
	var err error
	if !f.kept {
		stdout, long, err = contentOf(f.out)
	}
	errorsText, longErrors, err2 := contentOf(f.err)
	if err := errors.Join(err, err2); err != nil {
		return "", err
	}
	if stderr != nil && errorsText != "" {
		_, _ = fmt.Fprintln(stderr, errorsText)
	}
	said := lastSaid(errorsText)
	switch {
	case long || longErrors:
		return "", failure("it prints more than %d KiB", confinedOutput>>10)
	case end.result == "success" && end.code == exited:
		return stdout, nil
	case end.result == "timeout":
		return "", failure("it did not end within %s, and was stopped", confinedTime)
	case end.result == "oom-kill" && end.peak >= confinedMemory:
		return "", failure("it needs more than %d MiB of memory, and was killed", confinedMemory>>20)
	case end.code > exited && slices.Contains(ownSignals, unix.Signal(end.status)):
		return "", failure("it was killed by the signal %s%s", unix.SignalName(unix.Signal(end.status)), said)
	case end.result == "exit-code" && (end.status < firstSetupStatus || end.status > lastSetupStatus || end.status == execStatus):
		return stdout, NewProgramFailure(fmt.Sprintf("it ended with the exit status %d%s", end.status, said))
	}
	what := fmt.Sprintf("could not be set up: %s, status %d (systemd.exec(5)); its journal on the node may say why", end.result, end.status)
	if end.code > exited {
		what = fmt.Sprintf("was stopped by the signal %s, which its program did not cause: %s", unix.SignalName(unix.Signal(end.status)), end.result)
	}
	return "", fmt.Errorf("the unit that confines programs of images %s", what)
}

// lastSaid returns the end of a sentence with the line of a standard error that says most:
// what Go's runtime found fatal, because the lines after it are a trace, or else the last.
func lastSaid(stderr string) string {
	said := LastLine(stderr)
	for line := range strings.Lines(stderr) {
		if strings.HasPrefix(line, "fatal error:") || strings.HasPrefix(line, "panic:") {
			said = strings.TrimSpace(line)
			break
		}
	}
	if said == "" {
		return ""
	}
	return fmt.Sprintf(": %.200s", said)
}

// contentOf returns what was written to an output, and whether the limit of its size was
// reached.
func contentOf(output *os.File) (text string, long bool, err error) {
	data, err := io.ReadAll(io.NewSectionReader(output, 0, confinedOutput))
	return strings.TrimSpace(string(bytes.ToValidUTF8(data, []byte("?")))), len(data) == confinedOutput, err
}
