package capi

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
)

// kinds are those of the infrastructure provider.
//
//go:embed objects/kinds.yaml
var kinds []byte

// contract is the label by which Cluster API finds the version of a kind that obeys its contract.
var contract = map[string]string{"cluster.x-k8s.io/v1beta2": "v1beta2"}

// manager owns the fields of what is applied here.
const manager = "lab"

var definitions = map[string]schema.GroupVersionResource{
	"CustomResourceDefinition":       {Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
	"MutatingWebhookConfiguration":   {Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"},
	"ValidatingWebhookConfiguration": {Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"},
}

// defineKinds defines the kinds of Cluster API and of the infrastructure provider. Older versions are
// left out: nothing here uses them, and converting them takes webhooks.
func (m *management) defineKinds(ctx context.Context) error {
	texts := [][]byte{kinds}
	for _, name := range providerNames() {
		files, err := filepath.Glob(filepath.Join(m.ClusterAPI, name, "crd", "*.yaml"))
		if err != nil {
			return err
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			texts = append(texts, text)
		}
	}
	for _, text := range texts {
		if err := m.define(ctx, text, func(object *unstructured.Unstructured) error {
			object.SetLabels(contract)
			return onlyStored(object)
		}); err != nil {
			return err
		}
	}
	return m.awaitKinds(ctx)
}

// onlyStored takes all versions but the stored one out of a definition.
func onlyStored(object *unstructured.Unstructured) error {
	versions, _, err := unstructured.NestedSlice(object.Object, "spec", "versions")
	if err != nil {
		return err
	}
	var stored []any
	for _, version := range versions {
		if fields, ok := version.(map[string]any); ok && fields["storage"] == true {
			stored = append(stored, version)
		}
	}
	return unstructured.SetNestedSlice(object.Object, stored, "spec", "versions")
}

// awaitKinds waits until the API server serves all kinds.
func (m *management) awaitKinds(ctx context.Context) error {
	client, err := dynamic.NewForConfig(m.client)
	if err != nil {
		return err
	}
	for {
		list, err := client.Resource(definitions["CustomResourceDefinition"]).List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("waiting for the kinds of Cluster API: %w", err)
		}
		waiting := ""
		for _, object := range list.Items {
			if !established(object) {
				waiting = object.GetName()
			}
		}
		if waiting == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s to be served: %w", waiting, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func established(object unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, condition := range conditions {
		if fields, ok := condition.(map[string]any); ok && fields["type"] == "Established" {
			return fields["status"] == "True"
		}
	}
	return false
}

// defineWebhooks has the API server ask each provider's webhooks where they listen, in place of the
// Service that they have in a cluster.
func (m *management) defineWebhooks(ctx context.Context) error {
	authority, err := os.ReadFile(m.certificates().authority())
	if err != nil {
		return err
	}
	for _, name := range providerNames() {
		text, err := os.ReadFile(filepath.Join(m.ClusterAPI, name, "webhook", "manifests.yaml"))
		if err != nil {
			return err
		}
		if err := m.define(ctx, text, func(object *unstructured.Unstructured) error {
			object.SetName(name + "-" + object.GetName()) // it is the same for all providers
			return redirect(object, name, authority)
		}); err != nil {
			return err
		}
	}
	return nil
}

func redirect(object *unstructured.Unstructured, provider string, authority []byte) error {
	hooks, _, err := unstructured.NestedSlice(object.Object, "webhooks")
	if err != nil {
		return err
	}
	for _, hook := range hooks {
		fields, ok := hook.(map[string]any)
		if !ok {
			return fmt.Errorf("reading %s: a webhook is no object", object.GetName())
		}
		path, _, err := unstructured.NestedString(fields, "clientConfig", "service", "path")
		if err != nil {
			return err
		}
		address, err := webhookURL(provider, path)
		if err != nil {
			return err
		}
		fields["clientConfig"] = map[string]any{"url": address, "caBundle": base64.StdEncoding.EncodeToString(authority)}
	}
	return unstructured.SetNestedSlice(object.Object, hooks, "webhooks")
}

// define applies each object of a text, after change has changed it.
func (m *management) define(ctx context.Context, text []byte, change func(*unstructured.Unstructured) error) error {
	client, err := dynamic.NewForConfig(m.client)
	if err != nil {
		return err
	}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(&object.Object); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("reading definitions: %w", err)
		}
		if len(object.Object) == 0 {
			continue // nothing between two separators
		}
		resource, known := definitions[object.GetKind()]
		if !known {
			return fmt.Errorf("defining %s %s: the lab does not know how", object.GetKind(), object.GetName())
		}
		if err := change(object); err != nil {
			return fmt.Errorf("defining %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		// The server does not accept what the files say about the status.
		unstructured.RemoveNestedField(object.Object, "status")
		if _, err := client.Resource(resource).Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: manager, Force: true}); err != nil {
			return fmt.Errorf("defining %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
}
