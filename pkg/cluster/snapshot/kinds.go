package snapshot

import (
	"context"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// kinds reads several kinds at once. Unlike an errgroup it returns the same error every
// time, if several kinds cannot be read.
type kinds struct {
	running sync.WaitGroup
	errs    []*error
}

// Go reads one more kind.
func (k *kinds) Go(read func() error) {
	result := new(error)
	k.errs = append(k.errs, result)
	k.running.Go(func() { *result = read() })
}

// Wait returns when all kinds have been read, with the error of the one that was begun
// first.
func (k *kinds) Wait() error {
	k.running.Wait()
	for _, err := range k.errs {
		if *err != nil {
			return *err
		}
	}
	return nil
}

// read lists all objects of a kind that the labels select, trimmed. They are in all when
// the kinds have been waited for.
func read[T any, L runtime.Object](ctx context.Context, k *kinds, all *[]T, kind string, page func(context.Context, metav1.ListOptions) (L, error), labels string) {
	k.Go(func() (err error) {
		*all, err = listed(ctx, page, metav1.ListOptions{LabelSelector: labels}, func(object *T) T {
			trim(object)
			return *object
		})
		if err != nil {
			return fmt.Errorf("reading %s: %w", kind, err)
		}
		return nil
	})
}
