package host

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"

	systemdbus "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// Unit returns the name of the systemd unit that runs the verb.
func Unit(v verb.Verb) string { return "kubectl-upgrade-" + string(v) + ".service" }

// property returns one of StartTransientUnit's properties.
func property(name string, value any) systemdbus.Property {
	return systemdbus.Property{Name: name, Value: dbus.MakeVariant(value)}
}

// startTransient asks systemd to start a unit with these properties.
func (c *Client) startTransient(ctx context.Context, unit string, properties []systemdbus.Property) error {
	return c.call(ctx, systemd, managerInterface+".StartTransientUnit", nil, unit, "fail", properties, []systemdbus.PropertyCollection{})
}

// command is one of the a(sasb) of ExecStart= and ExecStopPost=. go-systemd has only ExecStart=, without another name for argv[0].
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
func properties(root string, v verb.Verb, o verb.Options) []systemdbus.Property {
	program := Program(root)
	props := []systemdbus.Property{
		systemdbus.PropDescription("kubectl-upgrade: host verb " + string(v)),
		systemdbus.PropType("exec"),
		property("CollectMode", "inactive-or-failed"),
		property("PrivateMounts", !o.WholeNode),
		systemdbus.PropExecStart([]string{program, "host", string(v)}, false),
		property("ExecStopPost", []command{{Path: program, Argv: []string{program, "host", "ended", string(v)}}}),
	}
	if o.RuntimeMax > 0 {
		props = append(props, property("RuntimeMaxUSec", uint64(o.RuntimeMax.Microseconds()))) //nolint:gosec // it is positive
	}
	if o.MountImage != "" {
		image := mountImage{Source: ImagePath(o.MountImage, Architecture()), Destination: ImageMount, Options: []imageOption{}}
		props = append(props, property("MountImages", []mountImage{image}))
	}
	return props
}

// direct is a verb that runs, or has run, from the program in the agent's image. A unit of
// the node cannot name that file, as it is in the container's file system, but it can execute
// it from a file descriptor. output is a file in
// memory.
type direct struct {
	request verb.Request
	output  *os.File
}

// startDirect starts a verb whose unit gets the program as its standard input, executes
// it, and writes the Result to a file in memory.
func (c *Client) startDirect(ctx context.Context, r verb.Request, o verb.Options) error {
	program, err := os.Open(c.program)
	if err != nil {
		return fmt.Errorf("opening the program for nodes: %w", err)
	}
	defer func() { _ = program.Close() }()
	output, err := newMemoryFile("result of host verb " + string(r.Verb))
	if err != nil {
		return fmt.Errorf("making room for the result of host verb %q: %w", r.Verb, err)
	}
	if err := c.startTransient(ctx, Unit(r.Verb), directProperties(r.Verb, o, program, output)); err != nil {
		_ = output.Close()
		return unreachable("starting host verb %q: %w", r.Verb, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if last := c.direct[r.Verb]; last != nil {
		_ = last.output.Close()
	}
	c.direct[r.Verb] = &direct{request: r, output: output}
	return nil
}

// lastDirect returns the result of the last direct run of a verb that is not running, and
// false if there was none.
func (c *Client) lastDirect(v verb.Verb) (*verb.Result, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.direct[v]
	if last == nil {
		return nil, false
	}
	text, err := io.ReadAll(io.NewSectionReader(last.output, 0, math.MaxInt64))
	var result verb.Result
	if err == nil {
		err = json.NewDecoder(bytes.NewReader(text)).Decode(&result)
	}
	if err != nil {
		end := "the unit could not be set up, or was killed: its journal on the node may say why"
		return noResult(&last.request, c.failures[v], "", end, last.request.RequestedAt), true
	}
	result.Key = last.request.Key
	return &result, true
}

// directProperties returns the properties of a direct verb's unit. Argv[0] is what the
// program would be called if it were installed.
func directProperties(v verb.Verb, o verb.Options, program, output *os.File) []systemdbus.Property {
	props := []systemdbus.Property{
		systemdbus.PropDescription("kubectl-upgrade: host verb " + string(v)),
		systemdbus.PropType("exec"),
		property("CollectMode", "inactive-or-failed"),
		property("StandardInputFileDescriptor", dbus.UnixFD(program.Fd())), //nolint:gosec // a descriptor is small
		property("StandardOutputFileDescriptor", dbus.UnixFD(output.Fd())), //nolint:gosec // a descriptor is small
		property("ExecStart", []command{{Path: "/proc/self/fd/0", Argv: []string{"node-agent", "host", string(v)}}}),
	}
	if o.RuntimeMax > 0 {
		props = append(props, property("RuntimeMaxUSec", uint64(o.RuntimeMax.Microseconds()))) //nolint:gosec // it is positive
	}
	return props
}

// RunDirect carries out a verb without arguments and returns the Result. It reads no
// request, and writes nothing.
func RunDirect(ctx context.Context, l Layout, v verb.Verb, failed v1alpha1.Reason, work Work, logTo io.Writer) (*verb.Result, error) {
	return run(ctx, l, verb.Request{Verb: v}, failed, work, logTo)
}
