package artifacts

import (
	"fmt"
	"path/filepath"
)

// kubeletUnit and kubeadmDropIn are as in the images of Flatcar's
// sysext-bakery: what an upgrade meets on a Flatcar node, it meets here.
const kubeletUnit = `[Unit]
Description=kubelet
Documentation=https://kubernetes.io/docs/
Wants=network-online.target
After=network-online.target containerd.service

[Service]
ExecStart=/usr/bin/kubelet
Restart=always
StartLimitInterval=0
RestartSec=10

[Install]
WantedBy=multi-user.target
`

const kubeadmDropIn = `[Service]
Environment="KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf"
Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml"
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
EnvironmentFile=-/etc/sysconfig/kubelet
ExecStartPre=/usr/bin/mkdir -p /etc/kubernetes
ExecStartPre=/usr/bin/cp /usr/local/share/kubernetes-version /etc/kubernetes-version
ExecStart=
ExecStart=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS
`

// kubernetesTree is the bakery's layout. Its sources are absolute.
func kubernetesTree(version, binDir, rootfs string) (tree, error) {
	const units = "usr/lib/systemd/system/"
	t := tree{
		extension: "kubernetes",
		release:   extensionRelease,
		copies:    map[string]string{},
		texts: map[string]string{
			"usr/local/share/kubernetes-version":                  "v" + version + "\n",
			units + "kubelet.service":                             kubeletUnit,
			units + "kubelet.service.d/10-kubeadm.conf":           kubeadmDropIn,
			units + "multi-user.target.d/10-kubelet-service.conf": upholds("kubelet.service"),
		},
	}
	for _, name := range []string{"kubeadm", "kubelet", "kubectl"} {
		t.copies["usr/bin/"+name] = filepath.Join(binDir, name)
	}
	plugins, err := filepath.Glob(filepath.Join(rootfs, "usr/lib/cni/*"))
	if err != nil {
		return tree{}, err
	}
	if len(plugins) == 0 {
		return tree{}, fmt.Errorf("no CNI plugins in %s", rootfs)
	}
	for _, plugin := range plugins {
		t.copies["usr/local/bin/cni/"+filepath.Base(plugin)] = plugin
	}
	return t, nil
}
