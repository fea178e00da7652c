package kube

import (
	"context"
	"math/rand/v2"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
)

// watchSeconds returns how long a watch lasts: one to two hours. An informer's own five to ten
// minutes are most of the requests of an agent at rest. A connection that is dead is noticed
// by HTTP/2's pings.
func watchSeconds() int64 {
	const shortest = 60 * 60
	return shortest + rand.Int64N(shortest) //nolint:gosec // no secret
}

// Informer returns an informer for those objects of a kind that narrow selects.
func Informer[T, L runtime.Object](r Resource[T, L], kind T, narrow func(*metav1.ListOptions)) cache.SharedIndexInformer {
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			narrow(&options)
			return r.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			narrow(&options)
			options.TimeoutSeconds = ptr.To(watchSeconds())
			return r.Watch(ctx, options)
		},
	}
	return cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(source, r), kind, 0, cache.Indexers{})
}
