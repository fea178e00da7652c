// Package drain asks the pods of one node to leave.
//
// It promises:
//
//   - What is to leave is selected as `kubectl drain` does, from a fresh list in
//     each round. DaemonSet pods, mirror pods and pods that tolerate an
//     unschedulable node stay; data in emptyDir goes.
//   - A pod is evicted by its UID: one that has moved, or that bears a former
//     one's name, is never touched.
//   - Evictions are written with the kubelet's identity, which may evict the pods
//     of its own node alone.
//   - While a pod is there that nobody would start again elsewhere, nothing is
//     evicted at all, unless force says so: the node would be emptied for nothing.
//   - A round never waits: it says what is left, and names what blocks.
package drain
