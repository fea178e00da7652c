package client

import (
	"context"
	"math/rand/v2"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
)

// WatchLong has a watch last for one to two hours, if o is a watch's: an informer's own five
// to ten minutes are most of the requests of an agent at rest. A connection that is dead is
// noticed by HTTP/2's pings.
func WatchLong(o *metav1.ListOptions) {
	const shortest = 60 * 60
	if o.TimeoutSeconds != nil {
		o.TimeoutSeconds = ptr.To[int64](shortest + rand.Int64N(shortest))
	}
}

// Informer returns an informer for all objects of the kind or, if name is not empty,
// for the object of that name only, so that an agent watches nothing but its own
// object.
func (r Resource[T, L]) Informer(name string) cache.SharedIndexInformer {
	narrow := func(options *metav1.ListOptions) {
		if name != "" {
			options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
		}
	}
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			narrow(&options)
			return r.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			narrow(&options)
			WatchLong(&options)
			return r.Watch(ctx, options)
		},
	}
	return cache.NewSharedIndexInformer(source, r.empty(), 0, cache.Indexers{})
}
