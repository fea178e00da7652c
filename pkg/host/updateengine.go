package host

import (
	"context"

	"github.com/godbus/dbus/v5"
)

// UpdateEngineNeedReboot is update_engine's status when it has installed an
// update of the operating system that the next boot starts.
const UpdateEngineNeedReboot = "UPDATE_STATUS_UPDATED_NEED_REBOOT"

const updateEngineInterface = "com.coreos.update1.Manager"

// UpdateEngine asks Flatcar's update_engine for its status, such as
// UPDATE_STATUS_IDLE or UpdateEngineNeedReboot. It is empty where update_engine
// does not run: it is masked, or this is no Flatcar. Asking does not start it.
func (c *Client) UpdateEngine(ctx context.Context) (status string, err error) {
	bus, err := c.connected(ctx)
	if err != nil {
		return "", err
	}
	call := bus.Object(updateEngine.name, updateEngine.path).
		CallWithContext(ctx, updateEngineInterface+".GetStatus", dbus.FlagNoAutoStart)
	if isDBusError(call.Err, "org.freedesktop.DBus.Error.NameHasNoOwner") || isDBusError(call.Err, "org.freedesktop.DBus.Error.ServiceUnknown") {
		return "", nil
	}
	var (
		checkedAt, size int64
		progress        float64
		version         string
	)
	if err := call.Store(&checkedAt, &progress, &status, &version, &size); err != nil {
		return "", unreachable("asking update_engine for its status: %w", err)
	}
	return status, nil
}

// statusUpdate matches the signal that update_engine sends whenever its status
// or its progress changes. What locksmithd's own test sends counts as well: a
// signal only has us ask.
var statusUpdate = []dbus.MatchOption{
	dbus.WithMatchInterface(updateEngineInterface),
	dbus.WithMatchMember("StatusUpdate"),
	dbus.WithMatchObjectPath(updateEngine.path),
}

// engineStatus returns the status in such a signal, whose body is GetStatus' answer.
func engineStatus(s *dbus.Signal) (string, bool) {
	if s.Name != updateEngineInterface+".StatusUpdate" || len(s.Body) < 3 {
		return "", false
	}
	status, ok := s.Body[2].(string)
	return status, ok
}
