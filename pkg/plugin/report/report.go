package report

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Kind is a Report's kind in JSON.
const Kind = "UpgradeReport"

// Report is how an upgrade went.
type Report struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// GeneratedTime is the instant that the report shows.
	GeneratedTime time.Time `json:"generatedTime"`
	Upgrade       Upgrade   `json:"upgrade"`
	// Usual is how long the parts of a node's upgrade were expected to take.
	Usual Usual `json:"usual"`
	// Nodes are in upgrade order.
	Nodes []Node `json:"nodes"`
	// Calendars are the windows and exclusions from the start to the end. Nodes to which
	// the same schedules apply have the same one.
	Calendars []Calendar `json:"calendars"`
	// Findings are those of the last preflight run.
	Findings     []v1alpha1.Finding      `json:"findings,omitempty"`
	FindingsTime *time.Time              `json:"findingsTime,omitempty"`
	IgnoreChecks []v1alpha1.IgnoredCheck `json:"ignoreChecks,omitempty"`
	Images       []v1alpha1.Image        `json:"images,omitempty"`
	EtcdSnapshot *v1alpha1.EtcdSnapshot  `json:"etcdSnapshot,omitempty"`
	// Notes say what is not known.
	Notes []string `json:"notes,omitempty"`
}

// Upgrade is what was requested, and how it ended.
type Upgrade struct {
	Name           string               `json:"name"`
	UID            string               `json:"uid"`
	Type           v1alpha1.UpgradeType `json:"type,omitempty"`
	From           string               `json:"from,omitempty"`
	To             string               `json:"to,omitempty"`
	RequestedBy    string               `json:"requestedBy,omitempty"`
	RequestedTime  *time.Time           `json:"requestedTime,omitempty"`
	Changed        bool                 `json:"changed,omitempty"`
	ChangedBy      string               `json:"changedBy,omitempty"`
	ApprovedBy     string               `json:"approvedBy,omitempty"`
	RetryOf        string               `json:"retryOf,omitempty"`
	Method         v1alpha1.Method      `json:"method,omitempty"`
	MaxUnavailable string               `json:"maxUnavailable,omitempty"`
	IgnoreWindows  bool                 `json:"ignoreWindows,omitempty"`
	Suspended      bool                 `json:"suspended,omitempty"`
	// StartTime is when it became active or, before that, was requested, and EndTime when
	// it ended. Triggered reports whether it became active.
	StartTime *time.Time `json:"startTime,omitempty"`
	Triggered bool       `json:"triggered"`
	EndTime   *time.Time `json:"endTime,omitempty"`
	// PredictedEndTime is when an upgrade that has not ended is expected to be done.
	PredictedEndTime *time.Time          `json:"predictedEndTime,omitempty"`
	Outcome          v1alpha1.Outcome    `json:"outcome,omitempty"`
	Stalled          bool                `json:"stalled,omitempty"`
	Reason           v1alpha1.Reason     `json:"reason,omitempty"`
	Message          string              `json:"message,omitempty"`
	Counts           v1alpha1.NodeCounts `json:"counts"`
}

// Ended reports whether the upgrade has ended.
func (u Upgrade) Ended() bool { return u.Outcome != "" }

// Took returns how long the upgrade took, or takes already at now.
func (u Upgrade) Took(now time.Time) time.Duration {
	switch {
	case u.StartTime == nil:
		return 0
	case u.EndTime != nil:
		now = *u.EndTime
	}
	return max(now.Sub(*u.StartTime), 0)
}

// Usual is how long the parts of a node's upgrade were expected to take, without settling
// and observing: medians of earlier upgrades, or where too few nodes were measured what the
// coordinator assumes.
type Usual struct {
	ComponentsSeconds   int32 `json:"componentsSeconds"`
	ControlPlaneSeconds int32 `json:"controlPlaneSeconds"`
	WorkerSeconds       int32 `json:"workerSeconds"`
	RestartSeconds      int32 `json:"restartSeconds"`
	SoftRebootSeconds   int32 `json:"softRebootSeconds"`
}

// Calendar is when nodes might begin.
type Calendar struct {
	Openings   []Opening   `json:"openings"`
	Exclusions []Exclusion `json:"exclusions,omitempty"`
}

// Opening is a time in which a window was open and no exclusion held.
type Opening struct {
	Start   time.Time `json:"start"`
	End     time.Time `json:"end"`
	Windows []string  `json:"windows"`
}

// Exclusion is a time in which nothing might begin.
type Exclusion struct {
	Start  time.Time `json:"start"`
	End    time.Time `json:"end"`
	Name   string    `json:"name"`
	Reason string    `json:"reason,omitempty"`
}
