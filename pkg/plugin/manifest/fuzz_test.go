package manifest

import (
	"errors"
	"strings"
	"testing"
)

// FuzzSchedules reads files that people write: an error is one line and names a line of the file,
// and what is accepted is accepted by Verify, too.
func FuzzSchedules(f *testing.F) {
	for _, text := range []string{"- [", "{", "a: &a [*a]\n", "\ufeff{}\n...\n%", "--- {}\n---\n", "? {a: b}\n: c\n", "<<: {kind: List}\n", named("a") + named("b"), "apiVersion: v1\nkind: List\nitems: [{}, null]\n"} {
		f.Add(text)
	}
	for i, text := range cases() {
		if i%10 == 0 && len(text) < 1000 {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		found, err := Schedules([]byte(text))
		for i := 0; i < len(found) && err == nil; i++ {
			if err = found[i].Check(); err == nil {
				if err := Verify(&found[i].Value); err != nil {
					t.Errorf("%q is accepted as a file, and not as an object: %v", text, err)
				}
			}
		}
		if err == nil {
			return
		}
		problem := (*Problem)(nil)
		if !errors.As(err, &problem) || problem.Line < 1 || problem.Line > strings.Count(text, "\n")+2 {
			t.Errorf("%q: got %q, want a line of the file", text, err)
		}
		for _, word := range []string{"Go value", "interface {}", "json: ", "unmarshal", "%!"} {
			if strings.Contains(err.Error(), word) && !strings.Contains(text, word) {
				t.Errorf("%q: %q speaks of Go", text, err)
			}
		}
	})
}
