package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	binnacleapi "github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	multiclusterv1alpha1 "github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned"
	binnaclev1alpha1 "github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned/typed/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/test/framework"
)

// decider is somebody who moves the Rollouts of a namespace.
type decider struct {
	t         *testing.T
	config    *rest.Config
	client    versioned.Interface
	namespace string
}

func newDecider(t *testing.T, config *rest.Config, namespace string) decider {
	t.Helper()
	return decider{t, config, versioned.NewForConfigOrDie(config), namespace}
}

// onBoth runs a test through the hub and on a server without one.
func onBoth(t *testing.T, test func(t *testing.T, d decider)) {
	t.Run("hub", func(t *testing.T) { test(t, newDecider(t, hub.AdminConfig(), newNamespace(t))) })
	t.Run("standalone", func(t *testing.T) {
		s := startStandalone(t, framework.ServerOptions{})
		test(t, newDecider(t, adminOf(t, s), "any"))
	})
}

// warnings are what the server warns of while f calls it.
func (d decider) warnings(f func(d decider)) []string {
	heard := &listener{}
	config := rest.CopyConfig(d.config)
	config.WarningHandler = heard
	f(newDecider(d.t, config, d.namespace))
	return heard.texts
}

type listener struct{ texts []string }

func (l *listener) HandleWarningHeader(_ int, _ string, text string) { l.texts = append(l.texts, text) }

func (d decider) rollouts() binnaclev1alpha1.RolloutInterface {
	return d.client.BinnacleV1alpha1().Rollouts(d.namespace)
}

// clusters registers clusters c0 to c(n-1) in the namespace, none of which reports.
func (d decider) clusters(n int) {
	d.t.Helper()
	d.clustersFrom(0, n)
}

func (d decider) clustersFrom(from, to int) {
	d.t.Helper()
	each(to-from, 16, func(i int) {
		profile := newProfile(fmt.Sprint("c", from+i))
		profile.Labels = map[string]string{"env": "prod"}
		if _, err := d.client.MulticlusterV1alpha2().ClusterProfiles(d.namespace).Create(d.t.Context(), profile, metav1.CreateOptions{}); err != nil {
			d.t.Error(err)
		}
	})
}

// plan is a Rollout over the clusters of the namespace, in a step of percent each.
func (d decider) plan(name string, percents ...int32) *v1alpha1.Rollout {
	rollout := &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.RolloutSpec{
		Targets: v1alpha1.RolloutTargets{Selector: &v1alpha1.SelectorTarget{
			Namespaces: []string{d.namespace}, Labels: &metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod"}}}},
		Output: v1alpha1.RolloutOutput{DecisionKey: name}, Disconnected: v1alpha1.DisconnectedInclude,
	}}
	for _, percent := range percents {
		rollout.Spec.Steps = append(rollout.Spec.Steps, v1alpha1.RolloutStep{Name: fmt.Sprint("p", percent), Percent: &percent})
	}
	return rollout
}

func (d decider) create(rollout *v1alpha1.Rollout) *v1alpha1.Rollout {
	d.t.Helper()
	created, err := d.rollouts().Create(d.t.Context(), rollout, metav1.CreateOptions{})
	if err != nil {
		d.t.Fatal(err)
	}
	return created
}

func (d decider) get(name string) *v1alpha1.Rollout {
	d.t.Helper()
	rollout, err := d.rollouts().Get(d.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		d.t.Fatal(err)
	}
	return rollout
}

// try calls a verb.
func (d decider) try(name string, verb binnacleapi.RolloutVerb, spec v1alpha1.RolloutActionSpec, dryRun ...string) (*v1alpha1.RolloutActionStatus, error) {
	c := d.rollouts()
	call := map[binnacleapi.RolloutVerb]func(context.Context, string, *v1alpha1.RolloutAction, metav1.CreateOptions) (*v1alpha1.RolloutAction, error){
		binnacleapi.VerbAdvance: c.Advance, binnacleapi.VerbPause: c.Pause, binnacleapi.VerbResume: c.Resume, binnacleapi.VerbApprove: c.Approve,
		binnacleapi.VerbPromote: c.Promote, binnacleapi.VerbAbort: c.Abort, binnacleapi.VerbRollback: c.Rollback, binnacleapi.VerbRetry: c.Retry,
	}[verb]
	done, err := call(d.t.Context(), name, &v1alpha1.RolloutAction{Spec: spec}, metav1.CreateOptions{DryRun: dryRun})
	if err != nil {
		return nil, err
	}
	return &done.Status, nil
}

// must calls a verb that has to be followed.
func (d decider) must(name string, verb binnacleapi.RolloutVerb, spec ...v1alpha1.RolloutActionSpec) *v1alpha1.RolloutActionStatus {
	d.t.Helper()
	status, err := d.try(name, verb, append(spec, v1alpha1.RolloutActionSpec{})[0])
	if err != nil {
		d.t.Fatalf("%s: %v", verb, err)
	}
	return status
}

// report posts an outcome for a cluster.
func (d decider) report(name, cluster string, revision int64, outcome v1alpha1.RolloutOutcome, dryRun ...string) (*v1alpha1.RolloutActionStatus, error) {
	done, err := d.rollouts().Feedback(d.t.Context(), name, &v1alpha1.RolloutFeedback{Spec: v1alpha1.RolloutFeedbackSpec{
		Cluster: v1alpha1.ClusterReference{Name: cluster}, Revision: revision, Outcome: outcome}}, metav1.CreateOptions{DryRun: dryRun})
	if err != nil {
		return nil, err
	}
	return &done.Status, nil
}

// slices are the stored slices of a decision, by the order of their names.
func (d decider) slices(key string) []multiclusterv1alpha1.PlacementDecision {
	d.t.Helper()
	list, err := d.client.MulticlusterV1alpha1().PlacementDecisions(d.namespace).List(d.t.Context(), metav1.ListOptions{LabelSelector: multiclusterv1alpha1.DecisionKeyLabel + "=" + key})
	if err != nil {
		d.t.Fatal(err)
	}
	return list.Items
}

// published are the clusters of a decision, sorted, each as often as it is named.
func published(slices_ []multiclusterv1alpha1.PlacementDecision) []string {
	var names []string
	for _, slice := range slices_ {
		for _, decision := range slice.Decisions {
			names = append(names, ptr.Deref(decision.ClusterProfileRef.Name, ""))
		}
	}
	slices.Sort(names)
	return names
}

// through are the clusters that a status says are in the decision, sorted.
func through(status *v1alpha1.RolloutStatus) []string {
	var names []string
	for _, c := range status.Clusters {
		if len(c.History)%2 == 1 {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	return names
}

// wantPublished wants the slices to say what the status does.
func (d decider) wantPublished(name string) {
	d.t.Helper()
	rollout := d.get(name)
	found := d.slices(rollout.Spec.Output.DecisionKey)
	if got, want := published(found), through(&rollout.Status); !slices.Equal(got, want) {
		d.t.Errorf("%s publishes %v, and through are %v", name, got, want)
	}
	for _, slice := range found {
		owner := metav1.GetControllerOf(&slice)
		if owner == nil || owner.UID != rollout.UID || slice.Labels[v1alpha1.LabelDecisionRevision] != fmt.Sprint(rollout.Status.Revision) ||
			slice.Annotations[v1alpha1.AnnotationDecisionSlices] != fmt.Sprint(len(found)) {
			d.t.Errorf("a slice at revision %d is %+v", rollout.Status.Revision, slice.ObjectMeta)
		}
	}
}

// causeOf is the word for programs in a refusal, empty where there is none.
func causeOf(err error) string {
	status, ok := err.(apierrors.APIStatus)
	if !ok || status.Status().Details == nil || len(status.Status().Details.Causes) == 0 {
		return ""
	}
	return string(status.Status().Details.Causes[0].Type)
}

// TestRollout lets a decision grow, be previewed, go back and be deleted.
func TestRollout(t *testing.T) {
	onBoth(t, func(t *testing.T, d decider) {
		d.clusters(8)
		created := d.create(d.plan("app", 10, 50, 100))
		if created.Status.Phase != v1alpha1.RolloutPending || created.Status.WaitingFor != v1alpha1.WaitStart || len(d.slices("app")) > 0 {
			t.Errorf("a new one is %+v, with %d slices", created.Status, len(d.slices("app")))
		}
		for i, want := range []int{1, 4, 8} {
			preview, err := d.rollouts().Preview(t.Context(), "app", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			before := through(&d.get("app").Status)
			status := d.must("app", binnacleapi.VerbAdvance)
			after := through(&d.get("app").Status)
			if len(after) != want || int(status.Counts.In) != want || status.Revision != int64(i+1) {
				t.Errorf("step %d: %v, %+v", i, after, status)
			}
			var told []string
			for _, c := range preview.Status.Added {
				told = append(told, c.Name)
			}
			if all := append(before, told...); !slices.Equal(slices.Sorted(slices.Values(all)), after) {
				t.Errorf("step %d: the preview adds %v to %v, and then there are %v", i, told, before, after)
			}
			d.wantPublished("app")
		}
		if phase := d.get("app").Status.Phase; phase != v1alpha1.RolloutCompleted {
			t.Errorf("after the last step it is %s", phase)
		}
		if _, err := d.try("app", binnacleapi.VerbRollback, v1alpha1.RolloutActionSpec{ToRevision: ptr.To[int64](9)}); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.toRevision") {
			t.Errorf("a revision that is not recorded: %v", err)
		}
		d.must("app", binnacleapi.VerbRollback, v1alpha1.RolloutActionSpec{ToRevision: ptr.To[int64](1)})
		if n := len(through(&d.get("app").Status)); n != 1 {
			t.Errorf("%d clusters after the rollback", n)
		}
		d.wantPublished("app")
		last := d.get("app").Status.Transitions
		if actor := last[len(last)-1]; actor.Verb != "rollback" || actor.User == "" || len(actor.Groups) == 0 {
			t.Errorf("the last transition is %+v", actor)
		}
	})
}

// TestRolloutStatusIsTheServers writes a status by every way that there is, and wants it to stay.
func TestRolloutStatusIsTheServers(t *testing.T) {
	onBoth(t, func(t *testing.T, d decider) {
		d.clusters(2)
		rollout := d.plan("app", 50, 100)
		rollout.Status = v1alpha1.RolloutStatus{Phase: v1alpha1.RolloutCompleted, Revision: 7}
		if created := d.create(rollout); created.Status.Phase != v1alpha1.RolloutPending || created.Status.Revision != 0 || created.Generation != 1 {
			t.Errorf("created with %+v", created.Status)
		}
		d.must("app", binnacleapi.VerbAdvance)
		for name, write := range map[string]func(r *v1alpha1.Rollout) error{
			"update": func(r *v1alpha1.Rollout) error {
				r.Status.Revision, r.Status.Clusters = 7, nil
				_, err := d.rollouts().Update(t.Context(), r, metav1.UpdateOptions{})
				return err
			},
			"patch": func(*v1alpha1.Rollout) error {
				_, err := d.rollouts().Patch(t.Context(), "app", mergePatch, []byte(`{"status":{"revision":7,"phase":"Completed"}}`), metav1.PatchOptions{})
				return err
			},
			"apply": func(*v1alpha1.Rollout) error {
				_, err := d.rollouts().Patch(t.Context(), "app", applyPatch, []byte(`{"apiVersion":"binnacle.dev/v1alpha1","kind":"Rollout","metadata":{"name":"app"},"status":{"revision":7}}`),
					metav1.PatchOptions{FieldManager: "f"})
				return err
			},
		} {
			if err := write(d.get("app")); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if r := d.get("app"); r.Status.Revision != 1 || r.Status.Phase != v1alpha1.RolloutProgressing || r.Generation != 1 {
				t.Errorf("%s: generation %d, status %+v", name, r.Generation, r.Status)
			}
		}
		for _, entry := range d.get("app").ManagedFields {
			if strings.Contains(string(entry.FieldsV1.GetRawBytes()), `"f:status"`) {
				t.Errorf("%s owns the status", entry.Manager)
			}
		}
		if _, err := d.rollouts().Patch(t.Context(), "app", mergePatch, []byte(`{"status":{"revision":7}}`), metav1.PatchOptions{}, "status"); !apierrors.IsNotFound(err) {
			t.Errorf("a patch of a status subresource: %v", err)
		}
		changed := d.get("app")
		changed.Spec.Progression = v1alpha1.ProgressionAutomatic
		if after, err := d.rollouts().Update(t.Context(), changed, metav1.UpdateOptions{}); err != nil || after.Generation != 2 {
			t.Errorf("a change of the spec: %v, %v", after, err)
		}
	})
}
