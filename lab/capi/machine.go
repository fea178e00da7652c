package capi

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// scheme begins the provider ID of a node: lab://cp1.
	scheme    = "lab://"
	finalizer = "infrastructure.cluster.x-k8s.io/labmachine"
)

// nodeOf returns the name of the machine's node, or nothing if it has none yet.
func nodeOf(labMachine *unstructured.Unstructured) string {
	id, _, _ := unstructured.NestedString(labMachine.Object, "spec", "providerID")
	return strings.TrimPrefix(id, scheme)
}

// reconcile makes a machine, or removes it.
func (p *provider) reconcile(ctx context.Context, labMachine *unstructured.Unstructured) error {
	node := nodeOf(labMachine)
	if node == "" {
		return nil // there is no free node
	}
	if labMachine.GetDeletionTimestamp() != nil {
		return p.remove(ctx, labMachine, node)
	}
	if isProvisioned(labMachine) {
		return nil
	}
	ignition, err := p.bootstrapData(ctx, labMachine)
	if errors.Is(err, errWaiting) {
		return p.condition(ctx, labMachine, "WaitingForBootstrapData", err.Error())
	}
	if err == nil {
		err = p.machines.Boot(ctx, node, ignition)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("booting %s for LabMachine %s: %w", node, labMachine.GetName(), err),
			p.condition(ctx, labMachine, "BootFailed", err.Error()))
	}
	address, err := p.machines.Address(node)
	if err != nil {
		return err
	}
	addresses := []any{
		map[string]any{"type": "Hostname", "address": node},
		map[string]any{"type": "InternalIP", "address": address},
	}
	if err := unstructured.SetNestedSlice(labMachine.Object, addresses, "status", "addresses"); err != nil {
		return err
	}
	if err := setCondition(labMachine, "True", "Booted", ""); err != nil {
		return err
	}
	return p.provisioned(ctx, labMachines, labMachine)
}

func (p *provider) remove(ctx context.Context, labMachine *unstructured.Unstructured, node string) error {
	if !slices.Contains(labMachine.GetFinalizers(), finalizer) {
		return nil
	}
	if err := p.machines.Discard(ctx, node); err != nil {
		return fmt.Errorf("removing %s of LabMachine %s: %w", node, labMachine.GetName(), err)
	}
	labMachine.SetFinalizers(slices.DeleteFunc(labMachine.GetFinalizers(), func(f string) bool { return f == finalizer }))
	_, err := p.client.Resource(labMachines).Namespace(labMachine.GetNamespace()).Update(ctx, labMachine, metav1.UpdateOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("letting LabMachine %s go: %w", labMachine.GetName(), err)
	}
	return nil
}

// errWaiting means that the machine has no bootstrap data yet.
var errWaiting = errors.New("the machine has no bootstrap data yet")

// bootstrapData returns the Ignition configuration that the bootstrap provider made for the Machine
// that owns this one.
func (p *provider) bootstrapData(ctx context.Context, labMachine *unstructured.Unstructured) ([]byte, error) {
	owner := slices.IndexFunc(labMachine.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.Kind == "Machine" })
	if owner < 0 {
		return nil, errWaiting
	}
	machine, err := p.client.Resource(machines).Namespace(labMachine.GetNamespace()).Get(ctx, labMachine.GetOwnerReferences()[owner].Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading the Machine of LabMachine %s: %w", labMachine.GetName(), err)
	}
	name, _, _ := unstructured.NestedString(machine.Object, "spec", "bootstrap", "dataSecretName")
	if name == "" {
		return nil, errWaiting
	}
	secret, err := p.client.Resource(secrets).Namespace(labMachine.GetNamespace()).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading the bootstrap data of LabMachine %s: %w", labMachine.GetName(), err)
	}
	encoded, _, _ := unstructured.NestedString(secret.Object, "data", "value")
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, fmt.Errorf("reading Secret %s: %w", name, err)
	}
	return convert(data)
}

// condition writes why a machine is not ready.
func (p *provider) condition(ctx context.Context, labMachine *unstructured.Unstructured, reason, message string) error {
	if said := conditionOf(labMachine); said["reason"] == reason && said["message"] == message {
		return nil
	}
	if err := setCondition(labMachine, "False", reason, message); err != nil {
		return err
	}
	if _, err := p.client.Resource(labMachines).Namespace(labMachine.GetNamespace()).UpdateStatus(ctx, labMachine, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("writing the condition of LabMachine %s: %w", labMachine.GetName(), err)
	}
	return nil
}

// conditionOf returns the condition Ready, the only one, or nil.
func conditionOf(labMachine *unstructured.Unstructured) map[string]any {
	conditions, _, _ := unstructured.NestedSlice(labMachine.Object, "status", "conditions")
	if len(conditions) == 0 {
		return nil
	}
	fields, _ := conditions[0].(map[string]any)
	return fields
}

func setCondition(labMachine *unstructured.Unstructured, status, reason, message string) error {
	return unstructured.SetNestedSlice(labMachine.Object, []any{map[string]any{
		"type": "Ready", "status": status, "reason": reason, "message": message,
		"lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
	}}, "status", "conditions")
}
