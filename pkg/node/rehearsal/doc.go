// Package rehearsal tries the next boot of a node before the node boots: it merges the system extensions that the boot
// will find, looks at what came of it, and lets the kubelet of the image read the node's configuration.
//
// It promises:
//
//   - The node stays as it is. The merge is made in a mount namespace of its own in which the node's file systems are
//     read-only (host.RunTrial). Its mounts and loop devices end with it, also if it is killed at any moment.
//   - No program of an image runs there. Programs of images run by host.RunConfined alone.
//   - Only what fails with the next boot's image and not with what runs now is blamed on the version. What fails with both
//     would break any boot of the node. An end that is not one of the known refusals is no problem: that part could not be
//     tried, and holds nothing.
//   - A hierarchy that is merged in a mutable mode is left out, and so are confexts: a merge would change the running
//     overlay's work folder, from which a mount namespace does not protect.
//
// Try runs on the node, and runs Merge in the trial's unit. Judge is pure: it compares what the two trials saw.
package rehearsal
