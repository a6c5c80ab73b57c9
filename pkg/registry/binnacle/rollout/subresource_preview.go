package rollout

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	planner "github.com/binnacle-dev/binnacle/pkg/rollout"
)

// PreviewREST serves rollouts/preview.
type PreviewREST struct{ mover *Mover }

var (
	_ rest.GetterWithOptions = &PreviewREST{}
	_ rest.Scoper            = &PreviewREST{}
)

// New returns an empty RolloutPreview.
func (*PreviewREST) New() runtime.Object { return &binnacle.RolloutPreview{} }

// Destroy does nothing.
func (*PreviewREST) Destroy() {}

// NamespaceScoped is true.
func (*PreviewREST) NamespaceScoped() bool { return true }

// NewGetOptions returns what the query parameters are read into.
func (*PreviewREST) NewGetOptions() (runtime.Object, bool, string) {
	return &binnacle.RolloutPreviewOptions{}, false, ""
}

// Get says what a step would do now.
func (r *PreviewREST) Get(ctx context.Context, name string, options runtime.Object) (runtime.Object, error) {
	asked, ok := options.(*binnacle.RolloutPreviewOptions)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("not RolloutPreviewOptions: %T", options))
	}
	rollout, err := r.mover.get(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := isStep(rollout, asked.Step); err != nil {
		return nil, err
	}
	if _, err := r.mover.view.Barrier(ctx); err != nil {
		return nil, err
	}
	in, err := r.mover.input(ctx, rollout, true)
	if err != nil {
		return nil, answer(name, err)
	}
	status, err := planner.Preview(in, asked.Step)
	if err != nil {
		return nil, answer(name, err)
	}
	return &binnacle.RolloutPreview{Metadata: metav1.ObjectMeta{Name: name, Namespace: rollout.Namespace}, Status: status}, nil
}

// isStep is 400 where the query names a step that the plan does not have. Empty is the next one.
func isStep(rollout *binnacle.Rollout, step string) error {
	names := make([]string, len(rollout.Spec.Steps))
	for i := range rollout.Spec.Steps {
		names[i] = rollout.Spec.Steps[i].Name
	}
	if step == "" || slices.Contains(names, step) {
		return nil
	}
	return apierrors.NewBadRequest(fmt.Sprintf("there is no step %q: the steps are %s", step, strings.Join(names, ", ")))
}
