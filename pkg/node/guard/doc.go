// Package guard is the guard of a node: after an activation it observes the node, decides
// whether the node returns to its former Kubernetes version, and returns it.
//
// It runs as a unit of the node's own systemd, from the first boot (or restart of the kubelet)
// with the new version until the agent has verified the node. systemd starts it again however it
// ends early. It needs no kubelet, no API server and no network.
//
// It promises:
//
//   - The limit counts from the kubelet's first start in the boot, which may wait for the
//     network. Before the limit nothing is rolled back, unless the node boots again and again. At
//     the limit the node returns if the image is not merged, the kubelet does not answer,
//     a control plane's own static pods never ran, the node has no network, or the API
//     server answers that the node is not Ready. The problem must last: a moment at the
//     limit is no reason.
//   - Before that it tries, each once in an activation: one more merge, as soon as systemd has
//     ended its own and the image is not merged; one more start of a kubelet that systemd has
//     given up on. The limit then counts from there. What was tried is recorded before it begins.
//   - It asks the API server only from when its answers change what the guard does, every AskEvery,
//     and anew before it acts on one.
//   - Silence of the API server is never a reason, neither to return nor to end: the guard
//     stays armed until the API server answers, or the agent has verified the node.
//   - A rollback that has begun is finished, after a crash or a power cut at any moment.
//   - There is one rollback of one activation. It reboots the node once; if another program
//     undoes it, or the power is cut, MaxReboots times at most. A node that was returned is not
//     returned again, also if another program activates the image.
//   - It does not reboot where that would not help. Where a boot has merged nothing, the former
//     image is merged without a reboot. If that fails, too, the next boot would merge nothing
//     either: the former link stays selected, the cause is recorded, and the guard ends.
//   - A cause that is the node's own is recorded as that: another image keeps systemd-sysext from
//     merging any, containerd has failed, or there is no network with the former version either.
//     It says nothing about the version.
//   - What it finds where no agent runs is written on the Node, as its kubelet, and repeated until
//     it is: an annotation, which counts for that node alone. No rollback waits for it.
//   - A symlink that points to neither version was changed by a person, and stays.
//
// Decide is pure: no clock, no client, no file. Run observes and acts:
//
//   - Each change of a rollback can be repeated: killed or cut off from power at any
//     moment, the next run ends where an undisturbed one would have.
//   - The record is written before anything is changed, and what cannot be written for
//     want of disk space is written to space that the activation reserved.
//   - Times come from a clock that counts since boot. A wall clock that is set changes
//     nothing.
//   - Two guards never act at once.
package guard
