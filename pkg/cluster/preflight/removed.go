package preflight

// removal is a flag or field with which kubelets do not start from a minor of
// Kubernetes 1 on.
type removal struct {
	name  string
	minor int
}

// removedFlags are flags of the kubelet. What the options of v1.32.13,
// v1.33.13, v1.34.4, v1.35.4 and v1.36.3 define (cmd/kubelet/app/options) was
// compared; the changelogs agree. 1.33 and 1.36 removed none.
//
// pod-infra-container-image is not here: see kubeadmRemoves.
var removedFlags = []removal{
	{"keep-terminated-pod-volumes", 31}, // https://github.com/kubernetes/kubernetes/pull/122082
	{"runonce", 32},                     // CHANGELOG-1.32: given at all, it is an error
	{"cloud-config", 34},                // https://github.com/kubernetes/kubernetes/pull/130161
	{"register-schedulable", 34},        // https://github.com/kubernetes/kubernetes/pull/122384
}

// kubeadmRemoves are flags that the kubelet no longer knows, and that kubeadm of
// that minor takes out of /var/lib/kubelet/kubeadm-flags.env when it
// upgrades the node (cmd/kubeadm/app/cmd/phases/upgrade/postupgrade.go in
// v1.35.4), and out of no other file: the kubelet does not start only where they
// are set elsewhere.
// https://github.com/kubernetes/kubernetes/pull/133779
var kubeadmRemoves = []removal{{"pod-infra-container-image", 35}}

// removedFields are fields of the kubelet's configuration. Its types
// (k8s.io/kubelet/config/v1beta1) of v0.32.13 to v0.36.3 were compared: no
// field was removed from 1.33 to 1.36. One is still there and refused.
var removedFields = []removal{
	{"runOnce", 32}, // pkg/node/kubelet/apis/config/validation: "Runonce mode has been deprecated and should not be set"
}

// removedGates are feature gates, with the minor from which on no component knows
// them. A component that is given a gate it does not know does not start ("unrecognized
// feature gate", k8s.io/component-base/featuregate).
//
// The values of the constants in pkg/features, k8s.io/apiserver and
// k8s.io/component-base of v1.32.13, v1.33.13, v1.34.4, v1.35.4 and v1.36.3 were
// compared. From 1.33 on test/compatibility_lifecycle/reference lists the gates
// of the other modules too; none of those went.
var removedGates = gates(map[int][]string{
	33: {
		"APIListChunking", "AdmissionWebhookMatchConditions", "AggregatedDiscoveryEndpoint", "AppArmor", "AppArmorFields",
		"CPUManager", "DisableCloudProviders", "DisableKubeletCloudCredentialProviders", "EfficientWatchResumption",
		"JobPodFailurePolicy", "KubeProxyDrainingTerminatingNodes", "PDBUnhealthyPodEvictionPolicy",
		"PersistentVolumeLastPhaseTransitionTime", "RemainingItemCount", "VolumeCapacityPriority", "WatchBookmark",
	},
	34: {
		"DevicePluginCDIDevices", "ElasticIndexedJob", "LegacySidecarContainers", "PodDisruptionConditions", "StatefulSetStartOrdinal",
	},
	35: {
		"AllowServiceLBStatusOnNonLB", "ComponentSLIs", "CronJobsScheduledAnnotation", "LoadBalancerIPMode", "PodIndexLabel",
		"ProbeHostPodSecurityStandards", "SizeMemoryBackedVolumes", "StatefulSetAutoDeletePVC", "StrictCostEnforcementForVAP",
		"StrictCostEnforcementForWebhooks", "UserNamespacesPodSecurityStandards",
	},
	36: {
		"CSIMigrationPortworx", "HonorPVReclaimPolicy", "InPlacePodVerticalScalingAllocatedStatus",
		"InTreePluginPortworxUnregister", "MemoryManager", "ServiceTrafficDistribution",
		"StructuredAuthorizationConfiguration", "TopologyAwareHints", "WatchFromStorageWithoutResourceVersion",
	},
})

func gates(byMinor map[int][]string) map[string]int {
	minors := map[string]int{}
	for minor, names := range byMinor {
		for _, name := range names {
			minors[name] = minor
		}
	}
	return minors
}
