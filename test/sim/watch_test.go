package sim

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
)

// watch adds a view to the program, filled with what is there at index of the log.
func (p *program) watch(resource string, store cache.Store, selects func(name string, o *stored) bool, index int) *view {
	v := &view{api: p.w.api, resource: resource, store: store, selects: selects}
	v.list(index)
	p.views = append(p.views, v)
	if v.behind() {
		p.deliverLater(v, 5*time.Second)
	}
	return v
}

// mostRecent returns where in the log a first list is that informers ask for: it shows what is stored now. If
// they asked for another, it might be old.
func (p *program) mostRecent(resource string) int {
	options := metav1.ListOptions{ResourceVersion: "0"}
	kube.MostRecent(&options)
	return p.old(resource, options.ResourceVersion == "0" && p.w.noise(4) == 0)
}

// old returns where in the log a first list is that an API server which lags may answer.
func (p *program) old(resource string, lags bool) int {
	log := p.w.api.log[resource]
	index := len(log)
	if lags {
		since := p.w.now().Add(-time.Duration(p.w.noise(60))*time.Second - p.w.script.Lag)
		for index > 0 && log[index-1].at.After(since) && log[index-1].at.After(p.w.started) {
			index--
		}
	}
	return index
}

// beforeLastWrite is mostRecent for the agent's own NodeUpgrade if the last write of the agent before it is
// still on its way: it arrives between the list and the first reconcile.
func (a *agentProgram) beforeLastWrite() int {
	log := a.w.api.log["nodeupgrades"]
	for i := len(log) - 1; i > 0; i-- {
		if log[i].name != a.node.name {
			continue
		}
		if log[i].by == a.name && a.w.now().Sub(log[i].at) < time.Minute {
			return i
		}
		break
	}
	return len(log)
}

// deliverLater delivers a view's events after a while.
func (p *program) deliverLater(v *view, d time.Duration) {
	p.w.after(d, "deliver", func() {
		switch {
		case p.isDead || !v.behind():
		case p.w.now().Before(v.stalledUntil):
			p.deliverLater(v, v.stalledUntil.Sub(p.w.now()))
		case !p.reachable():
			p.deliverLater(v, 2*time.Second)
		case v.deliver():
			p.wake(time.Duration(10+p.w.noise(100)) * time.Millisecond)
		}
	})
}

// changed schedules the delivery of a change to all programs.
func (w *world) changed(k key) {
	for _, p := range w.programs() {
		for _, v := range p.views {
			if v.resource == k.Resource && v.next == len(w.api.log[k.Resource])-1 {
				p.deliverLater(v, time.Duration(20+w.noise(200))*time.Millisecond)
			}
		}
	}
}

func isSlot(_ string, o *stored) bool {
	set, _ := metadata(o.tree)["labels"].(tree)
	return set[v1alpha1.SlotLabel] == "true"
}
