// Package sysupdate stages and activates Kubernetes images on a node.
//
// The promise: nothing becomes the next boot's whose bytes are not those that
// were fixed at the trigger, and staging changes neither what runs nor what
// the next boot merges. Flatcar's own timer may fire whenever it likes: the
// node's conf lets it neither activate an image nor delete one that we need.
package sysupdate
