package machine

import (
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// TestRebootLimitsCountFromRequest checks that a reboot, soft or not, has RebootWithin from each of
// its two requests, however long the host or the API server did not answer before.
func TestRebootLimitsCountFromRequest(t *testing.T) {
	since := time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC)
	at := func(d time.Duration) time.Time { return since.Add(d) }
	for name, test := range map[string]struct {
		now, tried, asked time.Duration // after since; 0: never
		refused           string
		gone              bool // the activated image is not on the disk any more
		want              Do
		fails             bool
	}{
		"the API server did not answer for 11 minutes":    {now: 11 * time.Minute, want: DoSoftReboot},
		"requested a second ago, after 5 minutes":         {now: 5 * time.Minute, tried: 299 * time.Second, asked: 299 * time.Second},
		"requested 5 minutes ago":                         {now: 6 * time.Minute, tried: time.Minute, asked: time.Minute, want: DoReboot},
		"requested, then the host was unread for an hour": {now: time.Hour, tried: time.Minute, asked: time.Minute, want: DoReboot},
		"requested again a moment ago, after an hour":     {now: time.Hour, tried: time.Minute, asked: 59 * time.Minute},
		"requested again 5 minutes ago":                   {now: time.Hour, tried: time.Minute, asked: 55 * time.Minute, fails: true},
		"refused for 10 minutes":                          {now: 11 * time.Minute, tried: time.Minute, refused: "held by apt", fails: true},
		"requested 5 minutes ago, and the image is gone":  {now: 6 * time.Minute, tried: time.Minute, asked: time.Minute, gone: true, fails: true},
		"requested while the clock was a day ahead":       {now: time.Minute, tried: 24 * time.Hour, asked: 24 * time.Hour, want: DoSoftReboot},
	} {
		s, o := atLastCheck(since)
		s.Step, s.Method, s.RebootedFrom = v1alpha1.StepRebooting, v1alpha1.MethodSoftReboot, "boot-0"
		o.Spec.Type, o.Spec.Version, o.Spec.Method = v1alpha1.TypePatch, newVersion, v1alpha1.MethodSoftReboot
		o.Host.RebootRequired, o.Host.Active = false, newVersion
		if test.gone {
			o.Host.Active = verb.NoKubernetes
		}
		o.Now, o.RebootProblem = at(test.now), test.refused
		if test.tried != 0 {
			o.RebootTriedAt = at(test.tried)
		}
		if test.asked != 0 {
			o.RebootAskedAt = at(test.asked)
		}
		next, action := Next(s, o)
		if failed := next.Step == v1alpha1.StepFailed; failed != test.fails || action.Do != test.want {
			t.Errorf("%s: got step %s (%s) and action %q, want %q, failed %t", name, next.Step, next.Message, action.Do, test.want, test.fails)
		}
	}
}

// TestSlowShutdown checks that a node which shuts down for longer than RebootWithin is waited for, also while the host
// cannot be read: it gets no second request, keeps its method, and says what it waits for.
func TestSlowShutdown(t *testing.T) {
	since := time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		asked    bool
		unread   bool
		stopping bool
		want     Do
		fails    bool
	}{
		"it stops":                           {asked: true, stopping: true},
		"it stops, and cannot be read":       {asked: true, stopping: true, unread: true},
		"it stops for another's request":     {stopping: true},
		"it goes on running":                 {asked: true, fails: true},
		"it goes on running, without an own": {want: DoReboot},
	} {
		s, o := atLastCheck(since)
		s.Step, s.Method, s.RebootedFrom = v1alpha1.StepRebooting, v1alpha1.MethodReboot, "boot-0"
		o.Spec.Type, o.Spec.Version, o.Spec.Method = v1alpha1.TypePatch, newVersion, v1alpha1.MethodReboot
		o.Host.Active, o.Now = newVersion, since.Add(time.Hour)
		if test.asked {
			o.RebootTriedAt, o.RebootAskedAt = since, since.Add(10*time.Minute)
		}
		if test.stopping {
			o.StoppingSince = since.Add(10 * time.Minute)
		}
		if test.unread {
			o.Host, o.HostProblem = nil, "systemd starts no unit"
		}
		next, action := Next(s, o)
		if failed := next.Step == v1alpha1.StepFailed; failed != test.fails || action.Do != test.want {
			t.Errorf("%s: got step %s (%s) and action %q, want %q, failed %t", name, next.Step, next.Message, action.Do, test.want, test.fails)
		}
		const says = "the node is shutting down since 2026-11-21 01:10 UTC"
		if test.stopping != (next.Message == says) || test.stopping && (next.Step != v1alpha1.StepRebooting || next.Method != v1alpha1.MethodReboot) {
			t.Errorf("%s: step %s, method %s, message %q", name, next.Step, next.Method, next.Message)
		}
	}
	s, o := atLastCheck(since)
	s.Step, o.StoppingSince, o.Now = v1alpha1.StepRebooting, since, since.Add(ShutdownWithin-time.Second)
	if next, action := Next(s, o); next.Message != "" || !action.Wake.Equal(since.Add(ShutdownWithin)) {
		t.Errorf("a usual shutdown: message %q, wake %s", next.Message, action.Wake)
	}
	s, o = atLastCheck(since)
	s.Step, o.StoppingSince = v1alpha1.StepVerifying, since
	if next, _ := Next(s, o); next.Message == "the node is shutting down since 2026-11-21 01:00 UTC" {
		t.Error("a step that waits for no reboot ends in one")
	}
}

// TestBusGoesBeforeTheNode checks that a node which was asked to reboot is not said to be unreachable when its system bus
// stops before its agent does; but it is if nothing was requested, or the host stays away for longer than a reboot takes.
func TestBusGoesBeforeTheNode(t *testing.T) {
	since := time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		asked, now time.Duration
		want       v1alpha1.Reason
	}{
		"just now":                  {time.Second, 3 * time.Second, ""},
		"for as long as it may":     {time.Second, RebootWithin, ""},
		"for longer":                {time.Second, time.Second + RebootWithin, v1alpha1.ReasonHostUnreachable},
		"nothing was requested yet": {-time.Minute, 3 * time.Second, v1alpha1.ReasonHostUnreachable},
	} {
		s, o := atLastCheck(since)
		s.Step, s.Since, s.RebootedFrom, s.Method = v1alpha1.StepRebooting, since, "boot-0", v1alpha1.MethodReboot
		s.Reason, s.Message = v1alpha1.ReasonHostUnreachable, "before"
		o.RebootTriedAt, o.RebootAskedAt, o.Now = since.Add(test.asked), since.Add(test.asked), since.Add(test.now)
		o.Host, o.HostProblem = nil, "asking systemd about kubectl-upgrade-uninstall.service: dbus: connection closed by user"
		next, action := Next(s, o)
		if next.Step != v1alpha1.StepRebooting || next.Reason != test.want || action.Do != DoNothing {
			t.Errorf("%s: got %s (%s: %s) and %s, want %q", name, next.Step, next.Reason, next.Message, action.Do, test.want)
		}
		if until := since.Add(test.asked + RebootWithin); test.want == "" && !action.Wake.Equal(until) {
			t.Errorf("%s: looks again at %s, want %s", name, action.Wake, until)
		}
	}
}
