// Package renewal renews the certificates that kubeadm has issued on a control-plane node, and sees to it that
// the programs that use them have the new ones. It promises that a renewal that fails, is killed, or meets a power
// cut leaves the files that were there before, each with its key, and that their copy, which has private keys, is
// gone when the renewal has ended.
//
// It waits for what programs load by themselves, and restarts through the container runtime what they do not: a
// static pod's container is stopped, and the kubelet starts it again, with the same manifest.
package renewal
