package sim

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

func (w *world) period(name string, from, to time.Duration) tree {
	at := func(d time.Duration) string { return w.started.Add(d).UTC().Format(time.RFC3339) }
	return tree{"name": name, "startTime": at(from), "endTime": at(to)}
}

func (w *world) openWindow(name string, from, to time.Duration) {
	if from == 0 {
		from = -24 * time.Hour // so that it is open for a clock that is behind, too
	}
	w.createSchedule(name, tree{"maintenanceWindows": []any{w.period(name, from, to)}})
}

func (w *world) createSchedule(name string, spec tree) {
	spec["timeZone"] = "UTC"
	k := key{Resource: "maintenanceschedules", Name: name}
	w.api.remove("admin", k)
	w.api.put("admin", k, tree{"apiVersion": v1alpha1.GroupVersion.String(), "kind": "MaintenanceSchedule", "spec": spec})
}

func (w *world) createUpgrade() {
	version := w.script.To
	if w.script.Reboot {
		version = ""
	}
	spec := w.upgradeSpec(version)
	if w.script.Always {
		spec["rebootPolicy"] = string(v1alpha1.RebootAlways)
	}
	w.request("upgrade", spec)
}

// upgradeSpec returns the spec of an upgrade to that version; of a Reboot without one.
func (w *world) upgradeSpec(version string) tree {
	spec := tree{"strategy": w.strategy(version)}
	if version == "" {
		spec["type"] = "Reboot"
	} else {
		spec["version"] = version
	}
	if w.approved != nil {
		spec["approved"] = w.approved
	}
	return spec
}

func (w *world) strategy(version string) tree {
	s := w.script
	strategy := tree{
		"maxUnavailable": float64(w.budgets[len(w.budgets)-1].of), "maxFailures": float64(s.MaxFailures),
		"settleSeconds": float64(s.Settle), "minReadySeconds": float64(s.MinReady), "guardSeconds": float64(s.Guard),
		"drain": tree{"timeoutSeconds": float64(s.Drain)}, "etcdSnapshotPolicy": "Skip",
	}
	if s.Snapshot {
		strategy["etcdSnapshotPolicy"] = "Required"
	}
	switch {
	case version == "":
	case s.Restart:
		strategy["method"] = "Restart"
	case s.SoftReboot:
		strategy["method"] = "SoftReboot"
	}
	if s.Groups {
		group := tree{"name": "a", "nodeSelector": tree{"matchLabels": tree{"pool": "a"}}}
		if s.GroupLimit > 0 {
			group["maxUnavailable"] = float64(s.GroupLimit)
		}
		if s.Approvals {
			group["approval"] = "Required"
		}
		if s.Gates {
			group["gates"] = []any{databaseGate}
		}
		strategy["groups"] = []any{group}
	}
	if s.Approvals {
		strategy["approval"] = "Required"
	}
	return strategy
}

// request creates a ClusterUpgrade, unless there is one of that name.
func (w *world) request(name string, spec tree) {
	k := key{Resource: "clusterupgrades", Name: name}
	if w.api.objects[k] == nil {
		w.api.put("admin", k, tree{"apiVersion": v1alpha1.GroupVersion.String(), "kind": "ClusterUpgrade", "spec": spec})
	}
}
