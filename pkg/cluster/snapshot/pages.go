package snapshot

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"
)

// listed lists all objects of a kind, page after page, and keeps the part of each that
// keep returns, because all of them in full may not fit into memory.
func listed[T any, L runtime.Object](ctx context.Context, page func(context.Context, metav1.ListOptions) (L, error), options metav1.ListOptions, keep func(*T) T) ([]T, error) {
	var all []T
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return page(ctx, options)
	})
	err := pages.EachListItem(ctx, options, func(object runtime.Object) error {
		all = append(all, keep(any(object).(*T)))
		return nil
	})
	return all, err
}
