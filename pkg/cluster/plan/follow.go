package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// A cluster that follows another one takes a version once the other one has run it for a while, with
// the same images.

// followHold returns why the upgrade's version has not soaked in the cluster that the gate follows.
func (c *cluster) followHold(g *v1alpha1.Gate) fleet.Hold {
	return soakHold(c.reading.snapshot.Policy.GateStatus(g.Name), g, c.target.Spec.Version, c.target.Status.Images, c.reading.now)
}

// FollowHold returns why a version with these images may not come yet by a gate that follows another
// cluster: that has not been asked, or the version has not soaked there.
func FollowHold(policy *v1alpha1.UpgradePolicy, g *v1alpha1.Gate, to string, images []v1alpha1.Image, now time.Time) fleet.Hold {
	status := policy.GateStatus(g.Name)
	if status != nil && status.State == v1alpha1.GateOpen {
		return soakHold(status, g, to, images, now)
	}
	message := "has not been asked yet"
	if status != nil {
		message = "cannot be asked: " + status.Message
	}
	return fleet.Hold{Reason: v1alpha1.ReasonExternalGateUnknown, Message: fmt.Sprintf("gate %s %s", g.Name, message)}
}

// soakHold returns why a version with these images has not soaked in the cluster that the gate follows,
// which has been read. It stays where the other cluster does not get there by itself.
func soakHold(status *v1alpha1.GateStatus, g *v1alpha1.Gate, to string, images []v1alpha1.Image, now time.Time) fleet.Hold {
	because := func(stays bool, format string, args ...any) fleet.Hold {
		message := fmt.Sprintf("gate %s follows a cluster that %s", g.Name, fmt.Sprintf(format, args...))
		return fleet.Hold{Reason: v1alpha1.ReasonNotSoaked, Message: message, Stays: stays}
	}
	i := slices.IndexFunc(status.Ran, func(one v1alpha1.RanVersion) bool { return one.Version == to })
	if i < 0 {
		return because(isPast(status.Ran, to), "has not run %s (%s)", to, status.Message)
	}
	one := &status.Ran[i]
	switch {
	case one.Blocked != "":
		return because(true, "blocks %s: %s", to, one.Blocked)
	case one.Problem != "":
		return because(true, "has a problem with %s: %s", to, one.Problem)
	case one.SinceTime == nil:
		return because(one.UntilTime != nil, "has not brought %s to every node yet", to)
	case one.Behind > 0:
		return because(false, "has %d nodes that do not run %s", one.Behind, to)
	}
	if g.Cluster.SameDigests == nil || *g.Cluster.SameDigests {
		if why := digestsDiffer(one, images); why != "" {
			return because(true, "has run %s with %s", to, why)
		}
	}
	soak := time.Duration(g.Cluster.SoakSeconds) * time.Second
	opens := one.SinceTime.Add(soak)
	switch {
	case one.UntilTime != nil && one.UntilTime.Time.Before(opens):
		return because(true, "ran %s for %s only, from %s on, and %s are asked for", to, one.UntilTime.Sub(one.SinceTime.Time), fleet.FormatTime(one.SinceTime.Time), soak)
	case now.Before(opens):
		hold := because(false, "runs %s since %s, and has to do so until %s", to, fleet.FormatTime(one.SinceTime.Time), fleet.FormatTime(opens))
		hold.Until = &opens
		return hold
	}
	return fleet.Hold{}
}

// isPast reports whether a cluster that has run these versions is past that version.
func isPast(ran []v1alpha1.RanVersion, to string) bool {
	return slices.ContainsFunc(ran, func(one v1alpha1.RanVersion) bool { return parsed(to).Less(parsed(one.Version)) })
}

// cannotSoak reports whether a cluster that is followed does not get to the upgrade's version by
// itself: the next patch goes before it.
func (t *target) cannotSoak(r *reading) bool {
	for i := range r.policySpec().Gates {
		g := &r.policySpec().Gates[i]
		status := r.snapshot.Policy.GateStatus(g.Name)
		if g.Cluster == nil || t.kubeletsOnly() || t.Spec.IgnoresGate(g.Name) || status == nil || status.State != v1alpha1.GateOpen {
			continue
		}
		if soakHold(status, g, t.Spec.Version, t.Status.Images, r.now).Stays {
			return true
		}
	}
	return false
}

// digestsDiffer returns which of the images the other cluster has not run.
func digestsDiffer(one *v1alpha1.RanVersion, images []v1alpha1.Image) string {
	for _, image := range images {
		i := slices.IndexFunc(one.Digests, func(d v1alpha1.ImageDigest) bool { return d.Architecture == image.Architecture })
		switch {
		case i < 0:
			return "no image for " + image.Architecture
		case one.Digests[i].Digest != image.Digest:
			return fmt.Sprintf("another image for %s: %s there, and %s here", image.Architecture, one.Digests[i].Digest, image.Digest)
		}
	}
	return ""
}

// notSoaked returns why an automatic patch to that version is not created yet: a cluster that this one
// follows has not been asked, or the version has not soaked there.
func (r *reading) notSoaked(v version.Version) fleet.Hold {
	for i := range r.policySpec().Gates {
		g := &r.policySpec().Gates[i]
		if g.Cluster == nil {
			continue
		}
		if hold := FollowHold(r.snapshot.Policy, g, v.String(), r.snapshot.Source.Images(v.String()), r.now); hold.Holds() {
			return hold
		}
	}
	return fleet.Hold{}
}

// gatesToAsk returns the gates that have to be asked: all of them while an upgrade is active, and the
// clusters that are followed also while `automatic` asks for patches.
func (c *cluster) gatesToAsk() []v1alpha1.Gate {
	gates := c.reading.policySpec().Gates
	switch {
	case c.asksGates():
		return gates
	case c.reading.automaticSpec(v1alpha1.TypePatch) == nil:
		return nil
	}
	return slices.DeleteFunc(slices.Clone(gates), func(g v1alpha1.Gate) bool { return g.Cluster == nil })
}
