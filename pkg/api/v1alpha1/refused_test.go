package v1alpha1_test

import (
	"strings"
	"testing"
)

// refusal is a wrong object: the server's words must name the field, and say
// what is wrong with it.
type refusal struct {
	name  string
	spec  string
	field string
	words string
}

func refuse(t *testing.T, kind string, rows []refusal) {
	client := server(t)
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			_, err := dryRun(client, object(t, kind, row.spec))
			if err == nil {
				t.Fatal("accepted")
			}
			if !strings.Contains(err.Error(), row.field) || !strings.Contains(err.Error(), row.words) {
				t.Errorf("the server's message does not name %q with %q:\n%v", row.field, row.words, err)
			}
		})
	}
}

// window is a schedule's spec with one window that is right but for the
// fields given.
func window(fields string) string {
	period := map[string]string{"name": "w", "startTime": `"2026-01-03T01:00:00Z"`, "endTime": `"2026-01-03T05:00:00Z"`}
	for _, field := range strings.Split(fields, "\n") {
		key, value, _ := strings.Cut(field, ": ")
		period[key] = value
	}
	var entry []string
	for key, value := range period {
		if value != "ABSENT" {
			entry = append(entry, key+": "+value)
		}
	}
	return "spec: {maintenanceWindows: [{" + strings.Join(entry, ", ") + "}]}"
}

func TestWrongSchedulesAreRefused(t *testing.T) {
	const at = "spec.maintenanceWindows[0]."
	recurrence := func(name, rule, words string) refusal {
		return refusal{name, window(`recurrence: "` + rule + `"`), at + "recurrence", words}
	}
	refuse(t, "MaintenanceSchedule", []refusal{
		{"no spec", "{}", "spec", "Required value"},
		{"an unknown field", "spec: {maintenanceWindow: []}", `"spec.maintenanceWindow"`, "unknown field"},

		{"an unknown zone", "spec: {timeZone: Mars/Phobos}", "spec.timeZone", "unknown time zone Mars/Phobos"},
		{"an empty zone", `spec: {timeZone: ""}`, "spec.timeZone", "must be the IANA name"},
		{"the zone of the process", "spec: {timeZone: Local}", "spec.timeZone", "must be the IANA name"},
		{"an offset as zone", `spec: {timeZone: "+02:00"}`, "spec.timeZone", "must be the IANA name"},
		{"an abbreviation as zone", "spec: {timeZone: CEST}", "spec.timeZone", "unknown time zone CEST"},
		{"a zone that is a path", "spec: {timeZone: ../etc/passwd}", "spec.timeZone", "must be the IANA name"},
		{"a long zone", "spec: {timeZone: " + strings.Repeat("a", 65) + "}", "spec.timeZone", "64"},

		{"a window without a name", window("name: ABSENT"), at + "name", "Required value"},
		{"a window with an empty name", window(`name: ""`), at + "name", "must be of lower-case letters"},
		{"a window with capitals", window("name: Night"), at + "name", "must be of lower-case letters"},
		{"a window with a long name", window("name: " + strings.Repeat("a", 64)), at + "name", "63"},
		{"two windows of one name", `spec: {maintenanceWindows: [
			{name: w, startTime: "2026-01-03T01:00:00Z", endTime: "2026-01-03T05:00:00Z"},
			{name: w, startTime: "2026-01-04T01:00:00Z", endTime: "2026-01-04T05:00:00Z"}]}`,
			"spec.maintenanceWindows[1]", "Duplicate value"},
		{"a window without an end", window("endTime: ABSENT"), at + "endTime", "Required value"},
		{"a window without a start", window("startTime: ABSENT"), at + "startTime", "Required value"},
		{"a date for a time", window(`startTime: "2026-01-03"`), at + "startTime", "date-time"},
		{"a time without a zone", window(`startTime: "2026-01-03T01:00:00"`), at + "startTime", "date-time"},
		{"an end before its start", window(`endTime: "2026-01-03T00:00:00Z"`), at + "endTime", "must be later than startTime"},
		{"an end at its start", window(`endTime: "2026-01-03T01:00:00Z"`), at + "endTime", "must be later than startTime"},
		{"a start long ago", window(`startTime: "0999-01-03T01:00:00Z"`), at + "startTime", "1970 to 2999"},

		recurrence("an empty recurrence", "", "must be one RFC 5545 rule"),
		recurrence("no rule at all", "every sunday", "must be one RFC 5545 rule"),
		recurrence("two rules", `FREQ=WEEKLY\nFREQ=DAILY`, "must be one RFC 5545 rule on one line"),
		recurrence("two RRULEs", `RRULE:FREQ=WEEKLY\nRRULE:FREQ=DAILY`, "must be one RFC 5545 rule on one line"),
		recurrence("an embedded DTSTART", `DTSTART:20260103T010000Z\nRRULE:FREQ=WEEKLY`, "must be one RFC 5545 rule on one line"),
		recurrence("DTSTART as a part", "DTSTART=20260103T010000Z;FREQ=WEEKLY", "must be one RFC 5545 rule"),
		recurrence("no FREQ", "INTERVAL=2", "FREQ must be"),
		recurrence("hourly", "FREQ=HOURLY", "FREQ must be DAILY, WEEKLY, MONTHLY or YEARLY"),
		recurrence("every second", "FREQ=SECONDLY", "FREQ must be"),
		recurrence("BYHOUR", "FREQ=DAILY;BYHOUR=3", "BYHOUR, BYMINUTE and BYSECOND are not supported"),
		recurrence("BYMINUTE", "FREQ=DAILY;BYMINUTE=3", "BYHOUR, BYMINUTE and BYSECOND are not supported"),
		recurrence("BYSECOND", "FREQ=DAILY;BYSECOND=3", "BYHOUR, BYMINUTE and BYSECOND are not supported"),
		recurrence("two FREQs", "FREQ=DAILY;FREQ=WEEKLY", "no part may be given twice"),
		recurrence("two BYDAYs", "FREQ=WEEKLY;BYDAY=MO;BYDAY=TU", "no part may be given twice"),
		recurrence("COUNT and UNTIL", "FREQ=DAILY;COUNT=3;UNTIL=20261231T000000Z", "COUNT and UNTIL cannot both be given"),
		recurrence("UNTIL without a zone", "FREQ=DAILY;UNTIL=20261231T000000", "UNTIL (an instant in UTC"),
		recurrence("UNTIL a date", "FREQ=DAILY;UNTIL=20261231", "UNTIL (an instant in UTC"),
		recurrence("no such day", "FREQ=WEEKLY;BYDAY=SAT", "must be one RFC 5545 rule"),
		recurrence("month 13", "FREQ=YEARLY;BYMONTH=13", "must be one RFC 5545 rule"),
		recurrence("interval 0", "FREQ=DAILY;INTERVAL=0", "must be one RFC 5545 rule"),
		recurrence("a weekly ordinal", "FREQ=WEEKLY;BYDAY=1MO", "need FREQ=MONTHLY or YEARLY"),
		recurrence("a weekly day of the month", "FREQ=WEEKLY;BYMONTHDAY=1", "does not go with FREQ=WEEKLY"),
		recurrence("a long rule", "FREQ=WEEKLY;BYDAY="+strings.Repeat("MO,", 90)+"TU", "256"),

		{"an exclusion's end before its start", `spec: {maintenanceExclusions: [{name: x, startTime: "2026-01-03T01:00:00Z", endTime: "2026-01-02T01:00:00Z"}]}`,
			"spec.maintenanceExclusions[0].endTime", "must be later than startTime"},
		{"an exclusion of an unknown kind", `spec: {maintenanceExclusions: [{name: x, startTime: "2026-01-03T01:00:00Z", endTime: "2026-01-04T01:00:00Z", upgrades: [Major]}]}`,
			"spec.maintenanceExclusions[0].upgrades[0]", "Patch"},
		{"an exclusion of one kind twice", `spec: {maintenanceExclusions: [{name: x, startTime: "2026-01-03T01:00:00Z", endTime: "2026-01-04T01:00:00Z", upgrades: [Patch, Patch]}]}`,
			"spec.maintenanceExclusions[0].upgrades[1]", "Duplicate value"},
		{"an exclusion with a novel as reason", `spec: {maintenanceExclusions: [{name: x, startTime: "2026-01-03T01:00:00Z", endTime: "2026-01-04T01:00:00Z", reason: ` + strings.Repeat("a", 257) + `}]}`,
			"spec.maintenanceExclusions[0].reason", "256"},
		{"a reason on a window", window("reason: x"), `"` + at + `reason"`, "unknown field"},

		{"automatic minors", "spec: {automatic: [Minor]}", "spec.automatic[0]", "Patch and Reboot may be automatic"},
		{"an unknown automatic", "spec: {automatic: [patch]}", "spec.automatic[0]", `"Patch"`},
		{"automatic twice", "spec: {automatic: [Patch, Patch]}", "spec.automatic[1]", "Duplicate value"},
		{"automatic on some nodes", "spec: {automatic: [Patch], nodeSelector: {matchLabels: {a: b}}}", "spec.automatic", "leave nodeSelector out"},
		{"automatic with an empty selector", "spec: {automatic: [Patch], nodeSelector: {}}", "spec.automatic", "leave nodeSelector out"},
		{"an unknown operator", "spec: {nodeSelector: {matchExpressions: [{key: a, operator: Near, values: [b]}]}}", "spec.nodeSelector.matchExpressions", "In or NotIn"},
		{"In without values", "spec: {nodeSelector: {matchExpressions: [{key: a, operator: In}]}}", "spec.nodeSelector.matchExpressions", "In or NotIn with values"},
		{"Exists with values", "spec: {nodeSelector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}}", "spec.nodeSelector.matchExpressions", "without"},
	})
}

func TestWrongClusterUpgradesAreRefused(t *testing.T) {
	strategy := func(name, fields, field, words string) refusal {
		return refusal{name, "spec: {version: v1.34.4, strategy: {" + fields + "}}", "spec.strategy." + field, words}
	}
	version := func(name, version string) refusal {
		return refusal{name, `spec: {version: "` + version + `"}`, "spec.version", "must be a released version of Kubernetes in full, such as v1.34.4"}
	}
	refuse(t, "ClusterUpgrade", []refusal{
		{"no spec", "{}", "spec", "Required value"},
		{"neither version nor type", "spec: {suspend: true}", "spec.version", "is needed, such as v1.34.4"},
		{"a patch without a version", "spec: {type: Patch}", "spec.version", "is needed"},
		{"a reboot with a version", "spec: {type: Reboot, version: v1.34.4}", "spec.version", "must be absent where type is Reboot"},
		{"an unknown type", "spec: {type: Major, version: v1.34.4}", "spec.type", `"Patch", "Minor", "Reboot"`},
		{"an unknown field", "spec: {version: v1.34.4, start: now}", `"spec.start"`, "unknown field"},
		version("no v", "1.34.4"),
		version("a minor", "v1.34"),
		version("a candidate", "v1.35.0-rc.1"),
		version("a build", "v1.34.4+k3s1"),
		version("leading zeros", "v1.034.4"),
		version("a line more", `v1.34.4\n`),
		version("empty", ""),
		version("v2", "v2.0.0"),
		{"a time that is none", "spec: {version: v1.34.4, startTime: tonight}", "spec.startTime", "date-time"},
		{"an unknown schedule mode", "spec: {version: v1.34.4, schedule: Sometimes}", "spec.schedule", `"Respect", "Ignore"`},
		{"suspend as a word", `spec: {version: v1.34.4, suspend: "yes"}`, "spec.suspend", "boolean"},
		{"an empty check", `spec: {version: v1.34.4, ignoreChecks: [""]}`, "spec.ignoreChecks[0]", "at least 1"},
		{"a check twice", `spec: {version: v1.34.4, ignoreChecks: [a, a]}`, "spec.ignoreChecks[1]", "Duplicate value"},

		strategy("an unknown method", "method: Reload", "method", `"Reboot", "Restart"`),
		{"a minor without a reboot", "spec: {type: Minor, version: v1.35.4, strategy: {method: Restart}}", "spec.strategy.method", "Restart is for patches"},
		{"a reboot without a reboot", "spec: {type: Reboot, strategy: {method: Restart}}", "spec.strategy.method", "Restart is for patches"},
		strategy("no node at once", "maxUnavailable: 0", "maxUnavailable", "must be a number from 1"),
		strategy("fewer than none", "maxUnavailable: -1", "maxUnavailable", "must be a number from 1"),
		strategy("0%", `maxUnavailable: "0%"`, "maxUnavailable", "from 1% to 100%"),
		strategy("150%", `maxUnavailable: "150%"`, "maxUnavailable", "from 1% to 100%"),
		strategy("a word for a number", "maxUnavailable: abc", "maxUnavailable", "must be a number from 1"),
		strategy("a number in quotes", `maxUnavailable: "2"`, "maxUnavailable", "must be a number from 1"),
		strategy("a fraction", "maxUnavailable: 1.5", "maxUnavailable", "integer"),
		strategy("a long word for a number", "maxUnavailable: "+strings.Repeat("9", 9)+"%", "maxUnavailable", "8"),
		strategy("a negative settle", "settle: -1m", "settle", "must be a duration from 0s"),
		strategy("a settle of garbage", "settle: soon", "settle", "must be a duration from 0s"),
		strategy("a settle in days", "settle: 1d", "settle", "must be a duration from 0s"),
		strategy("a settle without a unit", `settle: "120"`, "settle", "must be a duration from 0s"),
		strategy("an empty settle", `settle: ""`, "settle", "must be a duration from 0s"),
		strategy("a drain without a limit", "drain: {timeout: 0s}", "drain.timeout", "longer than 0s"),
		strategy("a negative drain", "drain: {timeout: -15m}", "drain.timeout", "longer than 0s"),
		strategy("a drain of garbage", "drain: {timeout: long}", "drain.timeout", "longer than 0s"),
		strategy("an unknown onTimeout", "drain: {onTimeout: Wait}", "drain.onTimeout", `"Abort", "Force"`),
		strategy("an unknown grace", "drain: {gracePeriodSeconds: -2}", "drain.gracePeriodSeconds", "-1"),
		strategy("an unknown etcdSnapshot", "etcdSnapshot: Maybe", "etcdSnapshot", `"Required", "Skip"`),
		strategy("a group without a name", "groups: [{nodeSelector: {}}]", "groups[0].name", "Required value"),
		strategy("a group with an empty name", `groups: [{name: "", nodeSelector: {}}]`, "groups[0].name", "must be of lower-case letters"),
		strategy("a group without a selector", "groups: [{name: a}]", "groups[0].nodeSelector", "Required value"),
		strategy("two groups of one name", "groups: [{name: a, nodeSelector: {}}, {name: a, nodeSelector: {}}]", "groups[1]", "Duplicate value"),
		strategy("a group of no nodes at once", "groups: [{name: a, nodeSelector: {}, maxUnavailable: 0}]", "groups[0].maxUnavailable", "must be a number from 1"),
		strategy("a group with an unknown operator", "groups: [{name: a, nodeSelector: {matchExpressions: [{key: a, operator: Near}]}}]", "groups[0].nodeSelector.matchExpressions", "In or NotIn"),
	})
}

func TestWrongNodeUpgradesAreRefused(t *testing.T) {
	image := func(name, fields, field, words string) refusal {
		all := map[string]string{"architecture": "x86-64", "url": "http://images.example/k.raw", "sha256": strings.Repeat("a", 64)}
		key, value, _ := strings.Cut(fields, ": ")
		all[key] = value
		return refusal{name, "spec: {image: {architecture: " + all["architecture"] + ", url: " + all["url"] + ", sha256: " + all["sha256"] + "}}", "spec.image." + field, words}
	}
	const fixed = "image: {architecture: x86-64, url: http://images.example/k.raw, sha256: " + "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" + "}"
	refuse(t, "NodeUpgrade", []refusal{
		{"a release for nothing", "spec: {release: Node, version: v1.34.4, " + fixed + "}", "spec.upgrade", "a release needs the upgrade"},
		{"a release of no version", "spec: {upgrade: u, release: ControlPlane, " + fixed + "}", "spec.version", "a release needs the version"},
		{"a release of no image", "spec: {upgrade: u, release: Node, version: v1.34.4}", "spec.image", "a release needs the image"},
		{"an unknown release", "spec: {release: All}", "spec.release", `"None", "ControlPlane", "Node"`},
		{"an unknown type", "spec: {type: Major}", "spec.type", `"Patch", "Minor", "Reboot"`},
		{"a version without v", `spec: {version: "1.34.4"}`, "spec.version", "must be a released version"},
		{"an unknown kubeadm command", "spec: {kubeadm: Plan}", "spec.kubeadm", `"Apply", "Node"`},
		{"an unknown method", "spec: {method: Reload}", "spec.method", `"Reboot", "Restart"`},
		{"a settle of garbage", "spec: {settle: soon}", "spec.settle", "must be a duration"},
		{"an expectation of garbage", "spec: {expectedDuration: soon}", "spec.expectedDuration", "must be a duration"},
		{"an expectation of less than nothing", "spec: {expectedDuration: -1m}", "spec.expectedDuration", "must be a duration from 0s"},
		{"a drain without a limit", "spec: {drain: {timeout: 0s}}", "spec.drain.timeout", "longer than 0s"},
		{"a reason that is a sentence", "spec: {reason: no window is open}", "spec.reason", "should match"},
		{"an unknown field", "spec: {nodeName: a}", `"spec.nodeName"`, "unknown field"},
		image("a hash that is short", "sha256: abc", "sha256", "64 lower-case hex digits"),
		image("a hash in capitals", "sha256: "+strings.Repeat("A", 64), "sha256", "64 lower-case hex digits"),
		image("an address that is a path", "url: /opt/k.raw", "url", "must be an http or https address"),
		image("an address of a file", "url: file:///opt/k.raw", "url", "must be an http or https address"),
		image("an unknown architecture", "architecture: amd64", "architecture", `"x86-64", "arm64"`),
	})
}
