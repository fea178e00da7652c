package doctor

import (
	"fmt"
	"regexp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

const updatePlugin = "update the plugin"

// Skew says which of the two to update, where plugin and cluster are of different minor versions: until v1beta1,
// one may have names for fields that the other does not know. Empty: they fit together, or are no versions to compare.
func Skew(plugin, cluster string) string {
	ours, err := version.Parse(plugin)
	theirs, err2 := version.Parse(cluster)
	switch {
	case err != nil || err2 != nil || ours.SameLine(theirs):
		return ""
	case ours.Less(theirs):
		return fmt.Sprintf("%s, which is %s: the cluster runs kubectl-upgrade %s, and neither knows all fields of the other", updatePlugin, plugin, cluster)
	}
	return fmt.Sprintf("update kubectl-upgrade on the cluster, CRDs first: it is %s there, this plugin is %s, and neither knows all fields of the other", cluster, plugin)
}

// undeclaredField matches what the API server says of a field that a definition does not have.
var undeclaredField = regexp.MustCompile(`unknown field "([^"]+)"`)

// Undeclared returns the error of a strict write as one sentence, where the cluster's CRDs do not have the field: the
// API server's own may repeat the whole object. It returns other errors as they are.
func Undeclared(err error) error {
	if !apierrors.IsBadRequest(err) && !apierrors.IsInvalid(err) {
		return err
	}
	field := undeclaredField.FindStringSubmatch(err.Error())
	if field == nil {
		return err
	}
	return fmt.Errorf("the cluster's CRDs have no field %s, as they are of another version than this plugin: update the older one, which `kubectl upgrade version` shows, or leave the option out", field[1])
}
