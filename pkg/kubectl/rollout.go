package kubectl

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	client "github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned/typed/binnacle/v1alpha1"
)

func newRolloutCommand(f *factory) *cobra.Command {
	cmd := newGroup("rollout", "Show and move rollouts", "Show and move rollouts. Each verb needs its own right: create on the subresource of that name.",
		newRolloutStatusCommand(f), newPreviewCommand(f), newHistoryCommand(f))
	for i := range actions {
		cmd.AddCommand(newActionCommand(f, &actions[i]))
	}
	return cmd
}

// rollouts returns the client of the Rollouts in the namespace that was chosen.
func (f *factory) rollouts() (client.RolloutInterface, string, error) {
	c, namespace, err := f.connect()
	if err != nil {
		return nil, "", err
	}
	return c.BinnacleV1alpha1().Rollouts(namespace), namespace, nil
}

// preview asks what a step would do, the next one where step is empty. The typed client has no parameter for the step.
func (f *factory) preview(ctx context.Context, name, step string) (*v1alpha1.RolloutPreview, error) {
	c, namespace, err := f.connect()
	if err != nil {
		return nil, err
	}
	request := c.BinnacleV1alpha1().RESTClient().Get().UseProtobufAsDefault().Namespace(namespace).Resource("rollouts").Name(name).SubResource("preview")
	if step != "" {
		request.Param("step", step)
	}
	preview := &v1alpha1.RolloutPreview{}
	return preview, request.Do(ctx).Into(preview)
}
