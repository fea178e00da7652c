package rights_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestRequestedByIsTheUser checks that the requester in upgrades, freezes and abandonments must
// be the user who writes it.
func TestRequestedByIsTheUser(t *testing.T) {
	config := install(t)
	editor := person(t, config, "kubectl-upgrade-edit")
	kubectl(t, config, "", "create", "clusterrolebinding", "backups", "--clusterrole=cluster-admin", "--group=backups")
	const me, another = "a-person-with-kubectl-upgrade-edit", "alice"
	upgrade := func(annotations string) try {
		return try{do: "POST", at: ours + "/clusterupgrades",
			with: `{"apiVersion":"kubectl-upgrade.dev/v1alpha1","kind":"ClusterUpgrade","metadata":{"name":"new","annotations":{` + annotations + `}},"spec":{"type":"Reboot"}}`}
	}
	freeze := func(name string) try {
		return try{do: "POST", at: ours + "/maintenanceschedules",
			with: `{"apiVersion":"kubectl-upgrade.dev/v1alpha1","kind":"MaintenanceSchedule","metadata":{"name":"new","annotations":{"kubectl-upgrade.dev/requested-by":"` + name + `"}},"spec":{}}`}
	}
	kubectl(t, config, "", "patch", "nodeupgrade", "worker-2", "--type=merge", "-p", `{"abandoned":{"comment":"stolen","by":"bob"}}`)
	defer kubectl(t, config, "", "patch", "nodeupgrade", "worker-2", "--type=merge", "-p", `{"abandoned":null}`)
	abandon := func(by string) try {
		return try{do: "PATCH", at: ours + "/nodeupgrades/worker-1", with: `{"abandoned":{"comment":"its disk died"` + by + `}}`}
	}
	change := func(at, annotation string) try {
		return try{do: "PATCH", at: ours + at, with: `{"metadata":{"annotations":{"kubectl-upgrade.dev/requested-by":` + annotation + `}}}`}
	}
	kubectl(t, config, `{"apiVersion":"kubectl-upgrade.dev/v1alpha1","kind":"MaintenanceSchedule","metadata":{"name":"frozen","annotations":{"kubectl-upgrade.dev/requested-by":"`+another+`"}},"spec":{}}`, "apply", "--server-side", "-f", "-")
	const longer = `"spec":{"timeZone":"Europe/Berlin"}`
	frozen := func(by, fields string) try {
		patch := map[string]any{}
		for _, part := range []string{`{"metadata":{"annotations":{"kubectl-upgrade.dev/requested-by":` + by + `}}}`, "{" + fields + "}"} {
			if err := json.Unmarshal([]byte(part), &patch); err != nil {
				t.Fatal(err)
			}
		}
		with, err := json.Marshal(patch)
		if err != nil {
			t.Fatal(err)
		}
		return try{do: "PATCH", at: ours + "/maintenanceschedules/frozen", with: string(with)}
	}
	for _, row := range []struct {
		what string
		by   *identity
		try
		want string
	}{
		{"an upgrade without a name", editor, upgrade(""), allowed},
		{"an upgrade", editor, upgrade(`"kubectl-upgrade.dev/requested-by":"` + me + `"`), allowed},
		{"an upgrade as another", editor, upgrade(`"kubectl-upgrade.dev/requested-by":"` + another + `"`), byPolicy},
		{"an upgrade as the policy's", editor, upgrade(`"kubectl-upgrade.dev/created-by":"coordinator"`), byPolicy},
		{"an upgrade as the policy's, by the coordinator", coordinator(t, config), upgrade(`"kubectl-upgrade.dev/created-by":"coordinator"`), allowed},
		{"an upgrade as a person's, by the coordinator", coordinator(t, config), upgrade(`"kubectl-upgrade.dev/requested-by":"` + me + `"`), byPolicy},
		{"a freeze", editor, freeze(me), allowed},
		{"a freeze as another", editor, freeze(another), byPolicy},
		{"another's freeze changed under its name", editor, frozen(`"`+another+`"`, longer), byPolicy},
		{"another's freeze changed under its name, by an administrator", administrator(t, config), frozen(`"`+another+`"`, longer), byPolicy},
		{"another's freeze taken over", editor, frozen(`"`+me+`"`, longer), allowed},
		{"another's freeze changed without a name", editor, frozen("null", longer), allowed},
		{"another's freeze labelled", editor, frozen(`"`+another+`"`, `"metadata":{"labels":{"a":"b"}}`), allowed},
		{"the name of another's freeze taken away", editor, frozen("null", ""), byPolicy},
		{"an upgrade that is there", editor, change("/clusterupgrades/signed", `"`+another+`"`), byPolicy},
		{"an upgrade that another asked for, taken over", editor, change("/clusterupgrades/signed", `"`+me+`"`), allowed},
		{"a name taken away", editor, change("/clusterupgrades/signed", "null"), byPolicy},
		{"another's upgrade suspended", editor, try{do: "PATCH", at: ours + "/clusterupgrades/signed", with: `{"spec":{"suspend":true}}`}, allowed},
		{"abandoned without a name", editor, abandon(""), allowed},
		{"abandoned", editor, abandon(`,"by":"` + me + `"`), allowed},
		{"abandoned as another", editor, abandon(`,"by":"` + another + `"`), byPolicy},
		{"another's reason changed, by who may impersonate", as(t, config, "backup", "backup", "backups"), try{do: "PATCH", at: ours + "/nodeupgrades/worker-2", with: `{"abandoned":{"comment":"found"}}`}, byPolicy},
		{"an abandonment withdrawn", editor, try{do: "PATCH", at: ours + "/nodeupgrades/worker-2", with: `{"abandoned":null}`}, allowed},
		{"an abandonment restored", as(t, config, "backup", "backup", "backups"), abandon(`,"by":"` + another + `"`), allowed},
		{"a restore", as(t, config, "backup", "backup", "backups"), upgrade(`"kubectl-upgrade.dev/requested-by":"` + another + `","kubectl-upgrade.dev/created-by":"coordinator"`), allowed},
		{"a restore", administrator(t, config), upgrade(`"kubectl-upgrade.dev/requested-by":"` + another + `"`), allowed},
	} {
		if got := row.by.try(t, row.try); got.answer != row.want {
			t.Errorf("%s: got %s (%s), want %s", row.what, got.answer, got.message, row.want)
		}
	}
}

// TestDecisionsHaveTheirOwnNames checks that who approves an upgrade, lets a check be ignored or
// changes the spec can record only their own name, and that no name stands for what another user
// decided.
func TestDecisionsHaveTheirOwnNames(t *testing.T) {
	config := install(t)
	const me = "decider"
	editor := as(t, config, me, me)
	kubectl(t, config, "", "create", "clusterrolebinding", me+"-edits", "--clusterrole=kubectl-upgrade-edit", "--user="+me)
	kubectl(t, config, "", "create", "clusterrole", me, "--verb=approve,ignore-checks,ignore-windows", "--resource=clusterupgrades.kubectl-upgrade.dev")
	kubectl(t, config, "", "create", "clusterrolebinding", me, "--clusterrole="+me, "--user="+me)
	kubectl(t, config, "", "create", "clusterrolebinding", "restores", "--clusterrole=cluster-admin", "--group=restores")
	decided := func(patch string) try {
		return try{do: "PATCH", at: ours + "/clusterupgrades/decided", with: patch}
	}
	spec := func(fields string) try { return decided(`{"spec":{` + fields + `}}`) }
	changed := func(by, generation, fields string) try {
		return decided(`{"metadata":{"annotations":{"kubectl-upgrade.dev/changed-by":` + by + `,"kubectl-upgrade.dev/changed-generation":` + generation + `}},"spec":{` + fields + `}}`)
	}
	made := func(fields string) try {
		return try{do: "POST", at: ours + "/clusterupgrades", with: object("ClusterUpgrade", `,"spec":{"version":"v1.34.4",`+fields+`}`)}
	}
	const kept = `{"id":"pdb-blocks","comment":"one replica","by":"bob"}`
	for _, row := range []struct {
		what string
		by   *identity
		try
		want string
	}{
		{"an approval without a name, as from Git", editor, made(`"approved":{"upgrade":true}`), allowed},
		{"an approval", editor, made(`"approved":{"upgrade":true,"by":"` + me + `"}`), allowed},
		{"an approval as another", editor, made(`"approved":{"upgrade":true,"by":"alice"}`), byPolicy},
		{"a group approved under the name of who approved the upgrade", editor, spec(`"approved":{"groups":["db"]}`), byPolicy},
		{"a group approved", editor, spec(`"approved":{"groups":["db"],"by":"` + me + `"}`), allowed},
		{"a group approved without a name", editor, spec(`"approved":{"groups":["db"],"by":null}`), allowed},
		{"the approver's name replaced", editor, spec(`"approved":{"by":"alice"}`), byPolicy},
		{"the approver's name taken away", editor, spec(`"approved":{"by":null}`), byPolicy},
		{"an approval withdrawn", editor, spec(`"approved":null`), allowed},

		{"a check ignored without a name", editor, made(`"ignoreChecks":[{"id":"a","comment":"c"}]`), allowed},
		{"a check ignored", editor, spec(`"ignoreChecks":[` + kept + `,{"id":"a","comment":"c","by":"` + me + `"}]`), allowed},
		{"a check ignored as another", editor, spec(`"ignoreChecks":[` + kept + `,{"id":"a","comment":"c","by":"alice"}]`), byPolicy},
		{"a check ignored as the one who ignored another", editor, spec(`"ignoreChecks":[` + kept + `,{"id":"a","comment":"c","by":"bob"}]`), byPolicy},
		{"another's reason changed", editor, spec(`"ignoreChecks":[{"id":"pdb-blocks","comment":"x","by":"bob"}]`), byPolicy},
		{"another's name taken away", editor, spec(`"ignoreChecks":[{"id":"pdb-blocks","comment":"one replica"}]`), byPolicy},
		{"another's check no longer ignored", editor, spec(`"ignoreChecks":[]`), allowed},

		{"a change without a name", editor, spec(`"suspend":true`), allowed},
		{"a change", editor, changed(`"`+me+`"`, `"2"`, `"suspend":true`), allowed},
		{"a change as another", editor, changed(`"alice"`, `"2"`, `"suspend":true`), byPolicy},
		{"a change under the last one's name", editor, changed(`"bob"`, `"2"`, `"suspend":true`), byPolicy},
		{"a change with a later generation", editor, changed(`"`+me+`"`, `"3"`, `"suspend":true`), byPolicy},
		{"another's change taken over", editor, changed(`"`+me+`"`, `"1"`, ""), byPolicy},
		{"another's name taken away from a change", editor, changed("null", "null", ""), byPolicy},
		{"a change that removes the last one's name", editor, changed("null", "null", `"suspend":true`), allowed},

		{"a group approved under another's name, by an administrator", administrator(t, config), spec(`"approved":{"groups":["db"]}`), byPolicy},
		{"another's reason changed, by an administrator", administrator(t, config), spec(`"ignoreChecks":[{"id":"pdb-blocks","comment":"x","by":"bob"}]`), byPolicy},
		{"the approver's name replaced, by an administrator", administrator(t, config), spec(`"approved":{"groups":["db"],"by":"carol"}`), allowed},
		{"another's name replaced, by an administrator", administrator(t, config), spec(`"ignoreChecks":[{"id":"pdb-blocks","comment":"x","by":"carol"}]`), allowed},
		{"nothing approved", editor, made(`"approved":{"upgrade":false}`), allowed},
		{"a restore", as(t, config, "backup", "backup", "restores"), made(`"approved":{"upgrade":true,"by":"alice"},"ignoreChecks":[{"id":"a","comment":"c","by":"bob"}]`), allowed},
		{"a status", coordinator(t, config), try{do: "PATCH", at: ours + "/clusterupgrades/decided/status", with: `{"status":{"progress":"1/2"}}`}, allowed},
	} {
		if got := row.by.try(t, row.try); got.answer != row.want {
			t.Errorf("%s: got %s (%s), want %s", row.what, got.answer, got.message, row.want)
		}
	}
}

// TestDecisionsNeedVerbs checks that an editor requests upgrades, and that others approve them, or have checks and
// windows ignored.
func TestDecisionsNeedVerbs(t *testing.T) {
	config := install(t)
	editor, approver, admin := person(t, config, "kubectl-upgrade-edit"), person(t, config, "kubectl-upgrade-approve"), administrator(t, config)
	made := func(fields string) try {
		return try{do: "POST", at: ours + "/clusterupgrades", with: object("ClusterUpgrade", `,"spec":{"version":"v1.34.4",`+fields+`}`)}
	}
	changed := func(fields string) try {
		return try{do: "PATCH", at: ours + "/clusterupgrades/required", with: `{"spec":{` + fields + `}}`}
	}
	const groups = `"groups":[{"name":"db","nodeSelector":{},"approval":"Required"}]`
	kubectl(t, config, `{"apiVersion":"kubectl-upgrade.dev/v1alpha1","kind":"ClusterUpgrade","metadata":{"name":"required"},"spec":{"version":"v1.34.4",`+
		`"approved":{"groups":["web"]},"ignoreChecks":[{"id":"a","comment":"c"}],"strategy":{"approval":"Required",`+groups+`}}}`, "apply", "--server-side", "-f", "-")
	for _, row := range []struct {
		what string
		by   *identity
		try
		want string
	}{
		{"an upgrade that is approved already", editor, made(`"approved":{"upgrade":true}`), byPolicy},
		{"one of which a group is approved already", editor, made(`"approved":{"groups":["db"]}`), byPolicy},
		{"an approval by an editor", editor, changed(`"approved":{"upgrade":true,"groups":["web"]}`), byPolicy},
		{"a group approved by an editor", editor, changed(`"approved":{"groups":["web","db"]}`), byPolicy},
		{"no approval required any more", editor, changed(`"strategy":{"approval":"NotRequired",` + groups + `}`), byPolicy},
		{"an approval that is left out", editor, changed(`"strategy":{"approval":null,` + groups + `}`), byPolicy},
		{"a group that needs none any more", editor, changed(`"strategy":{"approval":"Required","groups":[]}`), byPolicy},
		{"a check ignored", editor, changed(`"ignoreChecks":[{"id":"a","comment":"c"},{"id":"b","comment":"c"}]`), byPolicy},
		{"a check ignored from the start", editor, made(`"ignoreChecks":[{"id":"b","comment":"c"}]`), byPolicy},
		{"windows ignored", editor, changed(`"windowPolicy":"Ignore"`), byPolicy},
		{"windows ignored from the start", editor, made(`"windowPolicy":"Ignore"`), byPolicy},
		{"more approvals required", editor, made(`"strategy":{"approval":"Required",` + groups + `}`), allowed},
		{"what is neither", editor, changed(`"suspend":true`), allowed},
		{"an approval withdrawn", editor, changed(`"approved":null`), allowed},
		{"a check no longer ignored", editor, changed(`"ignoreChecks":[]`), allowed},

		{"an approval by an approver", approver, changed(`"approved":{"upgrade":true}`), allowed},
		{"windows ignored by an approver", approver, changed(`"windowPolicy":"Ignore"`), byPolicy},
		{"a check ignored by an approver", approver, changed(`"ignoreChecks":[{"id":"b","comment":"c"}]`), byPolicy},
		{"an upgrade requested by an approver", approver, made(`"suspend":true`), noRight},
		{"all by an administrator", admin, made(`"approved":{"upgrade":true},"windowPolicy":"Ignore","ignoreChecks":[{"id":"b","comment":"c"}]`), allowed},
	} {
		if got := row.by.try(t, row.try); got.answer != row.want {
			t.Errorf("%s: got %s (%s), want %s", row.what, got.answer, got.message, row.want)
		}
	}
}

// TestGatesAreIgnoredByWhoMay checks that an editor does not overrule administrators' gates, and
// that who may do so can record only their own name.
func TestGatesAreIgnoredByWhoMay(t *testing.T) {
	config := install(t)
	editor, admin := person(t, config, "kubectl-upgrade-edit"), administrator(t, config)
	kubectl(t, config, "", "create", "clusterrole", "may-ignore-gates", "--verb=ignore-gates,create,patch,get", "--resource=clusterupgrades.kubectl-upgrade.dev")
	kubectl(t, config, "", "create", "clusterrolebinding", "may-ignore-gates", "--clusterrole=may-ignore-gates", "--user=carol")
	carol := as(t, config, "carol", "carol")
	made := func(fields string) try {
		return try{do: "POST", at: ours + "/clusterupgrades", with: object("ClusterUpgrade", `,"spec":{"version":"v1.34.4",`+fields+`}`)}
	}
	changed := func(fields string) try {
		return try{do: "PATCH", at: ours + "/clusterupgrades/decided", with: `{"spec":{` + fields + `}}`}
	}
	const group = `"strategy":{"groups":[{"name":"db","nodeSelector":{"matchLabels":{"pool":"db"}}%s}]}`
	kubectl(t, config, "", "patch", "clusterupgrade", "decided", "--type=merge", "-p", `{"spec":{"ignoreGates":[{"name":"backup","comment":"known"}]}}`)
	const (
		db      = `{"name":"db","nodeSelector":{"matchLabels":{"pool":"db"}}}`
		test    = `{"name":"test","nodeSelector":{"matchLabels":{"pool":"test"}},"ignoreGates":["alerts"]}`
		rest    = `{"name":"rest","nodeSelector":{},"ignoreGates":["alerts","backup"]%s}`
		another = `{"name":"another","nodeSelector":{"matchLabels":{"pool":"x"}}}`
	)
	groups := func(groups ...string) try {
		return try{do: "PATCH", at: ours + "/clusterupgrades/grouped", with: `{"spec":{"strategy":{"groups":[` + strings.Join(groups, ",") + `]}}}`}
	}
	plain := fmt.Sprintf(rest, "")
	kubectl(t, config, `{"apiVersion":"kubectl-upgrade.dev/v1alpha1","kind":"ClusterUpgrade","metadata":{"name":"grouped"},"spec":{"version":"v1.34.4","strategy":{"groups":[`+
		strings.Join([]string{db, test, plain}, ",")+`]}}}`, "apply", "--server-side", "-f", "-")
	for _, row := range []struct {
		what string
		by   *identity
		try
		want string
	}{
		{"a gate ignored by an editor", editor, made(`"ignoreGates":[{"name":"alerts","comment":"noise"}]`), byPolicy},
		{"a gate ignored by an editor, later", editor, changed(`"ignoreGates":[{"name":"backup","comment":"known"},{"name":"alerts","comment":"noise"}]`), byPolicy},
		{"another reason for an ignored gate", editor, changed(`"ignoreGates":[{"name":"backup","comment":"changed"}]`), byPolicy},
		{"a gate that a group ignores", editor, made(fmt.Sprintf(group, `,"ignoreGates":["alerts"]`)), byPolicy},
		{"a group that asks all gates", editor, made(fmt.Sprintf(group, "")), allowed},
		{"what was ignored already", editor, changed(`"suspend":true`), allowed},
		{"an ignored gate taken back", editor, changed(`"ignoreGates":[]`), allowed},
		{"a gate ignored by who may", carol, made(`"ignoreGates":[{"name":"alerts","comment":"noise","by":"carol"}]`), allowed},
		{"a gate ignored by who may, without a name", carol, made(`"ignoreGates":[{"name":"alerts","comment":"noise"}]`), allowed},
		{"a gate ignored in another's name", carol, made(`"ignoreGates":[{"name":"alerts","comment":"noise","by":"alice"}]`), byPolicy},
		{"a gate that a group ignores, by who may", carol, made(fmt.Sprintf(group, `,"ignoreGates":["alerts"]`)), allowed},
		{"a gate ignored by an administrator", admin, made(`"ignoreGates":[{"name":"alerts","comment":"noise"}]`), allowed},
		{"another pace of a group without gates", editor, groups(db, test, fmt.Sprintf(rest, `,"maxUnavailable":2`)), allowed},
		{"a group without gates before the one that asks all", editor, groups(plain, db, test), byPolicy},
		{"a group with fewer gates before one with more", editor, groups(db, plain, test), byPolicy},
		{"a group that asks all, taken away", editor, groups(test, plain), byPolicy},
		{"a group with a gate, taken away", editor, groups(db, plain), byPolicy},
		{"other nodes in the group that asks all", editor, groups(strings.Replace(db, "db\"}", "x\"}", 1), test, plain), byPolicy},
		{"another order, by who may", carol, groups(plain, db, test), allowed},
		{"no group without gates any more", editor, groups(db, another), allowed},
		{"gates in the policy, by an editor", editor, try{do: "PATCH", at: ours + "/upgradepolicies/cluster", with: `{"spec":{"gates":[]}}`}, noRight},
	} {
		if got := row.by.try(t, row.try); got.answer != row.want {
			t.Errorf("%s: got %s (%s), want %s", row.what, got.answer, got.message, row.want)
		}
	}
}
