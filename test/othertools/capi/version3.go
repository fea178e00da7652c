package capi

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/coreos/ignition/v2/config/v3_1"
	"github.com/coreos/ignition/v2/config/v3_1/types"
	old "github.com/flatcar/ignition/config/v2_3/types"
	"k8s.io/utils/ptr"
)

// version3 converts links, files and units from version 2 of Ignition's configuration, which Cluster
// API writes, to version 3. Flatcar's Ignition converts it by itself; others know version 3 only.
func version3(from old.Config) ([]byte, error) {
	if len(from.Storage.Disks)+len(from.Storage.Filesystems)+len(from.Storage.Directories)+
		len(from.Storage.Raid)+len(from.Passwd.Users)+len(from.Passwd.Groups)+len(from.Networkd.Units) > 0 {
		return nil, errors.New("converting to version 3 of Ignition's configuration: only links, files and units are converted")
	}
	config := types.Config{Ignition: types.Ignition{Version: "3.1.0"}}
	for _, link := range from.Storage.Links {
		config.Storage.Links = append(config.Storage.Links, types.Link{
			Node:          types.Node{Path: link.Path},
			LinkEmbedded1: types.LinkEmbedded1{Target: link.Target, Hard: ptr.To(link.Hard)},
		})
	}
	for _, file := range from.Storage.Files {
		converted := types.File{Node: types.Node{Path: file.Path, Overwrite: ptr.To(true)}}
		converted.Mode = file.Mode
		converted.Contents.Source = ptr.To(file.Contents.Source)
		converted.Contents.Verification.Hash = file.Contents.Verification.Hash
		config.Storage.Files = append(config.Storage.Files, converted)
	}
	for _, unit := range from.Systemd.Units {
		// Version 3 has each unit once. Drop-ins of the snippet are for units of the bootstrap provider.
		config = v3_1.Merge(config, types.Config{Systemd: types.Systemd{Units: []types.Unit{convertUnit(unit)}}})
	}
	converted, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("writing version 3 of Ignition's configuration: %w", err)
	}
	if _, report, err := v3_1.Parse(converted); err != nil || len(report.Entries) > 0 {
		return nil, fmt.Errorf("converting to version 3 of Ignition's configuration: %w\n%s", err, report.String())
	}
	return converted, nil
}

func convertUnit(unit old.Unit) types.Unit {
	converted := types.Unit{Name: unit.Name, Enabled: unit.Enabled}
	if unit.Mask {
		converted.Mask = ptr.To(true)
	}
	if unit.Contents != "" {
		converted.Contents = ptr.To(unit.Contents)
	}
	for _, dropin := range unit.Dropins {
		converted.Dropins = append(converted.Dropins, types.Dropin{Name: dropin.Name, Contents: ptr.To(dropin.Contents)})
	}
	return converted
}
