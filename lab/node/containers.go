package node

import "fmt"

// containerdConfig is for containerd 1.x. The CNI plugins come with the
// Kubernetes image, where Flatcar's sysext-bakery puts them.
const containerdConfig = `version = 2

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = %q
  restrict_oom_score_adj = true

[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "/usr/local/bin/cni"
  conf_dir = "/etc/cni/net.d"

[plugins."io.containerd.grpc.v1.cri".registry]
  config_path = "/etc/containerd/certs.d"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
  SystemdCgroup = true
`

// everyRegistry sends all pulls, of whatever registry, to the lab's own.
const everyRegistry = `[host.%q]
  capabilities = ["pull", "resolve"]
`

const podNetwork = `{
  "cniVersion": "1.0.0",
  "name": "pods",
  "plugins": [
    {
      "type": "bridge",
      "bridge": "cni0",
      "isDefaultGateway": true,
      "hairpinMode": true,
      "ipam": {"type": "host-local", "ranges": [[{"subnet": %q}]]}
    },
    {"type": "portmap", "capabilities": {"portMappings": true}}
  ]
}
`

func (s Spec) containerFiles() []file {
	return []file{
		{path: "/etc/containerd/config.toml", text: fmt.Sprintf(containerdConfig, s.Pause)},
		{path: "/etc/containerd/certs.d/_default/hosts.toml", text: fmt.Sprintf(everyRegistry, s.Registry)},
		{path: "/etc/cni/net.d/10-pods.conflist", text: fmt.Sprintf(podNetwork, s.Pods)},
	}
}
