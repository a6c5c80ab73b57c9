package rollout

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apiserver/pkg/audit"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

// Audit annotations of a request that moved a rollout: where it was and where it is, as phase, step and revision.
const (
	auditFrom = "rollout.binnacle.dev/from"
	auditTo   = "rollout.binnacle.dev/to"
)

func place(status *binnacle.RolloutStatus) string {
	return strings.Join([]string{string(status.Phase), stepOf(status), fmt.Sprint(status.Revision)}, "/")
}

// recordAudit says in the audit event of a request what it did.
func recordAudit(ctx context.Context, before, after *binnacle.RolloutStatus) {
	audit.AddAuditAnnotations(ctx, auditFrom, place(before), auditTo, place(after))
}

// announce counts each transition that a swap added, and makes an event of it on the hub.
func (m *Mover) announce(before *binnacle.RolloutStatus, after *binnacle.Rollout) {
	moves := added(before.Transitions, after.Status.Transitions)
	for _, t := range moves {
		transitions.WithLabelValues(t.Verb).Inc()
	}
	if m.events == nil {
		return
	}
	about := &corev1.ObjectReference{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "Rollout",
		Namespace: after.Namespace, Name: after.Name, UID: after.UID, ResourceVersion: after.ResourceVersion}
	for _, t := range moves {
		kind := corev1.EventTypeNormal
		if t.Verb == "stop" {
			kind = corev1.EventTypeWarning
		}
		text := fmt.Sprintf("%s by %s: %s", t.Verb, t.User, t.Phase)
		if t.Step != "" {
			text += fmt.Sprintf(", step %s", t.Step)
		}
		text += fmt.Sprintf(", revision %d, %d of %d clusters through", t.Revision, after.Status.Counts.In, after.Status.Counts.Targets)
		for _, more := range []string{t.Reason, t.Message} {
			if more != "" {
				text += ": " + more
			}
		}
		m.events.Event(about, kind, strings.ToUpper(t.Verb[:1])+t.Verb[1:], text)
	}
}

// added are the transitions that came after the last that was known.
func added(before, after []binnacle.RolloutTransition) []binnacle.RolloutTransition {
	if len(before) == 0 {
		return after
	}
	last := before[len(before)-1]
	for i, t := range slices.Backward(after) {
		if apiequality.Semantic.DeepEqual(t, last) {
			return after[i+1:]
		}
	}
	return after
}
