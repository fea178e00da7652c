// Package guard decides whether a node returns to its former Kubernetes version.
//
// A unit of the node's own systemd asks it repeatedly after an activation, from the
// first boot (or restart of the kubelet) with the new version until the agent has
// verified the node. It needs no kubelet, no API server and no network.
//
// It promises:
//
//   - The limit counts from the kubelet's first start in the boot, which may wait for the
//     network. Before the limit nothing is rolled back, unless the node boots again and again. At
//     the limit the node returns if the image is not merged, the kubelet does not answer,
//     a control plane's own static pods never ran, the node has no network, or the API
//     server answers that the node is not Ready. The problem must last: a moment at the
//     limit is no reason.
//   - Silence of the API server is never a reason, neither to return nor to end: the guard
//     stays armed until the API server answers, or the agent has verified the node.
//   - A rollback that has begun is finished, after a crash or a power cut at any moment.
//   - There is one rollback of one activation. It reboots the node once; if another program
//     undoes it, MaxReboots times at most.
//   - A symlink that points to neither version was changed by a person, and stays.
//
// Decide is pure: no clock, no client, no file. Package rollback observes and acts.
package guard
