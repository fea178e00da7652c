package fleet

import (
	"fmt"
	"strings"
)

// Owner is the node that a slot is reserved for or held by. The UID distinguishes a
// node that was deleted and joined again with the same name.
type Owner struct {
	Node string
	UID  string
}

// String returns name/uid, as it is written into a Lease.
func (o Owner) String() string {
	return o.Node + "/" + o.UID
}

// ParseOwner parses what String returns.
func ParseOwner(s string) (Owner, error) {
	node, uid, ok := strings.Cut(s, "/")
	if !ok || node == "" || uid == "" || strings.Contains(uid, "/") {
		return Owner{}, fmt.Errorf("parsing slot owner %q: want NODE/UID", s)
	}
	return Owner{Node: node, UID: uid}, nil
}
