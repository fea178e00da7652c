package cli

import (
	"maps"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

func init() {
	// A machine that runs tests beside each other may be busy for longer than a person waits.
	endTimeout = time.Minute
	klog.SetLogger(logr.Discard()) // as the program does
}

// Refuses is refuses.
var Refuses = refuses

// OtherWords returns what people type for a command.
func OtherWords() []string { return slices.Sorted(maps.Keys(otherWords)) }
