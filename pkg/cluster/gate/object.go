package gate

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// maxObjects is how many objects a gate may select.
const maxObjects = 500

func (c Clients) askObjects(ctx context.Context, g v1alpha1.ObjectGate) Answer {
	condition, err := compiled(g.Condition)
	if err != nil {
		return unknown("the condition does not compile: %v", err)
	}
	if g.APIVersion == "v1" && g.Kind == "Secret" {
		return unknown("Secrets are not read for gates")
	}
	objects, err := c.read(ctx, g)
	switch {
	case apierrors.IsForbidden(err):
		return unknown("the coordinator may not read %s of %s: let it by a ClusterRole with the label kubectl-upgrade.dev/aggregate-to-gates=true, as docs/gates.md shows", g.Kind, g.APIVersion)
	case err != nil:
		return unknown("reading %s: %v", selected(g), err)
	case len(objects) > maxObjects:
		return unknown("%s are more than %d objects", selected(g), maxObjects)
	case len(objects) == 0:
		return closed("there is no %s", selected(g))
	}
	return condition.judge(ctx, g, objects)
}

// judge returns what the objects mean for the gate.
func (c *condition) judge(ctx context.Context, g v1alpha1.ObjectGate, objects []unstructured.Unstructured) Answer {
	var failing []string
	total := uint64(0)
	last := ""
	for _, object := range objects {
		met, values, cost, err := c.holds(ctx, object.Object)
		total += cost
		name := objectName(g.Kind, &object)
		switch {
		case err != nil:
			return unknown("the condition fails for %s: %v", name, err)
		case total > maxCost:
			return unknown("the condition costs more than %d units for %d objects: simplify it, or select fewer", maxCost, len(objects))
		case !met:
			failing = append(failing, described(name, values))
		}
		last = described(name, values)
	}
	switch {
	case len(failing) == 0 && len(objects) == 1:
		return open("%s meets the condition", last)
	case len(failing) == 0:
		return open("all %d objects meet the condition", len(objects))
	case len(objects) == 1:
		return closed("%s does not meet the condition", failing[0])
	}
	return closed("%d of %d objects do not meet the condition, such as %s", len(failing), len(objects), failing[0])
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

// read returns the objects that the gate selects: maxObjects, or one more if there are more.
func (c Clients) read(ctx context.Context, g v1alpha1.ObjectGate) ([]unstructured.Unstructured, error) {
	resource, err := c.resource(g)
	if err != nil {
		return nil, err
	}
	if g.Name != "" {
		one, err := resource.Get(ctx, g.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) && statusName(err) == g.Name {
			return nil, nil
		}
		if err != nil {
			return nil, err //nolint:wrapcheck // the caller names the objects
		}
		return []unstructured.Unstructured{*one}, nil
	}
	selector, err := g.Selector.AsSelector()
	if err != nil {
		return nil, fmt.Errorf("selector: %w", err)
	}
	list, err := resource.List(ctx, metav1.ListOptions{LabelSelector: selector.String(), Limit: maxObjects + 1})
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller names the objects
	}
	return list.Items, nil
}

// statusName returns the name of the object that an error of the API server is about; empty: the
// error is about a resource that is not served.
func statusName(err error) string {
	if status, is := err.(apierrors.APIStatus); is && status.Status().Details != nil { //nolint:errorlint // the client returns it as it is
		return status.Status().Details.Name
	}
	return ""
}

// resource returns the resource of the gate's objects.
func (c Clients) resource(g v1alpha1.ObjectGate) (dynamic.ResourceInterface, error) {
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
	namespaced := mapping.Scope.Name() == meta.RESTScopeNameNamespace
	switch {
	case namespaced && g.Namespace == "" && g.Name != "":
		return nil, fmt.Errorf("%s %s is in a namespace: set object.namespace", g.Kind, g.Name)
	case !namespaced && g.Namespace != "":
		return nil, fmt.Errorf("a %s is in no namespace: leave object.namespace out", g.Kind)
	case namespaced:
		return c.Objects.Resource(mapping.Resource).Namespace(g.Namespace), nil
	}
	return c.Objects.Resource(mapping.Resource), nil
}
