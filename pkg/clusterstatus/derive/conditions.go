package derive

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	pagesv1 "github.com/binnacle-dev/binnacle/pkg/apis/pages/v1"
)

// reasonReported is the reason of a condition whose report gives none; an empty reason is none that a client may expect.
const reasonReported = "Reported"

// conditions are our own first, then those of the report, then those of the profile; of one type the first counts.
func conditions(in Input) []metav1.Condition {
	out := []metav1.Condition{ready(in), reachable(in)}
	add := func(c metav1.Condition) {
		if !slices.ContainsFunc(out, func(had metav1.Condition) bool { return had.Type == c.Type }) {
			out = append(out, c)
		}
	}
	if suspect(in) {
		add(metav1.Condition{
			Type: binnacle.ConditionHubSuspect, Status: metav1.ConditionTrue, Reason: binnacle.ReasonMassSilence,
			LastTransitionTime: at(max(in.Head.SuspectFrom, in.Seen.Changed)),
			Message:            "Many clusters went silent at once: the hub, or the way to it, is the more likely cause.",
		})
	}
	if in.Facts != nil {
		for _, c := range in.Facts.Conditions {
			if c.Type != binnacle.ConditionHubSuspect { // Ours alone to say.
				add(fromReport(in, c))
			}
		}
	}
	for _, c := range in.Profile.Status.Conditions {
		if c.Type != binnacle.ConditionHubSuspect {
			add(c)
		}
	}
	return out
}

// suspect says whether the cluster fell silent together with so many others that the hub is the more likely cause.
func suspect(in Input) bool {
	return in.Facts != nil && in.Seen.Silent && in.Head.SuspectFrom != 0 && in.Seen.Changed >= in.Head.SuspectFrom
}

func reachable(in Input) metav1.Condition {
	c := metav1.Condition{Type: binnacle.ConditionReachable}
	switch {
	case in.Facts == nil:
		c.Status, c.Reason, c.LastTransitionTime = metav1.ConditionUnknown, binnacle.ReasonNeverReported, in.Profile.CreationTimestamp
		c.Message = "The cluster has not reported since it was registered."
	case in.Seen.Silent:
		c.Status, c.Reason, c.LastTransitionTime = metav1.ConditionFalse, binnacle.ReasonReportsStopped, at(in.Seen.Changed)
		c.Message = "No report arrived within the grace period."
	default:
		c.Status, c.Reason, c.LastTransitionTime = metav1.ConditionTrue, binnacle.ReasonReporting, at(in.Seen.Changed)
		c.Message = "The cluster reports."
	}
	return c
}

// ready is what the cluster says of itself: its condition Ready or else ControlPlaneHealthy, and that it works where it says neither.
func ready(in Input) metav1.Condition {
	c := reachable(in)
	c.Type = binnacle.ConditionReady
	if c.Status != metav1.ConditionTrue {
		c.Status = metav1.ConditionUnknown
		return c
	}
	for _, decisive := range []string{binnacle.ConditionReady, binnacle.ConditionControlPlaneHealthy} {
		i := slices.IndexFunc(in.Facts.Conditions, func(c pagesv1.Condition) bool { return c.Type == decisive })
		if i >= 0 {
			c = fromReport(in, in.Facts.Conditions[i])
			c.Type = binnacle.ConditionReady
			return c
		}
	}
	return c
}

// fromReport is a condition that the cluster reported: of a silent one nobody knows any more.
func fromReport(in Input, reported pagesv1.Condition) metav1.Condition {
	c := metav1.Condition{
		Type: reported.Type, Status: metav1.ConditionStatus(reported.Status), Reason: reported.Reason, Message: reported.Message,
		// Back after a silence, the condition is known again only since then.
		LastTransitionTime: at(max(reported.Since, in.Seen.Changed)),
	}
	if c.Reason == "" {
		c.Reason = reasonReported
	}
	if in.Seen.Silent {
		c.Status, c.Reason, c.LastTransitionTime = metav1.ConditionUnknown, binnacle.ReasonReportsStopped, at(in.Seen.Changed)
		c.Message = fmt.Sprintf("No report arrived within the grace period; the last one said %s.", reported.Status)
	}
	return c
}

// phase sums up the conditions.
func phase(in Input, conditions []metav1.Condition) binnacle.ClusterPhase {
	switch {
	case in.Facts == nil:
		return binnacle.ClusterUnknown
	case in.Seen.Silent:
		return binnacle.ClusterUnreachable
	case conditions[0].Status == metav1.ConditionTrue:
		return binnacle.ClusterReady
	}
	return binnacle.ClusterNotReady
}
