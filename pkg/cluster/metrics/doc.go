// Package metrics computes the coordinator's metrics.
//
// It promises that they describe the whole fleet and cost no request: they are computed, at
// each scrape, from what the coordinator read and decided last. Only the leader has them; a
// standby has the metrics of its own program. Table lists all of them, and no other metric
// has the prefix kubectl_upgrade_. The number of series is bounded: two for each node, and
// one more for each node that is being upgraded, has a slot or has a silent agent.
//
// It serves them over TLS to clients that may read them, and promises what controller-runtime
// promises for its own metrics: a client needs a bearer token that the API server accepts
// (TokenReview), of a user who may get the path (SubjectAccessReview on the non-resource URL).
// Answers are kept for a minute. A client that opens many connections, or sends many tokens that
// are not accepted, keeps no other client from reading: connections are limited for each client
// and in all, and so are the reviews of tokens that were not accepted before; those that were
// have a budget of their own. Without a certificate in files the server makes one for itself. If
// the address cannot be bound, it tries again.
package metrics
