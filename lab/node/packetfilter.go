package node

import "github.com/kubectl-upgrade/kubectl-upgrade/lab/iptables"

// packetFilter chooses the iptables that kubelet and CNI plugins call.
func packetFilter() ([]file, error) {
	kind, err := iptables.Kind()
	if err != nil {
		return nil, err
	}
	var files []file
	for _, name := range iptables.Programs {
		files = append(files, file{path: "/etc/alternatives/" + name, link: "/usr/sbin/xtables-" + kind + "-multi"})
	}
	return files, nil
}
