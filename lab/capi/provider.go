package capi

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

var (
	labClusters = schema.GroupVersionResource{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Resource: "labclusters"}
	labMachines = schema.GroupVersionResource{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Resource: "labmachines"}
	machines    = schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: "machines"}
	secrets     = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
)

// provider is the infrastructure provider: it looks at all objects again and again, and does what is
// missing. There are a handful of them, so it watches nothing and remembers nothing.
type provider struct {
	client   dynamic.Interface
	machines Machines
	said     string // what was printed last
}

func newProvider(config *rest.Config, machines Machines) (*provider, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client of the management cluster: %w", err)
	}
	return &provider{client: client, machines: machines}, nil
}

// run returns when the context has ended and no machine is being made any more.
func (p *provider) run(ctx context.Context) {
	for {
		if err := p.round(ctx); err != nil && ctx.Err() == nil {
			p.say(err.Error())
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
	}
}

// say prints what has not been printed just before.
func (p *provider) say(text string) {
	if text != p.said {
		fmt.Println(time.Now().UTC().Format(time.RFC3339), text)
	}
	p.said = text
}

func (p *provider) round(ctx context.Context) error {
	clusters, err := p.client.Resource(labClusters).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing LabClusters: %w", err)
	}
	for _, cluster := range clusters.Items {
		if err := p.provisioned(ctx, labClusters, &cluster); err != nil {
			return err
		}
	}
	list, err := p.client.Resource(labMachines).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing LabMachines: %w", err)
	}
	if err := p.claim(ctx, list.Items); err != nil {
		return err
	}
	var wait sync.WaitGroup
	failures := make([]error, len(list.Items))
	for i := range list.Items {
		wait.Go(func() { failures[i] = p.reconcile(ctx, &list.Items[i]) })
	}
	wait.Wait()
	for _, failure := range failures {
		if failure != nil {
			return failure
		}
	}
	return nil
}

// claim gives each new machine the name of a node that no other machine has. It comes before anything
// is made, and writes to the object: after a crash in between the machine has the same name.
func (p *provider) claim(ctx context.Context, all []unstructured.Unstructured) error {
	var taken []string
	for _, object := range all {
		taken = append(taken, nodeOf(&object))
	}
	for i := range all {
		object := &all[i]
		if nodeOf(object) != "" || object.GetDeletionTimestamp() != nil {
			continue
		}
		_, controlPlane := object.GetLabels()["cluster.x-k8s.io/control-plane"]
		free := slices.DeleteFunc(slices.Clone(p.machines.Names(controlPlane)), func(name string) bool { return slices.Contains(taken, name) })
		if len(free) == 0 {
			if err := p.condition(ctx, object, "NoFreeNode", "all nodes of the lab belong to other machines"); err != nil {
				return err
			}
			continue
		}
		if err := unstructured.SetNestedField(object.Object, scheme+free[0], "spec", "providerID"); err != nil {
			return err
		}
		// With the finalizer the object stays until the node is gone.
		object.SetFinalizers(append(object.GetFinalizers(), finalizer))
		written, err := p.client.Resource(labMachines).Namespace(object.GetNamespace()).Update(ctx, object, metav1.UpdateOptions{})
		if err != nil {
			return fmt.Errorf("giving LabMachine %s the node %s: %w", object.GetName(), free[0], err)
		}
		all[i] = *written
		taken = append(taken, free[0])
	}
	return nil
}

// provisioned sets the field of the status that says so.
func (p *provider) provisioned(ctx context.Context, resource schema.GroupVersionResource, object *unstructured.Unstructured) error {
	if isProvisioned(object) {
		return nil
	}
	if err := unstructured.SetNestedField(object.Object, true, "status", "initialization", "provisioned"); err != nil {
		return err
	}
	if _, err := p.client.Resource(resource).Namespace(object.GetNamespace()).UpdateStatus(ctx, object, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("reporting that %s %s is provisioned: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}

func isProvisioned(object *unstructured.Unstructured) bool {
	done, _, _ := unstructured.NestedBool(object.Object, "status", "initialization", "provisioned")
	return done
}
