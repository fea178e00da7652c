package api_test

import (
	"strings"
	"testing"
)

// window returns a schedule's spec with one window, which is valid but for the given fields.
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
		{"an empty zone", `spec: {timeZone: ""}`, "spec.timeZone", "at least 1"},
		{"a zone that differs between machines", "spec: {timeZone: localtime}", "spec.timeZone", "must be the IANA name"},
		{"a zone with leap seconds", "spec: {timeZone: right/UTC}", "spec.timeZone", "must be the IANA name"},
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

		recurrence("an empty recurrence", "", "at least 1"),
		recurrence("an end without a part", "FREQ=DAILY;", "must be one RFC 5545 rule"),
		recurrence("a large interval", "FREQ=DAILY;INTERVAL=1001", "INTERVAL (to 1000)"),
		recurrence("a day that is not", "FREQ=DAILY;UNTIL=20270229T000000Z", "must be one RFC 5545 rule"),
		recurrence("a sixth Monday", "FREQ=MONTHLY;BYDAY=6MO", "counts within the month"),
		recurrence("a place of nothing", "FREQ=MONTHLY;BYSETPOS=1", "BYSETPOS needs another BY part"),
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
		{"an exclusion of an unknown kind", `spec: {maintenanceExclusions: [{name: x, startTime: "2026-01-03T01:00:00Z", endTime: "2026-01-04T01:00:00Z", upgradeTypes: [Major]}]}`,
			"spec.maintenanceExclusions[0].upgradeTypes[0]", "Patch"},
		{"an exclusion of one kind twice", `spec: {maintenanceExclusions: [{name: x, startTime: "2026-01-03T01:00:00Z", endTime: "2026-01-04T01:00:00Z", upgradeTypes: [Patch, Patch]}]}`,
			"spec.maintenanceExclusions[0].upgradeTypes[1]", "Duplicate value"},
		{"an exclusion with a novel as reason", `spec: {maintenanceExclusions: [{name: x, startTime: "2026-01-03T01:00:00Z", endTime: "2026-01-04T01:00:00Z", comment: ` + strings.Repeat("a", 257) + `}]}`,
			"spec.maintenanceExclusions[0].comment", "256"},
		{"an exclusion of no kind", `spec: {maintenanceExclusions: [{name: x, startTime: "2026-01-03T01:00:00Z", endTime: "2026-01-04T01:00:00Z", upgradeTypes: []}]}`,
			"spec.maintenanceExclusions[0].upgradeTypes", "at least 1"},
		{"an exclusion with an empty reason", `spec: {maintenanceExclusions: [{name: x, startTime: "2026-01-03T01:00:00Z", endTime: "2026-01-04T01:00:00Z", comment: ""}]}`,
			"spec.maintenanceExclusions[0].comment", "at least 1"},
		{"a reason on a window", window("comment: x"), `"` + at + `comment"`, "unknown field"},

		{"automatic, which is the policy's", "spec: {automatic: [Patch]}", `"spec.automatic"`, "unknown field"},
	})
}
