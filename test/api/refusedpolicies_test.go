package api_test

import (
	"strings"
	"testing"
)

func TestWrongPoliciesAreRefused(t *testing.T) {
	policy := func(name, spec, field, words string) refusal {
		return refusal{name, named("cluster", "spec: {"+spec+"}"), "spec." + field, words}
	}
	refuse(t, "UpgradePolicy", []refusal{
		{"another name", named("default", "spec: {}"), "metadata.name", "there is one UpgradePolicy, and it is named cluster"},
		{"an unknown field", named("cluster", "spec: {auto: []}"), `"spec.auto"`, "unknown field"},

		policy("automatic rollbacks", "automatic: [{type: Rollback}]", "automatic[0].type", "a Rollback is asked for with a ClusterUpgrade"),
		policy("automatic minors", "automatic: [{type: Minor}]", "automatic[0].type", "a Minor is asked for with a ClusterUpgrade"),
		policy("an unknown type", "automatic: [{type: patch}]", "automatic[0].type", `"Patch"`),
		policy("no type", "automatic: [{minAgeSeconds: 1}]", "automatic[0].type", "Required value"),
		policy("a type twice", "automatic: [{type: Patch}, {type: Patch}]", "automatic[1]", "Duplicate value"),
		policy("types as words", "automatic: [Patch]", "automatic[0]", "must be of type object"),
		policy("a reboot of some age", "automatic: [{type: Reboot, minAgeSeconds: 1}]", "automatic[0].minAgeSeconds", "only a Patch has an age"),
		policy("a negative age", "automatic: [{type: Patch, minAgeSeconds: -1}]", "automatic[0].minAgeSeconds", "greater than or equal to 0"),
		policy("an age of two years", "automatic: [{type: Patch, minAgeSeconds: 63072000}]", "automatic[0].minAgeSeconds", "31536000"),
		policy("a negative notice time", "automatic: [{type: Patch, noticeSeconds: -1}]", "automatic[0].noticeSeconds", "greater than or equal to 0"),
		policy("a notice time of a year", "automatic: [{type: Reboot, noticeSeconds: 31536000}]", "automatic[0].noticeSeconds", "2592000"),
		policy("a negative interval", "automatic: [{type: Reboot, minIntervalSeconds: -1}]", "automatic[0].minIntervalSeconds", "greater than or equal to 0"),
		policy("an interval of two years", "automatic: [{type: Patch, minIntervalSeconds: 63072000}]", "automatic[0].minIntervalSeconds", "31536000"),
		policy("an age with a unit", "automatic: [{type: Patch, minAgeSeconds: 7d}]", "automatic[0].minAgeSeconds", "integer"),

		policy("a blocked minor", "blockedVersions: [{version: v1.34, comment: r}]", "blockedVersions[0].version", "must be a version of Kubernetes in full"),
		policy("a blocked version as a word", "blockedVersions: [v1.34.5]", "blockedVersions[0]", "must be of type object"),
		policy("no reason to block", "blockedVersions: [{version: v1.34.5}]", "blockedVersions[0].comment", "Required value"),
		policy("an empty reason to block", "blockedVersions: [{version: v1.34.5, comment: ''}]", "blockedVersions[0].comment", "at least 1"),
		policy("a version that is blocked twice", "blockedVersions: [{version: v1.34.5, comment: a}, {version: v1.34.5, comment: b}]", "blockedVersions[1]", "Duplicate value"),

		policy("an empty address", `source: {url: ""}`, "source.url", "must be an http or https address of a folder"),
		policy("a path for an address", "source: {url: /opt/images}", "source.url", "must be an http or https address of a folder"),
		policy("a file for an address", "source: {url: 'file:///opt/images/'}", "source.url", "must be an http or https address of a folder"),
		policy("an address that is no folder", "source: {url: 'https://images.example'}", "source.url", "must be an http or https address of a folder"),
		policy("a plain address", "source: {url: 'http://images.example/'}", "source.url", "plain http can be changed on its way: use https, or accept that with transportPolicy: AllowHTTP"),
		policy("a plain address that is not accepted", "source: {url: 'http://images.example/', transportPolicy: RequireTLS}", "source.url", "plain http can be changed on its way"),
		policy("a long address", "source: {url: 'https://a/"+strings.Repeat("a", 2048)+"'}", "source.url", "2048"),
		policy("no interval", "source: {intervalSeconds: 0}", "source.intervalSeconds", "greater than or equal to 1"),
		policy("an interval of two days", "source: {intervalSeconds: 172800}", "source.intervalSeconds", "86400"),
		policy("an interval with a unit", "source: {intervalSeconds: 10m}", "source.intervalSeconds", "integer"),
		policy("a large keyring", "source: {keyring: "+strings.Repeat("a", 65537)+"}", "source.keyring", "65536"),

		policy("a notice without a name", "notices: [{urlSecretRef: {name: chat}}]", "notices[0].name", "Required value"),
		policy("a notice with a wrong name", "notices: [{name: Chat_1, urlSecretRef: {name: chat}}]", "notices[0].name", "must be of lower-case letters, digits and '-'"),
		policy("a notice without an address", "notices: [{name: chat}]", "notices[0].urlSecretRef", "Required value"),
		policy("a notice's address in the policy", "notices: [{name: chat, urlSecretRef: {name: 'slack://hook:a-b-c@webhook'}}]", "notices[0].urlSecretRef.name", "must be the name of a Secret"),
		policy("a notice's address in a field", "notices: [{name: chat, url: 'slack://hook:a-b-c@webhook'}]", `notices[0].url"`, "unknown field"),
		policy("an unknown event", "notices: [{name: chat, urlSecretRef: {name: chat}, events: [Started]}]", "notices[0].events[0]", `"Announced"`),
		policy("an event twice", "notices: [{name: chat, urlSecretRef: {name: chat}, events: [Ended, Ended]}]", "notices[0].events[1]", "Duplicate value"),
		policy("no events", "notices: [{name: chat, urlSecretRef: {name: chat}, events: []}]", "notices[0].events", "at least 1"),
		policy("a notice twice", "notices: [{name: chat, urlSecretRef: {name: a}}, {name: chat, urlSecretRef: {name: b}}]", "notices[1]", "Duplicate value"),
		policy("nine notices", "notices: ["+strings.Repeat("{name: x, urlSecretRef: {name: x}},", 9)+"]", "notices", "must have at most 8 items"),
		policy("a long template", "notices: [{name: chat, urlSecretRef: {name: chat}, template: "+strings.Repeat("a", 4097)+"}]", "notices[0].template", "4096"),

		policy("a silence of every node", "silences: [{name: s, url: 'http://a', matchers: [{name: severity, value: warning}]}]", "silences[0].matchers", "the value of one must have {node}"),
		policy("a silence of everything", "silences: [{name: s, url: 'http://a', matchers: []}]", "silences[0].matchers", "at least 1"),
		policy("a silence without matchers", "silences: [{name: s, url: 'http://a'}]", "silences[0].matchers", "Required value"),
		policy("a label with a dash", "silences: [{name: s, url: 'http://a', matchers: [{name: the-node, value: '{node}'}]}]", "silences[0].matchers[0].name", "must be the name of a label"),
		policy("a label twice", "silences: [{name: s, url: 'http://a', matchers: [{name: node, value: '{node}'}, {name: node, value: a}]}]", "silences[0].matchers[1]", "Duplicate value"),
		policy("a silence by a regular expression", "silences: [{name: s, url: 'http://a', matchers: [{name: node, value: '{node}', isRegex: true}]}]", `silences[0].matchers[0].isRegex"`, "unknown field"),
		policy("a silence with a wrong name", "silences: [{name: S_1, url: 'http://a', matchers: [{name: node, value: '{node}'}]}]", "silences[0].name", "must be of lower-case letters"),
		policy("an Alertmanager with a password", "silences: [{name: s, url: 'http://me:secret@a', matchers: [{name: node, value: '{node}'}]}]", "silences[0].url", "without a user"),
		policy("a token for a plain Alertmanager", "silences: [{name: s, url: 'http://a', tokenSecretRef: {name: t}, matchers: [{name: node, value: '{node}'}]}]", "silences[0].tokenSecretRef", "over https only"),
		policy("a certificate of a plain Alertmanager", "silences: [{name: s, url: 'http://a', caSecretRef: {name: c}, matchers: [{name: node, value: '{node}'}]}]", "silences[0].caSecretRef", "only an https address"),
		policy("a silence twice", "silences: [{name: s, url: 'http://a', matchers: [{name: node, value: '{node}'}]}, {name: s, url: 'http://b', matchers: [{name: node, value: '{node}'}]}]", "silences[1]", "Duplicate value"),
		policy("five silences", "silences: ["+strings.Repeat("{name: x, url: 'http://a', matchers: [{name: node, value: '{node}'}]},", 5)+"]", "silences", "must have at most 4 items"),

		policy("no history", "historyLimit: 0", "historyLimit", "greater than or equal to 1"),
		policy("a long history", "historyLimit: 1001", "historyLimit", "1000"),
		policy("a wrong strategy", "strategy: {maxUnavailable: 0}", "strategy.maxUnavailable", "must be a number from 1"),
	})
}
