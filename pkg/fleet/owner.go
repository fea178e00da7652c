package fleet

import (
	"fmt"
	"strings"
)

// Owner is who a slot is reserved for or held by: a node by name and by UID, so
// that a node which was deleted and joined again under its old name is another
// one.
type Owner struct {
	Node string
	UID  string
}

// String returns the form that a Lease holds: name/uid.
func (o Owner) String() string {
	return o.Node + "/" + o.UID
}

// ParseOwner reads what String wrote.
func ParseOwner(s string) (Owner, error) {
	node, uid, ok := strings.Cut(s, "/")
	if !ok || node == "" || uid == "" || strings.Contains(uid, "/") {
		return Owner{}, fmt.Errorf("parsing slot owner %q: want NODE/UID", s)
	}
	return Owner{Node: node, UID: uid}, nil
}
