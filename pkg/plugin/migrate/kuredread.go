package migrate

import (
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// kuredFlags reads kured's flags. Since 1.17 a variable such as KURED_START_TIME prevails
// over the flag, and adds to a list; before, the flag prevailed.
func (c Container) kuredFlags() commandLine {
	specs := make([]flagSpec, len(kuredFlags))
	for i, flag := range kuredFlags {
		specs[i] = flag.flagSpec
	}
	line := c.parse(specs, false)
	for _, spec := range specs {
		name := "KURED_" + strings.ToUpper(strings.ReplaceAll(spec.name, "-", "_"))
		v, given := c.variable(name)
		switch before := line.settings[spec.name]; {
		case !given:
		case c.flagPrevails():
			if !before.set() {
				line.change(spec, name, v.Value, v.Unread)
			}
		case spec.kind == array:
			line.problems = append(line.problems, fmt.Sprintf("%s has no effect: kured reads no variable for this flag", name))
		default:
			line.change(spec, name, v.Value, v.Unread)
		}
	}
	return line
}

// flagPrevails reports whether the image is of kured 1.16 or older.
func (c Container) flagPrevails() bool {
	image, _, _ := strings.Cut(path.Base(c.Image), "@")
	_, tag, _ := strings.Cut(image, ":")
	v, err := version.Parse(strings.TrimPrefix(tag, "v"))
	return err == nil && v.Major == 1 && v.Minor < 17
}

// location returns the zone of kured's clock. Local is the container's, and that is UTC
// without the variable TZ.
func (k *kured) location() (*time.Location, error) {
	name := k.settings["time-zone"].value()
	if name == "Local" {
		tz, _ := k.variable("TZ")
		name = tz.Value
	}
	in, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("%q is no time zone", name)
	}
	return in, nil
}
