package crd_test

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/manifests/crd"
)

// origin is where a text comes from that a program of ours writes, and why it fits: an object that the API server refuses
// holds whatever depends on it.
type origin struct{ why, file, test string }

var (
	planned   = origin{"the planner cuts what agents, kubelets, Jobs and followed clusters say", "pkg/cluster/plan/fits_test.go", "TestWhatIsWrittenFits"}
	ofIndex   = origin{"names in the index are parsed, and the addresses of images are bounded", "pkg/cluster/source/fits_test.go", "TestOffersFit"}
	ofGates   = origin{"the answer of a gate is cut where it is read", "pkg/cluster/gate/fits_test.go", "TestAnswersFit"}
	ofNotices = origin{"records quote the planned status, and cut it", "pkg/cluster/notice/fits_test.go", "TestRecordsFit"}
	bounded   = origin{"the coordinator cuts the messages of conditions", "pkg/cluster/coordinator/fits_test.go", "TestConditionsFit"}
	ofAgents  = origin{"agents cut what they report; events on the Node show what is refused all the same", "pkg/node/agent/fits_test.go", "TestAnyReportFits"}
	ofSpecs   = origin{why: "it is copied from a spec or metadata, where the API server has checked it, to a field with the same limit or none"}
	ownWords  = origin{why: "it is one of our own words, a hash or the version of a program"}
)

// texts are the fields with text, other than enumerations, that our programs write: those of statuses, and whole
// NodeInventories and UpgradeRecords.
var texts = []struct {
	origin
	kind, fields string
}{
	{planned, "ClusterUpgrade", `active[].message active[].name active[].reason active[].step boots[].bootID boots[].name blocked[].message blocked[].name
		blocked[].reason blocked[].step conditions[].message conditions[].reason etcdSnapshot.digest etcdSnapshot.node etcdSnapshot.path
		findings[].advice findings[].id findings[].message findings[].node findings[].object.kind findings[].object.name
		findings[].object.namespace fromVersion toVersion progress`},
	{planned, "UpgradePolicy", `gates[].ran[].blocked gates[].ran[].digests[].digest gates[].ran[].problem gates[].ran[].upgrade.name
		gates[].ran[].upgrade.uid gates[].ran[].version hookTurns[].from hookTurns[].hooks[].job hookTurns[].hooks[].jobUID
		hookTurns[].hooks[].message hookTurns[].hooks[].reason hookTurns[].hooks[].retriedBy hookTurns[].node hookTurns[].nodeUID
		hookTurns[].outcome hookTurns[].upgrade.name hookTurns[].upgrade.uid hookTurns[].version ran[].blocked ran[].digests[].digest
		ran[].problem ran[].upgrade.name ran[].upgrade.uid ran[].version takenBack[].comment takenBack[].upgrade.name
		takenBack[].upgrade.uid takenBack[].version upgrade.name upgrade.uid version`},
	{planned, "UpgradeRecord", `spec.digests[].digest spec.etcdSnapshot.digest spec.etcdSnapshot.node spec.etcdSnapshot.path spec.fromVersion spec.message
		spec.nodes[].from spec.nodes[].methodMessage spec.nodes[].name spec.nodes[].reason spec.nodes[].rehearsal.message
		spec.nodes[].steps[].step spec.nodes[].to spec.reason spec.upgrade.name spec.upgrade.uid
		spec.version`},
	{ofIndex, "ClusterUpgrade", `images[].digest images[].url`},
	{ofIndex, "UpgradePolicy", `formerlyOffered[].images[].digest formerlyOffered[].version
		images[].digest images[].url offered[].images[].digest offered[].version`},
	{ofGates, "UpgradePolicy", `gates[].message`},
	{ofNotices, "ClusterUpgrade", `notices[].message notices[].node notices[].reason`},
	{bounded, "MaintenanceSchedule", `conditions[].message`},
	{bounded, "UpgradePolicy", `conditions[].message`},
	{ofAgents, "NodeInventory", `certificates[].authorityPath certificates[].issuer certificates[].path certificates[].usedBy[] definitionsProblem disks[].device disks[].path etcd.members[].name
		etcd.members[].problem etcd.members[].version etcd.problem installed[] kubeadmPatches kubeletConfigFields[]
		kubeletConfigFieldsElsewhere[] kubeletFlags[] kubeletFlagsElsewhere[] locksmithd problems[] refreshBlockers[] rehearsals[].changes[] rehearsals[].leftOut[]
		rehearsals[].problems[].message rehearsals[].untried[] rehearsals[].version softRebootBlocker.message
		staticPods[] sysextRefreshSocket sysupdateTimerDropIns[] sysupdateTimerUnmasked`},
	{ofAgents, "NodeUpgrade", `agentVersion attachedVolumes[] certificatesRenewed.names[] certificatesRenewed.restarted[] certificatesRenewed.upgrade.name
		certificatesRenewed.upgrade.uid conditions[].message conditions[].reason conditions[].type
		etcdSnapshot.digest etcdSnapshot.node etcdSnapshot.path kubeadmLog kubeletLog methodMessage partsBefore.daemonSets[] partsBefore.drivers[] partsBefore.extensions[]
		partsBefore.resources[].name partsBefore.servingDrivers[] partsBefore.taints[] reboot.fromBootID reboot.message rehearsal.message slot
		step steps[].step imageProblem.message upgrade.name upgrade.uid versions.controlPlane versions.from versions.kubeadm versions.kubelet
		versions.nextBoot versions.pulled versions.staged`},
	{ofSpecs, "ClusterUpgrade", `notices[].failed[] notices[].pending[] strategy.drain.rules[].name
		strategy.drain.rules[].namespaces[] strategy.drain.rules[].podSelector.matchExpressions[].key
		strategy.drain.rules[].podSelector.matchExpressions[].values[] strategy.drain.rules[].podSelector.matchLabels.*
		strategy.groups[].drain.rules[].name strategy.groups[].drain.rules[].namespaces[]
		strategy.groups[].drain.rules[].podSelector.matchExpressions[].key
		strategy.groups[].drain.rules[].podSelector.matchExpressions[].values[]
		strategy.groups[].drain.rules[].podSelector.matchLabels.* strategy.groups[].ignoreGates[] strategy.groups[].name
		strategy.groups[].nodeSelector.matchExpressions[].key strategy.groups[].nodeSelector.matchExpressions[].values[]
		strategy.groups[].nodeSelector.matchLabels.*`},
	{ofSpecs, "UpgradePolicy", `gates[].name hookTurns[].gate hookTurns[].hooks[].cronJobName hookTurns[].hooks[].name`},
	{ofSpecs, "UpgradeRecord", `spec.approvedBy spec.changedBy spec.clusterName spec.createdBy spec.ignoreChecks[].by spec.ignoreChecks[].id spec.ignoreChecks[].comment
		spec.ignoreGates[].by spec.ignoreGates[].name spec.ignoreGates[].comment spec.comment spec.requestedBy`},
	{ownWords, "ClusterUpgrade", `conditions[].type notices[].id`},
	{ownWords, "MaintenanceSchedule", `conditions[].reason conditions[].type`},
	{ownWords, "NodeInventory", `rehearsals[].problems[].reason softRebootBlocker.reason`},
	{ownWords, "NodeUpgrade", `imageProblem.reason`},
	{ownWords, "UpgradePolicy", `conditions[].reason conditions[].type coordinatorVersion indexSigned.source timeZoneVersion`},
}

type schema struct {
	Type                 string            `json:"type"`
	Format               string            `json:"format"`
	Enum                 []any             `json:"enum"`
	MaxItems             *int              `json:"maxItems"`
	Properties           map[string]schema `json:"properties"`
	AdditionalProperties *schema           `json:"additionalProperties"`
	Items                *schema           `json:"items"`
}

// texts adds the fields with text below a field.
func (s schema) texts(at string, found *[]string) {
	for name, field := range s.Properties {
		field.texts(strings.TrimPrefix(at+"."+name, "."), found)
	}
	if s.AdditionalProperties != nil {
		s.AdditionalProperties.texts(at+".*", found)
	}
	if s.Items != nil {
		s.Items.texts(at+"[]", found)
	}
	if s.Type == "string" && s.Format != "date-time" && s.Enum == nil {
		*found = append(*found, at)
	}
}

// definitions returns the schema of each kind.
func definitions(t *testing.T) map[string]schema {
	t.Helper()
	files, err := fs.Glob(crd.Files, "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]schema{}
	for _, file := range files {
		var definition struct {
			Spec struct {
				Names    struct{ Kind string }
				Versions []struct {
					Schema struct {
						OpenAPI schema `json:"openAPIV3Schema"`
					}
				}
			}
		}
		text, err := crd.Files.ReadFile(file)
		if err == nil {
			err = yaml.Unmarshal(text, &definition)
		}
		if err != nil {
			t.Fatal(err)
		}
		kinds[definition.Spec.Names.Kind] = definition.Spec.Versions[0].Schema.OpenAPI
	}
	return kinds
}

// shortLists adds the lists below a field that cannot have all values of their items' enumeration, and counts those that
// can.
func (s schema) shortLists(at string, short *[]string) (complete int) {
	for name, field := range s.Properties {
		complete += field.shortLists(at+"."+name, short)
	}
	switch {
	case s.Items == nil:
		return complete
	case s.MaxItems != nil && *s.MaxItems < len(s.Items.Enum):
		*short = append(*short, at)
	case s.Items.Enum != nil:
		complete++
	}
	return complete + s.Items.shortLists(at+"[]", short)
}

// TestListsTakeAllValues checks that a list of values from an enumeration may have all of them.
func TestListsTakeAllValues(t *testing.T) {
	var short []string
	complete := 0
	for kind, s := range definitions(t) {
		complete += s.shortLists(kind, &short)
	}
	if short != nil || complete == 0 {
		t.Errorf("%d lists take all values, and these fewer: %v", complete, short)
	}
}

// TestEachTextFits checks that for each text which a program of ours writes it is known where that comes from, and which
// test shows that it fits.
func TestEachTextFits(t *testing.T) {
	known, seen := map[string]bool{}, map[string]bool{}
	for _, row := range texts {
		for field := range strings.FieldsSeq(row.fields) {
			known[row.kind+"."+field] = true
		}
		text, err := os.ReadFile("../../" + row.file)
		if row.test != "" && (err != nil || !strings.Contains(string(text), "func "+row.test+"(")) {
			t.Errorf("%s has no test %s: %v", row.file, row.test, err)
		}
	}
	for kind, written := range definitions(t) {
		if status, ok := written.Properties["status"]; ok {
			written = status
		}
		for _, ours := range []string{"apiVersion", "kind", "metadata"} {
			delete(written.Properties, ours)
		}
		var found []string
		written.texts("", &found)
		slices.Sort(found)
		shown := strings.Replace(kind, "CoordinatorState", "UpgradePolicy", 1) // in whose status
		for _, field := range found {
			if !known[shown+"."+field] {
				t.Errorf("%s: nothing says whether %s fits: add it to the table", kind, field)
			}
			seen[shown+"."+field] = true
		}
	}
	for field := range known {
		if !seen[field] {
			t.Errorf("there is no field %s with text", field)
		}
	}
}
