// Package admission has the admission policies that simulated API servers evaluate, as real ones do.
package admission

import _ "embed"

// UpgradePolicies are those of UpgradePolicies.
//
//go:embed upgradepolicy-spec.yaml
var UpgradePolicies []byte
