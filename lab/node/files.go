package node

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// files is all that makes the common root file system this machine.
func (s Spec) files() ([]file, error) {
	id := make([]byte, 16)
	if _, err := rand.Read(id); err != nil {
		return nil, fmt.Errorf("making a machine id: %w", err)
	}
	updates, err := s.updateFiles()
	if err != nil {
		return nil, err
	}
	filter, err := packetFilter()
	if err != nil {
		return nil, err
	}
	files := []file{
		{path: "/etc/machine-id", text: hex.EncodeToString(id) + "\n"},
		{path: "/etc/hostname", text: s.Name + "\n"},
		{path: "/etc/hosts", text: s.hosts()},
		// No server listens there, so requests fail at once. CoreDNS does not start
		// without a name server to forward to.
		{path: "/etc/resolv.conf", text: "nameserver " + gateway.String() + "\n"},
		// kube-proxy's pod mounts it, and would make it where nothing can be
		// written any more.
		{path: "/usr/lib/modules", dir: true},
		// flex volume plugins: below /usr, where their default is, nothing can
		// be written once a sysext is merged.
		{path: FlexVolumes, dir: true},
	}
	files = append(files, s.systemdFiles()...)
	files = append(files, s.flatcarFiles()...)
	files = append(files, s.containerFiles()...)
	files = append(files, filter...)
	files = append(files, updates...)
	files = append(files, s.updateEngineFiles()...)
	for _, path := range slices.Sorted(maps.Keys(s.Files)) {
		files = append(files, file{path: path, text: s.Files[path]})
	}
	return files, nil
}

// FlexVolumes is the folder of flex volume plugins, as on Flatcar.
const FlexVolumes = "/opt/libexec/kubernetes/kubelet-plugins/volume/exec"

func (s Spec) hosts() string {
	var b strings.Builder
	b.WriteString("127.0.0.1 localhost\n")
	for _, peer := range s.Peers {
		fmt.Fprintf(&b, "%s %s\n", peer.Address, peer.Name)
	}
	return b.String()
}
