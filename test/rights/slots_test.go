package rights_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
)

// TestAgentChangesOnlyHolderOfSlot checks that an agent which takes or frees its slot can change
// nothing else of it. An owner reference would delete the Lease of the next holder; a finalizer
// would keep a Lease that is to be deleted.
func TestAgentChangesOnlyHolderOfSlot(t *testing.T) {
	config := install(t)
	agent := agent(t, config)
	for _, way := range []struct{ name, slot, reserved, holder string }{
		{"takes", "for-1", `"worker-1/uid"`, `"worker-1/uid"`},
		{"frees", "held-by-1", "null", "null"},
		{"frees for the next node", "next-is-2", `"worker-2/uid"`, "null"},
	} {
		slot := try{do: "EDIT", at: leases + "/" + way.slot}
		change := func(metadata, spec string) answer {
			slot.with = fmt.Sprintf(`{"metadata":{"annotations":{"kubectl-upgrade.dev/reserved-for":%s%s},"spec":{"holderIdentity":%s%s}}`, way.reserved, metadata, way.holder, spec)
			return agent.try(t, slot)
		}
		if got := change("}", `,"acquireTime":"2026-01-01T00:00:00.000000Z"`); got.answer != allowed {
			t.Errorf("%s: it may not: %s", way.name, got.message)
		}
		if way.slot == "next-is-2" {
			kept := way.reserved
			for _, reserved := range []string{"null", `"worker-1/uid"`} {
				way.reserved = reserved
				if got := change("}", ""); got.answer != byPolicy {
					t.Errorf("%s, and reserves it for %s: %s: %s", way.name, reserved, got.answer, got.message)
				}
			}
			way.reserved = kept
		}
		for what, metadata := range map[string]string{
			"a label":          `},"labels":{"x":"y"}`,
			"the slot's label": `},"labels":{"kubectl-upgrade.dev/slot":null}`,
			"an annotation":    `,"x":"y"}`,
			"an owner":         `},"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"gone","uid":"u"}]`,
			"a finalizer":      `},"finalizers":["example.com/mine"]`,
		} {
			if got := change(metadata, ""); got.answer != byPolicy {
				t.Errorf("%s, and changes %s: %s: %s", way.name, what, got.answer, got.message)
			}
		}
		for _, field := range slotFields(t) {
			if got := change("}", ","+field); got.answer != byPolicy {
				t.Errorf("%s, and sets %s: %s: %s", way.name, field, got.answer, got.message)
			}
		}
	}
}

// slotFields are the fields of a Lease's spec that no agent writes, each with a value.
func slotFields(t *testing.T) []string {
	values := map[string]string{
		"leaseDurationSeconds": "1", "leaseTransitions": "1", "renewTime": `"2026-01-01T00:00:00.000000Z"`, "strategy": "", "preferredHolder": "",
	}
	var fields []string
	for i := range reflect.TypeFor[coordinationv1.LeaseSpec]().NumField() {
		name, _, _ := strings.Cut(reflect.TypeFor[coordinationv1.LeaseSpec]().Field(i).Tag.Get("json"), ",")
		value, known := values[name]
		switch {
		case slices.Contains([]string{"holderIdentity", "acquireTime"}, name):
		case !known:
			t.Errorf("Leases have a new field %s: add it to manifests/admission/node-agent-slots.yaml", name)
		case value != "": // the others are dropped unless a feature gate is on
			fields = append(fields, fmt.Sprintf("%q:%s", name, value))
		}
	}
	return fields
}
