package sim

import (
	"time"

	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// watch adds a view to the program, filled with what is there at index of the log.
func (p *program) watch(resource string, store cache.Store, selects func(name string, o *stored) bool, stale bool) *view {
	v := &view{api: p.w.api, resource: resource, store: store, selects: selects}
	log := p.w.api.log[resource]
	index := len(log)
	if stale { // an apiserver that lags answers the first list
		since := p.w.now().Add(-time.Duration(p.w.noise(60)) * time.Second)
		for index > 0 && log[index-1].at.After(since) && log[index-1].at.After(p.w.started) {
			index--
		}
	}
	v.list(index)
	p.views = append(p.views, v)
	if v.behind() {
		p.deliverLater(v, 5*time.Second)
	}
	return v
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
