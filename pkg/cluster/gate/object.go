package gate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/web"
)

const (
	// maxObjects is how many objects a gate may select.
	maxObjects = 500
	// maxObject is how many bytes an object may have, and maxObjectValues how many values: an empty one takes
	// three bytes, and thirty times that in memory.
	maxObject, maxObjectValues = 2 << 20, 200_000
)

func (c Clients) askObjects(ctx context.Context, g v1alpha1.ObjectGate) Answer {
	condition, err := compiled(g.Condition)
	if err != nil {
		return unknown("the condition does not compile: %v", err)
	}
	if g.APIVersion == "v1" && g.Kind == "Secret" {
		return unknown("Secrets are not read for gates")
	}
	v := &verdict{gate: g, condition: condition}
	err = c.read(ctx, g, func(text []byte) error { return v.add(ctx, text) })
	var refused *web.Refusal
	var undecided *undecidedError
	switch {
	case errors.As(err, &undecided):
		return unknown("%s", undecided.why)
	case errors.As(err, &refused) && refused.Code == http.StatusForbidden:
		return unknown("the coordinator may not read %s of %s: let it by a ClusterRole with the label kubectl-upgrade.dev/aggregate-to-gates=true, as docs/gates.md shows",
			g.Kind, g.APIVersion)
	case errors.As(err, &refused) && refused.Code == http.StatusNotFound && g.Name != "" && refused.Object == g.Name:
		return v.answer() // the resource is served, and has no such object
	case err != nil:
		return unknown("reading %s: %v", selected(g), err)
	}
	return v.answer()
}

// undecidedError is why an object leaves a gate undecided.
type undecidedError struct{ why string }

func (e *undecidedError) Error() string { return e.why }

func undecided(format string, args ...any) error {
	return &undecidedError{fmt.Sprintf(format, args...)}
}

// verdict is what objects mean for a gate.
type verdict struct {
	gate      v1alpha1.ObjectGate
	condition *condition

	objects, failing int
	last, failed     string // objects, with their values
	cost             uint64
}

// oneObject is taken while an object is decoded and judged: all gates together have one at a time in
// memory.
var oneObject = make(chan struct{}, 1)

// add judges an object. An error ends the question.
func (v *verdict) add(ctx context.Context, text []byte) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case oneObject <- struct{}{}:
	}
	defer func() { <-oneObject }()
	if v.objects++; v.objects > maxObjects {
		return undecided("%s are more than %d objects", selected(v.gate), maxObjects)
	}
	if valuesOf(text) > maxObjectValues {
		return undecided("one of %s has more than %d values", selected(v.gate), maxObjectValues)
	}
	var object map[string]any
	if err := utiljson.Unmarshal(text, &object); err != nil || object == nil {
		return web.ErrMalformed
	}
	object["apiVersion"], object["kind"] = v.gate.APIVersion, v.gate.Kind // the objects of a list have none
	name := objectName(v.gate.Kind, &unstructured.Unstructured{Object: object})
	met, values, cost, err := v.condition.holds(ctx, object)
	v.cost += cost
	switch {
	case err != nil:
		return undecided("the condition fails for %s: %v", name, err)
	case v.cost > maxCost:
		return undecided("the condition costs more than %d units for %d objects: simplify it, or select fewer", maxCost, v.objects)
	}
	v.last = described(name, values)
	if !met {
		if v.failing++; v.failing == 1 {
			v.failed = v.last
		}
	}
	return nil
}

// valuesOf returns how many values a JSON text has at most.
func valuesOf(text []byte) (count int) {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ',' || c == '[' || c == '{'):
			count++
		}
	}
	return count
}

func (v *verdict) answer() Answer {
	switch {
	case v.objects == 0:
		return closed("there is no %s", selected(v.gate))
	case v.failing == 0 && v.objects == 1:
		return open("%s meets the condition", v.last)
	case v.failing == 0:
		return open("all %d objects meet the condition", v.objects)
	case v.objects == 1:
		return closed("%s does not meet the condition", v.failed)
	}
	return closed("%d of %d objects do not meet the condition, such as %s", v.failing, v.objects, v.failed)
}

func described(name, values string) string {
	if values == "" {
		return name
	}
	return name + " (" + values + ")"
}

func objectName(kind string, o *unstructured.Unstructured) string {
	return kind + " " + strings.TrimPrefix(o.GetNamespace()+"/"+o.GetName(), "/")
}

// selected names the objects that a gate selects.
func selected(g v1alpha1.ObjectGate) string {
	text := g.Kind
	if g.Name != "" {
		return text + " " + strings.TrimPrefix(g.Namespace+"/"+g.Name, "/")
	}
	if selector, err := g.Selector.AsSelector(); err == nil {
		text += " with the labels " + selector.String()
	}
	if g.Namespace != "" {
		text += " in namespace " + g.Namespace
	}
	return text
}

// read has add judge the objects that the gate selects, one after the other.
func (c Clients) read(ctx context.Context, g v1alpha1.ObjectGate, add func(text []byte) error) error {
	path, err := c.path(g)
	if err != nil {
		return err
	}
	address := c.Server.JoinPath(path...)
	if g.Name == "" {
		selector, err := g.Selector.AsSelector()
		if err != nil {
			return fmt.Errorf("selector: %w", err)
		}
		address.RawQuery = url.Values{"labelSelector": {selector.String()}, "limit": {strconv.Itoa(maxObjects + 1)}}.Encode()
	}
	return get(ctx, c.Objects, address, func(answer *web.Answer) error {
		next := func() error {
			text, err := answer.Text(maxObject)
			if err != nil {
				return err //nolint:wrapcheck // web.Ask names the address
			}
			return add(text)
		}
		if g.Name != "" {
			return next()
		}
		return answer.Object(func(name string) error {
			if name != "items" {
				return answer.Skip()
			}
			return answer.Array(next)
		})
	})
}

// path returns the path of what the gate selects.
func (c Clients) path(g v1alpha1.ObjectGate) ([]string, error) {
	version, err := schema.ParseGroupVersion(g.APIVersion)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the version
	}
	kind := version.WithKind(g.Kind)
	mapping, err := c.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		c.Mapper.Reset() // a CRD may be new
		return nil, fmt.Errorf("the API server has no kind %s in %s", g.Kind, g.APIVersion)
	}
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the kind
	}
	path := []string{"apis", version.Group, version.Version}
	if version.Group == "" {
		path = []string{"api", version.Version}
	}
	namespaced := mapping.Scope.Name() == meta.RESTScopeNameNamespace
	switch {
	case namespaced && g.Namespace == "" && g.Name != "":
		return nil, fmt.Errorf("%s %s is in a namespace: set object.namespace", g.Kind, g.Name)
	case !namespaced && g.Namespace != "":
		return nil, fmt.Errorf("a %s is in no namespace: leave object.namespace out", g.Kind)
	case g.Namespace != "":
		path = append(path, "namespaces", g.Namespace)
	}
	path = append(path, mapping.Resource.Resource)
	if g.Name != "" {
		path = append(path, g.Name)
	}
	return path, nil
}
