//go:build unix

package cli_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// TestSentencesBreakBetweenWords checks that no word of an error or an answer goes on in the next line of a terminal, and
// that elsewhere each is one line.
func TestSentencesBreakBetweenWords(t *testing.T) {
	config := apitest.Start(t)
	for _, row := range []struct {
		columns, code int
		args          []string
	}{
		{80, 1, []string{"cancel"}},
		{60, 1, []string{"why", "w1"}},
		{80, 1, []string{"history", "a-very-long-name-of-an-upgrade-that-has-not-ended"}},
		{80, 0, []string{"freeze", "the-last-days-of-the-year-2098", "--until=2099-01-01T00:00:00Z", "--reason=closed", "--dry-run=client"}},
	} {
		plain, _ := exec.Command("kubectl-upgrade", append(row.args, "--kubeconfig="+apitest.Kubeconfig(t, config))...).CombinedOutput()
		if n := strings.Count(string(plain), "\n"); n != 1 {
			t.Errorf("%v: got %d lines, want 1:\n%s", row.args, n, plain)
		}
		s := openTerminal(t, config, row.columns, 24, []string{"TZ=UTC"}, row.args...)
		text := strings.TrimSpace(s.exit(row.code))
		if !strings.Contains(text, "\n") {
			t.Errorf("%v: it fits one line, and checks nothing:\n%s", row.args, text)
		}
		if !slices.Equal(strings.Fields(text), strings.Fields(string(plain))) {
			t.Errorf("%v: at %d columns words are broken:\n%s", row.args, row.columns, text)
		}
	}
}
