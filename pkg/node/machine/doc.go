// Package machine moves one node through an upgrade: from the persisted State and a
// fresh Observation it computes the next State and Action.
//
// Pass 1, on control-plane nodes:
//
//	Waiting → Locking → Snapshotting → Kubeadm → Checking → Unlocking → Waiting
//
// Only the node that is to take the upgrade's snapshot of etcd enters Snapshotting.
//
// Pass 2, on every node (Kubeadm is skipped if it is done already):
//
//	Waiting → KubeadmAhead → Waiting, on a worker that goes next, then
//	Waiting → Locking → Kubeadm → Cordoning → Draining → LastCheck →
//	Activating → Rebooting → Verifying → Settling → Uncordoning → Observing →
//	Unlocking → Idle
//
// Pass 2 with method Restart, in which the node stays in service:
//
//	Waiting → Locking → Kubeadm → LastCheck →
//	Activating → Restarting → Verifying → Settling → Observing → Unlocking → Idle
//
// Method SoftReboot has the steps of a reboot: Rebooting is then the soft reboot, which the
// kernel and its boot ID survive, and systemd's count of soft reboots shows it.
//
// An upgrade of type Reboot, which the operating system requires:
//
//	Waiting → Locking → Cordoning → Draining → LastCheck →
//	Rebooting → Verifying → Settling → Uncordoning → Observing → Unlocking → Idle
//
// An upgrade of type Rollback, to a former patch, in which kubeadm does not run:
//
//	Waiting → Locking → Cordoning → Draining → LastCheck → Activating →
//	Rebooting → Verifying → Settling → Uncordoning → Observing → Unlocking → Idle
//
// Observing is skipped unless minReadySeconds is set, or something keeps pods away that did not before. Where volumesDetachedSeconds is set,
// Detaching stands between Draining and LastCheck.
//
// It promises:
//
//   - No disruptive action (kubeadm, cordon, drain, activation, restart, reboot) begins
//     without the slot, or while a rule holds it. On a worker that goes next, kubeadm may
//     begin without the slot: it disturbs no pod there.
//   - The rules are asked before each round of evictions. A rule that holds the node aborts the
//     attempt; while their answer is unknown, no pod is evicted.
//   - A node keeps slot and cordon while a verb runs on its host, even if the State does
//     not mention the verb. A slot or annotation that the State does not mention is
//     removed only after the node was verified.
//   - Up to LastCheck an attempt can abort: the node removes its own cordon and
//     annotations, frees the slot and waits. After LastCheck it finishes the attempt.
//   - What the node has is written down before it is cordoned, or its kubelet restarted. After its boot it is uncordoned
//     only when it has all of that, and its slot is freed only when nothing keeps pods away that did not before. What
//     does not come back in time fails the node; an attempt that is aborted does not wait.
//   - The cordon is removed before the slot is freed, and a node that has what its order asks for is Idle
//     before that. A cordon that is not ours stays, also if
//     another client removed ours before.
//   - If a snapshot of etcd is required, kubeadm begins only after it was taken; on a
//     control plane kubeadm begins only after its container images were pulled.
//   - Without a NodeUpgrade no attempt begins. If the NodeUpgrade names no upgrade,
//     nothing is kept of the former one.
//   - A node is uncordoned, and frees its slot, only with a kubelet that was asked just before.
//   - After a successful pass a control-plane node frees its slot only when its static
//     pods and etcd are healthy. After an aborted one it frees the slot as it is; the plan
//     releases no other node before this one has retried.
//   - One attempt reboots the node once, a soft reboot that did not do what it should aside.
//     The pause between attempts grows. Attempts that
//     fail on the node are counted; after MaxAttempts the node is Failed and keeps its
//     slot.
//   - The guard watches until the slot is freed. A node goes back into service while it watches, with its slot: one that dies
//     then is returned without another drain.
//   - A Restart neither drains nor reboots the node. If it is not possible, the node is
//     drained and rebooted; if it left nothing merged, the node reboots without a drain,
//     as no pod can be stopped any more.
//   - A SoftReboot drains the node as a reboot does. If the host cannot do it, the operating
//     system asks for a reboot, the soft reboot does not happen, or it does not merge the
//     image, the node reboots.
//   - A node that is taken back alone has the hold label before it is uncordoned.
//   - A Reboot changes no version, and reboots a node once. It also reboots a node without a
//     sysext image of Kubernetes, where nothing of systemd-sysupdate is ever touched.
//   - Each step is recognised from the observation. After a crash of the agent or a power
//     failure the node continues from the State that was written last, or an older one.
//   - The limit of a step counts from its first beginning: a node that alternates between
//     two steps does not extend it.
//
// Next is pure: no clock, no client, no logger. It does not modify its input.
package machine
