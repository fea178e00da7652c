// Package kubeadm runs `kubeadm upgrade` on a node, from an image that is
// staged and not merged, and brings the container images for it beforehand.
//
// The kubeadm that runs is the target version's, from the bytes that were fixed at the
// trigger. The kubelet's configuration is saved first. A second run, after one that
// succeeded, failed or was killed, has the same result.
package kubeadm
