// Package crd has the definitions of our kinds, for programs that check objects as the API
// server does.
package crd

import "embed"

//go:generate go run -C paragraphs .
//go:generate go run -C apidoc .
//go:generate go run -C jsonschema .

// Files are the definitions, one kind in each.
//
//go:embed kubectl-upgrade.dev_*.yaml
var Files embed.FS
