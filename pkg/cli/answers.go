package cli

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// answers tells when the API server falls silent (false) and when it answers
// again (true). A watch alone does not: it may hang for a minute on a dead
// connection, and one that stands again is quiet while nothing changes.
func (r *reader) answers(ctx context.Context) <-chan bool {
	changes := make(chan bool)
	go func() {
		last := true
		tick := time.NewTicker(2 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			now := r.ready(ctx)
			if now == last {
				continue
			}
			last = now
			select {
			case <-ctx.Done():
				return
			case changes <- now:
			}
		}
	}()
	return changes
}

// ready reports whether there is an answer at all: that it refuses this question is
// one too.
func (r *reader) ready(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	_, err := r.core.RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
	var refusal apierrors.APIStatus
	return err == nil || errors.As(err, &refusal)
}
