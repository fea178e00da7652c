package agent

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// overflow fills each text and list with more than the API takes. Texts of the types that have an enumeration, or a
// pattern, are the agent's own words.
func overflow(v reflect.Value, count *int) { overflowWith(v, count, 1000) }

// overflowWith makes lists of that many items, and short ones in them: all of them long would take gigabytes.
func overflowWith(v reflect.Value, count *int, items int) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		overflowWith(v.Elem(), count, items)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), items, items))
		for i := range v.Len() {
			overflowWith(v.Index(i), count, 2*ofRehearsals)
		}
	case reflect.Struct:
		switch v.Type() {
		case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]():
			v.Field(0).Set(reflect.ValueOf(metav1.Now().Time))
			return
		}
		for i := range v.NumField() {
			overflowWith(v.Field(i), count, items)
		}
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() {
			*count++
			v.SetString(fmt.Sprint(*count, strings.Repeat(" ö\xff", 8000/min(*count, 40))))
		}
	}
}

// TestAnyReportFits reports from a node with names, paths and outputs of any length: the API server takes all of it.
func TestAnyReportFits(t *testing.T) {
	c := newCluster(t, "agent-overflow")
	c.order(v1alpha1.ReleaseNone)

	var status v1alpha1.NodeUpgradeStatus
	count := 0
	overflow(reflect.ValueOf(&status), &count)
	upToDate := metav1.Condition{Type: v1alpha1.ConditionUpToDate, Status: metav1.ConditionFalse, Reason: "Any", LastTransitionTime: metav1.Now()}
	status.Step, status.Steps, status.Conditions = v1alpha1.StepIdle, nil, []metav1.Condition{upToDate}
	status.Slot, status.Upgrade, status.Method = "slot-0", nil, v1alpha1.MethodReboot // they come from an object that the API server has taken
	status.EtcdSnapshot.Node, status.EtcdSnapshot.Digest = c.node, v1alpha1.DigestOf(strings.Repeat("0", 64))
	status.ImageProblem.Reason = v1alpha1.NoSysextImage
	status.Rehearsal.Result, status.Rehearsal.Boot = v1alpha1.RehearsalPassed, v1alpha1.BootDown
	status.CertificatesRenewed.Upgrade = v1alpha1.UpgradeReference{Name: "u", UID: "u"}
	ofStatus.fit(&status)
	_, err := c.ours.NodeUpgrades.Apply(t.Context(), &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: c.node}, Status: status}, fieldManager, "status")
	c.must(err)
	if end := strings.Repeat(" ö", 3); !strings.HasSuffix(status.KubeadmLog, end) || len(status.AttachedVolumes) != ofStatus.items {
		t.Errorf("got the log %q and %d volumes, want its end and %d", status.KubeadmLog[:40], len(status.AttachedVolumes), ofStatus.items)
	}

	var facts v1alpha1.NodeFacts
	overflow(reflect.ValueOf(&facts), &count)
	facts.SoftRebootBlocker.Reason = v1alpha1.SystemdTooOld
	for i := range facts.Rehearsals {
		for j := range facts.Rehearsals[i].Problems {
			facts.Rehearsals[i].Problems[j].Reason, facts.Rehearsals[i].Problems[j].Cause = v1alpha1.KubeletRefuses, v1alpha1.CauseNode
		}
	}
	for i := range facts.Certificates {
		facts.Certificates[i].RenewedBy, facts.Certificates[i].InUse = v1alpha1.RenewedElsewhere, v1alpha1.UsesCurrent
	}
	ofInventory.fit(&facts)
	inventory := &v1alpha1.NodeInventory{ObjectMeta: metav1.ObjectMeta{Name: c.node}, NodeFacts: facts}
	_, err = c.ours.NodeInventories.Apply(t.Context(), inventory, fieldManager, "")
	c.must(err)
}
