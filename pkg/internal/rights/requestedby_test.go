package rights_test

import "testing"

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
	abandon := func(by string) try {
		return try{do: "PATCH", at: ours + "/nodeupgrades/worker-1", with: `{"abandoned":{"reason":"its disk died"` + by + `}}`}
	}
	change := func(at, annotation string) try {
		return try{do: "PATCH", at: ours + at, with: `{"metadata":{"annotations":{"kubectl-upgrade.dev/requested-by":` + annotation + `}}}`}
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
		{"an upgrade that is there", editor, change("/clusterupgrades/signed", `"`+another+`"`), byPolicy},
		{"an upgrade that another asked for, taken over", editor, change("/clusterupgrades/signed", `"`+me+`"`), allowed},
		{"a name taken away", editor, change("/clusterupgrades/signed", "null"), byPolicy},
		{"another's upgrade suspended", editor, try{do: "PATCH", at: ours + "/clusterupgrades/signed", with: `{"spec":{"suspend":true}}`}, allowed},
		{"abandoned without a name", editor, abandon(""), allowed},
		{"abandoned", editor, abandon(`,"by":"` + me + `"`), allowed},
		{"abandoned as another", editor, abandon(`,"by":"` + another + `"`), byPolicy},
		{"a restore", as(t, config, "backup", "backup", "backups"), upgrade(`"kubectl-upgrade.dev/requested-by":"` + another + `","kubectl-upgrade.dev/created-by":"coordinator"`), allowed},
		{"a restore", administrator(t, config), upgrade(`"kubectl-upgrade.dev/requested-by":"` + another + `"`), allowed},
	} {
		if got := row.by.try(t, row.try); got.answer != row.want {
			t.Errorf("%s: got %s (%s), want %s", row.what, got.answer, got.message, row.want)
		}
	}
}
