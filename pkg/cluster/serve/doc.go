// Package serve serves metrics over TLS to clients that may read them.
//
// It promises what controller-runtime promises for its own: a client needs a bearer token
// that the API server accepts (TokenReview), of a user who may get the path
// (SubjectAccessReview on the non-resource URL). Answers are kept for a minute. A client that
// opens many connections, or sends many tokens that are not accepted, keeps no other client
// from reading: connections are limited for each client and in all, and so are the reviews of
// tokens that were not accepted before; those that were have a budget of their own. Without a
// certificate in files the server makes one for itself. That no address can be bound ends
// nothing: it is tried again.
package serve
