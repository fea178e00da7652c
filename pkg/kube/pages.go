package kube

import (
	"bytes"
	"context"
	"encoding/json"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
)

// pageSize is how many objects a page has. A NodeUpgrade has some 2 KiB, an UpgradeRecord up to 170.
const pageSize = 1000

// All lists all objects of the kind, page after page, and returns what keep returns of each. The API
// server makes the next page while one is decoded, which takes as long.
func (r Kind[T, L]) All(ctx context.Context, options metav1.ListOptions, keep func(T) T) ([]T, error) {
	options.Limit = pageSize
	var all []T
	for page := r.page(ctx, options); ; {
		result := <-page
		if apierrors.IsResourceExpired(result.Error()) && options.Continue != "" {
			// The list is too old to go on with: it is read again, as a whole.
			options.Limit, options.Continue, all = 0, "", nil
			page = r.page(ctx, options)
			continue
		}
		body, _ := result.Raw() // Into returns the error
		early := nextPage(body)
		if early != "" {
			options.Continue = early
			page = r.page(ctx, options)
		}
		list := r.emptyList()
		if err := result.Into(list); err != nil {
			return nil, err //nolint:wrapcheck // the API server's answer
		}
		err := meta.EachListItem(list, func(object runtime.Object) error {
			all = append(all, keep(object.(T)))
			return nil
		})
		if err != nil {
			return nil, err
		}
		switch next := list.GetContinue(); next {
		case "":
			return all, nil
		case early:
		default:
			options.Continue = next
			page = r.page(ctx, options)
		}
	}
}

// page requests a page.
func (r Kind[T, L]) page(ctx context.Context, options metav1.ListOptions) <-chan rest.Result {
	answer := make(chan rest.Result, 1) // which may not be needed
	go func() {
		defer utilruntime.HandleCrashWithContext(ctx)
		answer <- r.GetClient().Get().Resource(r.resource).VersionedParams(&options, r.codec).Do(ctx)
	}()
	return answer
}

// nextPage returns how the list continues, from the end of its JSON, where API servers put the list's
// metadata; empty: it is not there.
func nextPage(body []byte) string {
	const key = `"metadata":`
	at := bytes.LastIndex(body, []byte(key+"{"))
	if at < 0 {
		return ""
	}
	var list metav1.ListMeta
	if err := json.NewDecoder(bytes.NewReader(body[at+len(key):])).Decode(&list); err != nil {
		return ""
	}
	return list.Continue
}
