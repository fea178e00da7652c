// Package hostile measures how much memory a program takes that reads what a hostile server answers.
package hostile

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
)

// child is set in a process that is measured.
const child = "HOSTILE_CHILD"

// Peak returns how many MiB of memory f takes at most. It runs the test again, in a process of its own,
// in which f is called with what setup returns here. Garbage is collected as in our programs.
func Peak(t *testing.T, setup func() string, f func(input string)) int {
	t.Helper()
	if name, input, found := strings.Cut(os.Getenv(child), "\n"); found {
		if name != t.Name() {
			return 0
		}
		debug.SetGCPercent(50)
		before := resident(t)
		f(input)
		fmt.Printf("peak=%d\n", (resident(t)-before)>>10)
		os.Exit(0)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.run", "^"+strings.ReplaceAll(regexp.QuoteMeta(t.Name()), "/", "$/^")+"$") //nolint:gosec // this test
	cmd.Env = append(os.Environ(), child+"="+t.Name()+"\n"+setup())
	out, err := cmd.CombinedOutput()
	found := regexp.MustCompile(`(?m)^peak=(\d+)$`).FindSubmatch(out)
	if err != nil || found == nil {
		t.Fatalf("%v\n%s", err, out)
	}
	peak, _ := strconv.Atoi(string(found[1])) // the pattern has digits only
	return peak
}

// resident returns how many KiB of this process have been in memory at most.
func resident(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	if found == nil {
		t.Fatalf("no peak in\n%s", status)
	}
	peak, _ := strconv.Atoi(string(found[1]))
	return peak
}

// Answer makes a text of 4 MiB: begin, then repeated as often as there is room, and end.
func Answer(begin, repeated, end string) func() []byte {
	const size = 4<<20 - 1<<10
	return func() []byte {
		return []byte(begin + strings.Repeat(repeated, (size-len(begin)-len(end))/len(repeated)) + end)
	}
}

// Server serves an answer to every request, as JSON.
func Server(t *testing.T, tls bool, answers func(path string) []byte) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = bytes.NewReader(answers(r.URL.Path)).WriteTo(w) // the client may have enough
	}))
	if tls {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	return server
}

// Redirecting serves redirects to an address, over TLS.
func Redirecting(t *testing.T, to string) *httptest.Server {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, to+r.URL.Path, http.StatusTemporaryRedirect) //nolint:gosec // to a server of the test
	}))
	t.Cleanup(server.Close)
	return server
}
