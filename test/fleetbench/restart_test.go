//go:build fleet

package fleetbench

import (
	"slices"
	"time"
)

const (
	// away is how long the API server is away: long enough for each agent to notice.
	away = 15 * time.Second
	// quiet is how long no agent sends a request when all is quiet.
	quiet = 30 * time.Second
)

// measureRestart restarts the API server, so that all agents connect again at once.
func (c *cluster) measureRestart(r *result) {
	open := total(c.watches())
	c.audit.count(c.T)
	began, err := c.server.Restart(c.Context(), away)
	c.must(err)
	c.programs["kube-apiserver"].pid.Store(int32(c.server.Processes()[1].PID()))
	c.stats() // forgets the probes that failed while it was away
	r.Restart = restart{Away: away, Ready: time.Since(began), Requests: counts{}}
	last, perSecond := time.Now(), map[int64]int{}
	c.await(time.Hour, "all is quiet after the restart", func() bool {
		c.audit.read(c.T, func(e auditEvent) {
			if isAgent(e.client()) {
				if e.At.After(last) {
					last = e.At
				}
				perSecond[e.At.Unix()]++
			}
			r.Restart.Requests.add(e)
		})
		if r.Restart.Watching == 0 && total(c.watches()) >= open {
			r.Restart.Watching = time.Since(began)
		}
		return r.Restart.Watching > 0 && time.Since(last) > quiet
	})
	r.Restart.Quiet = last.Sub(began)
	for _, n := range perSecond {
		r.Restart.Busiest = max(r.Restart.Busiest, n)
	}
	probes := c.stats().Probes
	r.Restart.Answered, r.Restart.Failed, r.Restart.Median, r.Restart.Slowest = probes.Answered, probes.Failed, probes.Median, probes.Slowest
	r.Restart.Levels = c.levels()
	c.Logf("restart: %+v", r.Restart)
}

func total(byKind map[string]float64) (sum float64) {
	for _, n := range byKind {
		sum += n
	}
	return sum
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}
