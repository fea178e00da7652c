package markdown

import (
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/fleet"
)

// hostile is what a cluster that someone else rules may say in place of each text.
const hostile = "a`b`|c\n\n# d <img src=x> @platform-team [e](https://example.com) www.example.com ![f](g) **h** $i$ \\"

// fill puts text into every string of a value, below pointers and with one element in each list.
func fill(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Pointer:
		if v.Type().Elem() == reflect.TypeFor[time.Time]() {
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), text)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), text)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), text)
			}
		}
	}
}

var (
	codeSpan = regexp.MustCompile("(^|[^\\\\])`[^`]*`")
	// active is what GitHub makes more of than text, outside of code.
	active = regexp.MustCompile(`(^|[^\\])[<*_\[$#]|@[a-z]|://|www\.`)
)

// TestFleetTextIsText fills each text of a fleet's report with markup: a table keeps its columns, and nothing in it
// becomes a link, a mention, an image or HTML.
func TestFleetTextIsText(t *testing.T) {
	var unknown, runs fleet.ReportRow
	for _, row := range []*fleet.ReportRow{&unknown, &runs} {
		fill(reflect.ValueOf(row).Elem(), hostile)
		row.Repeated = false
	}
	unknown.Runs, runs.Reason = nil, v1alpha1.Reason("")
	got := FleetText(fleet.Report{Items: []fleet.ReportRow{unknown, runs}}, Options{Zone: time.UTC, Version: hostile})
	rows := 0
	for _, line := range strings.Split(got, "\n") {
		if !strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "A version counts") {
			continue
		}
		rows++
		bare := codeSpan.ReplaceAllString(line, "$1")
		bare = strings.ReplaceAll(strings.ReplaceAll(bare, `\\`, ""), "<!-- -->", " ")
		if bars := strings.Count(bare, "|") - strings.Count(bare, `\|`); strings.HasPrefix(line, "| ") && bars != 9 {
			t.Errorf("a row has %d bars, want 9: %s", bars, line)
		}
		if found := active.FindString(bare); found != "" {
			t.Errorf("%q is more than text in: %s", found, line)
		}
	}
	if rows != 5 {
		t.Errorf("got %d lines, want two of the head, two rows and a note:\n%s", rows, got)
	}
}
