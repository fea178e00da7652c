package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The verbs of the API. Each returns an API error or the stored object.

func (a *api) create(by string, k key, t tree) (*stored, error) {
	if a.objects[k] != nil {
		return nil, apierrors.NewAlreadyExists(groupResource(k.Resource), k.Name)
	}
	return a.store(by, k, t)
}

// store stores an object that fits its kind's limits.
func (a *api) store(by string, k key, t tree) (*stored, error) {
	if err := validate(k, a.objects[k], t); err != nil {
		return nil, err
	}
	return a.put(by, k, t), nil
}

// update replaces an object.
func (a *api) update(by string, k key, t tree) (*stored, error) {
	before := a.objects[k]
	if before == nil {
		return nil, apierrors.NewNotFound(groupResource(k.Resource), k.Name)
	}
	if err := precondition(k, before, text(metadata(t), "uid"), text(metadata(t), "resourceVersion")); err != nil {
		return nil, err
	}
	keepMetadata(before.tree, t)
	if k.Resource == "nodeupgrades" { // whose status is a subresource
		t["status"] = clone(before.tree["status"])
	}
	return a.store(by, k, t)
}

// keepMetadata restores what a client cannot change.
func keepMetadata(before, t tree) {
	was, meta := metadata(before), metadata(t)
	for _, field := range []string{"uid", "creationTimestamp", "generation", "name", "namespace", "deletionTimestamp"} {
		if value, there := was[field]; there {
			meta[field] = value
		} else {
			delete(meta, field)
		}
	}
	delete(meta, "managedFields")
}

func precondition(k key, before *stored, uid, version string) error {
	meta := metadata(before.tree)
	if uid != "" && uid != text(meta, "uid") || version != "" && version != text(meta, "resourceVersion") {
		return apierrors.NewConflict(groupResource(k.Resource), k.Name, fmt.Errorf("the object has been modified; please apply your changes to the latest version and try again"))
	}
	return nil
}

// mergePatch applies a JSON merge patch (RFC 7386).
func (a *api) mergePatch(by string, k key, patch tree) (*stored, error) {
	before := a.objects[k]
	if before == nil {
		return nil, apierrors.NewNotFound(groupResource(k.Resource), k.Name)
	}
	meta := metadata(patch)
	if err := precondition(k, before, text(meta, "uid"), text(meta, "resourceVersion")); err != nil {
		return nil, err
	}
	t := merged(clone(before.tree).(tree), patch)
	keepMetadata(before.tree, t)
	finalizers := func(t tree) int { list, _ := metadata(t)["finalizers"].([]any); return len(list) }
	if metadata(t)["deletionTimestamp"] != nil && finalizers(before.tree) > 0 && finalizers(t) == 0 {
		a.remove(by, k)
		return before, nil
	}
	return a.store(by, k, t)
}

// conditionsPatch applies a strategic merge patch of a Node's status, which has conditions
// alone. They are merged by their type.
func (a *api) conditionsPatch(by string, k key, patch tree) (*stored, error) {
	before := a.objects[k]
	if before == nil {
		return nil, apierrors.NewNotFound(groupResource(k.Resource), k.Name)
	}
	if err := precondition(k, before, "", text(metadata(patch), "resourceVersion")); err != nil {
		return nil, err
	}
	t := clone(before.tree).(tree)
	status := child(t, "status")
	items, _ := status["conditions"].([]any)
	order, changed := entries(inner(patch, "status")["conditions"], "type")
	for _, kind := range order {
		i := slices.IndexFunc(items, func(item any) bool { return text(item.(tree), "type") == kind })
		switch {
		case changed[kind]["$patch"] == "delete" && i >= 0:
			items = slices.Delete(items, i, i+1)
		case changed[kind]["$patch"] == "delete":
		case i >= 0:
			items[i] = merged(items[i].(tree), changed[kind])
		default:
			items = append(items, clone(changed[kind]))
		}
	}
	status["conditions"] = items
	if len(items) == 0 {
		delete(status, "conditions")
	}
	keepMetadata(before.tree, t)
	return a.put(by, k, t), nil
}

func merged(into, patch tree) tree {
	for name, value := range patch {
		inner, isTree := value.(tree)
		switch {
		case value == nil:
			delete(into, name)
		case isTree:
			was, _ := into[name].(tree)
			if was == nil {
				was = tree{}
			}
			into[name] = merged(was, inner)
		default:
			into[name] = value
		}
	}
	return into
}

func (a *api) delete(by string, k key, options metav1.DeleteOptions) error {
	before := a.objects[k]
	if before == nil {
		return apierrors.NewNotFound(groupResource(k.Resource), k.Name)
	}
	if p := options.Preconditions; p != nil {
		uid, version := "", ""
		if p.UID != nil {
			uid = string(*p.UID)
		}
		if p.ResourceVersion != nil {
			version = *p.ResourceVersion
		}
		if err := precondition(k, before, uid, version); err != nil {
			return err
		}
	}
	if err := admitDeletion(k, before); err != nil {
		return err
	}
	return a.deleteObject(by, k)
}

// deleteObject deletes an object, or waits until its finalizers are removed.
func (a *api) deleteObject(by string, k key) error {
	before := a.objects[k]
	if finalizers, _ := metadata(before.tree)["finalizers"].([]any); len(finalizers) > 0 {
		t := clone(before.tree).(tree)
		if metadata(t)["deletionTimestamp"] == nil {
			metadata(t)["deletionTimestamp"] = a.now().UTC().Format(time.RFC3339)
			a.put(by, k, t)
		}
		return nil
	}
	a.remove(by, k)
	return nil
}

// statusOf returns the answer to a request that failed.
func statusOf(err error) (int, []byte) {
	var failed apierrors.APIStatus
	if !errors.As(err, &failed) {
		failed = apierrors.NewInternalError(err)
	}
	answer := failed.Status()
	answer.Kind, answer.APIVersion = "Status", "v1"
	data, _ := json.Marshal(answer)
	return int(answer.Code), data
}
