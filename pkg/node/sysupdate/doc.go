// Package sysupdate stages and activates Kubernetes images on a node.
//
// An image is activated only if its bytes are those that were fixed at the trigger.
// Staging changes neither what runs nor what the next boot merges. Flatcar's own
// timer may run at any time: the node's conf allows it neither to activate an image
// nor to delete one that is needed.
package sysupdate
