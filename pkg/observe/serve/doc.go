// Package serve serves metrics over TLS to clients that may read them.
//
// It promises what controller-runtime promises for its own: a client needs a bearer token
// that the API server accepts (TokenReview), of a user who may get the path
// (SubjectAccessReview on the non-resource URL). Answers are kept for a minute, and unknown
// tokens cannot use up the requests of the coordinator, because reviews have a small budget
// of their own. Without a certificate in files the server makes one for itself. That no
// address can be bound ends nothing: it is tried again.
package serve
