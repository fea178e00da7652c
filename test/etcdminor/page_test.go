//go:build etcdminor

package etcdminor

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// results are what the page shows.
type results struct {
	to build
	at time.Time

	mutex sync.Mutex
	rolls map[string]roll
	cases map[string][]string
}

func (r *results) add(from build, made roll, cases ...string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.rolls[from.version], r.cases[from.version] = made, cases
}

func (r *results) page(from []build) string {
	var page strings.Builder
	fmt.Fprintf(&page, `# A minor of etcd, member by member

<!-- Written by the tests: make etcd-minor. -->

Three members with TLS and the flags that kubeadm writes, replaced one after the other on their data by %s, on %s, while %d clients wrote, each by transactions on its last revision, with a watch, a lease that is kept and leases that are not. With each mix of versions a member was killed, away for a while, and came back: an old one to a new leader, and a new one to an old leader. Runs were beside each other on two cores.

| from | for | writes acknowledged, lost | without an answer | events of the watch, missing | longest time without a write | leases that ended, at most late by | snapshots to members that were away | same hash on all members | longest replacement |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
`, r.to.version, r.at.Format(time.DateOnly), writers)
	for _, b := range from {
		one := r.rolls[b.version]
		l := one.load
		fmt.Fprintf(&page, "| %s | %.1f min | %d, 0 | %d | %d, 0 | %.1f s | %d, %.1f s | %d | %d times | %.1f s |\n", b.version, one.wrote.Minutes(), l.acked, l.unclear, l.events,
			l.longest.Seconds(), l.expired, l.latest.Seconds(), one.snapshots, one.compared+1, one.returned.Seconds())
	}
	fmt.Fprintf(&page, "\nIn the end the version of the cluster and of each member's storage was %s.0, no member had ended by itself or logged an error but those below, and a downgrade was valid. The former version refused the data. A lease begins again with each new leader.\n", r.to.minor())
	for _, b := range from {
		fmt.Fprintf(&page, "\n## From %s\n\n", b.version)
		for _, text := range r.cases[b.version] {
			fmt.Fprintf(&page, "- %s.\n", text)
		}
		for _, text := range r.rolls[b.version].errors {
			fmt.Fprintf(&page, "- logged: `%s`\n", text)
		}
	}
	return page.String()
}
