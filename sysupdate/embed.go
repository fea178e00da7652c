// Package sysupdate holds the text of the systemd-sysupdate definitions that
// the agent writes on a node. Package pkg/sysupdate fills it in.
package sysupdate

import _ "embed"

// KubernetesConf is the text/template of a conf for one minor.
//
//go:embed kubernetes.conf.tmpl
var KubernetesConf string
