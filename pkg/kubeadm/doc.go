// Package kubeadm runs `kubeadm upgrade` on a node, from an image that is
// staged and not merged, and brings the container images for it beforehand.
//
// The promise: the kubeadm that runs is the target version's, from the bytes
// fixed at the trigger. What the kubelet was configured with before is saved
// first. Running it again, after it succeeded, failed or was killed, ends in
// the same place.
package kubeadm
