// Package metricsserver serves a program's metrics to clients that may read them.
//
// It promises what controller-runtime promises for its own metrics: they are served over TLS, and
// a client needs a bearer token that the API server accepts (TokenReview), of a user who may get
// the path (SubjectAccessReview on the non-resource URL). Answers are kept for a minute. A client
// that opens many connections, or sends many tokens that are not accepted, keeps no other client
// from reading: connections are limited for each client and in all, and so are the reviews of
// tokens that were not accepted before; those that were have a budget of their own. Without a
// certificate in files the server makes one for itself. If the address cannot be bound, it tries
// again.
package metricsserver
