package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// tree is an object as JSON has it.
type tree = map[string]any

// key names an object. Resource is its plural name; Namespace may be empty.
type key struct{ Resource, Namespace, Name string }

func (k key) String() string { return k.Resource + "/" + k.Name }

// stored is one version of an object. Nobody changes it once it is stored.
type stored struct {
	tree    tree
	encoded []byte
	typed   runtime.Object // decoded when first asked for
	version int64
}

// api is a simulated API server: objects with resourceVersion, UID and generation,
// optimistic concurrency, merge patches, server-side apply, and a log of all changes from
// which caches are filled. TestAgainstRealServer compares it with a real API server.
type api struct {
	objects map[key]*stored
	applied map[key]map[string]tree // what each field manager applied last, by manager and subresource
	version int64
	uids    int
	log     map[string][]change // by resource
	// onWrite is called after each change, with the name of the client that made it.
	onWrite func(by string, k key, before, after *stored)
	now     func() time.Time
}

// change is one entry of the log. A nil object was deleted.
type change struct {
	name   string
	object *stored
	at     time.Time
}

func newAPI() *api {
	return &api{
		objects: map[key]*stored{}, applied: map[key]map[string]tree{}, log: map[string][]change{},
		onWrite: func(string, key, *stored, *stored) {}, now: time.Now,
	}
}

func groupResource(resource string) schema.GroupResource {
	group, _, found := strings.Cut(listOf[resource].group, "/")
	if !found {
		group = ""
	}
	return schema.GroupResource{Group: group, Resource: resource}
}

func metadata(t tree) tree {
	m, ok := t["metadata"].(tree)
	if !ok {
		m = tree{}
		t["metadata"] = m
	}
	return m
}

func text(t tree, field string) string {
	s, _ := t[field].(string)
	return s
}

// clone copies JSON values. Numbers are float64 and strings are shared.
func clone(value any) any {
	switch v := value.(type) {
	case tree:
		c := make(tree, len(v))
		for name, one := range v {
			c[name] = clone(one)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, one := range v {
			c[i] = clone(one)
		}
		return c
	}
	return value
}

// put stores an object that was changed or created, and returns it. A write that changes
// nothing leaves the object as it is.
func (a *api) put(by string, k key, t tree) *stored {
	before := a.objects[k]
	meta := metadata(t)
	if before == nil {
		a.uids++
		meta["uid"] = fmt.Sprintf("uid-%d", a.uids)
		meta["name"] = k.Name
		if k.Namespace != "" {
			meta["namespace"] = k.Namespace
		}
		meta["creationTimestamp"] = a.now().UTC().Format(time.RFC3339)
		if listOf[k.Resource].group == v1alpha1.GroupVersion.String() {
			meta["generation"] = float64(1)
		}
		if slices.Contains([]string{"nodeupgrades", "clusterupgrades", "maintenanceschedules", "upgradepolicies"}, k.Resource) {
			if _, there := t["status"]; !there {
				t["status"] = tree{"observedGeneration": float64(-1)}
			}
		}
	} else {
		meta["resourceVersion"] = metadata(before.tree)["resourceVersion"]
		if reflect.DeepEqual(t, before.tree) {
			return before
		}
		delete(meta, "managedFields")
		if generation, has := meta["generation"].(float64); has && specChanged(before.tree, t) {
			meta["generation"] = generation + 1
		}
	}
	a.version++
	meta["resourceVersion"] = fmt.Sprint(a.version)
	after := &stored{tree: t, version: a.version}
	a.objects[k] = after
	a.log[k.Resource] = append(a.log[k.Resource], change{k.Name, after, a.now()})
	a.onWrite(by, k, before, after)
	return after
}

func specChanged(before, after tree) bool {
	part := func(t tree) tree {
		c := maps.Clone(t)
		delete(c, "metadata")
		delete(c, "status")
		return c
	}
	return !reflect.DeepEqual(part(before), part(after))
}

func (a *api) remove(by string, k key) {
	before := a.objects[k]
	if before == nil {
		return
	}
	delete(a.objects, k)
	delete(a.applied, k)
	a.version++
	a.log[k.Resource] = append(a.log[k.Resource], change{k.Name, nil, a.now()})
	a.onWrite(by, k, before, nil)
}

func (s *stored) bytes() []byte {
	if s.encoded == nil {
		s.encoded, _ = json.Marshal(s.tree)
	}
	return s.encoded
}

// list returns the objects of a resource, sorted by name.
func (a *api) list(resource, namespace string, match func(tree) bool) []*stored {
	var keys []key
	for k, s := range a.objects {
		if k.Resource == resource && (namespace == "" || k.Namespace == namespace) && match(s.tree) {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(x, y key) int { return strings.Compare(x.Namespace+"/"+x.Name, y.Namespace+"/"+y.Name) })
	list := make([]*stored, len(keys))
	for i, k := range keys {
		list[i] = a.objects[k]
	}
	return list
}

// The verbs of the API. Each returns an API error or the stored object.

func (a *api) create(by string, k key, t tree) (*stored, error) {
	if a.objects[k] != nil {
		return nil, apierrors.NewAlreadyExists(groupResource(k.Resource), k.Name)
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
	return a.put(by, k, t), nil
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
	result := a.put(by, k, t)
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
