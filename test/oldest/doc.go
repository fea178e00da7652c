// Package oldest promises that the API server of the oldest supported minor accepts the
// CRDs. It is a module of its own, as it needs that minor's own validation.
package oldest
