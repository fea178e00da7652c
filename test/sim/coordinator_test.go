package sim

import (
	"log/slog"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/coordinator"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
)

// coordinatorProgram is a coordinator.
type coordinatorProgram struct {
	program
	steps *coordinator.Driver
	saw   bool // its watches had delivered everything when its last plan began
}

// startCoordinator starts coordinator 0 or 1, unless it runs.
func (w *world) startCoordinator(i int) {
	if c := w.coordinators[i]; c != nil && !c.isDead {
		return
	}
	again := func() {
		w.after(time.Duration(3+w.noise(20))*time.Second, "start coordinator", func() { w.startCoordinator(i) })
	}
	if !w.apiUp() || w.now().Before(w.coordinatorStoppedUntil) {
		again()
		return
	}
	c := &coordinatorProgram{}
	c.init(w, []string{"coordinator", "second coordinator"}[i], &kube.Clock{})
	c.reachable = w.apiUp
	c.restart = func() {
		if i == 0 {
			again()
		}
	}
	var err error
	c.steps, err = coordinator.NewDriver(coordinator.Clients{
		Kube: c.clients.kube, Ours: c.clients.ours, Events: &w.recorded, Log: w.log, Access: c.clients.config, AskGate: w.answer,
		Check: func(f preflight.Facts) []v1alpha1.Finding { return w.check(c, f) },
	})
	if err != nil {
		panic(err)
	}
	caches := c.steps.Caches()
	lags := w.noise(4) == 0
	c.watch("nodes", caches.Nodes, nil, c.old("nodes", lags))
	c.watch("pods", caches.Pods, func(_ string, o *stored) bool {
		set, _ := metadata(o.tree)["labels"].(tree)
		return set["component"] == "kube-apiserver" || set["component"] == "etcd"
	}, c.old("pods", lags))
	c.watch("leases", caches.Leases, nil, c.old("leases", lags))
	c.watch("upgradepolicies", caches.Policies, nil, c.mostRecent("upgradepolicies"))
	c.watch("maintenanceschedules", caches.Schedules, nil, c.mostRecent("maintenanceschedules"))
	c.watch("clusterupgrades", caches.Upgrades, nil, c.mostRecent("clusterupgrades"))
	c.watch("nodeupgrades", caches.NodeUpgrades, nil, c.mostRecent("nodeupgrades"))
	c.watch("coordinatorstates", caches.States, nil, c.mostRecent("coordinatorstates"))
	c.watch("upgraderecords", caches.Records, nil, c.mostRecent("upgraderecords"))
	c.watch("nodeinventories", caches.Inventories, nil, c.mostRecent("nodeinventories"))
	w.coordinators[i] = c
	c.step = func() time.Duration {
		c.steps.Offer(w.source())
		c.saw = c.sees()
		next, err := c.steps.Sync(c.ctx, w.coordinatorsNow())
		switch {
		case !c.saw:
			w.decidedAt = time.Time{}
		case err == nil:
			w.decidedAt = c.ranAt
			w.checkMended(c.ranAt)
		}
		if err != nil {
			c.failures++
			return min(200*time.Millisecond<<min(c.failures, 6), 10*time.Second)
		}
		c.failures = 0
		if next == nil {
			return time.Minute
		}
		return max(50*time.Millisecond, min(next.Sub(w.coordinatorsNow()), time.Minute))
	}
	w.note("%s begins", c.name)
	c.wake(0)
}

// source is what the source of images offers.
func (w *world) source() clusterstate.Source {
	offers := []clusterstate.Offer{w.offer(w.script.To)}
	if w.script.has("take back") {
		offers = append(offers, w.offer(w.script.From))
	}
	if w.offersNext {
		offers = append(offers, w.offer(w.script.next()))
	}
	return clusterstate.Source{Offers: offers}
}

func (w *world) offer(version string) clusterstate.Offer {
	return clusterstate.Offer{Version: version, Image: v1alpha1.Image{
		Architecture: v1alpha1.Architecture(arch), URL: "https://images.example/" + version, Digest: v1alpha1.DigestOf(w.digestOf(version)),
	}}
}

// digestOf returns the digest of the image that the source has.
func (w *world) digestOf(version string) string {
	switch version {
	case w.script.next():
		return digest(3)
	case w.script.From:
		return digest(0)
	}
	return w.published
}

var discard = slog.New(slog.DiscardHandler)
