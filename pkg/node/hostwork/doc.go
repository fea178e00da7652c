// Package hostwork carries out the host verbs, as root on the node. Its Table has the
// function of each; package hostverb has their other properties. The agent does not link
// this package: clients of etcd and of the container runtime would stay in its memory.
package hostwork
