// Package sysext merges the Kubernetes image that is active into the running
// system, without a reboot.
//
// It promises that nothing is touched where the merge would break what is
// mounted below it, that it says what is merged in the end, and that it
// succeeds only with a kubelet of that image that stays.
package sysext
