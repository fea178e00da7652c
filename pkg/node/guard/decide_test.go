package guard

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

const silent = "the node itself is healthy, and the API server has not said that it is Ready"

var activation = Activation{From: "v1.34.3", To: "v1.34.4", Limit: 3 * time.Minute, ByReboot: true}

// booted is a healthy node a second before the limit, whose kubelet started with the guard.
func booted(change func(*Observation)) Observation {
	o := Observation{Elapsed: activation.Limit - time.Second, Watched: activation.Limit - time.Second, Steady: activation.Limit - time.Second, KubeletStarted: 1, Answers: activation.Limit, Boots: 1, Rebooted: true, Active: "v1.34.4", Merged: "v1.34.4"}
	change(&o)
	return o
}

func TestDecide(t *testing.T) {
	atLimit := func(change func(*Observation)) Observation {
		return booted(func(o *Observation) {
			o.Elapsed = activation.Limit + 1
			change(o)
		})
	}
	tests := map[string]struct {
		o       Observation
		restart bool
		verdict Verdict
		why     string
	}{
		"healthy before the limit":          {booted(func(*Observation) {}), false, Watch, ""},
		"unhealthy before the limit":        {booted(func(o *Observation) { o.Health.Kubelet = "refused" }), false, Watch, "refused"},
		"healthy":                           {atLimit(func(*Observation) {}), false, Disarm, "v1.34.4 is healthy"},
		"the kubelet does not answer":       {atLimit(func(o *Observation) { o.Health.Kubelet = "refused" }), false, Return, "refused"},
		"no static pods":                    {atLimit(func(o *Observation) { o.Health.StaticPods = "etcd" }), false, Return, "etcd"},
		"no network":                        {atLimit(func(o *Observation) { o.Health.Network, o.Health.Kubelet = "no route", "refused" }), false, Return, "no route"},
		"the API server answers: not Ready": {atLimit(func(o *Observation) { o.Health.API = "NotReady" }), false, Return, "NotReady"},
		"the image was not merged":          {booted(func(o *Observation) { o.Merged, o.Elapsed = "", 1 }), false, Merge, "the image of v1.34.4 was not merged"},
		"another image was merged":          {booted(func(o *Observation) { o.Merged, o.Elapsed = "v1.33.1", 1 }), false, Merge, "v1.33.1 is merged, and not v1.34.4"},
		"systemd still merges":              {booted(func(o *Observation) { o.Merged, o.Merging = "", true }), false, Watch, "the image of v1.34.4 was not merged"},
		"systemd merges for ever":           {atLimit(func(o *Observation) { o.Merged, o.Merging = "", true }), false, Return, "the image of v1.34.4 was not merged"},
		"one more merge did not help": {booted(func(o *Observation) {
			o.Merged, o.Tried = "", Tried{Merge: true, MergeFailure: "no medium", At: time.Minute}
		}), false, Watch, "the image of v1.34.4 was not merged, after one more merge: no medium"},
		"one more merge did not help until the limit": {atLimit(func(o *Observation) {
			o.Merged, o.Tried = "", Tried{Merge: true, MergeFailure: "no medium", At: time.Minute}
		}), false, Return, "the image of v1.34.4 was not merged, after one more merge: no medium"},
		"one more merge helped, and the kubelet has its time": {atLimit(func(o *Observation) {
			o.Health.Kubelet, o.Tried = "refused", Tried{Merge: true, At: time.Minute}
		}), false, Watch, "refused, after one more merge"},
		"one more merge helped, and the kubelet had its time": {atLimit(func(o *Observation) {
			o.Elapsed, o.Health.Kubelet, o.Tried = activation.Limit+time.Minute, "refused", Tried{Merge: true, At: time.Minute}
		}), false, Return, "refused, after one more merge"},
		"one more merge helped": {atLimit(func(o *Observation) { o.Tried.Merge = true }), false, Disarm, "v1.34.4 is healthy, after one more merge"},
		"systemd gave up on the kubelet": {booted(func(o *Observation) {
			o.Elapsed, o.Health.Kubelet, o.GaveUp = 1, "refused", "start-limit-hit"
		}), false, Start, "refused, and systemd does not start it any more (start-limit-hit)"},
		"systemd gave up on the kubelet again": {atLimit(func(o *Observation) {
			o.Health.Kubelet, o.GaveUp, o.Tried.Kubelet = "refused", "exit-code", "start-limit-hit"
		}), false, Return, "refused, after one more start of kubelet.service, which systemd had given up on (start-limit-hit)"},
		"the started kubelet has its time": {atLimit(func(o *Observation) {
			o.Elapsed, o.Health.Kubelet, o.Tried = 24*time.Hour, "refused", Tried{Kubelet: "exit-code", At: 24*time.Hour - activation.Limit + 1}
		}), false, Watch, "refused, after one more start of kubelet.service, which systemd had given up on (exit-code)"},
		"containerd has failed": {atLimit(func(o *Observation) {
			o.Health.Kubelet, o.Runtime = "refused", "containerd.service has failed (signal)"
		}), false, Return, "refused; containerd.service has failed (signal)"},
		"the API server is silent":                                      {atLimit(func(o *Observation) { o.Answers = 0 }), false, Watch, silent},
		"the API server is silent for a day":                            {atLimit(func(o *Observation) { o.Elapsed, o.Watched, o.Answers = 24*time.Hour, 24*time.Hour, 0 }), false, Watch, silent},
		"the API server is silent, and the kubelet is gone":             {atLimit(func(o *Observation) { o.Answers, o.Health.Kubelet = 0, "refused" }), false, Return, "refused"},
		"the API server is silent, and the kubelet answers for moments": {atLimit(func(o *Observation) { o.Answers, o.Steady, o.Elapsed = 0, time.Second, time.Hour }), false, Watch, silent},
		"the API server answers again: Ready":                           {atLimit(func(o *Observation) { o.Elapsed, o.Answers, o.Steady = time.Hour, Steady, Steady }), false, Disarm, "v1.34.4 is healthy"},
		"the API server answers again: Ready after a minute": {atLimit(func(o *Observation) {
			o.Elapsed, o.Watched, o.Answers, o.Steady = time.Hour, time.Hour, time.Minute, time.Second
		}), false, Watch, "healthy, but not for long enough yet"},
		"the API server answers again: not Ready yet": {atLimit(func(o *Observation) {
			o.Elapsed, o.Watched, o.Answers, o.Steady, o.Health.API = time.Hour, time.Hour, time.Minute, time.Minute, "NotReady"
		}), false, Watch, "NotReady, and has not answered for long"},
		"the API server answers again: not Ready": {atLimit(func(o *Observation) {
			o.Elapsed, o.Watched, o.Answers, o.Steady, o.Health.API = time.Hour, time.Hour, AnswersFor, AnswersFor, "NotReady"
		}), false, Return, "NotReady"},
		"the kubelet started late": {atLimit(func(o *Observation) { o.KubeletStarted, o.Health.Kubelet = 2*time.Minute, "refused" }), false, Watch, "refused"},
		"the kubelet started late, and had its time": {atLimit(func(o *Observation) {
			o.Elapsed, o.KubeletStarted, o.Health.Kubelet = activation.Limit+2*time.Minute, 2*time.Minute, "refused"
		}), false, Return, "refused"},
		"the kubelet does not start": {atLimit(func(o *Observation) {
			o.Elapsed, o.KubeletStarted, o.Health.Kubelet = activation.Limit+KubeletWithin-time.Second, 0, "refused"
		}), false, Watch, "refused"},
		"the kubelet did not start": {atLimit(func(o *Observation) {
			o.Elapsed, o.KubeletStarted, o.Health.Kubelet = activation.Limit+KubeletWithin, 0, "refused"
		}), false, Return, "refused"},
		"the kubelet started far too late": {atLimit(func(o *Observation) {
			o.Elapsed, o.KubeletStarted, o.Health.Kubelet = activation.Limit+KubeletWithin, time.Hour, "refused"
		}), false, Return, "refused"},
		"no image, so no kubelet starts": {atLimit(func(o *Observation) { o.Merged, o.KubeletStarted, o.Tried.Merge = "", 0, true }), false, Return, "the image of v1.34.4 was not merged, after one more merge"},
		"healthy for a moment":           {atLimit(func(o *Observation) { o.Steady = time.Second }), false, Watch, "healthy, but not for long enough yet"},
		"unhealthy for a moment":         {atLimit(func(o *Observation) { o.Steady, o.Health.API = time.Second, "NotReady" }), false, Watch, "NotReady"},
		"the guard was killed, and begins after the limit": {atLimit(func(o *Observation) {
			o.Elapsed, o.Watched, o.Steady, o.Health.API = 9*time.Minute, time.Second, time.Second, "NotReady"
		}), false, Watch, "NotReady"},
		"it boots again and again": {booted(func(o *Observation) { o.Boots, o.Elapsed, o.Health.Kubelet = 4, time.Second, "refused" }), false, Return, "the node has booted 4 times: refused"},
		"healthy for moments only": {atLimit(func(o *Observation) {
			o.Elapsed += Grace
			o.Steady = time.Second
		}), false, Return, "the node was not healthy for 20s without interruption"},
		"the former image is gone":                 {atLimit(func(o *Observation) { o.Health.Kubelet, o.FormerGone = "refused", true }), false, Stay, "refused; the image of v1.34.3 is gone, so the node cannot return to it"},
		"power cut before the flip":                {atLimit(func(o *Observation) { o.Active, o.Merged = "v1.34.3", "v1.34.3" }), false, Disarm, "the symlink does not point to v1.34.4 any more"},
		"a person changed the symlink":             {atLimit(func(o *Observation) { o.Active = "v1.34.5" }), false, Disarm, "the symlink does not point to v1.34.4 any more"},
		"the symlink is gone":                      {atLimit(func(o *Observation) { o.Active, o.Elsewhere = "", true }), false, Disarm, "the symlink does not point to v1.34.4 any more"},
		"the symlink cannot be read":               {atLimit(func(o *Observation) { o.Active, o.Health.Kubelet = "", "refused" }), false, Return, "refused"},
		"another program undoes it":                {booted(func(o *Observation) { o.Returning, o.RebootedSince, o.Reboots = true, true, MaxReboots }), false, Restore, "3 reboots have not merged v1.34.3"},
		"run by hand before the reboot":            {atLimit(func(o *Observation) { o.Rebooted, o.Merged = false, "v1.34.3" }), false, Leave, "the node has not rebooted since the activation"},
		"the refresh has not happened":             {booted(func(o *Observation) { o.Rebooted, o.Merged = false, "v1.34.3" }), true, Watch, "v1.34.3 is merged, and not v1.34.4"},
		"the refresh left nothing merged":          {atLimit(func(o *Observation) { o.Rebooted, o.Merged = false, "" }), true, Return, "the image of v1.34.4 was not merged"},
		"killed before it changed anything":        {booted(func(o *Observation) { o.Returning = true }), false, Return, "the rollback that began is continued"},
		"the former image went in the middle":      {booted(func(o *Observation) { o.Returning, o.FormerGone = true, true }), false, Stay, "the rollback began; the image of v1.34.3 is gone, so the node cannot return to it"},
		"killed before its reboot":                 {booted(func(o *Observation) { o.Returning, o.Active = true, "v1.34.3" }), false, Return, "the rollback that began is continued"},
		"killed before its reboot, nothing merged": {booted(func(o *Observation) { o.Returning, o.Active, o.Merged = true, "v1.34.3", "" }), false, Return, "the rollback that began is continued"},
		"power cut before the symlink":             {booted(func(o *Observation) { o.Returning, o.RebootedSince = true, true }), false, Return, "the rollback that began is continued"},
		"back": {booted(func(o *Observation) {
			o.Returning, o.RebootedSince, o.Active, o.Merged = true, true, "v1.34.3", "v1.34.3"
		}), false, Restore, "the symlink points to v1.34.3 again"},
		"back, and not even that is merged": {booted(func(o *Observation) { o.Returning, o.RebootedSince, o.Active, o.Merged = true, true, "v1.34.3", "" }), false, Return, "the rollback that began is continued"},
		"back, not even that is merged, nor by one more merge": {booted(func(o *Observation) {
			o.Returning, o.RebootedSince, o.Active, o.Merged, o.Tried.FormerFailure = true, true, "v1.34.3", "", "no medium"
		}), false, Stay, "the image of v1.34.3 cannot be merged either (no medium), so a reboot would not help"},
		"the former image is not merged either": {booted(func(o *Observation) {
			o.Returning, o.Active, o.Merged, o.Tried.FormerFailure = true, "v1.34.3", "", "no medium"
		}), false, Stay, "the image of v1.34.3 cannot be merged either (no medium), so a reboot would not help"},
		"back by one more merge":                                   {booted(func(o *Observation) { o.Returning, o.Active, o.Merged = true, "v1.34.3", "v1.34.3" }), false, Restore, "the symlink points to v1.34.3 again"},
		"activated again by another program after it was returned": {atLimit(func(o *Observation) { o.Returned, o.Health.Kubelet = true, "refused" }), false, Disarm, "the node was returned to v1.34.3 already"},
		"back without a reboot, and without network": {booted(func(o *Observation) {
			o.Returning, o.Rebooted, o.Active, o.Merged, o.Health.Network = true, false, "v1.34.3", "v1.34.3", "no route"
		}), true, Return, "the rollback that began is continued"},
		"back without a reboot": {booted(func(o *Observation) { o.Returning, o.Rebooted, o.Active, o.Merged = true, false, "v1.34.3", "v1.34.3" }), true, Restore, "the symlink points to v1.34.3 again"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			a := activation
			a.ByReboot = !test.restart
			if verdict, why := Decide(a, test.o); verdict != test.verdict || why != test.why {
				t.Errorf("%s: %s; want %s: %s", verdict, why, test.verdict, test.why)
			}
		})
	}
}

// The limit is the only thing that a rollback begins at, and silence is no reason, neither to
// return nor to end.
func TestDecidePromises(t *testing.T) {
	text := func(t *rapid.T, name string) string { return rapid.SampledFrom([]string{"", name}).Draw(t, name) }
	version := rapid.SampledFrom([]string{"", "v1.34.3", "v1.34.4", "v1.34.5"})
	rapid.Check(t, func(t *rapid.T) {
		a := activation
		a.ByReboot = rapid.Bool().Draw(t, "by reboot")
		o := Observation{
			Elapsed:        time.Duration(rapid.IntRange(0, 400).Draw(t, "elapsed")) * time.Second,
			Watched:        time.Duration(rapid.IntRange(0, 400).Draw(t, "watched")) * time.Second,
			Steady:         time.Duration(rapid.IntRange(0, 400).Draw(t, "steady")) * time.Second,
			Answers:        time.Duration(rapid.IntRange(0, 400).Draw(t, "answers")) * time.Second,
			KubeletStarted: time.Duration(rapid.IntRange(0, 400).Draw(t, "the kubelet started")) * time.Second,
			Boots:          rapid.IntRange(0, 5).Draw(t, "boots"), Reboots: rapid.IntRange(0, 4).Draw(t, "reboots"), Elsewhere: rapid.Bool().Draw(t, "elsewhere"),
			Rebooted: rapid.Bool().Draw(t, "rebooted"), Returning: rapid.Bool().Draw(t, "returning"),
			RebootedSince: rapid.Bool().Draw(t, "since"), FormerGone: rapid.Bool().Draw(t, "gone"),
			Active: version.Draw(t, "active"), Merged: version.Draw(t, "merged"),
			Health:   Health{text(t, "kubelet"), text(t, "pods"), text(t, "network"), text(t, "api")},
			Returned: rapid.Bool().Draw(t, "returned"), Merging: rapid.Bool().Draw(t, "merging"), GaveUp: text(t, "exit-code"),
			Tried: Tried{
				Merge: rapid.Bool().Draw(t, "merged again"), Kubelet: text(t, "start-limit-hit"), FormerFailure: text(t, "no medium"),
				At: time.Duration(rapid.IntRange(0, 400).Draw(t, "tried")) * time.Second,
			},
		}
		verdict, why := Decide(a, o)
		began := verdict == Return && !o.Returning
		switch {
		case began && o.Elapsed < a.Limit && (o.Boots <= MaxBoots || o.Tried.At > 0):
			t.Errorf("a rollback began before the limit: %s", why)
		case began && (o.Active != a.To && o.Active != "" || o.Elsewhere || o.FormerGone):
			t.Errorf("a rollback began although %+v", o)
		case began && o.Merged == a.To && o.Health == Health{} && o.Steady >= Steady:
			t.Errorf("a healthy node was rolled back: %s", why)
		case o.Returned && verdict != Disarm:
			t.Errorf("a node that was returned was touched again: %s %s", verdict, why)
		case began && o.Rebooted && o.Merged != a.To && !o.Tried.Merge && !o.Merging:
			t.Errorf("a rollback began before one more merge: %s", why)
		case began && o.Merged == a.To && o.Health.Kubelet != "" && o.GaveUp != "" && o.Tried.Kubelet == "":
			t.Errorf("a rollback began before one more start of the kubelet: %s", why)
		case began && o.Merged == a.To && o.Tried.At > 0 && o.Elapsed < a.Limit+o.Tried.At:
			t.Errorf("what was tried had not had its time: %s", why)
		case verdict == Merge && (o.Tried.Merge || o.Merging || o.Merged == a.To || o.Returning), verdict == Start && (o.Tried.Kubelet != "" || o.Returning):
			t.Errorf("%s although %+v", verdict, o)
		case o.Returning && o.Merged == "" && o.Tried.FormerFailure != "" && verdict != Stay && !o.Returned:
			t.Errorf("%s though no image of Kubernetes can be merged: %s", verdict, why)
		case !o.Returned && o.Returning && (verdict == Watch || verdict == Disarm || verdict == Leave):
			t.Errorf("a rollback that had begun was left: %s %s", verdict, why)
		case began && o.Steady < Steady && o.Watched < Grace && o.Boots <= MaxBoots:
			t.Errorf("a rollback began for a moment's problem: %s", why)
		case began && o.Boots <= MaxBoots && o.Merged == a.To && o.Health.Kubelet == "" && o.Health.StaticPods == "" && o.Health.Network == "" && o.Answers < answersFor(a):
			t.Errorf("a rollback began for an API server that has answered for %s: %s", o.Answers, why)
		case began && o.Boots <= MaxBoots && o.Merged == a.To && o.Elapsed < a.Limit+min(o.KubeletStarted, KubeletWithin):
			t.Errorf("the kubelet had not had its time: %s", why)
		case verdict == Disarm && !o.Returned && o.Active == a.To && !o.Elsewhere && o.Answers < Steady:
			t.Errorf("the guard ended though nobody had said that the node is Ready: %s", why)
		case verdict == Restore && (!o.Returning || o.Active != a.From && o.Reboots < MaxReboots):
			t.Errorf("finished although %+v", o)
		}
	})
}
