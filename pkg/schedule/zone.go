package schedule

import (
	_ "embed" // for zones.txt
	"fmt"
	"strings"
	"time"
)

// zoneNames are the names of the zones that Go's own database has, one a line. A machine's database
// has more: localtime and posixrules, which are another zone on each machine, and right/UTC, which
// counts leap seconds. And some machines do not tell upper from lower case.
//
//go:embed zones.txt
var zoneNames string

// ZoneNames returns the names of all zones.
func ZoneNames() []string { return strings.Split(strings.TrimSpace(zoneNames), "\n") }

// zones has the names of all zones. Each reading of a schedule asks for some.
var zones = func() map[string]struct{} {
	all := map[string]struct{}{}
	for _, one := range ZoneNames() {
		all[one] = struct{}{}
	}
	return all
}()

// NearestZone returns the zone that is probably meant: the name in other letters, or that of the
// city; empty: none is.
func NearestZone(name string) string {
	for _, one := range ZoneNames() {
		if strings.EqualFold(one, name) {
			return one
		}
	}
	for _, one := range ZoneNames() {
		if strings.EqualFold(one[strings.LastIndexByte(one, '/')+1:], name) {
			return one
		}
	}
	return ""
}

// Zone loads an IANA zone, the same one on each machine; an empty name is UTC.
func Zone(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	if _, known := zones[name]; known {
		return time.LoadLocation(name)
	}
	known := NearestZone(name)
	switch {
	case known != "":
		return nil, fmt.Errorf("%q is not an IANA time zone; did you mean %s?", name, known)
	case name == "Local" || name == "localtime" || name == "posixrules":
		return nil, fmt.Errorf("%q is another zone on every machine; write its IANA name, such as Europe/Berlin", name)
	}
	return nil, fmt.Errorf("%q is not an IANA time zone such as Europe/Berlin", name)
}
