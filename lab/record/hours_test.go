package record

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var midnight = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)

// at is when a moment was heard of, in seconds after midnight.
func at(second int, m Moment) Moment {
	m.Revision, m.Seen = int64(second), midnight.Add(time.Duration(second)*time.Second)
	return m
}

// w1At is w1's agent telling which step it is at.
func w1At(step string) Moment {
	return Moment{Resource: "nodeupgrades", Object: &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "w1"}, "status": map[string]any{"step": step},
	}}}
}

// schedule is one with windows, or exclusions, given as pairs of seconds.
func schedule(name, kind string, pairs ...int) Moment {
	var periods []any
	for i := 0; i < len(pairs); i += 2 {
		periods = append(periods, map[string]any{
			"name":      "p" + string(rune('0'+i)),
			"startTime": midnight.Add(time.Duration(pairs[i]) * time.Second).Format(time.RFC3339),
			"endTime":   midnight.Add(time.Duration(pairs[i+1]) * time.Second).Format(time.RFC3339),
		})
	}
	return Moment{Resource: "maintenanceschedules", Object: &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": name}, "spec": map[string]any{kind: periods},
	}}}
}

func gone(m Moment) Moment { m.Deleted = true; return m }

// patches is an order for a patch.
func patches(node string) Moment {
	return Moment{Resource: "nodeupgrades", Object: &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": node}, "spec": map[string]any{"type": "Patch"},
	}}}
}

// only returns a schedule whose first exclusion is for these types.
func only(m Moment, types ...any) Moment {
	m.Object = m.Object.DeepCopy()
	exclusion := m.Object.Object["spec"].(map[string]any)["maintenanceExclusions"].([]any)[0].(map[string]any)
	exclusion["upgradeTypes"] = types
	return m
}

func daily(m Moment) Moment {
	windows := m.Object.Object["spec"].(map[string]any)["maintenanceWindows"].([]any)
	windows[0].(map[string]any)["recurrence"] = "FREQ=DAILY"
	return m
}

const (
	windows    = "maintenanceWindows"
	exclusions = "maintenanceExclusions"
)

func TestOutOfHours(t *testing.T) {
	up := []Moment{
		at(1, node(0, "w1", "", "True", "a")), at(2, w1At("Waiting")), at(3, schedule("lab", windows, 0, 60, 90, 600)),
	}
	cordon, uncordon := node(0, "w1", "ours", "True", "a"), node(0, "w1", "", "True", "a")
	frozen, rebooted := schedule("freeze", exclusions, 20, 3600), node(0, "w1", "ours", "True", "b")
	for name, test := range map[string]struct {
		then   []Moment
		struck []string
		want   string // part of what is reported; "" for nothing
	}{
		"a whole pass in a window":               {then: []Moment{at(10, w1At("Kubeadm")), at(11, cordon), at(20, w1At("Activating")), at(30, rebooted)}},
		"a reboot after the end, checked before": {then: []Moment{at(10, cordon), at(58, w1At("Activating")), at(70, rebooted)}},
		"a reboot that nothing checked":          {then: []Moment{at(10, cordon), at(30, rebooted)}, want: "w1 was rebooted without having passed its last check"},
		"a check that was for another reboot":    {then: []Moment{at(10, w1At("Activating")), at(30, rebooted), at(40, node(0, "w1", "", "True", "c"))}, want: "revision 40"},
		"somebody cut the power":                 {then: []Moment{at(30, node(0, "w1", "", "True", "b"))}, struck: []string{"w1"}},
		"a cordon after the end":                 {then: []Moment{at(63, cordon)}, want: "cordon of w1 began at 00:01:03: no window is open"},
		"the news of it came after the end":      {then: []Moment{at(61, cordon)}},
		"kubeadm between two windows":            {then: []Moment{at(70, w1At("Kubeadm"))}, want: "kubeadm of w1"},
		"a last check between two windows":       {then: []Moment{at(10, cordon), at(70, w1At("Activating"))}, want: "flip of w1"},
		"the next window":                        {then: []Moment{at(90, cordon), at(95, w1At("Activating"))}},
		"a cordon in a freeze":                   {then: []Moment{at(20, frozen), at(25, cordon)}, want: "exclusion freeze/p0 holds"},
		"a cordon in a freeze of its type":       {then: []Moment{at(19, patches("w1")), at(20, only(frozen, "Reboot", "Patch")), at(25, cordon)}, want: "exclusion freeze/p0 holds"},
		"a cordon in a freeze of another type":   {then: []Moment{at(19, patches("w1")), at(20, only(frozen, "Reboot", "Minor")), at(25, cordon)}},
		"a cordon in a freeze, of unknown type":  {then: []Moment{at(20, only(frozen, "Reboot", "Minor")), at(25, cordon)}, want: "exclusion freeze/p0 holds"},
		"a cordon as the freeze came":            {then: []Moment{at(20, frozen), at(21, cordon)}},
		"a cordon after the freeze was lifted":   {then: []Moment{at(20, frozen), at(25, gone(frozen)), at(26, cordon)}},
		"giving up in a freeze":                  {then: []Moment{at(10, cordon), at(20, frozen), at(25, w1At("Aborting")), at(26, uncordon), at(27, w1At("Waiting"))}},
		"a window that was taken away":           {then: []Moment{at(10, gone(schedule("lab", windows))), at(20, cordon)}, want: "no window is open"},
		"a daily window":                         {then: []Moment{at(70, daily(schedule("nights", windows, -86400+60, -86400+120))), at(80, cordon)}},
		"a daily window, at another hour":        {then: []Moment{at(70, daily(schedule("nights", windows, -86400+60, -86400+75))), at(80, cordon)}, want: "no window is open"},
	} {
		t.Run(name, func(t *testing.T) {
			broken, err := OutOfHours(append(up[:3:3], test.then...), test.struck...)
			if err != nil {
				t.Fatal(err)
			}
			got := joined(broken)
			if (test.want == "") != (got == "") || !strings.Contains(got, test.want) {
				t.Errorf("reported %q, want %q", got, test.want)
			}
		})
	}
}

// TestOutOfHoursAdmitsWhatItCannotRead: a schedule that it does not understand
// must not pass for an open window.
func TestOutOfHoursAdmitsWhatItCannotRead(t *testing.T) {
	strange := schedule("lab", windows, 0, 60)
	strange.Object.Object["spec"].(map[string]any)[windows].([]any)[0].(map[string]any)["recurrence"] = "FREQ=WEEKLY"
	moments := []Moment{at(1, node(0, "w1", "", "True", "a")), at(2, strange), at(10, node(0, "w1", "ours", "True", "a"))}
	if broken, err := OutOfHours(moments); err == nil {
		t.Errorf("no error, and %q", broken)
	}
}
