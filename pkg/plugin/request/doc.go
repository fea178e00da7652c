// Package request says what a person's request means: the version that it asks for,
// the upgrade that is the same request already, the object to create, what the plan
// would be if it existed, and why it is refused.
//
// It promises values in, values out: a request and a fleet.Snapshot in, an object or
// an error out. An error is one line that says what to do. Package cli reads the
// cluster, asks here, and writes the object.
package request
