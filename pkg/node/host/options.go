package host

import "time"

// Options are the properties in which the units of verbs differ.
type Options struct {
	// Direct runs the verb from the program of the agent itself and keeps its result in
	// the agent's memory, so that nothing is written on the node. Such a verb has no
	// arguments.
	Direct bool
	// MountImages are file system images that are mounted for this unit only.
	MountImages []MountImage
	// WholeNode runs the verb in the node's own mount namespace, so that what it
	// mounts is mounted for the whole node.
	WholeNode bool
	// RuntimeMax is the time after which systemd ends the verb. Zero means no limit.
	RuntimeMax time.Duration
}

// MountImage mounts an image file, read-only, for one unit.
type MountImage struct {
	// Source is the image's path on the node.
	Source string
	// Destination is where the image is mounted; systemd makes the folder.
	Destination string
}
