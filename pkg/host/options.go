package host

import "time"

// Options are the properties of a verb's unit beside what every unit gets.
type Options struct {
	// MountImages are file system images that only this unit sees.
	MountImages []MountImage
	// WholeNode has the verb run in the node's own mount namespace: what it
	// mounts is for the whole node.
	WholeNode bool
	// RuntimeMax ends a verb that hangs. Zero: no limit.
	RuntimeMax time.Duration
}

// MountImage mounts an image file, read-only, for one unit.
type MountImage struct {
	// Source is the image's path on the node.
	Source string
	// Destination is where the unit finds it; systemd makes the folder.
	Destination string
}
