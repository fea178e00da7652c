package clusterstate

import (
	"encoding/json"
	"strings"
	"time"
)

// GuardReport is what the guard of a node writes into v1alpha1.GuardAnnotation of its Node, as its
// kubelet: where nothing of Kubernetes is merged, no agent runs that could report.
type GuardReport struct {
	// Upgrade is the UID of the ClusterUpgrade in which the node was activated.
	Upgrade string `json:"upgrade"`
	// Time is when the guard found it, by the node's clock.
	Time time.Time `json:"time"`
	// Message is a sentence.
	Message string `json:"message"`
}

// The longest report, and the longest message in it. A kubelet may write any value.
const (
	maxReport        = 4 << 10
	maxReportMessage = 1 << 10
)

// String returns the annotation's value.
func (r GuardReport) String() string {
	if len(r.Message) > maxReportMessage {
		r.Message = strings.ToValidUTF8(r.Message[:maxReportMessage-3], "") + "..."
	}
	data, err := json.Marshal(r)
	if err != nil {
		return "" // a year that RFC 3339 does not have
	}
	return string(data)
}

// ParseGuardReport returns the report in an annotation's value. Nil: there is none, or it is not one
// that a guard writes.
func ParseGuardReport(value string) *GuardReport {
	var r GuardReport
	if value == "" || len(value) > maxReport || json.Unmarshal([]byte(value), &r) != nil {
		return nil
	}
	r.Message = strings.Join(strings.Fields(strings.ToValidUTF8(r.Message, "")), " ")
	if r.Upgrade == "" || r.Message == "" || len(r.Message) > maxReportMessage {
		return nil
	}
	return &r
}
