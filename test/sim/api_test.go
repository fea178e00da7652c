package sim

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// tree is an object as JSON has it.
type tree = map[string]any

// key names an object. Resource is its plural name; Namespace may be empty.
type key struct{ Resource, Namespace, Name string }

func (k key) String() string { return k.Resource + "/" + k.Name }

// stored is one version of an object. It is not changed once it is stored.
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
	by     string
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

// inner returns the tree in a field, or an empty one.
func inner(t tree, field string) tree {
	one, _ := t[field].(tree)
	return one
}

// child returns the tree in a field, and creates it.
func child(t tree, names ...string) tree {
	for _, name := range names {
		inner, ok := t[name].(tree)
		if !ok {
			inner = tree{}
			t[name] = inner
		}
		t = inner
	}
	return t
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
	if k.Resource == "nodes" {
		setCordoner(by, before, t)
	}
	a.version++
	meta["resourceVersion"] = fmt.Sprint(a.version)
	after := &stored{tree: t, version: a.version}
	a.objects[k] = after
	a.log[k.Resource] = append(a.log[k.Resource], change{k.Name, after, a.now(), by})
	a.onWrite(by, k, before, after)
	return after
}

// setCordoner writes who set the cordon of a Node into managedFields, which have nothing else.
func setCordoner(by string, before *stored, t tree) {
	meta := metadata(t)
	cordoned := func(t tree) bool { return inner(t, "spec")["unschedulable"] == true }
	switch {
	case !cordoned(t):
		delete(meta, "managedFields")
	case before != nil && cordoned(before.tree):
		meta["managedFields"] = metadata(before.tree)["managedFields"]
	default:
		if strings.HasPrefix(by, "agent ") {
			by = agentManager
		}
		meta["managedFields"] = []any{tree{"manager": by, "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": tree{"f:spec": tree{"f:unschedulable": tree{}}}}}
	}
}

// agentManager is the field manager of agents.
const agentManager = "node-agent"

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
	a.log[k.Resource] = append(a.log[k.Resource], change{k.Name, nil, a.now(), by})
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
