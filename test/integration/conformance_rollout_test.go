package integration

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	binnacleapi "github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	ourscheme "github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned/scheme"
)

// rolloutSubject is Rollout, which is stored and has no status subresource.
var rolloutSubject = subject{kind: v1alpha1.SchemeGroupVersion.WithKind("Rollout"), plural: "rollouts", codecs: ourscheme.Codecs, object: func(name string) runtime.Object {
	return &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"table": name}}, Spec: v1alpha1.RolloutSpec{
		Targets: v1alpha1.RolloutTargets{Clusters: []v1alpha1.ClusterReference{{Name: "c0"}}}, Output: v1alpha1.RolloutOutput{DecisionKey: name},
		Steps: []v1alpha1.RolloutStep{{Name: "all", Percent: ptr.To[int32](100)}},
	}}
}}

// bodyOf is what is posted to a subresource of Rollout.
func bodyOf(verb binnacleapi.RolloutVerb) subject {
	if verb == binnacleapi.VerbFeedback {
		return subject{kind: v1alpha1.SchemeGroupVersion.WithKind("RolloutFeedback"), codecs: ourscheme.Codecs, object: func(string) runtime.Object {
			return &v1alpha1.RolloutFeedback{Spec: v1alpha1.RolloutFeedbackSpec{Cluster: v1alpha1.ClusterReference{Name: "c0"}, Revision: 1, Outcome: v1alpha1.OutcomeSucceeded}}
		}}
	}
	return subject{kind: v1alpha1.SchemeGroupVersion.WithKind("RolloutAction"), codecs: ourscheme.Codecs, object: func(string) runtime.Object {
		action := &v1alpha1.RolloutAction{}
		switch verb {
		case binnacleapi.VerbPromote:
			action.Spec.Reason = "table"
		case binnacleapi.VerbRollback:
			action.Spec.ToRevision = ptr.To[int64](1)
		}
		return action
	}}
}

// fillVerbs asks everything of the subresources of Rollouts, each in a phase in which it is followed, as dry runs.
func fillVerbs(t *testing.T, found table) table {
	t.Helper()
	d := newDecider(t, hub.AdminConfig(), newNamespace(t))
	c := newCaller(t, hub.AdminConfig(), ownGroup, d.namespace, "v1alpha1")
	d.clusters(2)
	starter := newDecider(t, hub.ConfigFor("starter", "system:masters"), d.namespace)
	phases := map[binnacleapi.RolloutVerb]binnacleapi.RolloutPhase{binnacleapi.VerbResume: binnacleapi.RolloutPaused}
	verbs := table{}
	for _, verb := range binnacleapi.RolloutVerbs {
		name, row := string(verb), "create/"+string(verb)
		phase, ok := phases[verb]
		if !ok {
			phase = binnacleapi.RolloutProgressing
		}
		starter.bring(name, phase, verb)
		if verb == binnacleapi.VerbFeedback { // bring let the first cluster in, whichever that is.
			name = "whole"
			d.create(d.plan(name, 100))
			d.must(name, binnacleapi.VerbAdvance)
		}
		found[row] = map[string]string{}
		body := bodyOf(verb)
		path := "rollouts/" + name + "/" + string(verb) + "?dryRun=All"
		for _, e := range bodies {
			found[row]["body in "+e.name] = cell(c.do(request{method: http.MethodPost, path: path, contentType: e.mediaType, body: body.encode(t, body.object(""), e.mediaType)}), "")
		}
		for _, e := range answers {
			found[row]["answer in "+e.name] = cell(c.do(request{method: http.MethodPost, path: path, contentType: jsonType, body: body.encode(t, body.object(""), jsonType), accept: e.mediaType}), e.mediaType)
		}
		verbs[row] = found[row]
	}
	found["get/preview"] = map[string]string{}
	for _, e := range answers {
		found["get/preview"]["answer in "+e.name] = cell(c.do(request{method: http.MethodGet, path: "rollouts/advance/preview", accept: e.mediaType}), e.mediaType)
	}
	verbs["get/preview"] = found["get/preview"]
	return verbs
}

// checkVerbs holds bodies against those that create a built-in kind, and answers against it as far as they are the object itself: the
// answer to a verb has neither metadata of an object nor columns.
func checkVerbs(t *testing.T, verbs, builtIn table) {
	t.Helper()
	for row, columns := range verbs {
		for column, got := range columns {
			verb, _, _ := strings.Cut(row, "/")
			whole := slices.ContainsFunc(bodies, func(e encoding) bool { return column == "body in "+e.name || column == "answer in "+e.name })
			if want := builtIn[verb][column]; whole && got != want {
				t.Errorf("%s, %s: %s; the built-in kind: %s", row, column, got, want)
			}
		}
	}
}
