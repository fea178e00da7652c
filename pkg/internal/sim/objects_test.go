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
	w.createSchedule(name, tree{"maintenanceWindows": []any{w.period(name, from, to)}})
}

func (w *world) createSchedule(name string, spec tree) {
	spec["timeZone"] = "UTC"
	k := key{Resource: "maintenanceschedules", Name: name}
	w.api.remove("admin", k)
	w.api.put("admin", k, tree{"apiVersion": v1alpha1.GroupVersion.String(), "kind": "MaintenanceSchedule", "spec": spec})
}

func (w *world) createUpgrade() {
	s := w.script
	strategy := tree{
		"maxUnavailable": float64(s.Budget), "maxFailures": float64(s.MaxFailures),
		"settleSeconds": float64(s.Settle), "minReadySeconds": float64(s.MinReady), "guardSeconds": float64(s.Guard),
		"drain": tree{"timeoutSeconds": float64(s.Drain)}, "etcdSnapshot": "Skip",
	}
	if s.Snapshot {
		strategy["etcdSnapshot"] = "Required"
	}
	if s.Restart {
		strategy["method"] = "Restart"
	}
	if s.SoftReboot {
		strategy["method"] = "SoftReboot"
	}
	if s.Groups {
		strategy["groups"] = []any{tree{"name": "a", "nodeSelector": tree{"matchLabels": tree{"pool": "a"}}}}
	}
	spec := tree{"version": s.To, "strategy": strategy}
	if s.Reboot {
		delete(spec, "version")
		spec["type"] = "Reboot"
	}
	k := key{Resource: "clusterupgrades", Name: "upgrade"}
	if w.api.objects[k] == nil {
		w.api.put("admin", k, tree{"apiVersion": v1alpha1.GroupVersion.String(), "kind": "ClusterUpgrade", "spec": spec})
	}
}
