package schedule

import (
	_ "embed" // for zones.txt
	"encoding/base64"
	"fmt"
	"strings"
	"time"
)

// zoneFile is what release/tzdata.sh writes: the version of the IANA data, and each zone with its TZif data (RFC 9636) in
// base64, or with another zone that it is a name of.
//
// The machine's data do not count, so that a schedule means the same on all machines. They also have other names: localtime
// and posixrules, which are another zone on each machine, and right/UTC, which counts leap seconds. And some machines do not
// tell upper from lower case.
//
//go:embed zones.txt
var zoneFile string

// zones are the zones by their names.
var zoneVersion, zoneNames, zones = func() (version string, names []string, data map[string]string) {
	data = map[string]string{}
	for line := range strings.Lines(zoneFile) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "version" {
			version = value
			continue
		}
		names, data[name] = append(names, name), value
	}
	return version, names, data
}()

// ZoneVersion returns the version of the IANA time zone data, such as 2026f.
func ZoneVersion() string { return zoneVersion }

// ZoneNames returns the names of all zones.
func ZoneNames() []string { return zoneNames }

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

// Zone returns an IANA zone, the same one on each machine; an empty name is UTC.
func Zone(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	if text, known := zones[name]; known {
		if same, is := strings.CutPrefix(text, "="); is {
			text = zones[same]
		}
		data, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, fmt.Errorf("the data of the time zone %s: %w", name, err)
		}
		return time.LoadLocationFromTZData(name, data)
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
