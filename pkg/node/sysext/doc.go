// Package sysext merges the active Kubernetes image into the running system, without a
// reboot.
//
// It changes nothing if the merge would break mounts below it, always reports what is
// merged in the end, and succeeds only if the kubelet of that image keeps running.
package sysext
