package host

import (
	"github.com/godbus/dbus/v5"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
)

// Unit returns the name of the systemd unit that runs the verb.
func Unit(v verb.Verb) string { return "kubectl-upgrade-" + string(v) + ".service" }

// property is one of StartTransientUnit's a(sv).
type property struct {
	Name  string
	Value dbus.Variant
}

// auxUnit is one of StartTransientUnit's a(sa(sv)), which systemd keeps for
// later and wants empty.
type auxUnit struct {
	Name       string
	Properties []property
}

// command is one of the a(sasb) of Exec…=: path, argv, ignore failure.
type command struct {
	Path          string
	Argv          []string
	IgnoreFailure bool
}

// image is one of the a(ssba(ss)) of MountImages=: source, destination, ignore
// when missing, mount options for each partition.
type image struct {
	Source, Destination string
	IgnoreMissing       bool
	Options             []imageOption
}

type imageOption struct{ Partition, Options string }

// properties of a verb's unit. Type=exec has RuntimeMaxUSec count from the
// start; CollectMode has systemd forget the unit when it ends, so that its
// name is free again; PrivateMounts has what a verb mounts vanish with it.
// ExecStopPost sees the same mounts: where they fail, Client.Last has to tell.
func properties(root string, v verb.Verb, o Options) []property {
	program := Program(root)
	props := []property{
		{"Description", dbus.MakeVariant("kubectl-upgrade: host verb " + string(v))},
		{"Type", dbus.MakeVariant("exec")},
		{"CollectMode", dbus.MakeVariant("inactive-or-failed")},
		{"PrivateMounts", dbus.MakeVariant(!o.WholeNode)},
		{"ExecStart", dbus.MakeVariant([]command{{Path: program, Argv: []string{program, "host", string(v)}}})},
		{"ExecStopPost", dbus.MakeVariant([]command{{Path: program, Argv: []string{program, "host", "ended", string(v)}}})},
	}
	if o.RuntimeMax > 0 {
		props = append(props, property{"RuntimeMaxUSec", dbus.MakeVariant(uint64(o.RuntimeMax.Microseconds()))}) //nolint:gosec // it is positive
	}
	if len(o.MountImages) > 0 {
		images := make([]image, 0, len(o.MountImages))
		for _, m := range o.MountImages {
			images = append(images, image{Source: m.Source, Destination: m.Destination, Options: []imageOption{}})
		}
		props = append(props, property{"MountImages", dbus.MakeVariant(images)})
	}
	return props
}
