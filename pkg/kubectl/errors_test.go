package kubectl

import (
	"errors"
	"fmt"
	"net/url"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestMessage(t *testing.T) {
	rollouts := schema.GroupResource{Group: "binnacle.dev", Resource: "rollouts"}
	kind := schema.GroupKind{Group: "binnacle.dev", Kind: "RolloutAction"}
	wrong := field.ErrorList{field.Required(field.NewPath("spec", "reason"), "say why"), field.Required(field.NewPath("spec", "toRevision"), "")}
	tests := []struct {
		name string
		err  error
		want string
		code int
	}{
		{"not found", apierrors.NewNotFound(rollouts, "web"), `Error from server (NotFound): rollouts.binnacle.dev "web" not found`, 1},
		{"wrapped", fmt.Errorf("x: %w", apierrors.NewNotFound(rollouts, "web")), `Error from server (NotFound): rollouts.binnacle.dev "web" not found`, 1},
		{"conflict", apierrors.NewConflict(rollouts, "web", errors.New("is paused")),
			`Error from server (Conflict): Operation cannot be fulfilled on rollouts.binnacle.dev "web": is paused`, 1},
		{"invalid", apierrors.NewInvalid(kind, "web", wrong[:1]), `The RolloutAction "web" is invalid: spec.reason: Required value: say why`, 1},
		{"invalid twice", apierrors.NewInvalid(kind, "web", wrong),
			"The RolloutAction \"web\" is invalid:\n* spec.reason: Required value: say why\n* spec.toRevision: Required value", 1},
		{"who are you", apierrors.NewUnauthorized("no token"), "error: You must be logged in to the server (no token)", 1},
		{"nobody there", &url.Error{Op: "Get", URL: "https://hub:6443/apis", Err: syscall.ECONNREFUSED}, "The connection to the server hub:6443 was refused - did you specify the right host or port?", 1},
		{"no such host", &url.Error{Op: "Get", URL: "https://hub:6443/apis", Err: errors.New("no such host")}, "Unable to connect to the server: no such host", 1},
		{"any other", errors.New("x"), "error: x", 1},
		{"stopped", exitError{errors.New("x"), ExitStopped}, "error: x", 2},
		{"timeout", fmt.Errorf("y: %w", exitError{errors.New("x"), ExitTimeout}), "error: y: x", 3},
	}
	for _, test := range tests {
		if got := message(test.err); got != test.want || exitCode(test.err) != test.code {
			t.Errorf("%s: %q with %d, want %q with %d", test.name, got, exitCode(test.err), test.want, test.code)
		}
	}
	if exitCode(nil) != 0 {
		t.Error("success is no 0")
	}
}
