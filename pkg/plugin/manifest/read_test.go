package manifest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
)

// named is a schedule in JSON.
func named(name string) string {
	return fmt.Sprintf(`{"apiVersion":"kubectl-upgrade.dev/v1alpha1","kind":"MaintenanceSchedule","metadata":{"name":%q},"spec":{}}`, name)
}

// utf16le is the text as Windows' PowerShell writes it.
func utf16le(text string) string {
	out := []byte{0xff, 0xfe}
	for _, unit := range utf16.Encode([]rune(text)) {
		out = append(out, byte(unit), byte(unit>>8))
	}
	return string(out)
}

// TestFilesAreReadWhole checks that every object of a file is read, however they are separated.
func TestFilesAreReadWhole(t *testing.T) {
	yaml := func(name string) string {
		return "apiVersion: kubectl-upgrade.dev/v1alpha1\nkind: MaintenanceSchedule\nmetadata:\n  name: " + name + "\nspec: {}\n"
	}
	list := func(items ...string) string {
		return `{"apiVersion":"v1","kind":"List","items":[` + strings.Join(items, ",") + `]}`
	}
	for name, test := range map[string]struct{ text, want string }{
		"documents":                   {yaml("a") + "---\n" + yaml("b"), "a b"},
		"a comment after the marker":  {yaml("a") + "--- # next\n" + yaml("b"), "a b"},
		"carriage returns":            {strings.ReplaceAll(yaml("a")+"---\n"+yaml("b"), "\n", "\r\n"), "a b"},
		"after an end":                {yaml("a") + "...\n" + yaml("b"), "a b"},
		"after an end and a marker":   {yaml("a") + "...\n---\n" + yaml("b"), "a b"},
		"directives":                  {"%YAML 1.1\n---\n" + yaml("a") + "...\n%YAML 1.1\n---\n" + yaml("b"), "a b"},
		"JSON, one after the other":   {named("a") + named("b") + "\n" + named("c"), "a b c"},
		"JSON, then documents":        {named("a") + "\n" + named("b") + "\n---\n" + yaml("c"), "a b c"},
		"JSON after a marker":         {"---\n" + named("a") + named("b"), "a b"},
		"JSON on the marker's line":   {"--- " + named("a") + "\n", "a"},
		"braces of YAML":              {"{apiVersion: kubectl-upgrade.dev/v1alpha1, kind: MaintenanceSchedule, metadata: {name: a}, spec: {}}", "a"},
		"JSON with a comment of YAML": {"# a comment\n" + named("a"), "a"},
		"a byte order mark":           {"\ufeff" + yaml("a") + "---\n\ufeff" + yaml("b"), "a b"},
		"a byte order mark in JSON":   {"\ufeff" + named("a"), "a"},
		"UTF-16":                      {utf16le(yaml("a") + "---\n" + yaml("b")), "a b"},
		"a list":                      {list(named("a"), named("b")), "a b"},
		"a list in a list":            {list(named("a"), list(named("b"), list(named("c")))), "a b c"},
		"a list of the kind":          {`{"apiVersion":"kubectl-upgrade.dev/v1alpha1","kind":"MaintenanceScheduleList","items":[{"metadata":{"name":"a"},"spec":{}},` + named("b") + `]}`, "a b"},
		"escaped characters":          {strings.Replace(named("a"), `"spec":{}`, `"spec":{"maintenanceExclusions":[{"name":"x","startTime":"2026-01-01T00:00:00Z","endTime":"2026-01-02T00:00:00Z","comment":"\ud83d\ude00 \/"}]}`, 1) + named("b"), "a b"},
		"other kinds":                 {"resources: [a.yaml]\n---\n" + yaml("a") + "---\napiVersion: v1\nkind: ConfigMap\n---\n# nothing\n---\napiVersion: example.com/v1\nkind: AllowList\nitems: [a]\n", "a"},
		"braces, then a marker":       {"{apiVersion: kubectl-upgrade.dev/v1alpha1, kind: MaintenanceSchedule, metadata: {name: a}, spec: {}} # c\n\n---\n" + yaml("b"), "a b"},
		"a marker in a text":          {strings.Replace(yaml("a"), "spec: {}", "  annotations:\n    note: |\n      ---\n      ...\nspec: {}", 1), "a"},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := Schedules([]byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range found {
				got = append(got, s.Value.Name)
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("got %v, want %s", got, test.want)
			}
		})
	}
}

// TestUnreadable checks the line and the words of files that cannot be read.
func TestUnreadable(t *testing.T) {
	lists := func(n int) string {
		return strings.Repeat(`{"apiVersion":"v1","kind":"List","items":[`, n) + named("a") + strings.Repeat("]}", n)
	}
	for name, test := range map[string]struct{ text, want string }{
		"a scalar":                  {"hello\n", "line 1: it is text, not an object with apiVersion and kind"},
		"a number":                  {"---\n\n5\n", "line 3: it is a number, not an object"},
		"a list":                    {"- a\n- b\n", "line 1: it is a list, not an object"},
		"an item":                   {"apiVersion: v1\nkind: List\nitems:\n- {}\n- a\n", "line 5: items[1]: it is text, not an object"},
		"items of another type":     {"apiVersion: v1\nkind: List\nitems: a\n", "line 3: items: must be a list, not text"},
		"items twice":               {"apiVersion: v1\nkind: List\nitems: []\nitems: []\n", "line 4: items: is there twice"},
		"a List of nothing":         {"kind: List\nitems: []\n", `line 1: apiVersion: a List with apiVersion "": want v1`},
		"too many lists":            {lists(9), "Lists are in Lists more than 8 times"},
		"a key without a colon":     {"a: 1\nb: 2\nc\nd: 4\n", "line 3: it is not valid YAML: could not find expected ':'"},
		"indented too little":       {"x: 1\na:\n  b: 1\n c: 2\nd: 4\n", "line 4: it is not valid YAML: did not find expected key"},
		"indented too much":         {"a: 1\n  b: 2\nc: 3\n", "line 2: it is not valid YAML: mapping values are not allowed"},
		"an item in an object":      {"a: 1\nb: 2\n- x\n\n# c\nd: 5\n", "line 3: it is not valid YAML: did not find expected key"},
		"an object in a list":       {"- a\n- b\nc: 1\nd: 2\n", "line 3: it is not valid YAML: did not find expected '-' indicator"},
		"a quote that stays open":   {"a: 1\nb: \"x\nc: 3\nd: 4\n", "line 2: it is not valid YAML: found unexpected end of stream"},
		"a bracket that stays open": {"x: [1,\n 2]\na: [1, 2\nb: 3\nc: 4\n", "line 3: it is not valid YAML: did not find expected ',' or ']'"},
		"a tab":                     {"a:\n\tb: 2\n", "line 2: it is not valid YAML: found character that cannot start any token"},
		"text after a text":         {"a: 'x' y\nd: 5\n", "line 1: it is not valid YAML: did not find expected key"},
		"an unknown anchor":         {"a: 1\nb: *x\nc: 2\n", "line 2: it is not valid YAML: unknown anchor 'x' referenced"},
		"a second document":         {"a: 1\n---\nb: 2\n...\nc: 3\nd\ne: 4\n", "document 3, line 6: it is not valid YAML"},
		"a template":                {"a: 1\n{{- if .x }}\nb: 2\n{{- end }}\n", "line 2: it is not valid YAML: could not find expected ':'; it looks like a template: render it first"},
		"a value of a template":     {"a: 1\nb: {{ .x }}\nc: 2\n", "line 2: it is not valid YAML: a key is an object or a list, and must be text; it looks like a template"},
		"JSON that is cut":          {"{\n \"kind\":", "line 2: it is not valid JSON: it ends too early"},
		"a comma too many":          {"{\n \"a\": 1,\n \"b\": [1,,2]\n}", "line 3: it is not valid JSON: invalid character ','"},
		"the second JSON":           {named("a") + "\n" + `{"a": x}`, "document 2, line 2: it is not valid JSON: invalid character 'x'"},
		"a brace too many":          {named("a") + "\n}\n", `document 2, line 2: it is not valid JSON: "}" closes nothing`},
		"no text":                   {"a: 1\nb: \xff\n", "line 2: it is no text in UTF-8"},
		"nothing but zeros":         {"\x00\x00\x00", "line 1: it is no text in UTF-8"},
		"two objects in braces":     {"{a: 1}\n{b: 2}\n", "line 1: more text follows the end of the document: write a line of --- between documents"},
		"text after braces":         {"{a: 1,\n b: 2} x\n", "line 2: more text follows the end of the document"},
		"a field after braces":      {"# c\n{a: 1}\nb: 2\n", "line 2: more text follows the end of the document"},
		"a bracket after braces":    {"x: 1\n---\n{a: 1}\n]\n", "document 2, line 3: more text follows the end of the document"},
		"braces after a marker":     {"--- {a: 1}\n{b: 2}\n", "line 1: more text follows the end of the document"},
		"lone carriage returns":     {"a: 1\r---\rb: 2\r", "document 2, line 1: it begins after a line end that YAML knows and others do not, such as a lone carriage return"},
		"U+0085":                    {"a: 1\n\u0085---\nb: 2\n", "document 2, line 3: it begins after a line end that YAML knows"},
		"U+2028 after a marker":     {"a: 1\n---\u2028b: 2\n", "document 2, line 2: it begins after a line end that YAML knows"},
		"another version":           {"apiVersion: kubectl-upgrade.dev/v1\nkind: MaintenanceSchedule\n", `line 1: apiVersion: a MaintenanceSchedule with apiVersion "kubectl-upgrade.dev/v1": want kubectl-upgrade.dev/v1alpha1`},
		"a kind of ours that is not": {"apiVersion: kubectl-upgrade.dev/v1alpha1\nkind: maintenanceschedule\n",
			`line 2: kind: there is no kind "maintenanceschedule" in kubectl-upgrade.dev; did you mean MaintenanceSchedule?`},
		"no kind": {"\n---\napiVersion: kubectl-upgrade.dev/v1alpha1\nmetadata: {name: a}\n", `line 3: kind: is missing`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Schedules([]byte(test.text))
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), strings.SplitAfter(test.want, " ")[0]) && strings.Contains(test.want, "line") {
				t.Errorf("got %v, want %s", err, test.want)
			}
			var problem *Problem
			if !errors.As(err, &problem) {
				t.Errorf("got %T, want a Problem", err)
			}
		})
	}
}

// TestSizeIsBounded checks that the size of a file alone does not make a command slow.
func TestSizeIsBounded(t *testing.T) {
	window := "\n  - {name: w%d, startTime: \"2026-01-01T00:00:00Z\", endTime: \"2026-01-02T00:00:00Z\", recurrence: FREQ=DAILY}"
	var windows strings.Builder
	for i := range 10000 {
		fmt.Fprintf(&windows, window, i)
	}
	lists := strings.Repeat(`{"apiVersion":"v1","kind":"List","items":[`, 3000) + strings.Repeat("]}", 3000)
	for name, test := range map[string]struct{ text, want string }{
		"windows":      {"apiVersion: kubectl-upgrade.dev/v1alpha1\nkind: MaintenanceSchedule\nmetadata: {name: a}\nspec:\n  maintenanceWindows:" + windows.String(), "line 5: spec.maintenanceWindows: has 10000 items; at most 64 are allowed"},
		"nested lists": {lists, "Lists are in Lists more than 8 times"},
		"in YAML":      {"# YAML\n" + lists, "Lists are in Lists more than 8 times"},
		"no end":       {strings.Repeat("a: [\n", 3000), "not valid YAML"},
		"a late error": {strings.Repeat("a: [1,\n2]\n", 5000) + "b", "line 10001: it is not valid YAML"},
		"many values":  {"a: [" + strings.Repeat("1,", 2_000_000) + "1]", "line 1: it has more than 1000000 lines and values: split the file"},
		"in JSON":      {`{"a": [` + strings.Repeat("1,", 2_000_000) + "1]}", "line 1: it has more than 1000000 lines and values"},
		"a long text":  {"a: 1\n---\na: &a " + strings.Repeat("x", 100_000) + "\nb: [" + strings.Repeat("*a,", 1000) + "]\n", "document 2, line 2: it is larger than 64 MiB with the text of its anchors for each alias"},
		"in an anchor": {"a: &a " + strings.Repeat("x", 10_000) + "\nb: &b [" + strings.Repeat("*a,", 100) + "]\nc: [" + strings.Repeat("*b,", 100) + "]\n", "line 1: it is larger than 64 MiB"},
		"aliases":      {"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f]\n", "excessive aliasing"},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			_, err := Schedules([]byte(test.text))
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("takes %s", took)
			} else {
				t.Logf("takes %s", took)
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}
