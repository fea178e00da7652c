package render

// People are those who decided about an upgrade after it was requested.
type People struct {
	// Changed reports whether its spec was changed after it was created, and ChangedBy is
	// the user who did so last. Empty: that is not known.
	Changed   bool   `json:"changed,omitempty"`
	ChangedBy string `json:"changedBy,omitempty"`
	// ApprovedBy is the user who approved last. Empty: not known, or not approved.
	ApprovedBy string `json:"approvedBy,omitempty"`
}

// lines returns a phrase for each decision.
func (p People) lines() (list []string) {
	switch {
	case p.ChangedBy != "":
		list = append(list, "changed by "+p.ChangedBy)
	case p.Changed:
		list = append(list, "changed by a user who is not recorded")
	}
	if p.ApprovedBy != "" {
		list = append(list, "approved by "+p.ApprovedBy)
	}
	return list
}
