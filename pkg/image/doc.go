// Package image implements the names and the index of Kubernetes images, as Flatcar's
// sysext-bakery publishes them. It is pure.
package image
