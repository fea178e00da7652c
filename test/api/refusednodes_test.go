package api_test

import (
	"strings"
	"testing"
)

// upgradeRef is a reference to a ClusterUpgrade.
const upgradeRef = "upgrade: {name: u, uid: 1-2}"

func TestWrongNodeUpgradesAreRefused(t *testing.T) {
	wrongImage := func(name, fields, field, words string) refusal {
		all := map[string]string{"architecture": "amd64", "url": "http://images.example/k.raw", "digest": "'" + digest + "'"}
		key, value, _ := strings.Cut(fields, ": ")
		all[key] = value
		return refusal{name, "spec: {image: {architecture: " + all["architecture"] + ", url: " + all["url"] + ", digest: " + all["digest"] + "}}", "spec.image." + field, words}
	}
	rows := []refusal{
		{"a release for nothing", "spec: {release: Node, version: v1.34.4, image: " + image + "}", "spec.upgrade", "a release needs the upgrade"},
		{"a release of no version", "spec: {" + upgradeRef + ", release: ControlPlane, image: " + image + "}", "spec.version", "a release needs the version"},
		{"a release of no image", "spec: {" + upgradeRef + ", release: Node, version: v1.34.4}", "spec.image", "a release needs the image"},
		{"an unknown release", "spec: {release: All}", "spec.release", `"None", "KubeadmAhead", "ControlPlane", "Node"`},
		{"an unknown type", "spec: {type: Major}", "spec.type", `"Patch", "Minor", "Reboot"`},
		{"a version without v", `spec: {version: "1.34.4"}`, "spec.version", "must be a version of Kubernetes in full"},
		{"a version of garbage", `spec: {version: v1.34.4-../x}`, "spec.version", "must be a version of Kubernetes in full"},
		{"an unknown kubeadm command", "spec: {kubeadm: Plan}", "spec.kubeadm", `"Apply", "Node"`},
		{"an unknown method", "spec: {method: Reload}", "spec.method", `"Reboot", "SoftReboot", "Restart"`},
		{"an unknown policy for snapshots", "spec: {etcdSnapshotPolicy: Maybe}", "spec.etcdSnapshotPolicy", `"Required", "Skip"`},
		{"an expectation of less than nothing", "spec: {expectedSeconds: -1}", "spec.expectedSeconds", "greater than or equal to 0"},
		{"an expectation with a unit", "spec: {expectedSeconds: 5m}", "spec.expectedSeconds", "integer"},
		{"an upgrade by its name alone", "spec: {upgrade: u}", "spec.upgrade", "must be of type object"},
		{"an upgrade without a UID", "spec: {upgrade: {name: u}}", "spec.upgrade.uid", "Required value"},
		{"an upgrade without a name", "spec: {upgrade: {uid: '1'}}", "spec.upgrade.name", "Required value"},
		{"a reason in the order", "spec: {reason: WindowClosed}", `"spec.reason"`, "unknown field"},
		{"an unknown field", "spec: {nodeName: a}", `"spec.nodeName"`, "unknown field"},
		{"abandoned without a reason", "abandoned: {}", "abandoned.comment", "Required value"},
		{"abandoned for an empty reason", `abandoned: {comment: ""}`, "abandoned.comment", "at least 1"},
		{"abandoned for a novel of reasons", "abandoned: {comment: " + strings.Repeat("a", 257) + "}", "abandoned.comment", "256"},
		{"abandoned as a word", "abandoned: true", "abandoned", "must be of type object"},
		{"abandoned at no time", "abandoned: {comment: a, time: now}", "abandoned.time", "date-time"},
		wrongImage("a digest that is short", "digest: 'sha256:abc'", "digest", "must be sha256: and the 64 lower-case hex digits"),
		wrongImage("a digest in capitals", "digest: 'sha256:"+strings.Repeat("A", 64)+"'", "digest", "64 lower-case hex digits"),
		wrongImage("a digest without its algorithm", "digest: "+strings.Repeat("a", 64), "digest", "must be sha256:"),
		wrongImage("a digest of another algorithm", "digest: 'sha512:"+strings.Repeat("a", 64)+"'", "digest", "must be sha256:"),
		wrongImage("a digest and more", "digest: 'sha256:"+strings.Repeat("a", 65)+"'", "digest", "71"),
		wrongImage("an address that is a path", "url: /opt/k.raw", "url", "must be an http or https address"),
		wrongImage("an address of a file", "url: file:///opt/k.raw", "url", "must be an http or https address"),
		wrongImage("systemd's name of an architecture", "architecture: x86-64", "architecture", `"amd64", "arm64"`),
	}
	for _, wrong := range wrongPaces {
		rows = append(rows, refusal{wrong.name, "spec: {" + wrong.spec + "}", "spec." + wrong.field, wrong.words})
	}
	refuse(t, "NodeUpgrade", rows)
}

func TestWrongRecordsAreRefused(t *testing.T) {
	refuse(t, "UpgradeRecord", []refusal{
		{"no upgrade", `{spec: {outcome: Failed, endTime: "2026-11-22T02:00:00Z", piece: 1, pieces: 1}}`, "spec.upgrade", "Required value"},
		{"no outcome", `{spec: {upgrade: {name: u, uid: '1'}, endTime: "2026-11-22T02:00:00Z", piece: 1, pieces: 1}}`, "spec.outcome", "Required value"},
		{"an unknown outcome", `{spec: {upgrade: {name: u, uid: '1'}, outcome: Fine, endTime: "2026-11-22T02:00:00Z", piece: 1, pieces: 1}}`, "spec.outcome", `"Succeeded", "Failed", "RolledBack", "Superseded"`},
		{"no end", `{spec: {upgrade: {name: u, uid: '1'}, outcome: Failed, piece: 1, pieces: 1}}`, "spec.endTime", "Required value"},
		{"no piece", `{spec: {upgrade: {name: u, uid: '1'}, outcome: Failed, endTime: "2026-11-22T02:00:00Z", pieces: 1}}`, "spec.piece", "Required value"},
		{"piece 0", `{spec: {upgrade: {name: u, uid: '1'}, outcome: Failed, endTime: "2026-11-22T02:00:00Z", piece: 0, pieces: 1}}`, "spec.piece", "greater than or equal to 1"},
		{"a node without a name", record(", nodes: [{attempts: 1}]"), "spec.nodes[0].name", "Required value"},
		{"a sentence for a reason", record(", reason: it failed"), "spec.reason", "should match"},
		{"501 nodes", record(", nodes: [" + strings.Repeat("{name: a}, ", 501) + "]"), "spec.nodes", "at most 500"},
		{"65 steps", record(`, nodes: [{name: a, steps: [` + strings.Repeat(`{step: Idle, startTime: "2026-11-22T02:00:00.000000Z"}, `, 65) + "]}]"), "spec.nodes[0].steps", "at most 64"},
		{"no spec", "{}", "spec", "Required value"},
	})
}

func TestWrongInventoriesAreRefused(t *testing.T) {
	refuse(t, "NodeInventory", []refusal{
		{"of no time", "installed: [v1.34.4]", "gatheredTime", "Required value"},
		{"a version twice", `{gatheredTime: "2026-11-22T02:00:00Z", installed: [v1.34.4, v1.34.4]}`, "installed[1]", "Duplicate value"},
		{"a folder twice", `{gatheredTime: "2026-11-22T02:00:00Z", disks: [{path: /a, freeBytes: 1}, {path: /a, freeBytes: 1}]}`, "disks[1]", "Duplicate value"},
		{"a certificate without an end", `{gatheredTime: "2026-11-22T02:00:00Z", certificates: [{path: /a}]}`, "certificates[0].notAfter", "Required value"},
		{"an unknown field", `{gatheredTime: "2026-11-22T02:00:00Z", updateEngine: IDLE}`, `"updateEngine"`, "unknown field"},
	})
}
