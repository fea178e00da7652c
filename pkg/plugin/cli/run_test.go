package cli

import (
	"errors"
	"regexp"
	"strings"
	"testing"
)

// TestFaultIsOneLine checks that a panic becomes an error that says where it happened, and
// that another error stays as it is.
func TestFaultIsOneLine(t *testing.T) {
	var none map[string]int
	err := withoutStack("v1.2.3", func() error { none["a"]++; return nil })
	var out strings.Builder
	want := regexp.MustCompile(`^error: this is a fault of kubectl upgrade v1\.2\.3, at run_test\.go:\d+: assignment to entry in nil map; please report this line at https://\S+\n$`)
	if code := exit(err, &out); code != 1 || !want.MatchString(out.String()) {
		t.Errorf("got exit code %d and %q", code, out.String())
	}
	other := errors.New("other")
	if err := withoutStack("v1.2.3", func() error { return other }); !errors.Is(err, other) {
		t.Errorf("got %v", err)
	}
}
