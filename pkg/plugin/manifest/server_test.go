package manifest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	_ "time/tzdata"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// spec returns a schedule with fields of its spec.
func spec(fields string) string {
	return "apiVersion: kubectl-upgrade.dev/v1alpha1\nkind: MaintenanceSchedule\nmetadata: {name: s}\nspec: {" + fields + "}\n"
}

// window returns a schedule with a window that has more fields, or others.
func window(fields string) string {
	for _, field := range []string{`name: w`, `startTime: "2026-01-03T01:00:00Z"`, `endTime: "2026-01-03T05:00:00Z"`} {
		if name, _, _ := strings.Cut(field, ":"); !strings.Contains(fields, name+":") {
			fields = strings.TrimPrefix(fields+", "+field, ", ")
		}
	}
	return spec("maintenanceWindows: [{" + fields + "}]")
}

func exclusion(fields string) string {
	return strings.Replace(window(fields), "maintenanceWindows", "maintenanceExclusions", 1)
}

// rules are recurrences at the limits of what is allowed.
var rules = []string{
	"", "FREQ=DAILY", "freq=daily", "RRULE:FREQ=DAILY", "rrule:FREQ=DAILY", "RRULE:RRULE:FREQ=DAILY", "FREQ=DAILY;", ";FREQ=DAILY", "FREQ=DAILY;;COUNT=1", " FREQ=DAILY", "FREQ=DAILY ", "FREQ=DAILY\\n",
	"FREQ=HOURLY", "FREQ=DAILYX", "FREQ=", "FREQ", "COUNT=2", "FREQ=DAILY;FREQ=DAILY", "FREQ=DAILY;X=1", "X-FREQ=DAILY", "FREQ=DAILY;DTSTART=20260101T000000Z", "FREQ=ſECONDLY", "FREQ=MONTHLY;BYDAY=ſU",
	"FREQ=DAILY;INTERVAL=1", "FREQ=DAILY;INTERVAL=0", "FREQ=DAILY;INTERVAL=-1", "FREQ=DAILY;INTERVAL=+2", "FREQ=DAILY;INTERVAL=02", "FREQ=DAILY;INTERVAL=1000", "FREQ=DAILY;INTERVAL=1001", "FREQ=DAILY;INTERVAL=1,2", "FREQ=DAILY;INTERVAL=99999999999999999999",
	"FREQ=DAILY;COUNT=1", "FREQ=DAILY;COUNT=0", "FREQ=DAILY;COUNT=+2", "FREQ=DAILY;COUNT=02", "FREQ=DAILY;COUNT=999999", "FREQ=DAILY;COUNT=1000000", "FREQ=DAILY;COUNT=2;INTERVAL=2", "FREQ=DAILY;COUNT=2;COUNT=2",
	"FREQ=DAILY;UNTIL=20261231T235959Z", "FREQ=DAILY;UNTIL=20261231", "FREQ=DAILY;UNTIL=20261231T235959", "FREQ=DAILY;UNTIL=20261331T235959Z", "FREQ=DAILY;UNTIL=20260231T235959Z", "FREQ=DAILY;UNTIL=20261231T245959Z", "FREQ=DAILY;UNTIL=20261231T236059Z", "FREQ=DAILY;UNTIL=20261231T235960Z", "FREQ=DAILY;UNTIL=20280229T000000Z", "FREQ=DAILY;UNTIL=20270229T000000Z", "FREQ=DAILY;UNTIL=20261231T235959Z;COUNT=2", "FREQ=DAILY;UNTIL=00000101T000000Z", "FREQ=DAILY;UNTIL=20260431T000000Z",
	"FREQ=WEEKLY;WKST=SU", "FREQ=WEEKLY;WKST=XX", "FREQ=WEEKLY;WKST=MO,SU", "FREQ=WEEKLY;WKST=1MO", "FREQ=WEEKLY;WKST=",
	"FREQ=YEARLY;BYMONTH=1", "FREQ=YEARLY;BYMONTH=01,12", "FREQ=YEARLY;BYMONTH=001", "FREQ=YEARLY;BYMONTH=0", "FREQ=YEARLY;BYMONTH=13", "FREQ=YEARLY;BYMONTH=+1", "FREQ=YEARLY;BYMONTH=-1", "FREQ=YEARLY;BYMONTH=1,", "FREQ=YEARLY;BYMONTH=,1", "FREQ=YEARLY;BYMONTH=1,1",
	"FREQ=MONTHLY;BYMONTHDAY=1", "FREQ=MONTHLY;BYMONTHDAY=31", "FREQ=MONTHLY;BYMONTHDAY=32", "FREQ=MONTHLY;BYMONTHDAY=-31", "FREQ=MONTHLY;BYMONTHDAY=-32", "FREQ=MONTHLY;BYMONTHDAY=0", "FREQ=MONTHLY;BYMONTHDAY=00", "FREQ=MONTHLY;BYMONTHDAY=+1", "FREQ=MONTHLY;BYMONTHDAY=01", "FREQ=MONTHLY;BYMONTHDAY=001", "FREQ=MONTHLY;BYMONTHDAY=-0", "FREQ=WEEKLY;BYMONTHDAY=1", "FREQ=DAILY;BYMONTHDAY=1", "FREQ=MONTHLY;BYMONTHDAY=1,,2",
	"FREQ=WEEKLY;BYDAY=MO", "FREQ=WEEKLY;BYDAY=MO,TU", "FREQ=WEEKLY;BYDAY=MO,", "FREQ=WEEKLY;BYDAY=MOTU", "FREQ=WEEKLY;BYDAY=SAT", "FREQ=WEEKLY;BYDAY=1MO", "FREQ=WEEKLY;BYDAY=+MO", "FREQ=DAILY;BYDAY=MO", "FREQ=DAILY;BYDAY=-1MO", "FREQ=MONTHLY;BYDAY=1MO", "FREQ=MONTHLY;BYDAY=+1MO", "FREQ=MONTHLY;BYDAY=-5MO", "FREQ=MONTHLY;BYDAY=6MO", "FREQ=MONTHLY;BYDAY=0MO", "FREQ=MONTHLY;BYDAY=05MO", "FREQ=MONTHLY;BYDAY=005MO", "FREQ=MONTHLY;BYDAY=-MO", "FREQ=YEARLY;BYDAY=53MO", "FREQ=YEARLY;BYDAY=54MO", "FREQ=YEARLY;BYDAY=-53MO", "FREQ=YEARLY;BYDAY=6MO;BYMONTH=1", "FREQ=YEARLY;BYDAY=5MO;BYMONTH=1", "FREQ=YEARLY;BYMONTH=1;BYDAY=-10MO,TU",
	"FREQ=MONTHLY;BYSETPOS=1", "FREQ=MONTHLY;BYSETPOS=-1;BYDAY=MO", "FREQ=MONTHLY;BYDAY=MO;BYSETPOS=366", "FREQ=MONTHLY;BYDAY=MO;BYSETPOS=367", "FREQ=MONTHLY;BYDAY=MO;BYSETPOS=0", "FREQ=MONTHLY;BYDAY=MO;BYSETPOS=+1", "FREQ=MONTHLY;BYDAY=MO;BYSETPOS=001", "FREQ=MONTHLY;BYDAY=MO;BYSETPOS=0001", "FREQ=DAILY;BYDAY=MO;BYSETPOS=1", "FREQ=WEEKLY;BYDAY=MO;BYSETPOS=1", "FREQ=YEARLY;BYMONTH=1;BYSETPOS=1", "FREQ=YEARLY;BYMONTHDAY=1;BYSETPOS=1",
	"FREQ=DAILY;BYHOUR=1", "FREQ=DAILY;BYMINUTE=1", "FREQ=DAILY;BYSECOND=1", "FREQ=YEARLY;BYWEEKNO=1", "FREQ=YEARLY;BYYEARDAY=1", "FREQ=DAILY;BYDAY=MO;BYDAY=TU", "FREQ=MONTHLY;BYMONTHDAY=1;BYMONTH=2",
	"FREQ=WEEKLY;BYDAY=" + strings.Repeat("MO,", 78) + "TU", "FREQ=WEEKLY;BYDAY=" + strings.Repeat("MO,", 90) + "TU",
}

// cases are files with one object that the API server may accept or refuse.
func cases() []string {
	all := []string{spec(""), spec("timezone: UTC"), window(""), exclusion("comment: x"), window("comment: x"), "apiVersion: kubectl-upgrade.dev/v1alpha1\nkind: MaintenanceSchedule\nmetadata: {name: s}\n"}
	for _, rule := range rules {
		all = append(all, window(fmt.Sprintf(`recurrence: "%s"`, rule)))
	}
	for _, zone := range []string{`""`, "null", "5", "UTC", "utc", "Utc", "GMT", "Local", "localtime", "posixrules", "right/UTC", "posix/UTC", "Europe/Berlin", "europe/berlin", "EUROPE/BERLIN", "US/Eastern", "Etc/GMT+5", "America/Argentina/Buenos_Aires", "CEST", "CET", "EST5EDT", `"+02:00"`, `"02:00"`, "../UTC", "/etc/localtime", "Mars/Phobos", "Europe/", "Europe", `" UTC"`, "zone.tab", "Factory", strings.Repeat("A", 65)} {
		all = append(all, spec("timeZone: "+zone))
	}
	for _, name := range []string{`""`, "a", "A", "a.b-c", "-a", "a-", `"1"`, "1", "a_b", "a..b", strings.Repeat("a", 63), strings.Repeat("a", 64), "null", `"a\n"`} {
		all = append(all, window("name: "+name), strings.Replace(spec(""), "name: s", "name: "+name, 1))
	}
	for _, time := range []string{"2026-01-03T01:00:00Z", "2026-01-03T01:00:00+02:00", "2026-01-03t01:00:00z", "2026-01-03 01:00:00Z", "2026-01-03T01:00:00", "2026-01-03T01:00Z", "2026-01-03", "noon", "", "2026-02-30T01:00:00Z", "2026-01-03T24:00:00Z", "2026-01-03T01:00:60Z", "2026-01-03T01:00:00.5Z", "2026-01-03T01:00:00,5Z", "2026-01-03T01:00:00.123456789Z", "2026-01-03T05:00:00Z", "2026-01-03T06:00:00Z", "1969-12-31T23:59:59Z", "1970-01-01T00:00:00Z", "1970-01-01T00:00:00+01:00", "0999-01-01T00:00:00Z", "2026-01-03T01:00:00+25:00", "2026-01-03T01:00:00+0200", "2026-1-3T01:00:00Z"} {
		all = append(all, window(fmt.Sprintf("startTime: %q", time)), window(fmt.Sprintf("endTime: %q, startTime: \"2026-01-03T00:00:00Z\"", time)))
	}
	all = append(all, window(`startTime: "2999-12-31T00:00:00Z", endTime: "3000-01-01T00:00:00Z"`), window(`startTime: "3000-01-01T00:00:00Z", endTime: "3000-01-02T00:00:00Z"`), window("startTime: 5"), window("endTime: null"))
	for _, selector := range []string{"null", "{}", "[]", "{matchLabels: null}", "{matchLabels: {}}", "{matchLabels: {a: b}}", "{matchLabels: {a: null}}", "{matchLabels: {a: true}}", "{matchLabels: {a: 1}}", `{matchLabels: {a: ""}}`, `{matchLabels: {a: "b c"}}`, `{matchLabels: {"a b": c}}`, `{matchLabels: {"": c}}`, `{matchLabels: {example.com/a: c}}`, `{matchLabels: {a/b/c: c}}`, `{matchLabels: {Example.com/a: c}}`, `{matchLabels: {"` + strings.Repeat("a", 64) + `": c}}`, `{matchLabels: {a: ` + strings.Repeat("a", 64) + `}}`,
		"{matchLabels: {a: a, b: b, c: c, d: d, e: e, f: f, g: g, h: h}}", "{matchLabels: {a: a, b: b, c: c, d: d, e: e, f: f, g: g, h: h, i: i}}", "{matchExpressions: null}", "{matchExpressions: [null]}", "{matchExpressions: [{key: a, operator: Exists}]}", "{matchExpressions: [{key: a, operator: Exists, values: []}]}", "{matchExpressions: [{key: a, operator: Exists, values: [b]}]}", "{matchExpressions: [{key: a, operator: In}]}", "{matchExpressions: [{key: a, operator: In, values: []}]}", "{matchExpressions: [{key: a, operator: In, values: [b, b]}]}", "{matchExpressions: [{key: a, operator: In, values: [\"b c\"]}]}", "{matchExpressions: [{key: a, operator: in, values: [b]}]}", "{matchExpressions: [{key: a, values: [b]}]}", "{matchExpressions: [{operator: Exists}]}", "{matchExpressions: [{key: a b, operator: Exists}]}", "{matchExpressions: [{key: a, operator: In, values: [1]}]}", "{matchExpressions: [{key: a, operator: In, values: [" + strings.Repeat("b, ", 32) + "b]}]}", "{matchExpressions: [" + strings.Repeat("{key: a, operator: Exists}, ", 8) + "]}", "{matchExpressions: [" + strings.Repeat("{key: a, operator: Exists}, ", 9) + "]}", "{matchFields: []}"} {
		all = append(all, spec("nodeSelector: "+selector))
	}
	for _, fields := range []string{"upgradeTypes: []", "upgradeTypes: null", "upgradeTypes: [Patch, Minor, Reboot]", "upgradeTypes: [Patch, Patch]", "upgradeTypes: [patch]", "upgradeTypes: Patch", "upgradeTypes: [1]", "upgradeTypes: [Patch, Minor, Reboot, Patch]", "comment: null", "comment: 5", `comment: ""`, "comment: " + strings.Repeat("ä", 256), "comment: " + strings.Repeat("a", 257), "comment: {a: b}"} {
		all = append(all, exclusion(fields))
	}
	many := func(n int) string {
		var windows []string
		for i := range n {
			windows = append(windows, fmt.Sprintf(`{name: w%d, startTime: "2026-01-03T01:00:00Z", endTime: "2026-01-03T05:00:00Z"}`, i))
		}
		return strings.Join(windows, ", ")
	}
	for _, n := range []int{2, 64, 65} {
		all = append(all, spec("maintenanceWindows: ["+many(n)+"]"), spec("maintenanceExclusions: ["+many(n)+"]"))
	}
	// The API server limits what its rules may cost.
	long := strings.ReplaceAll(many(64), "}", `, recurrence: "FREQ=YEARLY;BYDAY=`+strings.Repeat("-53MO,", 38)+`-53MO"}`)
	all = append(all, spec("maintenanceWindows: ["+long+"], maintenanceExclusions: ["+long+"]"))
	all = append(all, spec("maintenanceWindows: ["+many(1)+", "+many(1)+"]"), spec("maintenanceWindows: null"), spec("maintenanceWindows: []"), spec("maintenanceWindows: [null]"), spec("maintenanceWindows: {}"), spec("maintenanceWindows: [[]]"), spec("timeZone: UTC, timeZone: UTC"),
		strings.Replace(spec(""), "{}", "null", 1), strings.Replace(spec(""), "{}", "[]", 1), strings.Replace(spec(""), "{}", "text", 1))
	for _, more := range []string{"labels: {a: b}", "labels: {a: true}", "labels: {a: null}", "labels: null", "labels: {a b: c}", "labels: {a: b c}", "labels: [a]", "annotations: {a: b c}", "annotations: {a: 1}", "annotations: {a b: c}", "annotations: {a: " + strings.Repeat("x", 263000) + "}", "finalizers: [a b]", "finalizers: [example.com/a]", "finalizers: [null]", "finalizers: a", "label: {}", "Name: a", "creationTimestamp: null", "creationTimestamp: noon", "generation: 5", "generation: a", "generation: 1.5", "namespace: a", "uid: a", "ownerReferences: [{}]", "ownerReferences: [{apiVersion: v1, kind: Pod, name: a, uid: b}]", "ownerReferences: [{apiVersion: v1, kind: Pod, name: a, uid: b, x: y}]", "managedFields: []", "generateName: a", "generateName: A_b", "deletionGracePeriodSeconds: 5", "selfLink: a"} {
		all = append(all, strings.Replace(spec(""), "{name: s}", "{name: s, "+more+"}", 1))
	}
	for _, more := range []string{"status: {}", "status: null", "status: {state: Open}", "status: {state: Wide}", "status: {stat: Open}", "status: {conditions: []}", "status: {observedGeneration: a}", "data: {}", "Spec: {}"} {
		all = append(all, spec("")+more+"\n")
	}
	return all
}

// accepts reports whether the API server would create the object, and what it says otherwise.
func accepts(t *testing.T, server rest.Interface, text string) (bool, string) {
	t.Helper()
	result := server.Post().AbsPath("/apis/"+v1alpha1.GroupVersion.String()+"/maintenanceschedules").Param("dryRun", "All").Param("fieldValidation", "Strict").
		SetHeader("Content-Type", "application/yaml").Body([]byte(text)).Do(t.Context())
	body, err := result.Raw()
	if err == nil {
		return true, ""
	}
	var status struct{ Message string }
	_ = json.Unmarshal(body, &status)
	return false, err.Error() + " " + status.Message
}

// offline returns why the plugin refuses the file.
func offline(text string) error {
	found, err := Schedules([]byte(text))
	for i := 0; i < len(found) && err == nil; i++ {
		err = found[i].Check()
	}
	return err
}

// TestServer checks that files are refused exactly if the API server refuses them.
func TestServer(t *testing.T) {
	t.Parallel()
	config := apitest.Start(t)
	apitest.InstallCRDs(t, config)
	config.QPS, config.Burst = 1000, 1000
	server := kubernetes.NewForConfigOrDie(config).RESTClient()
	refused := 0
	for _, text := range append(cases(), mutated(400, 1)...) {
		err := offline(text)
		accepted, message := accepts(t, server, text)
		if !accepted {
			refused++
		}
		if accepted != (err == nil) {
			t.Errorf("%s\noffline: %v\nthe API server: %t %s", short(strings.TrimPrefix(text, "apiVersion: kubectl-upgrade.dev/v1alpha1\nkind: MaintenanceSchedule\nmetadata: ")), err, accepted, short(message))
		}
	}
	if all := len(cases()); refused < all/3 {
		t.Errorf("%d were refused, want more than a third of %d", refused, all)
	}
}

// mutated returns schedules whose rules are made of parts by chance.
func mutated(n int, seed uint64) []string {
	random := rand.New(rand.NewPCG(seed, seed))
	var parts, seps []string
	for _, rule := range rules {
		parts = append(parts, strings.FieldsFunc(rule, func(c rune) bool { return c == ';' })...)
	}
	seps = []string{";", ";", ";", ";", ";", ";", ";", ";", ",", ";;"}
	var all []string
	for range n {
		rule := "FREQ=" + []string{"DAILY", "WEEKLY", "MONTHLY", "YEARLY"}[random.IntN(4)]
		for range random.IntN(4) {
			rule += seps[random.IntN(len(seps))] + parts[random.IntN(len(parts))]
		}
		all = append(all, window(fmt.Sprintf(`recurrence: "%s"`, rule)))
	}
	return all
}
