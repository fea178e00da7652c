package host

import (
	"github.com/godbus/dbus/v5"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// Unit returns the name of the systemd unit that runs the verb.
func Unit(v verb.Verb) string { return "kubectl-upgrade-" + string(v) + ".service" }

// property is one of StartTransientUnit's a(sv).
type property struct {
	Name  string
	Value dbus.Variant
}

// auxUnit is one of StartTransientUnit's a(sa(sv)). systemd does not use them yet:
// the list has to be empty.
type auxUnit struct {
	Name       string
	Properties []property
}

// command is one of the a(sasb) of ExecStart= and ExecStopPost=.
type command struct {
	Path          string
	Argv          []string
	IgnoreFailure bool
}

// mountImage is one of the a(ssba(ss)) of MountImages=. Options are the mount options of
// each partition.
type mountImage struct {
	Source, Destination string
	IgnoreMissing       bool
	Options             []imageOption
}

type imageOption struct{ Partition, Options string }

// properties returns the properties of a verb's unit. With Type=exec RuntimeMaxUSec
// counts from the start. CollectMode unloads the unit when it has ended, so that its
// name is free again. PrivateMounts unmounts what the verb mounted. ExecStopPost
// runs with the same mounts: if these fail, it cannot run either, and Client.Last
// reports the failure.
func properties(root string, v verb.Verb, o verb.Options) []property {
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
	if o.MountImage != "" {
		image := mountImage{Source: ImagePath(o.MountImage, Architecture()), Destination: ImageMount, Options: []imageOption{}}
		props = append(props, property{"MountImages", dbus.MakeVariant([]mountImage{image})})
	}
	return props
}
