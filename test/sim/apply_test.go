package sim

import (
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// apply is server-side apply, with force.
func (a *api) apply(by string, k key, config tree, manager, subresource string) (*stored, error) {
	before := a.objects[k]
	if before == nil && subresource != "" {
		return nil, apierrors.NewNotFound(groupResource(k.Resource), k.Name)
	}
	meta := metadata(config)
	version := text(meta, "resourceVersion")
	if before == nil && version != "" {
		return nil, apierrors.NewNotFound(groupResource(k.Resource), k.Name)
	}
	t := tree{}
	if before != nil {
		if err := precondition(k, before, "", version); err != nil {
			return nil, err
		}
		t = clone(before.tree).(tree)
	}
	wanted := appliedPart(config, subresource)
	all := a.applied[k]
	if all == nil {
		all = map[string]tree{}
	}
	id := manager + "/" + subresource
	if former := all[id]; former != nil {
		var others []tree
		for other, config := range all {
			if other != id {
				others = append(others, config)
			}
		}
		removeOwned(t, former, wanted, others)
	}
	applyTree(t, wanted)
	t["apiVersion"], t["kind"] = config["apiVersion"], config["kind"]
	if before != nil {
		keepMetadata(before.tree, t)
	}
	if before != nil && !reflect.DeepEqual(all[id], wanted) {
		metadata(t)["managedFields"] = []any{} // who owns what changes, and that is a change of the object
	}
	result, err := a.store(by, k, t)
	if err != nil {
		return nil, err
	}
	all[id] = wanted
	a.applied[k] = all
	return result, nil
}

// appliedPart returns the part of a configuration that a manager owns by applying it.
func appliedPart(config tree, subresource string) tree {
	part := tree{}
	for name, value := range config {
		switch {
		case name == "metadata" && subresource == "":
			meta := tree{}
			for _, field := range []string{"ownerReferences", "annotations", "labels"} {
				if value, there := value.(tree)[field]; there {
					meta[field] = clone(value)
				}
			}
			part[name] = meta
		case name == "apiVersion", name == "kind", name == "metadata":
		case (name == "status") == (subresource == "status"):
			part[name] = clone(value)
		}
	}
	return part
}

// listKeys are the lists that are merged by a key. All others are replaced.
var listKeys = map[string]string{"conditions": "type", "ownerReferences": "uid"}

// entries returns a list as a tree, by its key.
func entries(list any, by string) (order []string, byKey map[string]tree) {
	byKey = map[string]tree{}
	items, _ := list.([]any)
	for _, item := range items {
		one, _ := item.(tree)
		order = append(order, text(one, by))
		byKey[text(one, by)] = one
	}
	return order, byKey
}

// removeOwned removes from t what former has, and neither wanted nor another manager.
func removeOwned(t, former, wanted tree, others []tree) {
	within := func(name string) []tree {
		var list []tree
		for _, other := range others {
			if inner, ok := other[name].(tree); ok {
				list = append(list, inner)
			}
		}
		return list
	}
	for name, value := range former {
		if by, isMap := listKeys[name]; isMap {
			removeItems(t, name, by, value, wanted[name], others)
			continue
		}
		if inner, ok := value.(tree); ok {
			at, _ := t[name].(tree)
			want, _ := wanted[name].(tree)
			if at == nil {
				continue
			}
			removeOwned(at, inner, want, within(name))
			if _, there := wanted[name]; len(at) == 0 && !there {
				delete(t, name)
			}
			continue
		}
		_, still := wanted[name]
		if still || slices.ContainsFunc(others, func(o tree) bool { _, has := o[name]; return has }) {
			continue
		}
		delete(t, name)
	}
}

func removeItems(t tree, name, by string, former, wanted any, others []tree) {
	keep := map[string]bool{}
	for _, config := range append([]tree{{name: wanted}}, others...) {
		order, _ := entries(config[name], by)
		for _, id := range order {
			keep[id] = true
		}
	}
	_, was := entries(former, by)
	items, _ := t[name].([]any)
	var left []any
	for _, item := range items {
		id := text(item.(tree), by)
		if was[id] == nil || keep[id] {
			left = append(left, item)
		}
	}
	t[name] = left
	if len(left) == 0 {
		delete(t, name)
	}
}

// applyTree sets what wanted has.
func applyTree(t, wanted tree) {
	for name, value := range wanted {
		if by, isMap := listKeys[name]; isMap {
			items, _ := t[name].([]any)
			_, there := entries(items, by)
			order, wants := entries(value, by)
			for _, id := range order {
				if at := there[id]; at != nil {
					clear(at)
					applyTree(at, wants[id])
				} else {
					items = append(items, clone(wants[id]))
				}
			}
			t[name] = items
			continue
		}
		if inner, ok := value.(tree); ok {
			at, _ := t[name].(tree)
			if at == nil {
				at = tree{}
				t[name] = at
			}
			applyTree(at, inner)
			continue
		}
		t[name] = clone(value)
	}
}
