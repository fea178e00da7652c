package follow

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// connection returns a channel that reports when the API server stops answering (false)
// and when it answers again (true). A watch alone does not show that: it may hang for
// a minute on a dead connection, and a new one is quiet while nothing changes.
func (f *Follower) connection(ctx context.Context) <-chan bool {
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
			now := f.ready(ctx)
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

// ready reports whether the API server answers at all: to refuse the request is an
// answer.
func (f *Follower) ready(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	_, err := f.Core.RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
	var refusal apierrors.APIStatus
	return err == nil || errors.As(err, &refusal)
}
