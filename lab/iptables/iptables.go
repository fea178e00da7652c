// Package iptables chooses between the two kinds of iptables.
package iptables

import (
	"fmt"
	"os"
)

// Variable is the environment variable with the kind that nodes and kube-proxy have: nft,
// the default, or legacy, for a kernel without nf_tables for IPv4.
const Variable = "LAB_IPTABLES"

// Programs are the names of the one program of each kind.
var Programs = []string{"iptables", "iptables-save", "iptables-restore", "ip6tables", "ip6tables-save", "ip6tables-restore"}

// Kind returns nft or legacy.
func Kind() (string, error) {
	switch kind := os.Getenv(Variable); kind {
	case "":
		return "nft", nil
	case "nft", "legacy":
		return kind, nil
	default:
		return "", fmt.Errorf("%s=%s: must be nft or legacy", Variable, kind)
	}
}
