package manifest

import (
	"strings"
	"testing"
)

// TestPlaces checks that an error names the document, the line and the field that it is about, also
// where the same name or value occurs before.
func TestPlaces(t *testing.T) {
	const head = "apiVersion: kubectl-upgrade.dev/v1alpha1\nkind: MaintenanceSchedule\nmetadata: {name: s}\nspec:\n"
	const other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\nspec: {timezone: x}\ndata: {name: on, startTime: noon, timeZone: Mars}\n---\n"
	const good = "  - {name: a, startTime: \"2026-01-01T00:00:00Z\", endTime: \"2026-01-02T00:00:00Z\", recurrence: FREQ=DAILY}\n"
	window := func(fields string) string { return head + "  maintenanceWindows:\n" + good + fields }
	for name, test := range map[string]struct{ text, want string }{
		"an unknown field":                {other + head + "  timezone: UTC\n", `document 2, line 11: unknown field "spec.timezone"; did you mean timeZone?`},
		"an unknown field without a hint": {head + "  colour: red\n", "line 5: unknown field \"spec.colour\"; `kubectl explain maintenanceschedule.spec` lists the fields"},
		"one in a window":                 {window("  - name: b\n    start: noon\n"), `line 8: unknown field "spec.maintenanceWindows[1].start"`},
		"one in the metadata":             {strings.Replace(head, "{name: s}", "{name: s, label: {}}", 1) + "  {}\n", `line 3: unknown field "metadata.label"; did you mean labels?`},
		"a value that occurs before":      {window("  - name: b\n    startTime: \"2026-01-01T00:00:00Z\"\n    endTime: \"2026-01-02T00:00:00Z\"\n    recurrence: FREQ=NEVER\n  - name: c\n    recurrence: FREQ=NEVER\n"), "line 11: spec.maintenanceWindows[2]"},
		"a rule":                          {window("  - name: b\n    startTime: \"2026-01-01T00:00:00Z\"\n    endTime: \"2026-01-02T00:00:00Z\"\n    recurrence: FREQ=NEVER\n"), "line 10: spec.maintenanceWindows[1].recurrence: FREQ must be DAILY"},
		"a zone":                          {other + head + "  timeZone: Mars\n", `document 2, line 11: spec.timeZone: "Mars" is not an IANA time zone`},
		"a time":                          {other + window("  - name: b\n    endTime: noon\n    startTime: noon\n"), `document 2, line 14: spec.maintenanceWindows[1].endTime: "noon" is not a time with an offset`},
		"a time without quotes":           {window("  - name: b\n    endTime: 2026\n"), `line 8: spec.maintenanceWindows[1].endTime: write "2026" in quotes: without them YAML reads it as a number`},
		"a missing field":                 {window("  - name: b\n    startTime: \"2026-01-01T00:00:00Z\"\n"), "line 7: spec.maintenanceWindows[1].endTime: is missing"},
		"a field that is empty":           {window("  - name:\n"), "line 7: spec.maintenanceWindows[1].name: is empty (null), and must be text"},
		"a null in a list":                {head + "  maintenanceWindows: [null]\n", "line 5: spec.maintenanceWindows[0]: is empty (null), and must be an object"},
		"a label":                         {head + "  nodeSelector:\n    matchLabels: {pool: \"true\", gpu: true}\n", `line 6: spec.nodeSelector.matchLabels.gpu: write "true" in quotes: without them YAML reads it as true or false`},
		"a label of the schedule":         {strings.Replace(head, "{name: s}", "\n  name: s\n  labels:\n    gpu: on", 1) + "  {}\n", `line 6: metadata.labels.gpu: write "on" in quotes`},
		"a label's value":                 {head + "  nodeSelector:\n    matchLabels:\n      a: b\n      example.com/c: a b\n", `line 8: spec.nodeSelector.matchLabels["example.com/c"]: "a b" does not match`},
		"a label's key":                   {head + "  nodeSelector:\n    matchLabels:\n      \"a b\": c\n", `line 6: spec.nodeSelector.matchLabels: "a b" is no key of a label`},
		"an operator":                     {head + "  nodeSelector:\n    matchExpressions:\n    - key: a\n      operator: Inn\n", `line 8: spec.nodeSelector.matchExpressions[0].operator: "Inn" must be In, NotIn, Exists or DoesNotExist; did you mean`},
		"an operator without values":      {head + "  nodeSelector:\n    matchExpressions:\n    - key: a\n      operator: In\n", "line 7: spec.nodeSelector.matchExpressions[0].values: operator In needs values"},
		"a field twice":                   {head + "  timeZone: UTC\n  nodeSelector: {}\n  timeZone: UTC\n", "line 7: spec.timeZone: is there twice"},
		"a name twice":                    {window("  - name: a\n    startTime: \"2026-01-01T00:00:00Z\"\n    endTime: \"2026-01-02T00:00:00Z\"\n"), `line 7: spec.maintenanceWindows[1].name: "a" is there twice`},
		"a name of capitals":              {window("  - name: B\n    startTime: \"2026-01-01T00:00:00Z\"\n    endTime: \"2026-01-02T00:00:00Z\"\n"), `line 7: spec.maintenanceWindows[1].name: "B" must be of`},
		"no name":                         {strings.Replace(head, "{name: s}", "{}", 1) + "  {}\n", "line 3: metadata.name: is missing"},
		"no spec":                         {strings.Replace(head, "spec:\n", "", 1), "line 1: spec: is missing"},
		"an end before the start":         {window("  - name: b\n    startTime: \"2026-01-02T00:00:00Z\"\n    endTime: \"2026-01-01T00:00:00Z\"\n"), "line 9: spec.maintenanceWindows[1].endTime: must be later than startTime"},
		"a type of upgrade":               {head + "  maintenanceExclusions:\n" + strings.Replace(good, "}", ", upgradeTypes: [Patch, Major]}", 1), `line 6: spec.maintenanceExclusions[0].upgradeTypes[1]: "Major" must be Patch, Minor, Reboot, Rollback or Certificates`},
		"JSON":                            {named("a") + "\n{\n \"apiVersion\": \"kubectl-upgrade.dev/v1alpha1\",\n \"kind\": \"MaintenanceSchedule\", \"metadata\": {\"name\": \"b\"},\n \"spec\": {\n  \"timeZone\":\n   \"Mars\"}\n}", `document 2, line 6: spec.timeZone: "Mars" is not`},
		"an item of a list":               {"apiVersion: v1\nkind: List\nitems:\n- apiVersion: kubectl-upgrade.dev/v1alpha1\n  kind: MaintenanceSchedule\n  metadata: {name: a}\n  spec: {timeZone: UTC}\n- apiVersion: kubectl-upgrade.dev/v1alpha1\n  kind: MaintenanceSchedule\n  metadata: {name: b}\n  spec:\n    timeZone: Mars\n", `line 12: spec.timeZone: "Mars" is not`},
		"an alias":                        {head + "  maintenanceWindows:\n  - &a {name: a, startTime: \"2026-01-01T00:00:00Z\", endTime: \"2026-01-02T00:00:00Z\", recurrence: FREQ=NEVER}\n", "line 6: spec.maintenanceWindows[0].recurrence: FREQ must be"},
		"a merge":                         {head + "  maintenanceWindows:\n  - &a {name: a, startTime: \"2026-01-01T00:00:00Z\", endTime: \"2026-01-02T00:00:00Z\"}\n  - {<<: *a, name: b, recurrence: FREQ=NEVER}\n", "line 7: spec.maintenanceWindows[1].recurrence: FREQ must be"},
		"after an end":                    {"a: 1\n...\n# comment\n" + head + "  timeZone: Mars\n", `document 2, line 8: spec.timeZone: "Mars" is not`},
		"carriage returns":                {strings.ReplaceAll(head+"  timeZone: Mars\n", "\n", "\r\n"), `line 5: spec.timeZone: "Mars" is not`},
		"a finalizer":                     {strings.Replace(head, "{name: s}", "{name: s, finalizers: [a b]}", 1) + "  {}\n", "line 3: metadata.finalizers"},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := Schedules([]byte(test.text))
			for i := 0; i < len(found) && err == nil; i++ {
				err = found[i].Check()
			}
			if err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}
