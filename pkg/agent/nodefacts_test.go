package agent

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
)

const needReboot = "the operating system asks for a reboot: Flatcar's update_engine has installed an update (UPDATE_STATUS_UPDATED_NEED_REBOOT)"

func TestRebootReason(t *testing.T) {
	const file = "the file is there"
	tests := map[string]struct {
		active, merged, engine string
		file                   bool
		system                 bool
		want                   string
	}{
		"nothing":          {"v1.34.3", "v1.34.3", "UPDATE_STATUS_IDLE", false, false, ""},
		"no update_engine": {"v1.34.3", "v1.34.3", "", false, false, ""},
		"downloading":      {"v1.34.3", "v1.34.3", "UPDATE_STATUS_DOWNLOADING", false, false, ""},
		"update_engine":    {"v1.34.3", "v1.34.3", host.UpdateEngineNeedReboot, false, true, needReboot},
		"and its file":     {"v1.34.3", "v1.34.3", host.UpdateEngineNeedReboot, true, true, needReboot},
		"the file":         {"v1.34.3", "v1.34.3", "UPDATE_STATUS_IDLE", true, true, file},
		"Kubernetes":       {"v1.34.4", "v1.34.3", "", false, false, "runs v1.34.3, and the next boot brings v1.34.4"},
		"both":             {"v1.34.4", "v1.34.3", host.UpdateEngineNeedReboot, false, true, "runs v1.34.3, and the next boot brings v1.34.4; " + needReboot},
		"not known":        {"v1.34.4", "", "", false, false, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			facts := host.Facts{Active: test.active, Merged: test.merged}
			if test.file {
				facts.RebootRequired, facts.RebootReason = true, file
			}
			if got := rebootReason(facts, test.engine); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
			seen := hostOf(facts, test.engine)
			if seen.RebootRequired != test.system || (seen.RebootReason != "") != test.system || strings.Contains(seen.RebootReason, "next boot") {
				t.Errorf("the machine sees %t %q", seen.RebootRequired, seen.RebootReason)
			}
		})
	}
}

// A status that is written on each look of each of a thousand nodes is a load
// that nobody wants.
func TestFactsAreToldOnlyWhenChanged(t *testing.T) {
	start := time.Date(2026, 11, 21, 1, 2, 3, 0, time.UTC)
	facts := func(change func(*v1alpha1.NodeFacts)) v1alpha1.NodeFacts {
		f := v1alpha1.NodeFacts{
			GatheredAt: metav1.NewTime(start), CgroupVersion: 2,
			Disks: []v1alpha1.DiskFacts{{Path: "/a", FreeBytes: 1000}},
			Etcd:  &v1alpha1.EtcdFacts{DatabaseBytes: 1000, Members: []v1alpha1.EtcdMember{{Name: "a", Healthy: true}}},
		}
		if change != nil {
			change(&f)
			f.GatheredAt = metav1.NewTime(start.Add(5 * time.Minute))
		}
		return f
	}
	tests := map[string]struct {
		change func(*v1alpha1.NodeFacts)
		after  time.Duration
		tells  bool
	}{
		"nothing":             {func(*v1alpha1.NodeFacts) {}, 9 * time.Minute, false},
		"old":                 {func(*v1alpha1.NodeFacts) {}, 10 * time.Minute, true},
		"a little room":       {func(f *v1alpha1.NodeFacts) { f.Disks[0].FreeBytes = 950 }, time.Minute, false},
		"much less room":      {func(f *v1alpha1.NodeFacts) { f.Disks[0].FreeBytes = 800 }, time.Minute, true},
		"much more room":      {func(f *v1alpha1.NodeFacts) { f.Disks[0].FreeBytes = 1200 }, time.Minute, true},
		"full":                {func(f *v1alpha1.NodeFacts) { f.Disks[0].FreeBytes = 0 }, time.Minute, true},
		"another disk":        {func(f *v1alpha1.NodeFacts) { f.Disks[0].Path = "/b" }, time.Minute, true},
		"a disk more":         {func(f *v1alpha1.NodeFacts) { f.Disks = append(f.Disks, v1alpha1.DiskFacts{Path: "/b"}) }, time.Minute, true},
		"no disk":             {func(f *v1alpha1.NodeFacts) { f.Disks = nil }, time.Minute, true},
		"etcd grows a little": {func(f *v1alpha1.NodeFacts) { f.Etcd.DatabaseBytes = 1050 }, time.Minute, false},
		"etcd grows":          {func(f *v1alpha1.NodeFacts) { f.Etcd.DatabaseBytes = 2000 }, time.Minute, true},
		"etcd breaks":         {func(f *v1alpha1.NodeFacts) { f.Etcd.Members[0].Healthy = false }, time.Minute, true},
		"etcd is gone":        {func(f *v1alpha1.NodeFacts) { f.Etcd = nil }, time.Minute, true},
		"update_engine":       {func(f *v1alpha1.NodeFacts) { f.UpdateEngine = host.UpdateEngineNeedReboot }, time.Minute, true},
		"a mount":             {func(f *v1alpha1.NodeFacts) { f.RefreshBlockers = []string{"/usr/a"} }, time.Minute, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			told, found := facts(nil), facts(test.change)
			got := toTell(&told, found, start.Add(test.after))
			if tells := got.GatheredAt != told.GatheredAt; tells != test.tells {
				t.Errorf("tells %t, want %t", tells, test.tells)
			}
		})
	}
	found := facts(nil)
	if got := toTell(nil, found, start); got == nil || got.CgroupVersion != 2 {
		t.Errorf("the first facts are not told: %+v", got)
	}
}

func TestStatusHasFacts(t *testing.T) {
	c := newCluster(t, "agent-facts")
	c.kubelet()
	c.host.facts.Node = v1alpha1.NodeFacts{
		CgroupVersion: 2, RefreshBlockers: []string{"/usr/a"}, Problems: []string{"a file is broken"},
		Disks: []v1alpha1.DiskFacts{{Path: "/etc/kubernetes", FreeBytes: 1 << 30}},
	}
	c.host.says("UPDATE_STATUS_IDLE", nil)
	c.order(v1alpha1.ReleaseNone)
	c.run()
	status := c.await("it tells its facts", func(s v1alpha1.NodeUpgradeStatus) bool { return s.Facts != nil })
	if f := status.Facts; f.GatheredAt.IsZero() || f.CgroupVersion != 2 || f.UpdateEngine != "UPDATE_STATUS_IDLE" || !slices.Equal(f.RefreshBlockers, []string{"/usr/a"}) || len(f.Disks) != 1 {
		t.Errorf("%+v", f)
	}
	if status.RebootRequired {
		t.Errorf("a reboot is required: %s", status.RebootReason)
	}

	c.host.says(host.UpdateEngineNeedReboot, nil)
	status = c.await("update_engine's signal is heard", func(s v1alpha1.NodeUpgradeStatus) bool { return s.RebootRequired })
	if status.RebootReason != needReboot || status.Facts.UpdateEngine != host.UpdateEngineNeedReboot {
		t.Errorf("%q %+v", status.RebootReason, status.Facts)
	}

	c.host.says("", errors.New("update_engine hangs"))
	status = c.await("what it said last stands", func(s v1alpha1.NodeUpgradeStatus) bool { return len(s.Facts.Problems) == 2 })
	if !status.RebootRequired || !slices.Contains(status.Facts.Problems, "update_engine hangs") {
		t.Errorf("%+v", status)
	}

	c.host.says("", nil)
	status = c.await("it is masked", func(s v1alpha1.NodeUpgradeStatus) bool { return !s.RebootRequired })
	if status.Facts.UpdateEngine != "" || len(status.Facts.Problems) != 1 {
		t.Errorf("%+v", status.Facts)
	}
}

// says is update_engine's answer from now on, and its signal.
func (h *fakeHost) says(status string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.engine = func() (string, error) { return status, err }
	h.tell(host.Change{UpdateEngine: true})
}
