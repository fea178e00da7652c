package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// updateEngine is the name of the program beside `lab`, as `make lab` builds it.
const updateEngine = "lab-update-engine"

// updateStatuses maps a word of the command line to a status of update_engine.
var updateStatuses = map[string]string{
	"idle":        "UPDATE_STATUS_IDLE",
	"downloading": "UPDATE_STATUS_DOWNLOADING",
	"need-reboot": "UPDATE_STATUS_UPDATED_NEED_REBOOT",
}

// UpdateStatuses returns these words.
func UpdateStatuses() []string { return slices.Sorted(maps.Keys(updateStatuses)) }

// SetUpdateEngine makes a node's update_engine report the status, until its next
// boot. The lab must have been made with Spec.UpdateEngine.
func (c *Cluster) SetUpdateEngine(ctx context.Context, name, word string) error {
	status, known := updateStatuses[word]
	if !known {
		return fmt.Errorf("%q is not a status: use one of %s", word, strings.Join(UpdateStatuses(), ", "))
	}
	if !c.state.Spec.UpdateEngine {
		return fmt.Errorf("the nodes of this lab have no update_engine: make one with `lab up --update-engine`")
	}
	machine, err := c.Node(name)
	if err != nil {
		return err
	}
	_, err = machine.Exec(ctx, "busctl", "call", "com.coreos.update1", "/com/coreos/update1", "dev.kubectl_upgrade.Lab", "Set", "s", status)
	return err
}
