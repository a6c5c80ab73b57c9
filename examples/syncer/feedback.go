package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	binnacle "github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

// feedback is what a Rollout was told.
type feedback struct {
	to rollout
	binnacle.RolloutFeedbackSpec
}

// tell tells the Rollout behind the decision what became of a cluster, once for each outcome and revision.
func (s *syncer) tell(ctx context.Context, d *decision, key cache.ObjectName, failure error) error {
	revision, err := strconv.ParseInt(d.revision, 10, 64)
	if d.rollout.name == "" || err != nil {
		return nil
	}
	spec := binnacle.RolloutFeedbackSpec{Cluster: binnacle.ClusterReference{Name: key.Name, Namespace: key.Namespace}, Revision: revision, Outcome: binnacle.OutcomeSucceeded}
	if failure != nil {
		spec.Outcome, spec.Reason = binnacle.OutcomeFailed, reasonOf(failure)
	}
	told := feedback{d.rollout, spec}
	s.mu.Lock()
	repeated := s.told[key] == told
	s.mu.Unlock()
	if repeated {
		return nil
	}
	if _, err := s.rollouts.Feedback(ctx, d.rollout.name, &binnacle.RolloutFeedback{Metadata: metav1.ObjectMeta{UID: d.rollout.uid}, Spec: spec}, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("feedback: %w", err)
	}
	s.mu.Lock()
	s.told[key] = told
	s.mu.Unlock()
	return nil
}

// reasonOf is one word for why a cluster failed.
func reasonOf(err error) string {
	switch reason := apierrors.ReasonForError(err); {
	case errors.Is(err, errNoAccess):
		return "NoAccess"
	case meta.IsNoMatchError(err):
		return "NoSuchKind"
	case reason != metav1.StatusReasonUnknown:
		return string(reason)
	}
	return "Unreachable"
}
