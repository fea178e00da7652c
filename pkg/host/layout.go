package host

import "path/filepath"

// Root is the folder that pod and node share, at the same path in both.
const Root = "/opt/kubectl-upgrade"

// SystemBus is the D-Bus address of the node's system bus.
const SystemBus = "unix:path=/run/dbus/system_bus_socket"

// Program is our own program on the node.
func Program(root string) string { return filepath.Join(root, "bin", "node-agent") }

// StateDir holds requests, results and records.
func StateDir(root string) string { return filepath.Join(root, "state") }

// ImagePath is where the image of a version lies on a node. The architecture
// is named as systemd does: x86-64 or arm64.
func ImagePath(version, architecture string) string {
	return filepath.Join(ImagesDir, "kubernetes-"+version+"-"+architecture+".raw")
}

// ImagesDir is where the bakery's conf has images stored.
const ImagesDir = "/opt/extensions/kubernetes"
