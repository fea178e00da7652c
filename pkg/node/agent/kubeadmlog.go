package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
	"unicode"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/kubeadmlog"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// How often the file is read while kubeadm runs, and how much of a line is copied.
const (
	copyEvery  = 500 * time.Millisecond
	maxLogLine = 4 << 10
	// fileTimeGrain is by how much a file's time may be behind the clock: file
	// systems take the time of the kernel's last tick.
	fileTimeGrain = 50 * time.Millisecond
)

// logCopier copies each new line of kubeadm's output from the file on the node to the
// agent's output, with the marks of package kubeadmlog. So the pod's log has the lines, and
// `kubectl upgrade status NODE --log` finds them there.
type logCopier struct {
	host Host
	out  io.Writer
	kick chan struct{}

	current string // the run whose first line was written
	file    *os.File
	rest    []byte // the start of a line that is not complete yet
	done    bool   // its last line was written
}

func newLogCopier(h Host, out io.Writer) *logCopier {
	return &logCopier{host: h, out: out, kick: make(chan struct{}, 1)}
}

// wakeUp makes run copy soon.
func (m *logCopier) wakeUp() {
	select {
	case m.kick <- struct{}{}:
	default:
	}
}

// run copies when woken, and every copyEvery while kubeadm runs, until ctx ends.
func (m *logCopier) run(ctx context.Context) {
	defer m.close()
	for ctx.Err() == nil {
		var again <-chan time.Time
		if m.copyNew(ctx) {
			again = time.After(copyEvery)
		}
		select {
		case <-ctx.Done():
		case <-m.kick:
		case <-again:
		}
	}
}

// copyNew copies new lines, and reports whether kubeadm still runs. It retries what cannot be
// read: nothing depends on it.
func (m *logCopier) copyNew(ctx context.Context) (more bool) {
	request, err := m.host.LastRequest(verb.Kubeadm)
	if err != nil || request == nil {
		return false
	}
	// The unit's state is read before the file: if kubeadm has ended, the file is then
	// complete.
	running, last, err := m.host.Last(ctx, verb.Kubeadm)
	if err != nil {
		return true
	}
	run := request.Key + " " + request.RequestedAt.String()
	if run != m.current && !m.begin(request, run) {
		return running
	}
	if m.done {
		return false
	}
	m.copy()
	if !running && last != nil && last.Key == request.Key {
		m.end(request.Key, last.OK)
	}
	return running
}

// begin opens the file of a run, and reports whether it is there. The file does not exist
// if the run ended before it called kubeadm. Until kubeadm is called, the file is still
// that of an earlier run.
func (m *logCopier) begin(request *verb.Request, run string) bool {
	file, err := m.host.Open(host.KubeadmLog)
	if err != nil {
		return false
	}
	info, err := file.Stat()
	if err != nil || info.ModTime().Add(fileTimeGrain).Before(request.RequestedAt) {
		_ = file.Close()
		return false
	}
	m.close()
	m.current, m.file, m.rest, m.done = run, file, nil, false
	m.print(kubeadmlog.Begin + request.Key)
	return true
}

// copy prints the lines that are complete.
func (m *logCopier) copy() {
	data, err := io.ReadAll(m.file)
	if err != nil && !errors.Is(err, fs.ErrClosed) {
		m.printLine(fmt.Sprintf("(the rest cannot be read: %v)", err))
	}
	m.rest = append(m.rest, data...)
	for {
		line, rest, complete := bytes.Cut(m.rest, []byte("\n"))
		if !complete {
			return
		}
		m.printLine(clean(line))
		m.rest = rest
	}
}

func (m *logCopier) end(key string, ok bool) {
	if len(m.rest) > 0 {
		m.printLine(clean(m.rest))
	}
	how := kubeadmlog.Failed
	if ok {
		how = kubeadmlog.OK
	}
	m.print(kubeadmlog.End + key + " " + how)
	m.close()
	m.done = true
}

// printLine prints a line of kubeadm's output.
func (m *logCopier) printLine(text string) { m.print(kubeadmlog.Line + " " + text) }

// print prints a line with one Write, so that no other line lands in the middle.
func (m *logCopier) print(text string) {
	_, _ = io.WriteString(m.out, text+"\n")
}

func (m *logCopier) close() {
	if m.file != nil {
		_ = m.file.Close()
		m.file = nil
	}
}

// clean keeps a line from doing anything to a terminal, and to a log's reader.
func clean(line []byte) string {
	line = bytes.Map(func(r rune) rune {
		if r != '\t' && unicode.IsControl(r) {
			return -1
		}
		return r
	}, line)
	return string(line[:min(len(line), maxLogLine)])
}
