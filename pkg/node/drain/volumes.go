package drain

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// csiVolume begins the name of a CSI volume in a Node's status.volumesAttached. The volumes of the few
// in-tree plugins that are left (iSCSI, Fibre Channel) are not attached by anyone: the kubelet
// that unmounts them is done with them.
const csiVolume = "kubernetes.io/csi/"

// Attached returns the names of the CSI volumes that are attached to the node, and that no pod
// uses which stays there. waitedFor are those that were the last time: the Node does not list a
// volume any more as soon as its detachment begins, and its VolumeAttachment exists until that
// has ended. A volume that the Node lists and that has no VolumeAttachment counts as detached: no
// controller detaches it, or removes it from the list.
func (d *Drainer) Attached(ctx context.Context, node *corev1.Node, settings v1alpha1.Drain, waitedFor []string) ([]string, error) {
	var volumes []string
	for _, v := range node.Status.VolumesAttached {
		if strings.HasPrefix(string(v.Name), csiVolume) {
			volumes = append(volumes, string(v.Name))
		}
	}
	for _, v := range waitedFor {
		if !slices.Contains(volumes, v) {
			volumes = append(volumes, v)
		}
	}
	if len(volumes) == 0 {
		return nil, nil
	}
	staying, err := d.stayingVolumes(ctx, settings)
	if err != nil {
		return nil, err
	}
	var attached []string
	for _, volume := range volumes {
		exists, persistent, err := d.attachment(ctx, volume)
		switch {
		case err != nil:
			return nil, err
		case exists && (persistent == "" || !staying[persistent]):
			attached = append(attached, volume)
		}
	}
	slices.Sort(attached)
	return attached, nil
}

// attachment reads the VolumeAttachment of a CSI volume, with the name of its PersistentVolume. A
// kubelet may read those of its own node: one that it may not read is gone.
func (d *Drainer) attachment(ctx context.Context, volume string) (exists bool, persistent string, err error) {
	driver, handle, _ := strings.Cut(strings.TrimPrefix(volume, csiVolume), "^")
	a, err := d.Kubelet.VolumeAttachments().Get(ctx, attachmentName(handle, driver, d.Node), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return false, "", nil
	case err != nil:
		return false, "", fmt.Errorf("reading whether volume %s is attached: %w", volume, err)
	}
	return true, ptr.Deref(a.Spec.Source.PersistentVolumeName, ""), nil
}

// attachmentName returns the name of a VolumeAttachment as Kubernetes makes it (getAttachmentName in
// pkg/volume/csi/csi_attacher.go, v1.34.4).
func attachmentName(handle, driver, node string) string {
	return fmt.Sprintf("csi-%x", sha256.Sum256([]byte(handle+driver+node)))
}

// stayingVolumes returns the PersistentVolumes of the pods that the drain leaves on the node.
func (d *Drainer) stayingVolumes(ctx context.Context, settings v1alpha1.Drain) (map[string]bool, error) {
	s, err := d.classifyPods(ctx, settings)
	if err != nil {
		return nil, err
	}
	volumes := map[string]bool{}
	for _, pod := range s.staying {
		for _, v := range pod.Spec.Volumes {
			var claim string
			switch {
			case v.PersistentVolumeClaim != nil:
				claim = v.PersistentVolumeClaim.ClaimName
			case v.Ephemeral != nil:
				claim = pod.Name + "-" + v.Name
			default:
				continue
			}
			c, err := d.Kubelet.PersistentVolumeClaims(pod.Namespace).Get(ctx, claim, metav1.GetOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				return nil, fmt.Errorf("reading which volume pod %s has, which stays: %w", name(pod), err)
			}
			if err == nil {
				volumes[c.Spec.VolumeName] = true
			}
		}
	}
	return volumes, nil
}
