// Package drain evicts the pods of one node.
//
// It promises:
//
//   - Each round lists the pods again, and selects those to evict as `kubectl drain`
//     does. DaemonSet pods, mirror pods and pods that tolerate an unschedulable node
//     stay, as do those that a drain rule skips.
//   - A pod that a drain rule waits for is not evicted, and counts as left until it
//     has ended.
//   - A pod is evicted by its UID: a new pod of the same name is never evicted in its
//     place.
//   - Pods are listed and evicted with the kubelet's identity, which may do so on its
//     own node only.
//   - While a pod blocks the drain, no pod is evicted: the node would be emptied for
//     nothing. An unmanaged pod or one with an emptyDir blocks if the settings say Block.
//   - A message about a pod that a PodDisruptionBudget protects says what would unblock the
//     drain, if that can be read.
//   - A round never waits: it reports which pods are left, and which of them block. Once those that
//     it evicted have gone, Drained looks whether others have come.
//
// Package machine decides when to run another round, when to delete the pods instead, and
// when to abort.
package drain
