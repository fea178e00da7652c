package agent

import (
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// limits are what the API takes of a report, as in pkg/api/v1alpha1: bytes of a text, and items of a list. The API server
// refuses a report with more as a whole.
type limits struct{ text, items int }

var (
	ofStatus    = limits{text: 1024, items: 256}
	ofInventory = limits{text: 256, items: 160} // etcd takes 1.5 MB, and the items of sets stand in managedFields, too
)

// Items of lists within a list: of rehearsals, and of certificates; and of a renewal, and of a node's parts.
const (
	ofRehearsals   = 16
	ofParts        = 64
	ofCertificates = 4
	ofRenewal      = 32
)

// maxLog is for fields whose names end in Log.
const maxLog = 8192

// fit cuts each text and list in what report points to. It keeps the ends of logs, and the beginnings of everything
// else. Conditions fit already. The report must share nothing with other objects.
func (l limits) fit(report any) { l.fitValue(reflect.ValueOf(report).Elem()) }

func (l limits) fitValue(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			l.fitValue(v.Elem())
		}
	case reflect.Struct:
		switch v.Type() {
		case reflect.TypeFor[v1alpha1.Rehearsal]():
			l.items = ofRehearsals
		case reflect.TypeFor[v1alpha1.CertificateFacts]():
			l.items = ofCertificates
		case reflect.TypeFor[v1alpha1.CertificatesRenewed]():
			l.items = ofRenewal
		case reflect.TypeFor[v1alpha1.NodeParts]():
			l.items = ofParts
		}
		if v.Type() != reflect.TypeFor[metav1.Condition]() {
			l.fitFields(v)
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[[]v1alpha1.Rehearsal]() {
			l.items = ofRehearsals
		}
		v.SetLen(min(v.Len(), l.items))
		for i := range v.Len() {
			l.fitValue(v.Index(i))
		}
	case reflect.String:
		v.SetString(host.Clip(v.String(), l.text))
	}
}

func (l limits) fitFields(v reflect.Value) {
	for i := range v.NumField() {
		field, of := v.Type().Field(i), v.Field(i)
		switch {
		case !field.IsExported():
		case strings.HasSuffix(field.Name, "Log"):
			of.SetString(last(of.String(), maxLog))
		default:
			l.fitValue(of)
		}
	}
}

// last returns the last bytes of a text, as valid UTF-8.
func last(text string, limit int) string {
	return strings.ToValidUTF8(text[max(0, len(text)-limit):], "")
}
