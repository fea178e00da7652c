// Package drain asks the pods of one node to leave.
//
// It promises:
//
//   - What is to leave is selected as `kubectl drain` does, from a fresh list in
//     each round. DaemonSet pods, mirror pods and pods that tolerate an
//     unschedulable node stay, and so do those that a rule skips.
//   - A pod that a rule waits for is not asked to leave, and counts until it has
//     ended.
//   - A pod is evicted by its UID: one that has moved, or that bears a former
//     one's name, is never touched.
//   - Pods are listed and evicted with the kubelet's identity, which may see and
//     evict those of its own node alone.
//   - While a pod is there that blocks the drain, nothing is evicted at all: the
//     node would be emptied for nothing. Such is a pod that no controller starts
//     again elsewhere, or one with an emptyDir, where the order says Block.
//   - A round never waits: it says what is left, and names what blocks.
package drain
