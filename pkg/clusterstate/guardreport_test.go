package clusterstate

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestGuardReport(t *testing.T) {
	want := GuardReport{Upgrade: "uid", Time: time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC), Message: "the image was not merged"}
	if diff := cmp.Diff(&want, ParseGuardReport(want.String())); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	long := GuardReport{Upgrade: "uid", Message: strings.Repeat("ü", 4096)}
	if got := ParseGuardReport(long.String()); got == nil || len(got.Message) > maxReportMessage || !strings.HasSuffix(got.Message, "...") {
		t.Errorf("a long message became %v", got)
	}
	for _, value := range []string{"", "{", `"text"`, `{"upgrade":"uid"}`, `{"message":"m"}`, `{"upgrade":"uid","message":"` + strings.Repeat("a", 5000) + `"}`} {
		if got := ParseGuardReport(value); got != nil {
			t.Errorf("%.40q is read as %v", value, got)
		}
	}
	if got := ParseGuardReport(`{"upgrade":"uid","message":" a\n\tb "}`); got == nil || got.Message != "a b" {
		t.Errorf("a message of two lines became %v", got)
	}
}
