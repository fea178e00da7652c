//go:build fleet

package fleetbench

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/guard"
)

// auditLog is the API server's audit log, read piece by piece.
type auditLog struct {
	path   string
	offset int64
}

// auditEvent is a line of the log.
type auditEvent struct {
	Stage     string    `json:"stage"`
	Verb      string    `json:"verb"`
	UserAgent string    `json:"userAgent"`
	At        time.Time `json:"requestReceivedTimestamp"`
	ObjectRef *struct {
		Name        string `json:"name"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
	} `json:"objectRef"`
}

// client names the program that sent the request; empty if it is none of ours.
func (e auditEvent) client() string {
	switch {
	case strings.HasPrefix(e.UserAgent, "kubectl-upgrade-agent/kubelet"):
		return "agent as kubelet"
	case strings.HasPrefix(e.UserAgent, "kubectl-upgrade-agent"):
		return "agent"
	case strings.HasPrefix(e.UserAgent, guard.UserAgent):
		return "guard"
	case strings.HasPrefix(e.UserAgent, "kubectl-upgrade-coordinator"):
		return "coordinator"
	}
	return ""
}

func (e auditEvent) what() string {
	if e.ObjectRef == nil {
		return e.Verb
	}
	what := e.Verb + " " + e.ObjectRef.Resource
	if e.ObjectRef.Resource == "leases" && e.ObjectRef.Name == "coordinator" {
		return what + " (of the leader)"
	}
	if e.ObjectRef.Subresource != "" {
		what += "/" + e.ObjectRef.Subresource
	}
	return what
}

// read calls do for each request of ours since the last read. A watch counts when it begins.
func (l *auditLog) read(t *testing.T, do func(auditEvent)) {
	t.Helper()
	file, err := os.Open(l.path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Seek(l.offset, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewReader(file); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return // the rest is not complete yet
		}
		if err != nil {
			t.Fatal(err)
		}
		l.offset += int64(len(line))
		var e auditEvent
		if err := json.Unmarshal(line, &e); err != nil {
			continue // cut off when the API server was killed
		}
		if e.client() != "" && (e.Verb == "watch") == (e.Stage == "ResponseStarted") && e.Stage != "Panic" {
			do(e)
		}
	}
}

// count counts the requests since the last read.
func (l *auditLog) count(t *testing.T) counts {
	t.Helper()
	all := counts{}
	l.read(t, func(e auditEvent) { all.add(e) })
	return all
}

func (c counts) add(e auditEvent) {
	if c[e.client()] == nil {
		c[e.client()] = map[string]int{}
	}
	c[e.client()][e.what()]++
}

// sum adds the requests of which is holds.
func (c counts) sum(is func(client, what string) bool) (n int) {
	for client, byWhat := range c {
		for what, number := range byWhat {
			if is(client, what) {
				n += number
			}
		}
	}
	return n
}

func isAgent(client string) bool { return strings.HasPrefix(client, "agent") }

// writes reports whether a request changes something.
func writes(what string) bool {
	verb, _, _ := strings.Cut(what, " ")
	switch verb {
	case "create", "update", "patch", "delete", "deletecollection":
		return true
	}
	return false
}
