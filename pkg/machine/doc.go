// Package machine is one node's way through an upgrade: given what was persisted
// and what is seen now, it says what comes next.
//
// Pass 1, on control-plane nodes:
//
//	Waiting → Locking → Snapshotting → Kubeadm → Checking → Unlocking → Waiting
//
// Snapshotting is for the node that is asked for it, once in an upgrade.
//
// Pass 2, on every node (Kubeadm is left out where it is done already):
//
//	Waiting → Locking → Kubeadm → Cordoning → Draining → LastCheck →
//	Activating → Rebooting → Verifying → Settling → Uncordoning → Observing →
//	Unlocking → Idle
//
// The same with method Restart, by which the node stays in service:
//
//	Waiting → Locking → Kubeadm → LastCheck →
//	Activating → Restarting → Verifying → Settling → Observing → Unlocking → Idle
//
// A Reboot, which the operating system asks for:
//
//	Waiting → Locking → Cordoning → Draining → LastCheck →
//	Rebooting → Verifying → Settling → Uncordoning → Observing → Unlocking → Idle
//
// Observing is for a node that has to stay Ready for a while.
//
// It promises:
//
//   - Nothing that disturbs (kubeadm, cordon, drain, flip, restart, reboot) begins
//     without the slot, or with the gate closed.
//   - While pods leave the gate is asked before each round: where it closes, the node
//     gives up; where it cannot be asked, no pod is asked to leave.
//   - What runs on the host keeps slot and cordon until it has ended, though the
//     State does not speak of it. A slot or a mark that it does not speak of is given
//     back by a node that was verified.
//   - Up to LastCheck a node gives up cleanly, by Aborting: uncordon our own
//     cordon, clear the mark, free the slot, wait. Behind it a node finishes
//     what it began.
//   - The cordon goes before the slot. A cordon that is not ours stays.
//   - Where a snapshot of etcd is asked for, kubeadm begins only when there is one;
//     on a control plane only when its container images have been pulled.
//   - Without a NodeUpgrade nothing is begun; with one that asks for nothing, nothing
//     is kept of the upgrade before.
//   - A control plane that went on frees its slot only when its static pods and
//     etcd are well again. One that gave up frees it as it is; the plan lets no
//     other node go before it has tried again.
//   - One attempt reboots the node once. Attempts wait longer each time; those
//     that something on the node ended are counted, and end in Failed, which keeps
//     its slot.
//   - A restart drains nothing and reboots nothing. Where it cannot be done the
//     node is drained and rebooted; where it left nothing merged the node reboots
//     as it is, as no pod can be stopped there any more.
//   - A Reboot changes no version, and succeeds on a node once.
//   - Each step is recognised by what is seen. An agent that died, or a node that
//     lost power, anywhere, goes on from there with the State that was written
//     last, or with an older one.
//   - A limit counts from when a step began first: a node that goes to and fro between
//     two steps does not get it anew.
//
// Next is pure: no clock, no client, no logger. Its input is left as it was.
package machine
