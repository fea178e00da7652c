package sim

import (
	"encoding/json"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// view fills one cache of a program from the log of the API server, as a watch does.
type view struct {
	api      *api
	resource string
	selects  func(name string, o *stored) bool // nil: all
	store    cache.Store
	next     int // in the log
	// stalledUntil is when a watch that delivers nothing is over.
	stalledUntil time.Time
	// missing are objects whose events are lost until the next list.
	missing    map[string]bool
	missedFrom int // where in the log that began
}

// list fills the view from the log up to index.
func (v *view) list(index int) {
	current := map[string]*stored{}
	for _, c := range v.api.log[v.resource][:index] {
		current[c.name] = c.object
	}
	var objects []any
	for name, o := range current {
		if o != nil && (v.selects == nil || v.selects(name, o)) {
			objects = append(objects, o.object(v.resource))
		}
	}
	_ = v.store.Replace(objects, "")
	v.next, v.missing = index, nil
}

// behind reports whether the log has entries that the view has not.
func (v *view) behind() bool { return v.next < len(v.api.log[v.resource]) }

// told returns an object as the API server has told it last.
func (v *view) told(name string) *stored {
	until := v.next
	if v.missing[name] {
		until = v.missedFrom
	}
	for i := until - 1; i >= 0; i-- {
		if c := v.api.log[v.resource][i]; c.name == name {
			return c.object
		}
	}
	return nil
}

// deliver delivers all events, and reports whether one was for this view.
func (v *view) deliver() (changed bool) {
	last := map[string]*stored{} // only the newest version of each object is decoded
	log := v.api.log[v.resource]
	for ; v.next < len(log); v.next++ {
		if c := log[v.next]; !v.missing[c.name] {
			last[c.name] = c.object
		}
	}
	for name, object := range last {
		if object != nil && (v.selects == nil || v.selects(name, object)) {
			_ = v.store.Update(object.object(v.resource))
			changed = true
			continue
		}
		for _, known := range v.store.List() {
			if nameOf(known) == name {
				_ = v.store.Delete(known)
				changed = true
			}
		}
	}
	return changed
}

func nameOf(object any) string {
	named, ok := object.(interface{ GetName() string })
	if !ok {
		return ""
	}
	return named.GetName()
}

// object returns the typed object. It is decoded once, and must not be
// changed.
func (s *stored) object(resource string) runtime.Object {
	if s.typed == nil {
		s.typed = newObject(resource)
		if s.typed == nil {
			panic("no such resource: " + resource)
		}
		if err := json.Unmarshal(s.bytes(), s.typed); err != nil {
			panic(err)
		}
	}
	return s.typed
}

func newObject(resource string) runtime.Object {
	switch resource {
	case "nodes":
		return &corev1.Node{}
	case "pods":
		return &corev1.Pod{}
	case "leases":
		return &coordinationv1.Lease{}
	case "nodeupgrades":
		return &v1alpha1.NodeUpgrade{}
	case "nodeinventories":
		return &v1alpha1.NodeInventory{}
	case "clusterupgrades":
		return &v1alpha1.ClusterUpgrade{}
	case "maintenanceschedules":
		return &v1alpha1.MaintenanceSchedule{}
	case "upgradepolicies":
		return &v1alpha1.UpgradePolicy{}
	case "coordinatorstates":
		return &v1alpha1.CoordinatorState{}
	case "upgraderecords":
		return &v1alpha1.UpgradeRecord{}
	}
	return nil
}

// get returns an object as it is stored now, or nil.
func get[T runtime.Object](a *api, k key) (object T) {
	if found := a.objects[k]; found != nil {
		object, _ = found.object(k.Resource).(T)
	}
	return object
}
