package capi

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
)

// version2 is what Cluster API's bootstrap provider writes of version 2 of Ignition's configuration.
// Flatcar's Ignition converts it by itself; Debian's, which the lab runs, knows version 3 only.
type version2 struct {
	Storage struct {
		Files []struct {
			Path     string
			Contents contents
			Mode     *int
		}
		Links []struct {
			Path, Target string
			Hard         bool
		}
		Disks, Filesystems, Directories, Raid []json.RawMessage
	}
	Systemd struct{ Units []unit2 }
	Passwd  struct{ Users, Groups []json.RawMessage }
}

type unit2 struct {
	Name, Contents string
	Enabled        *bool
	Mask           bool
	Dropins        []struct{ Name, Contents string }
}

type contents struct {
	Source       string       `json:"source"`
	Verification verification `json:"verification"`
}

type verification struct {
	Hash *string `json:"hash,omitempty"`
}

// version3 is the same of version 3.
type version3 struct {
	Ignition struct {
		Version string `json:"version"`
	} `json:"ignition"`
	Storage struct {
		Files []file3 `json:"files"`
		Links []link3 `json:"links"`
	} `json:"storage"`
	Systemd struct {
		Units []*unit3 `json:"units"`
	} `json:"systemd"`
}

type file3 struct {
	Path      string   `json:"path"`
	Overwrite bool     `json:"overwrite"`
	Contents  contents `json:"contents"`
	Mode      *int     `json:"mode,omitempty"`
}

type link3 struct {
	Path      string `json:"path"`
	Target    string `json:"target"`
	Hard      bool   `json:"hard"`
	Overwrite bool   `json:"overwrite"`
}

type unit3 struct {
	Name     string    `json:"name"`
	Contents *string   `json:"contents,omitempty"`
	Mask     bool      `json:"mask,omitempty"`
	Dropins  []dropin3 `json:"dropins,omitempty"`
}

type dropin3 struct {
	Name     string `json:"name"`
	Contents string `json:"contents"`
}

// convert converts files, links and units. All files belong to root, as those of the bootstrap
// provider do.
func convert(bootstrapData []byte) ([]byte, error) {
	var old version2
	if err := json.Unmarshal(bootstrapData, &old); err != nil {
		return nil, fmt.Errorf("reading the bootstrap data as Ignition: %w", err)
	}
	if len(old.Storage.Disks)+len(old.Storage.Filesystems)+len(old.Storage.Directories)+len(old.Storage.Raid)+
		len(old.Passwd.Users)+len(old.Passwd.Groups) > 0 {
		return nil, errors.New("reading the bootstrap data: the lab's nodes take files, links and units, no disks and no users")
	}
	var config version3
	config.Ignition.Version = "3.1.0"
	for _, file := range old.Storage.Files {
		config.Storage.Files = append(config.Storage.Files, file3{Path: file.Path, Overwrite: true, Contents: file.Contents, Mode: file.Mode})
	}
	for _, link := range old.Storage.Links {
		config.Storage.Links = append(config.Storage.Links, link3{Path: link.Path, Target: link.Target, Hard: link.Hard, Overwrite: true})
	}
	units := map[string]*unit3{}
	for _, unit := range old.Systemd.Units {
		// Version 3 has each unit once; in version 2 the snippet's drop-in follows the provider's unit.
		merged := units[unit.Name]
		if merged == nil {
			merged = &unit3{Name: unit.Name}
			units[unit.Name] = merged
			config.Systemd.Units = append(config.Systemd.Units, merged)
		}
		merged.add(unit)
		if unit.Enabled != nil && *unit.Enabled {
			config.Storage.Links = append(config.Storage.Links, enable(unit)...)
		}
	}
	return json.Marshal(config)
}

func (u *unit3) add(unit unit2) {
	u.Mask = u.Mask || unit.Mask
	if unit.Contents != "" {
		u.Contents = &unit.Contents
	}
	for _, dropin := range unit.Dropins {
		u.Dropins = append(u.Dropins, dropin3{Name: dropin.Name, Contents: dropin.Contents})
	}
}

// enable returns the links that systemd makes of WantedBy=. Ignition leaves that to systemd's first
// boot, which a node of the lab does not have: it has a machine id from the beginning.
func enable(unit unit2) []link3 {
	var links []link3
	for line := range strings.Lines(unit.Contents) {
		targets, found := strings.CutPrefix(strings.TrimSpace(line), "WantedBy=")
		if !found {
			continue
		}
		for _, target := range strings.Fields(targets) {
			links = append(links, link3{Path: path.Join(systemUnits, target+".wants", unit.Name), Target: path.Join(systemUnits, unit.Name), Overwrite: true})
		}
	}
	return links
}

const systemUnits = "/etc/systemd/system"
