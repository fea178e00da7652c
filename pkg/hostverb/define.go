package hostverb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
)

// define completes an entry with a function that makes the verb's arguments from an
// Input, and one that carries out the verb with them.
func define[A, O any](e Entry, args func(context.Context, Input) (A, error), run func(context.Context, host.Layout, A, *host.Log) (*O, error)) Entry {
	e.Args = func(ctx context.Context, o Input) (any, error) { return args(ctx, o) }
	e.Run = func(ctx context.Context, l host.Layout, raw json.RawMessage, log *host.Log) (any, error) {
		args, err := decode[A](raw)
		if err != nil {
			return nil, err
		}
		return output(run(ctx, l, args, log))
	}
	return e
}

func decode[T any](raw json.RawMessage) (args T, err error) {
	if len(raw) == 0 {
		return args, errors.New("there is no request with arguments")
	}
	if err := json.Unmarshal(raw, &args); err != nil {
		return args, fmt.Errorf("decoding the arguments: %w", err)
	}
	return args, nil
}

// output returns a nil interface for a nil pointer.
func output[T any](out *T, err error) (any, error) {
	if out == nil {
		return nil, err
	}
	return out, err
}
