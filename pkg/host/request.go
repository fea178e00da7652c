package host

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
)

// Request is what a verb is asked to do.
type Request struct {
	Verb verb.Verb `json:"verb"`
	// Key says what the request is for, such as "v1.34.4@sha256:…". It comes
	// back in the Result: a result with another key answers another request.
	Key string `json:"key"`
	// Args are the verb's own, see package hostverb.
	Args json.RawMessage `json:"args,omitempty"`
	// RequestedAt is set by Start.
	RequestedAt time.Time `json:"requestedAt"`
}

// NewRequest encodes args.
func NewRequest(v verb.Verb, key string, args any) (Request, error) {
	data, err := json.Marshal(args)
	if err != nil {
		return Request{}, fmt.Errorf("encoding the arguments of host verb %q: %w", v, err)
	}
	return Request{Verb: v, Key: key, Args: data}, nil
}

// Result is what came of a request.
type Result struct {
	Verb verb.Verb `json:"verb"`
	Key  string    `json:"key"`
	// BootID of the system that the verb ended on; empty when it left no
	// result. A pod may see another boot id than its node (it does where the
	// node is itself a container), so it comes from the node's side.
	BootID     string    `json:"bootID,omitempty"`
	StartedAt  time.Time `json:"startedAt"`
	FinishedAt time.Time `json:"finishedAt"`
	OK         bool      `json:"ok"`
	// Reason and Message say what went wrong. Both are empty when OK.
	Reason  v1alpha1.Reason `json:"reason,omitempty"`
	Message string          `json:"message,omitempty"`
	// LogTail is the end of what the verb's programs printed, at most 4 KiB.
	LogTail string `json:"logTail,omitempty"`
	// Output is the verb's own, see package hostverb. It may be there when OK is false.
	Output json.RawMessage `json:"output,omitempty"`
}

// Decode reads the verb's own output into out.
func (r *Result) Decode(out any) error {
	if len(r.Output) == 0 {
		return fmt.Errorf("host verb %q left no output: %s", r.Verb, r.Message)
	}
	if err := json.Unmarshal(r.Output, out); err != nil {
		return fmt.Errorf("decoding the output of host verb %q: %w", r.Verb, err)
	}
	return nil
}
