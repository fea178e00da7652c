package watch

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-upgrade/kubectl-upgrade/cmd/capi-extension/management"
)

// forgetAfter is when an owner is forgotten that does not ask any more. Cluster API's retries are up to
// 1,000 seconds apart.
const forgetAfter = 40 * time.Minute

// Again asks the questions again to which the answer was Failure, and touches the owner once the answer
// is another one. Only the replica that was asked knows the question; after a restart, Cluster API's own
// retry comes first.
type Again struct {
	Management client.Client
	Now        func() time.Time
	Log        *slog.Logger
	// Timeout is how long a question may take.
	Timeout time.Duration

	mutex sync.Mutex
	open  map[owner]question
}

type owner struct {
	kind string
	name types.NamespacedName
}

type question struct {
	owner management.Owner
	ask   func(context.Context) error
	asked time.Time
}

// Remember keeps what an owner has asked last, until the answer changes. nil: it has its answer.
func (a *Again) Remember(o management.Owner, ask func(context.Context) error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if ask == nil {
		delete(a.open, keyOf(o))
		return
	}
	if a.open == nil {
		a.open = map[owner]question{}
	}
	a.open[keyOf(o)] = question{o, ask, a.Now()}
}

func keyOf(o management.Owner) owner {
	return owner{o.Kind, client.ObjectKeyFromObject(o.Object)}
}

// Waiting returns how many owners wait.
func (a *Again) Waiting() int {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return len(a.open)
}

// Run asks every interval until ctx ends.
func (a *Again) Run(ctx context.Context, interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			a.askAll(ctx)
		}
	}
}

func (a *Again) askAll(ctx context.Context) {
	a.mutex.Lock()
	open := make(map[owner]question, len(a.open))
	for key, q := range a.open {
		if a.Now().Sub(q.asked) > forgetAfter {
			delete(a.open, key)
			continue
		}
		open[key] = q
	}
	a.mutex.Unlock()
	for key, q := range open {
		if err := a.ask(ctx, q); err != nil {
			continue
		}
		if err := management.Touch(ctx, a.Management, q.owner, a.Now()); client.IgnoreNotFound(err) != nil {
			a.Log.WarnContext(ctx, "Cluster API is not told that it can ask again", "error", err)
			continue
		}
		a.Log.InfoContext(ctx, "Cluster API can ask again", "owner", q.owner.String())
		a.mutex.Lock()
		if a.open[key].asked.Equal(q.asked) { // not asked again meanwhile
			delete(a.open, key)
		}
		a.mutex.Unlock()
	}
}

func (a *Again) ask(ctx context.Context, q question) error {
	ctx, cancel := context.WithTimeout(ctx, a.Timeout)
	defer cancel()
	return q.ask(ctx)
}
