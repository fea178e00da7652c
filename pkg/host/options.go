package host

import "time"

// Options are the properties of a verb's unit beside what every unit gets.
type Options struct {
	// MountImages are file system images that only this unit sees.
	MountImages []MountImage
	// Environment of the verb, as NAME=value.
	Environment []string
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
