package preflight_test

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
)

func certificateScenes() []scene {
	ends := func(name string, in time.Duration) func(*preflight.Facts) {
		return func(f *preflight.Facts) { facts(f, name).Certificates[0].NotAfter = metav1.NewTime(now.Add(in)) }
	}
	authorityEnds := func(in time.Duration) func(*preflight.Facts) {
		return func(f *preflight.Facts) { facts(f, "cp-2").Certificates[1].NotAfter = metav1.NewTime(now.Add(in)) }
	}
	const day = 24 * time.Hour
	return []scene{
		{check: "certificate-ended", name: "just now", alter: ends("cp-1", 0), want: []string{"Block certificate-ended Node/cp-1"}},
		{check: "certificate-ended", name: "on a worker", alter: ends("worker-1", -day), want: []string{"Block certificate-ended Node/worker-1 @worker-1"}},
		{check: "certificate-ended", name: "in a moment", alter: ends("cp-1", time.Second), want: []string{"Warn certificate-ending Node/cp-1"}},
		{check: "certificate-ending", name: "in 30 days", alter: ends("cp-1", 30*day), want: []string{"Warn certificate-ending Node/cp-1"}},
		{check: "certificate-ending", name: "in 31 days", alter: ends("cp-1", 31*day)},
		{check: "certificate-ending", name: "not renewed, as the upgrade only reboots", alter: func(f *preflight.Facts) {
			ends("cp-1", 3*day)(f)
			f.Upgrade.Spec.Version, f.Upgrade.Spec.Type = "", v1alpha1.TypeReboot
		}, want: []string{"Warn certificate-ending Node/cp-1"}},
		{check: "certificate-ending", name: "on workers", alter: func(f *preflight.Facts) {
			ends("worker-1", 3*day)(f)
			ends("worker-2", 3*day)(f)
		}, want: []string{"Warn certificate-ending"}},
		{check: "certificate-ending", name: "the kubelets' own", alter: func(f *preflight.Facts) {
			for _, name := range []string{"cp-1", "worker-1", "worker-2"} {
				facts(f, name).Certificates[0].Path = "/var/lib/kubelet/pki/kubelet-client-current.pem"
				ends(name, 3*day)(f)
			}
		}, want: []string{"Warn certificate-ending"}},
		{check: "certificate-ended", name: "a kubelet's own", alter: func(f *preflight.Facts) {
			facts(f, "cp-1").Certificates[0].Path = "/var/lib/kubelet/pki/kubelet-client-current.pem"
			ends("cp-1", -day)(f)
		}, want: []string{"Block certificate-ended Node/cp-1"}},
		{check: "certificate-ended", name: "a kubelet's own, by --cert-dir", alter: func(f *preflight.Facts) {
			facts(f, "cp-1").Certificates[0].Path = "/etc/kubernetes/kubelet-pki/kubelet-client-current.pem"
			ends("cp-1", -day)(f)
		}, want: []string{"Block certificate-ended Node/cp-1"}},
		{check: "certificate-ended", name: "a copy of an old one", alter: func(f *preflight.Facts) {
			for _, name := range []string{"cp-1", "cp-2"} {
				facts(f, name).Certificates[0].Path = "/etc/kubernetes/pki/backup-2024/apiserver.crt"
				ends(name, -300*day)(f)
			}
		}, want: []string{"Warn certificate-ending File/etc/kubernetes/pki/backup-2024/apiserver.crt"}},
		{check: "ca-ended", name: "another program's", alter: func(f *preflight.Facts) {
			facts(f, "cp-2").Certificates[1].Path = "/etc/kubernetes/pki/oidc-ca.crt"
			authorityEnds(-day)(f)
		}, want: []string{"Warn certificate-ending File/etc/kubernetes/pki/oidc-ca.crt"}},
		{check: "certificate-ending", name: "another program's in 31 days", alter: func(f *preflight.Facts) {
			facts(f, "cp-1").Certificates[0].Path = "/etc/kubernetes/pki/backup-2024/apiserver.crt"
			ends("cp-1", 31*day)(f)
		}},
		{check: "certificate-ending", name: "a kubelet's own, which kubeadm renews on no control plane", alter: func(f *preflight.Facts) {
			facts(f, "cp-1").Certificates[0].Path = "/etc/kubernetes/kubelet.conf"
			ends("cp-1", 3*day)(f)
		}, want: []string{"Warn certificate-ending"}},
		{check: "certificate-ending", name: "a third of its life, begun when it was written", alter: func(f *preflight.Facts) {
			cert := &facts(f, "cp-1").Certificates[0]
			cert.NotBefore, cert.WrittenTime = ptr.To(metav1.NewTime(now.AddDate(-5, 0, 0))), ptr.To(metav1.NewTime(now.Add(-10*time.Minute)))
			ends("cp-1", 5*time.Minute)(f)
		}, want: []string{"Warn certificate-ending Node/cp-1"}},
		{check: "certificate-ending", name: "more than a third of its life", alter: func(f *preflight.Facts) {
			facts(f, "cp-1").Certificates[0].WrittenTime = ptr.To(metav1.NewTime(now.Add(-9 * time.Minute)))
			ends("cp-1", 5*time.Minute)(f)
		}},
		{check: "certificate-ending", name: "an authority of another maker, which expires first", alter: func(f *preflight.Facts) {
			add(f, "cp-1", v1alpha1.CertificateFacts{Path: "/etc/kubernetes/pki/corporate.crt", CA: true, NotAfter: metav1.NewTime(now.Add(20 * day))})
			facts(f, "cp-1").Certificates[0].AuthorityPath = "/etc/kubernetes/pki/corporate.crt"
		}, want: []string{"Warn certificate-ending File/etc/kubernetes/pki/corporate.crt", "Warn certificate-ending Node/cp-1"}},
		{check: "certificate-ending", name: "its authority expires first, which is told once", alter: func(f *preflight.Facts) {
			facts(f, "cp-1").Certificates[0].AuthorityPath = "/etc/kubernetes/pki/ca.crt"
			facts(f, "cp-1").Certificates[1].NotAfter = metav1.NewTime(now.Add(20 * day))
		}, want: []string{"Warn ca-ending File/etc/kubernetes/pki/ca.crt"}},
		{check: "certificate-ending", name: "renewal is disabled", alter: func(f *preflight.Facts) {
			facts(f, "cp-1").CertificateRenewalDisabled = true
			ends("cp-1", 3*day)(f)
		}, want: []string{"Warn certificate-ending Node/cp-1"}},
		{check: "certificate-ended", name: "inside kubelet.conf", alter: func(f *preflight.Facts) {
			facts(f, "cp-1").Certificates[0].Path = "/etc/kubernetes/kubelet.conf"
			ends("cp-1", -day)(f)
		}, want: []string{"Block certificate-ended Node/cp-1"}},
		{check: "certificate-ending", name: "kubelets' serving certificates, requested and made themselves", alter: func(f *preflight.Facts) {
			serving := v1alpha1.CertificateFacts{Path: "/var/lib/kubelet/pki/kubelet-server-current.pem", KubeletServing: true, RenewedBy: v1alpha1.RenewedByKubelet, NotAfter: metav1.NewTime(now.Add(-day))}
			add(f, "worker-1", serving)
			serving.Path, serving.RenewedBy = "/var/lib/kubelet/pki/kubelet.crt", v1alpha1.RenewedByNone
			add(f, "worker-2", serving)
		}, want: []string{"Warn certificate-ending"}},
		{check: "certificate-ending", name: "a copy of admin.conf", alter: func(f *preflight.Facts) {
			add(f, "cp-1", v1alpha1.CertificateFacts{Path: "/root/.kube/config", RenewedBy: v1alpha1.RenewedByNone, NotAfter: metav1.NewTime(now.Add(-day))})
		}},
		{check: "certificate-not-loaded", name: "the scheduler was not restarted", alter: func(f *preflight.Facts) {
			written := metav1.NewTime(now.Add(-day))
			add(f, "cp-1", v1alpha1.CertificateFacts{Path: "/etc/kubernetes/scheduler.conf", UsedBy: []string{"kube-scheduler"}, InUse: v1alpha1.UsesFormer, WrittenTime: &written, NotAfter: metav1.NewTime(now.AddDate(1, 0, 0))})
			add(f, "cp-2", v1alpha1.CertificateFacts{Path: "/etc/kubernetes/scheduler.conf", UsedBy: []string{"kube-scheduler"}, InUse: v1alpha1.UsesCurrent, WrittenTime: &written, NotAfter: metav1.NewTime(now.AddDate(1, 0, 0))})
			add(f, "worker-1", v1alpha1.CertificateFacts{Path: "/srv/tls.crt", KubeletServing: true, UsedBy: []string{"kubelet"}, InUse: v1alpha1.UsesFormer, RenewedBy: v1alpha1.RenewedElsewhere, NotAfter: metav1.NewTime(now.AddDate(1, 0, 0))})
		}, want: []string{"Warn certificate-not-loaded Node/cp-1", "Warn certificate-not-loaded Node/worker-1"}},
		{check: "certificate-not-loaded", name: "it was", alter: func(f *preflight.Facts) {
			facts(f, "cp-1").Certificates[0].UsedBy, facts(f, "cp-1").Certificates[0].InUse = []string{"kube-apiserver"}, v1alpha1.UsesCurrent
		}},
		{check: "certificate-authority-elsewhere", name: "no key on a control plane", alter: func(f *preflight.Facts) {
			for _, name := range []string{"cp-1", "cp-2", "worker-1"} {
				facts(f, name).Certificates[0].AuthorityPath, facts(f, name).Certificates[0].RenewedBy = "/etc/kubernetes/pki/ca.crt", v1alpha1.RenewedElsewhere
			}
		}, want: []string{"Warn certificate-authority-elsewhere File/etc/kubernetes/pki/ca.crt"}},
		{check: "certificate-authority-elsewhere", name: "another maker's", alter: func(f *preflight.Facts) {
			facts(f, "cp-1").Certificates[0].RenewedBy = v1alpha1.RenewedElsewhere
		}, want: []string{"Warn certificate-authority-elsewhere Node/cp-1"}},
		{check: "certificate-authority-elsewhere", name: "renewed by kubeadm", alter: func(f *preflight.Facts) {
			facts(f, "cp-1").Certificates[0].RenewedBy = v1alpha1.RenewedByKubeadm
		}},
		{check: "certificates-frozen", name: "a freeze lasts longer", alter: func(f *preflight.Facts) {
			renewed(f)
			f.Schedules = []v1alpha1.MaintenanceSchedule{freeze(-day, 201*day), windows()}
		}, want: []string{"Warn certificates-frozen"}},
		{check: "certificates-frozen", name: "a freeze ends before", alter: func(f *preflight.Facts) {
			renewed(f)
			f.Schedules = []v1alpha1.MaintenanceSchedule{freeze(-day, 199*day), windows()}
		}},
		{check: "certificates-frozen", name: "a window opens before it, and nothing is due then", alter: func(f *preflight.Facts) {
			renewed(f)
			f.Schedules = []v1alpha1.MaintenanceSchedule{freeze(2*day, 201*day), windows()}
		}, want: []string{"Warn certificates-frozen"}},
		{check: "certificates-frozen", name: "it begins when they are due", alter: func(f *preflight.Facts) {
			renewed(f)
			f.Schedules = []v1alpha1.MaintenanceSchedule{freeze(172*day, 201*day), windows()}
		}},
		{check: "certificates-frozen", name: "a freeze of all but certificates", alter: func(f *preflight.Facts) {
			renewed(f)
			f.Schedules = []v1alpha1.MaintenanceSchedule{freeze(-day, 201*day, v1alpha1.TypePatch, v1alpha1.TypeMinor, v1alpha1.TypeReboot, v1alpha1.TypeRollback), windows()}
		}},
		{check: "certificates-frozen", name: "no window, and that is far away", alter: func(f *preflight.Facts) { renewed(f); f.Schedules = nil }},
		{check: "certificates-frozen", name: "no window, in 55 days", alter: func(f *preflight.Facts) {
			renewed(f)
			facts(f, "cp-2").Certificates[0].NotAfter = metav1.NewTime(now.Add(55 * day))
			f.Schedules = nil
		}, want: []string{"Warn certificates-frozen"}},
		{check: "certificates-frozen", name: "a freeze of minors", alter: func(f *preflight.Facts) {
			renewed(f)
			of := freeze(-day, 201*day, v1alpha1.TypeMinor)
			f.Schedules = []v1alpha1.MaintenanceSchedule{of, windows()}
		}},
		{check: "certificates-frozen", name: "no window, which this upgrade ignores", alter: func(f *preflight.Facts) {
			renewed(f)
			ofType(f, v1alpha1.TypeCertificates)
			f.Upgrade.Spec.WindowPolicy = v1alpha1.WindowPolicyIgnore
			facts(f, "cp-2").Certificates[0].NotAfter = metav1.NewTime(now.Add(55 * day))
			f.Schedules = nil
		}},
		{check: "certificate-ending", name: "kubeadm renews it, and the upgrade only reboots", alter: func(f *preflight.Facts) {
			renewed(f)
			ofType(f, v1alpha1.TypeReboot)
			ends("cp-1", 3*day)(f)
		}, want: []string{"Warn certificate-ending Node/cp-1"}},
		{check: "certificate-ending", name: "this upgrade renews it", alter: func(f *preflight.Facts) {
			renewed(f)
			ofType(f, v1alpha1.TypeCertificates)
			ends("cp-1", 3*day)(f)
		}, want: []string{"Warn certificate-ending Node/cp-1"}},
		{check: "certificate-ending", name: "no upgrade renews it, as an administrator keeps kubeadm from it", alter: func(f *preflight.Facts) {
			renewed(f)
			ofType(f, v1alpha1.TypeCertificates)
			facts(f, "cp-1").CertificateRenewalDisabled = true
			ends("cp-1", 3*day)(f)
		}, want: []string{"Warn certificate-ending Node/cp-1"}},
		{check: "certificate-ended", name: "this upgrade renews it", alter: func(f *preflight.Facts) {
			renewed(f)
			ofType(f, v1alpha1.TypeCertificates)
			ends("cp-1", -day)(f)
		}, want: []string{"Warn certificate-ended Node/cp-1"}},
		{check: "certificate-ended", name: "inside kubelet.conf, and nothing restarts the kubelet", alter: func(f *preflight.Facts) {
			ofType(f, v1alpha1.TypeCertificates)
			facts(f, "cp-1").Certificates[0].Path = "/etc/kubernetes/kubelet.conf"
			ends("cp-1", -day)(f)
		}, want: []string{"Warn certificate-ended Node/cp-1"}},
		{check: "certificate-authority-elsewhere", name: "this upgrade leaves it", alter: func(f *preflight.Facts) {
			ofType(f, v1alpha1.TypeCertificates)
			facts(f, "cp-1").Certificates[0].RenewedBy = v1alpha1.RenewedElsewhere
		}, want: []string{"Warn certificate-authority-elsewhere Node/cp-1"}},
		{check: "etcd-single", name: "no member stops for certificates", facts: cluster(1, 1), alter: func(f *preflight.Facts) {
			facts(f, "cp-1").Certificates[0].RenewedBy = v1alpha1.RenewedByKubeadm
			ofType(f, v1alpha1.TypeCertificates)
		}},
		{check: "etcd-quorum", name: "no member stops for certificates", facts: cluster(2, 1), alter: func(f *preflight.Facts) {
			facts(f, "cp-1").Certificates[0].RenewedBy = v1alpha1.RenewedByKubeadm
			ofType(f, v1alpha1.TypeCertificates)
		}},
		{check: "etcd-member", name: "not healthy, and certificates are renewed", alter: func(f *preflight.Facts) {
			renewed(f)
			ofType(f, v1alpha1.TypeCertificates)
			facts(f, "cp-1").Etcd.Members[0].Healthy = false
		}, want: []string{"Block etcd-member EtcdMember/cp-1", "Block etcd-quorum"}},
		{check: "kubelet-serving-waits", name: "none waits", alter: func(f *preflight.Facts) { f.ServingRequests = []preflight.ServingRequest{} }},
		{check: "kubelet-serving-waits", name: "two wait", alter: func(f *preflight.Facts) {
			f.ServingRequests = []preflight.ServingRequest{{Name: "csr-b", Node: "worker-1"}, {Name: "csr-a", Node: "worker-2"}}
		}, want: []string{"Warn kubelet-serving-waits"}},
		{check: "ca-ended", name: "yesterday", alter: authorityEnds(-day), want: []string{"Block ca-ended File/etc/kubernetes/pki/ca.crt"}},
		{check: "ca-ended", name: "in years"},
		{check: "ca-ending", name: "in 180 days", alter: authorityEnds(180 * day), want: []string{"Warn ca-ending File/etc/kubernetes/pki/ca.crt"}},
		{check: "ca-ending", name: "in 181 days", alter: authorityEnds(181 * day)},
	}
}

// ofType makes the upgrade one without a version.
func ofType(f *preflight.Facts, t v1alpha1.UpgradeType) {
	f.Upgrade.Spec = v1alpha1.ClusterUpgradeSpec{Type: t}
}

// add adds a certificate to a node's.
func add(f *preflight.Facts, node string, c v1alpha1.CertificateFacts) {
	facts(f, node).Certificates = append(facts(f, node).Certificates, c)
}

// renewed lets kubeadm renew the certificates of the control planes, which expire in 200 days and later, in windows.
func renewed(f *preflight.Facts) {
	f.Schedules = []v1alpha1.MaintenanceSchedule{windows()}
	for i, name := range []string{"cp-3", "cp-1", "cp-2"} {
		cert := &facts(f, name).Certificates[0]
		cert.RenewedBy, cert.AuthorityPath = v1alpha1.RenewedByKubeadm, "/etc/kubernetes/pki/ca.crt"
		cert.NotAfter = metav1.NewTime(now.AddDate(0, 0, 200+i))
	}
}

// freeze returns a schedule that excludes upgrades.
func freeze(from, until time.Duration, of ...v1alpha1.UpgradeType) v1alpha1.MaintenanceSchedule {
	s := v1alpha1.MaintenanceSchedule{ObjectMeta: metav1.ObjectMeta{Name: "freeze"}}
	s.Spec.MaintenanceExclusions = []v1alpha1.MaintenanceExclusion{{UpgradeTypes: of}}
	exclusion := &s.Spec.MaintenanceExclusions[0]
	exclusion.Name, exclusion.StartTime, exclusion.EndTime = "year-end", metav1.NewTime(now.Add(from)), metav1.NewTime(now.Add(until))
	return s
}

// windows returns a schedule with a window each day.
func windows() v1alpha1.MaintenanceSchedule {
	s := v1alpha1.MaintenanceSchedule{ObjectMeta: metav1.ObjectMeta{Name: "nightly"}}
	s.Spec.MaintenanceWindows = []v1alpha1.MaintenanceWindow{{}}
	window := &s.Spec.MaintenanceWindows[0]
	window.Name, window.Recurrence = "night", "FREQ=DAILY"
	window.StartTime, window.EndTime = metav1.NewTime(now.AddDate(0, 0, -9)), metav1.NewTime(now.AddDate(0, 0, -9).Add(time.Hour))
	return s
}

func diskScenes() []scene {
	const mib = 1 << 20
	on := func(f *preflight.Facts, name string, folder int, mibs int64) {
		facts(f, name).Disks[folder].FreeBytes = mibs * mib
	}
	free := func(folder int, mibs int64) func(*preflight.Facts) {
		return func(f *preflight.Facts) { on(f, "cp-1", folder, mibs) }
	}
	pressure := func(condition corev1.NodeConditionType, status corev1.ConditionStatus) func(*preflight.Facts) {
		return func(f *preflight.Facts) {
			n := node(f, "worker-1")
			n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: condition, Status: status})
		}
	}
	underPressure := []string{"Warn node-pressure Node/worker-1"}
	lacks := []string{"Block disk-room Node/cp-1"}
	return []scene{
		{check: "node-pressure", name: "of a disk", alter: pressure(corev1.NodeDiskPressure, corev1.ConditionTrue), want: underPressure},
		{check: "node-pressure", name: "of memory", alter: pressure(corev1.NodeMemoryPressure, corev1.ConditionTrue), want: underPressure},
		{check: "node-pressure", name: "none", alter: pressure(corev1.NodeDiskPressure, corev1.ConditionFalse)},
		{check: "disk-room", name: "the sysext image", alter: free(0, 127), want: lacks},
		{check: "disk-room", name: "just the sysext image", alter: free(0, 128)},
		{check: "disk-room", name: "the sysext image is there", alter: func(f *preflight.Facts) {
			free(0, 1)(f)
			upgrade(f, "cp-1").Status.Versions.Staged = "v1.35.4"
		}},
		{check: "disk-room", name: "on a worker", alter: func(f *preflight.Facts) { on(f, "worker-1", 0, 127) }, want: []string{"Block disk-room Node/worker-1 @worker-1"}},
		{check: "disk-room", name: "kubeadm's copy of 100 MiB of etcd", alter: free(1, 227), want: lacks},
		{check: "disk-room", name: "just kubeadm's copy", alter: free(1, 228)},
		{check: "disk-room", name: "kubeadm is done here", alter: func(f *preflight.Facts) {
			free(1, 1)(f)
			upgrade(f, "cp-1").Status.Versions.Kubeadm = "v1.35.4"
		}},
		{check: "disk-room", name: "etcd's snapshot", alter: free(2, 163), want: lacks},
		{check: "disk-room", name: "no snapshot is wanted", alter: func(f *preflight.Facts) {
			free(2, 1)(f)
			f.Upgrade.Spec.Strategy.EtcdSnapshotPolicy = "Skip"
		}},
		{check: "disk-room", name: "the snapshot is taken", alter: func(f *preflight.Facts) {
			free(2, 1)(f)
			f.Upgrade.Status.EtcdSnapshot = &v1alpha1.EtcdSnapshot{Node: "cp-1"}
		}},
		{check: "disk-room", name: "container images", alter: free(3, 639), want: lacks},
		{check: "disk-room", name: "container images on a worker", alter: func(f *preflight.Facts) { on(f, "worker-1", 3, 192) }},
		{check: "disk-room", name: "container images are pulled", alter: func(f *preflight.Facts) {
			free(3, 1)(f)
			upgrade(f, "cp-1").Status.Versions.Pulled = "v1.35.4"
		}},
		{check: "disk-room", name: "enough for each, not for all on one file system", alter: func(f *preflight.Facts) {
			for i := range facts(f, "cp-1").Disks {
				free(i, 700)(f)
			}
		}, want: lacks},
		{check: "disk-room", name: "the same, looked at one after the other", alter: func(f *preflight.Facts) {
			for i := range facts(f, "cp-1").Disks {
				free(i, 700+int64(i))(f)
			}
		}, want: lacks},
		{check: "disk-room", name: "the same, by its device", alter: func(f *preflight.Facts) {
			for i := range facts(f, "cp-1").Disks {
				free(i, 700+100*int64(i))(f)
				facts(f, "cp-1").Disks[i].Device = "254:9"
			}
		}, want: lacks},
		{check: "disk-room", name: "as much on each of several file systems", alter: func(f *preflight.Facts) {
			for i := range facts(f, "cp-1").Disks {
				free(i, 700)(f)
				facts(f, "cp-1").Disks[i].Device = fmt.Sprintf("254:%d", i)
			}
		}},
		{check: "disk-room", name: "containerd keeps its images elsewhere", alter: func(f *preflight.Facts) {
			facts(f, "cp-1").Disks = []v1alpha1.DiskFacts{{Path: "/data/containerd", FreeBytes: mib}}
		}, want: lacks},
		{check: "disk-room", name: "etcd grows by itself", alter: func(f *preflight.Facts) {
			facts(f, "cp-1").Disks = []v1alpha1.DiskFacts{{Path: "/var/lib/etcd", FreeBytes: mib}, {Path: "/data/db/member", FreeBytes: mib}}
		}},
		{check: "disk-room", name: "a folder that is not there yet stands for its parent", alter: func(f *preflight.Facts) {
			facts(f, "cp-1").Disks = []v1alpha1.DiskFacts{{Path: "/etc/kubernetes", FreeBytes: mib}}
		}, want: lacks},
		{check: "disk-room", name: "a reboot writes nothing", alter: func(f *preflight.Facts) {
			free(0, 1)(f)
			f.Upgrade.Spec.Version, f.Upgrade.Spec.Type = "", v1alpha1.TypeReboot
		}},
	}
}

func factsScenes() []scene {
	return []scene{
		{check: "facts-missing", name: "of a control-plane node", alter: func(f *preflight.Facts) { unseen(f, "cp-1") },
			want: []string{"Block facts-missing Node/cp-1"}},
		{check: "facts-missing", name: "of workers", alter: func(f *preflight.Facts) {
			unseen(f, "worker-1")
			unseen(f, "worker-2")
			f.NodeUpgrades = f.NodeUpgrades[:len(f.NodeUpgrades)-1]
		}, want: []string{"Warn facts-missing"}},
		{check: "facts-missing", name: "right after the installation", alter: func(f *preflight.Facts) {
			unseen(f, "cp-1")
			unseen(f, "worker-1")
			unseen(f, "worker-2")
			agents(f, "cp-1", "worker-1")
			for i := range f.Workloads.Pods {
				f.Workloads.Pods[i].Ready, f.Workloads.Pods[i].ReadyChanged = false, now.Add(-10*time.Second)
			}
		}, want: []string{"Block facts-missing Node/cp-1", "Warn facts-missing", "Warn facts-missing"}},
		{check: "facts-missing", name: "older than an hour", alter: func(f *preflight.Facts) {
			facts(f, "cp-1").GatheredTime = metav1.NewTime(now.Add(-61 * time.Minute))
			facts(f, "worker-1").GatheredTime = metav1.NewTime(now.Add(-61 * time.Minute))
			agents(f, "cp-2", "worker-2")
		}, want: []string{"Block facts-missing Node/cp-1", "Warn facts-missing"}},
		{check: "facts-missing", name: "older than an hour, as nothing changed since", alter: func(f *preflight.Facts) {
			facts(f, "cp-1").GatheredTime = metav1.NewTime(now.Add(-30 * 24 * time.Hour))
			agents(f, "cp-1")
		}},
		{check: "facts-missing", name: "older than an hour, and the agent is not Ready", alter: func(f *preflight.Facts) {
			facts(f, "cp-1").GatheredTime = metav1.NewTime(now.Add(-61 * time.Minute))
			agents(f, "cp-1")
			f.Workloads.Pods[0].Ready, f.Workloads.Pods[0].ReadyChanged = false, now.Add(-30*time.Minute)
		}, want: []string{"Block facts-missing Node/cp-1"}},
		{check: "facts-missing", name: "younger than an hour, from an agent that does not run", alter: func(f *preflight.Facts) {
			agents(f, "cp-2")
		}},
		{check: "facts-missing", name: "older than an hour, and pods could not be read", alter: func(f *preflight.Facts) {
			facts(f, "cp-1").GatheredTime = metav1.NewTime(now.Add(-61 * time.Minute))
			f.Unread = []string{"Pods could not be read."}
		}, want: []string{"Warn unread"}},
		{check: "facts-missing", name: "those of an earlier node of that name", alter: func(f *preflight.Facts) {
			node(f, "cp-1").UID = "new"
			owner := []metav1.OwnerReference{{Kind: "Node", Name: "cp-1", UID: "old"}}
			upgrade(f, "cp-1").OwnerReferences, f.Inventories[0].OwnerReferences = owner, owner
			upgrade(f, "cp-1").Status.Step = v1alpha1.StepUnsupported
		}, want: []string{"Block facts-missing Node/cp-1"}},
		{check: "facts-missing", name: "those of this very node", alter: func(f *preflight.Facts) {
			node(f, "cp-1").UID = "new"
			owner := []metav1.OwnerReference{{Kind: "Node", Name: "cp-1", UID: "new"}}
			upgrade(f, "cp-1").OwnerReferences, f.Inventories[0].OwnerReferences = owner, owner
		}},
		{check: "facts-missing", name: "of a node that is not managed", alter: func(f *preflight.Facts) {
			f.NodeUpgrades = f.NodeUpgrades[:len(f.NodeUpgrades)-1]
			unseen(f, "worker-2")
			node(f, "worker-1").Labels["pool"], node(f, "worker-2").Labels["pool"] = "ours", "theirs"
			f.Policy.NodeSelector = &v1alpha1.LabelSelector{MatchExpressions: []v1alpha1.LabelRequirement{
				{Key: "pool", Operator: "NotIn", Values: []v1alpha1.LabelValue{"theirs"}},
			}}
		}},
		{check: "facts-missing", name: "of a node that the upgrade does not select", alter: func(f *preflight.Facts) {
			unseen(f, "worker-2")
			for _, name := range []string{"cp-1", "cp-2", "cp-3", "worker-1"} {
				node(f, name).Labels["pool"] = "canary"
			}
			f.Upgrade.Spec.NodeSelector = ptr.To(pool("canary"))
		}},
		{check: "facts-missing", name: "of a node that is not ours", alter: func(f *preflight.Facts) {
			unseen(f, "worker-1")
			upgrade(f, "worker-1").Status.Step = v1alpha1.StepUnsupported
		}, want: []string{"Warn unsupported"}},
		{check: "node-clock", name: "one ahead, one behind", alter: func(f *preflight.Facts) {
			facts(f, "cp-1").ClockAheadSeconds, facts(f, "worker-1").ClockAheadSeconds = 40, -90
		}, want: []string{"Warn node-clock Node/cp-1", "Warn node-clock Node/worker-1"}},
		{check: "node-clock", name: "right ones"},
		{check: "rehearsal", name: "a worker, and a control plane", alter: func(f *preflight.Facts) {
			facts(f, "worker-1").Rehearsals = rehearsed(f.Upgrade.Spec.Version, v1alpha1.CauseNode, "/etc/extensions/other.raw is no image")
			facts(f, "cp-1").Rehearsals = rehearsed(f.Upgrade.Spec.Version, v1alpha1.CauseVersion, "the kubelet refuses a flag")
		}, want: []string{"Block rehearsal Node/cp-1", "Block rehearsal Node/worker-1 @worker-1"}},
		{check: "rehearsal", name: "a part that could not be tried", alter: func(f *preflight.Facts) {
			facts(f, "worker-1").Rehearsals = []v1alpha1.Rehearsal{{Version: f.Upgrade.Spec.Version, Untried: []string{"the merge: Operation not permitted"}, LeftOut: []string{"the merge of /etc"}}}
		}, want: []string{"Warn rehearsal Node/worker-1"}},
		{check: "rehearsal", name: "the programs of a control plane", alter: func(f *preflight.Facts) {
			facts(f, "cp-1").Rehearsals = rehearsed(f.Upgrade.Spec.Version, v1alpha1.CauseNode, "kube-apiserver refuses a flag")
			facts(f, "cp-1").Rehearsals[0].Problems[0].Reason = v1alpha1.ProgramRefuses
		}, want: []string{"Block rehearsal Node/cp-1"}},
		{check: "static-pod-changes", name: "a flag that a person has set", alter: func(f *preflight.Facts) {
			facts(f, "cp-1").Rehearsals = []v1alpha1.Rehearsal{{Version: f.Upgrade.Spec.Version, Changes: []string{"kube-apiserver: --audit-log-path=- is removed"}}}
		}, want: []string{"Warn static-pod-changes Node/cp-1"}},
		{check: "static-pod-changes", name: "none", alter: func(f *preflight.Facts) {
			facts(f, "cp-1").Rehearsals = []v1alpha1.Rehearsal{{Version: f.Upgrade.Spec.Version}}
		}},
		{check: "rehearsal", name: "another version", alter: func(f *preflight.Facts) {
			facts(f, "worker-1").Rehearsals = rehearsed("v1.34.1", v1alpha1.CauseVersion, "the kubelet refuses a flag")
		}},
		{check: "facts-incomplete", name: "three things", alter: func(f *preflight.Facts) {
			facts(f, "cp-1").CgroupVersion = 0
			facts(f, "cp-1").Certificates = nil
			facts(f, "worker-1").Disks = nil
		}, want: []string{"Warn facts-incomplete", "Warn facts-incomplete", "Warn facts-incomplete"}},
		{check: "facts-incomplete", name: "the same problem on two nodes", alter: func(f *preflight.Facts) {
			facts(f, "worker-1").Problems = []string{"decoding /var/lib/kubelet/config.yaml: no YAML"}
			facts(f, "worker-2").Problems = []string{"decoding /var/lib/kubelet/config.yaml: no YAML"}
		}, want: []string{"Warn facts-incomplete"}},
		{check: "facts-incomplete", name: "cgroups before 1.35", alter: func(f *preflight.Facts) {
			f.Upgrade.Spec.Version = "v1.34.5"
			facts(f, "cp-1").CgroupVersion = 0
		}},
		{check: "unread", name: "two things", alter: func(f *preflight.Facts) {
			f.Unread = []string{"Listing webhooks: forbidden.", "Asking the apiserver on cp-2 for its metrics: forbidden."}
		}, want: []string{"Warn unread", "Warn unread"}},
		{check: "unread", name: "nothing"},
		{check: "ignore-unknown", name: "an id with a typo", alter: func(f *preflight.Facts) {
			f.Upgrade.Spec.IgnoreChecks = []v1alpha1.IgnoredCheck{{ID: "skip-version"}, {ID: "version-skip"}}
		}, want: []string{"Warn ignore-unknown"}},
		{check: "ignore-unknown", name: "a check", alter: func(f *preflight.Facts) {
			f.Upgrade.Spec.IgnoreChecks = []v1alpha1.IgnoredCheck{{ID: "version-skip"}}
		}},
	}
}

// rehearsed are rehearsals of a boot with a version, which found a problem.
func rehearsed(version string, cause v1alpha1.RehearsalCause, message string) []v1alpha1.Rehearsal {
	problem := v1alpha1.Problem{Reason: v1alpha1.NothingMerges, Message: message}
	return []v1alpha1.Rehearsal{{Version: version, Problems: []v1alpha1.RehearsalProblem{{Problem: problem, Cause: cause}}}}
}
