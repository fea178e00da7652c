package manifest

import (
	"strings"
	"testing"
)

// TestRewrite rewrites objects of an earlier version as people and programs write them.
// TestRewriteByHand checks that a field which only a person can rewrite is named, and left.
func TestRewriteByHand(t *testing.T) {
	const text = "apiVersion: kubectl-upgrade.dev/v1alpha1\nkind: ClusterUpgrade\nmetadata: {name: u}\nspec:\n  version: v1.34.5\n  strategy:\n    groups:\n    - {name: a, nodeSelector: {}, gates: [b]}\n"
	const want = "line 8: spec.strategy.groups[0].gates is no field any more: write ignoreGates, the gates that the group does not wait for"
	got, changes, err := Rewrite([]byte(text))
	if err != nil || string(got) != text || len(changes) != 1 || changes[0] != want {
		t.Errorf("got %v, %q\n%s\nwant %q", err, changes, got, want)
	}
}

func TestRewrite(t *testing.T) {
	const apiVersion = "apiVersion: kubectl-upgrade.dev/v1alpha1\n"
	for name, test := range map[string]struct{ was, now, changes string }{
		"comments and layout stay": {
			"# ours\n---\n" + apiVersion + "kind: MaintenanceSchedule # a freeze\nmetadata: {name: s}\nspec:\n  maintenanceExclusions:\n    - name: x\n      reason:   \"the books: closed\" # why\n      upgrades: [Minor]\n",
			"# ours\n---\n" + apiVersion + "kind: MaintenanceSchedule # a freeze\nmetadata: {name: s}\nspec:\n  maintenanceExclusions:\n    - name: x\n      comment:   \"the books: closed\" # why\n      upgradeTypes: [Minor]\n",
			"line 9: spec.maintenanceExclusions[0].reason is now comment\nline 10: spec.maintenanceExclusions[0].upgrades is now upgradeTypes",
		},
		"text that is an object now": {
			apiVersion + "kind: UpgradePolicy\nmetadata: {name: cluster}\nspec:\n  notices: [{name: ä, urlSecret: 'it''s'}]\n  silences:\n  - {name: a, caSecret: \"c\\\"a\", tokenSecret: t}\n  hooks:\n  - name: h\n    when: OnFailure\n    cronJob: c\n",
			apiVersion + "kind: UpgradePolicy\nmetadata: {name: cluster}\nspec:\n  notices: [{name: ä, urlSecretRef: {name: 'it''s'}}]\n  silences:\n  - {name: a, caSecretRef: {name: \"c\\\"a\"}, tokenSecretRef: {name: t}}\n  hooks:\n  - name: h\n    when: NodeFailed\n    cronJobName: c\n",
			"",
		},
		"a field that is required now": {
			apiVersion + "kind: ClusterUpgrade\nmetadata: {name: u}\nspec:\n  version: v1.34.5\n  retryOf: v1.34.4\n  ignoreChecks:\n  - id: a\n  - {id: b}\n  - {id: c, reason: known}\n",
			apiVersion + "kind: ClusterUpgrade\nmetadata: {name: u}\nspec:\n  version: v1.34.5\n  retryOf: {name: v1.34.4}\n  ignoreChecks:\n  - comment: none was given\n    id: a\n  - {comment: none was given, id: b}\n  - {id: c, comment: known}\n",
			"line 8: spec.ignoreChecks[0].comment is required now: \"none was given\"\nline 9: spec.ignoreChecks[1].comment is required now: \"none was given\"\nline 10: spec.ignoreChecks[2].reason is now comment\nline 6: spec.retryOf is now an object with a name",
		},
		"a list and other kinds": {
			"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  data: {reason: r}\n- " + apiVersion + "  kind: NodeUpgrade\n  abandoned: {reason: r}\n",
			"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  data: {reason: r}\n- " + apiVersion + "  kind: NodeUpgrade\n  abandoned: {comment: r}\n",
			"line 9: abandoned.reason is now comment",
		},
		"JSON": {
			`{"apiVersion":"kubectl-upgrade.dev/v1alpha1","kind":"ClusterUpgrade","metadata":{"name":"u"},"spec":{"reason":"r"}}`,
			"{\n  \"apiVersion\": \"kubectl-upgrade.dev/v1alpha1\",\n  \"kind\": \"ClusterUpgrade\",\n  \"metadata\": {\n    \"name\": \"u\"\n  },\n  \"spec\": {\n    \"comment\": \"r\"\n  }\n}\n",
			"line 1: spec.reason is now comment",
		},
		"both names": {apiVersion + "kind: ClusterUpgrade\nspec: {reason: a, comment: b}\n", apiVersion + "kind: ClusterUpgrade\nspec: {reason: a, comment: b}\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, changes, err := Rewrite([]byte(test.was))
			if err != nil || string(got) != test.now {
				t.Fatalf("got %v\n%s\nwant\n%s", err, got, test.now)
			}
			if all := strings.Join(changes, "\n"); test.changes != "" && all != test.changes {
				t.Errorf("got the changes\n%s\nwant\n%s", all, test.changes)
			}
			if again, changes, err := Rewrite(got); err != nil || len(changes) > 0 || string(again) != string(got) {
				t.Errorf("a second time: %v, %v\n%s", err, changes, again)
			}
		})
	}
	for name, text := range map[string]string{
		"text of several lines": apiVersion + "kind: ClusterUpgrade\nspec:\n  retryOf: >-\n    v1\n",
		"an anchor":             apiVersion + "kind: UpgradePolicy\nspec:\n  notices:\n  - &a {name: a, urlSecret: &s x}\n  silences:\n  - {name: b, tokenSecret: *s}\n",
	} {
		if got, _, err := Rewrite([]byte(text)); err == nil {
			t.Errorf("%s: got\n%s\nwant an error", name, got)
		}
	}
}
