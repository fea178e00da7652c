package verb

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Request is a request to run a verb.
type Request struct {
	Verb Verb `json:"verb"`
	// Key identifies what the request is for, such as "v1.34.4@sha256:…". The
	// Result has the same key: a result with another key belongs to another request.
	Key string `json:"key"`
	// Args are the verb's arguments, see entries.go.
	Args json.RawMessage `json:"args,omitempty"`
	// RequestedAt is the time of the request. Client.Start sets it.
	RequestedAt time.Time `json:"requestedAt"`
}

// NewRequest returns a request with encoded args.
func NewRequest(v Verb, key string, args any) (Request, error) {
	data, err := json.Marshal(args)
	if err != nil {
		return Request{}, fmt.Errorf("encoding the arguments of host verb %q: %w", v, err)
	}
	return Request{Verb: v, Key: key, Args: data}, nil
}

// Result is the result of a request.
type Result struct {
	Verb Verb   `json:"verb"`
	Key  string `json:"key"`
	// BootID is the boot ID at the verb's end; empty if the verb wrote no result.
	// The verb records it because a pod may see another boot ID than its node, for
	// example if the node is itself a container.
	BootID     string    `json:"bootID,omitempty"`
	StartedAt  time.Time `json:"startedAt"`
	FinishedAt time.Time `json:"finishedAt"`
	OK         bool      `json:"ok"`
	// Reason and Message, of at most 4 KiB, describe the error. Both are empty if OK is true.
	Reason  v1alpha1.Reason `json:"reason,omitempty"`
	Message string          `json:"message,omitempty"`
	// LogTail is the end of what the verb's programs printed, at most 4 KiB.
	LogTail string `json:"logTail,omitempty"`
	// Output is the verb's output, see entries.go. It may be set even if OK
	// is false.
	Output json.RawMessage `json:"output,omitempty"`
}

// Decode decodes the verb's output into out.
func (r *Result) Decode(out any) error {
	if len(r.Output) == 0 {
		return fmt.Errorf("host verb %q left no output: %s", r.Verb, r.Message)
	}
	if err := json.Unmarshal(r.Output, out); err != nil {
		return fmt.Errorf("decoding the output of host verb %q: %w", r.Verb, err)
	}
	return nil
}

// Options are the properties in which the units of verbs differ.
type Options struct {
	// Direct runs the verb from the program of the agent itself and keeps its result in
	// the agent's memory, so that nothing is written on the node. Such a verb has no
	// arguments.
	Direct bool
	// MountImage is the version of the staged image that is mounted for this unit only.
	// Empty: none is.
	MountImage string
	// WholeNode runs the verb in the node's own mount namespace, so that what it
	// mounts is mounted for the whole node.
	WholeNode bool
	// RuntimeMax is the time after which systemd ends the verb. Zero means no limit.
	RuntimeMax time.Duration
}
