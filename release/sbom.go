package main

import (
	"cmp"
	"debug/buildinfo"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
)

// writeSBOM writes what Go programs were built from, as Go recorded it in the programs:
// their modules, each version once, and the standard library. It names the first program. The
// same programs give the same bytes.
func writeSBOM(programs []string, version, created, out string) error {
	var first *debug.BuildInfo
	var modules []*debug.Module
	for _, program := range programs {
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			return fmt.Errorf("reading how %s was built: %w", program, err)
		}
		first = cmp.Or(first, info)
		modules = append(modules, info.Deps...)
	}
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	defer f.Close()
	encoder := cyclonedx.NewBOMEncoder(f, cyclonedx.BOMFileFormatJSON).SetPretty(true)
	if err := encoder.EncodeVersion(sbom(first, unique(modules, version), version, created), cyclonedx.SpecVersion1_6); err != nil {
		return err
	}
	return f.Close()
}

// unique returns each version of each module once, in the order of their names. A module that another replaces is that
// one; one that a folder replaces is ours, and has the release's version.
func unique(modules []*debug.Module, version string) []*debug.Module {
	list := make([]*debug.Module, len(modules))
	for i, m := range modules {
		list[i] = cmp.Or(m.Replace, m)
		if isFolder(list[i].Path) {
			list[i] = &debug.Module{Path: m.Path, Version: version}
		}
	}
	slices.SortFunc(list, func(a, b *debug.Module) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Version, b.Version))
	})
	return slices.CompactFunc(list, func(a, b *debug.Module) bool { return a.Path == b.Path && a.Version == b.Version })
}

// isFolder reports whether the path of a module is one of the file system (go.mod reference, "replace directive").
func isFolder(path string) bool { return strings.HasPrefix(path, ".") || filepath.IsAbs(path) }

func sbom(info *debug.BuildInfo, deps []*debug.Module, version, created string) *cyclonedx.BOM {
	main := module(info.Main.Path, version)
	main.Type, main.Name = cyclonedx.ComponentTypeApplication, path.Base(info.Path)
	main.Licenses = &cyclonedx.Licenses{{License: &cyclonedx.License{ID: "Apache-2.0"}}}
	modules := []cyclonedx.Component{module("std", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, m := range deps {
		modules = append(modules, module(m.Path, m.Version))
	}
	refs := make([]string, len(modules))
	for i, m := range modules {
		refs[i] = m.BOMRef
	}
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Timestamp: created, Component: &main, Properties: settings(info)}
	bom.Components = &modules
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: main.BOMRef, Dependencies: &refs}}
	return bom
}

// module returns a module as a component, named as scanners for vulnerabilities expect.
func module(name, version string) cyclonedx.Component {
	purl := "pkg:golang/" + strings.ToLower(name) + "@" + strings.ReplaceAll(version, "+", "%2B")
	return cyclonedx.Component{
		BOMRef: purl, PackageURL: purl,
		Type: cyclonedx.ComponentTypeLibrary, Name: name, Version: version,
	}
}

// settings returns the settings of the build, such as GOOS and GOARCH.
func settings(info *debug.BuildInfo) *[]cyclonedx.Property {
	var all []cyclonedx.Property
	for _, s := range info.Settings {
		all = append(all, cyclonedx.Property{Name: "cdx:gomod:build:env:" + s.Key, Value: s.Value})
	}
	return &all
}
