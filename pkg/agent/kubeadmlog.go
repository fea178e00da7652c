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

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kubeadm"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
)

// How often the file is read while kubeadm runs, and how much of a line is
// kept.
const (
	mirrorEvery = 500 * time.Millisecond
	mirrorLine  = 4 << 10
	// mirrorGrain is by how much a file's time may be behind the clock: file
	// systems take the time of the kernel's last tick.
	mirrorGrain = 50 * time.Millisecond
)

// mirror copies kubeadm's output from the file on the node to the agent's
// output as they come, so that the pod's log has them and `kubectl upgrade status
// NODE --log` finds them there. Each line begins with "kubeadm-log "; a run begins
// with "begin KEY" and ends with "end KEY OK" or "end KEY FAILED". A reader
// takes what follows the last begin: an agent that has just started begins the
// run again, from the file's first line.
type mirror struct {
	host Host
	out  io.Writer
	kick chan struct{}

	begun string // the run whose beginning was told
	file  *os.File
	rest  []byte // the beginning of a line
	over  bool   // its end was told
}

func newMirror(h Host, out io.Writer) *mirror {
	return &mirror{host: h, out: out, kick: make(chan struct{}, 1)}
}

// wakeUp makes run copy soon.
func (m *mirror) wakeUp() {
	select {
	case m.kick <- struct{}{}:
	default:
	}
}

// run copies when woken, and every mirrorEvery while kubeadm runs, until ctx ends.
func (m *mirror) run(ctx context.Context) {
	defer m.close()
	for ctx.Err() == nil {
		var again <-chan time.Time
		if m.copyNew(ctx) {
			again = time.After(mirrorEvery)
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
func (m *mirror) copyNew(ctx context.Context) (more bool) {
	request, err := m.host.LastRequest(verb.Kubeadm)
	if err != nil || request == nil {
		return false
	}
	// Asked before the file is read: what had ended by then is in it.
	running, last, err := m.host.Last(ctx, verb.Kubeadm)
	if err != nil {
		return true
	}
	this := request.Key + " " + request.RequestedAt.String()
	if this != m.begun && !m.begin(request, this) {
		return running
	}
	if m.over {
		return false
	}
	m.copy()
	if !running && last != nil && last.Key == request.Key {
		m.end(request.Key, last.OK)
	}
	return running
}

// begin opens the file of a run. There is none where it ended before kubeadm was
// called, and an older one until it is.
func (m *mirror) begin(request *host.Request, this string) bool {
	file, err := m.host.Open(kubeadm.LogName)
	if err != nil {
		return false
	}
	info, err := file.Stat()
	if err != nil || info.ModTime().Add(mirrorGrain).Before(request.RequestedAt) {
		_ = file.Close()
		return false
	}
	m.close()
	m.begun, m.file, m.rest, m.over = this, file, nil, false
	m.print("begin " + request.Key)
	return true
}

// copy prints the lines that are complete.
func (m *mirror) copy() {
	data, err := io.ReadAll(m.file)
	if err != nil && !errors.Is(err, fs.ErrClosed) {
		m.print(fmt.Sprintf("| (the rest cannot be read: %v)", err))
	}
	m.rest = append(m.rest, data...)
	for {
		line, rest, complete := bytes.Cut(m.rest, []byte("\n"))
		if !complete {
			return
		}
		m.print("| " + clean(line))
		m.rest = rest
	}
}

func (m *mirror) end(key string, ok bool) {
	if len(m.rest) > 0 {
		m.print("| " + clean(m.rest))
	}
	how := "FAILED"
	if ok {
		how = "OK"
	}
	m.print("end " + key + " " + how)
	m.close()
	m.over = true
}

// print makes one Write, so that no other line lands in the middle.
func (m *mirror) print(text string) {
	_, _ = io.WriteString(m.out, "kubeadm-log "+text+"\n")
}

func (m *mirror) close() {
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
	return string(line[:min(len(line), mirrorLine)])
}
