// Package metrics computes the coordinator's metrics.
//
// It promises that they describe the whole fleet and cost no request: they are computed, at
// each scrape, from what the coordinator read and decided last. Only the leader has them; a
// standby has the metrics of its own program. Table lists all of them, and no other metric
// has the prefix kubectl_upgrade_. The number of series is bounded: two for each node, and
// one more for each node that is being upgraded, has a slot or has a silent agent.
package metrics
