// Package cover decides which changes of Cluster API's objects come with a change of the Kubernetes
// version, so that a node that is upgraded in place needs nothing else.
//
// It compares the current and the desired objects of a request of Cluster API as JSON. What it covers
// is answered with JSON patches that make the current objects the desired ones, as Cluster API
// demands; anything else is named field by field. It is pure: values in, values out.
package cover
