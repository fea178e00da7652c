// Package record keeps every version of a cluster's objects, in the order of the
// changes, so that a test can check afterwards what was true at every moment.
//
// The order is the resource version: etcd counts one revision for the whole
// cluster, so objects of different kinds are in order too, even if their
// watches are late. If an object changed twice while the API server was away, a
// relist shows only the last version.
package record

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// Moment is one version of one object.
type Moment struct {
	Revision int64
	Seen     time.Time // when this program heard of it
	Resource string    // plural, as in nodes
	Deleted  bool
	Object   *unstructured.Unstructured
}

// Recorder watches resources until its context ends.
type Recorder struct {
	client dynamic.Interface

	mu      sync.Mutex
	moments map[string]Moment // by resource, uid and revision: a relist repeats
	changed chan struct{}     // closed and replaced at each new moment
}

// New returns an empty recorder.
func New(client dynamic.Interface) *Recorder {
	return &Recorder{client: client, moments: map[string]Moment{}, changed: make(chan struct{})}
}

// Follow records a resource until ctx ends. It retries while the API server does
// not answer.
func (r *Recorder) Follow(ctx context.Context, resource schema.GroupVersionResource) {
	for ctx.Err() == nil {
		r.follow(ctx, resource)
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// follow lists and watches once.
func (r *Recorder) follow(ctx context.Context, resource schema.GroupVersionResource) {
	list, err := r.client.Resource(resource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	for i := range list.Items {
		r.note(resource.Resource, &list.Items[i], false)
	}
	watcher, err := r.client.Resource(resource).Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		return
	}
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		object, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type == watch.Error || event.Type == watch.Bookmark {
			return
		}
		r.note(resource.Resource, object, event.Type == watch.Deleted)
	}
}

func (r *Recorder) note(resource string, object *unstructured.Unstructured, deleted bool) {
	revision, err := strconv.ParseInt(object.GetResourceVersion(), 10, 64)
	if err != nil {
		return
	}
	key := resource + "/" + string(object.GetUID()) + "/" + object.GetResourceVersion()
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.moments[key]; known && !deleted {
		return
	}
	r.moments[key] = Moment{Revision: revision, Seen: time.Now(), Resource: resource, Deleted: deleted, Object: object}
	close(r.changed)
	r.changed = make(chan struct{})
}

// Moments returns all moments so far, in order.
func (r *Recorder) Moments() []Moment {
	r.mu.Lock()
	defer r.mu.Unlock()
	moments := make([]Moment, 0, len(r.moments))
	for _, m := range r.moments {
		moments = append(moments, m)
	}
	slices.SortFunc(moments, func(a, b Moment) int { return cmp.Compare(a.Revision, b.Revision) })
	return moments
}

// Changed returns a channel that is closed at the next moment.
func (r *Recorder) Changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}
