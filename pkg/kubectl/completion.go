package kubectl

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/metadata"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

// patience is how long somebody who pressed Tab waits for the server.
const patience = 3 * time.Second

// complete says how the values of a flag are completed. The flag exists.
func complete(cmd *cobra.Command, flag string, f cobra.CompletionFunc) {
	utilruntime.Must(cmd.RegisterFlagCompletionFunc(flag, f))
}

func toCompletions(values []string) (all []cobra.Completion) {
	return append(all, values...)
}

// completeFlags completes the flags that every command has, from the kubeconfig.
func (f *factory) completeFlags(cmd *cobra.Command) {
	from := func(names func() []string) cobra.CompletionFunc {
		return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			all := names()
			slices.Sort(all)
			return toCompletions(all), cobra.ShellCompDirectiveNoFileComp
		}
	}
	complete(cmd, "namespace", func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return f.names(cmd.Context(), corev1.SchemeGroupVersion.WithResource("namespaces"), metav1.NamespaceNone), cobra.ShellCompDirectiveNoFileComp
	})
	complete(cmd, "context", from(func() (names []string) {
		config, _ := f.flags.ToRawKubeConfigLoader().RawConfig()
		for name := range config.Contexts {
			names = append(names, name)
		}
		return names
	}))
	complete(cmd, "cluster", from(func() (names []string) {
		config, _ := f.flags.ToRawKubeConfigLoader().RawConfig()
		for name := range config.Clusters {
			names = append(names, name)
		}
		return names
	}))
}

// completeRollouts completes the name of a rollout.
func (f *factory) completeRollouts(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	namespace, _, err := f.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return f.names(cmd.Context(), v1alpha1.SchemeGroupVersion.WithResource("rollouts"), namespace), cobra.ShellCompDirectiveNoFileComp
}

// names are those of objects, none where they cannot be read. Nothing else is asked for: a rollout may have 700 KB.
func (f *factory) names(ctx context.Context, resource schema.GroupVersionResource, namespace string) (names []cobra.Completion) {
	config, _, err := f.config()
	if err != nil {
		return nil
	}
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	list, err := client.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: chunk})
	if err != nil {
		return nil
	}
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}

// completing is the rollout that the command line names, nil where it cannot be read.
func (f *factory) completing(cmd *cobra.Command, args []string) *v1alpha1.Rollout {
	rollouts, _, err := f.rollouts()
	if err != nil || len(args) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), patience)
	defer cancel()
	rollout, err := rollouts.Get(ctx, rolloutName(args[0]), metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return rollout
}

// fromRollout completes with what the rollout of the command line has.
func (f *factory) fromRollout(values func(*v1alpha1.Rollout) []cobra.Completion) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if rollout := f.completing(cmd, args); rollout != nil {
			return values(rollout), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

func (f *factory) completeSteps(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return f.fromRollout(func(r *v1alpha1.Rollout) []cobra.Completion { return toCompletions(stepNames(r)) })(cmd, args, toComplete)
}

func (f *factory) completeStepsToCome(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return f.fromRollout(func(r *v1alpha1.Rollout) []cobra.Completion {
		if isFinished(r) {
			return toCompletions(stepNames(r))
		}
		return toCompletions(stepNames(r)[stepNumber(r):])
	})(cmd, args, toComplete)
}

func (f *factory) completeRevisions(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return f.fromRollout(func(r *v1alpha1.Rollout) (all []cobra.Completion) {
		for _, revision := range slices.Backward(r.Status.Revisions) {
			all = append(all, cobra.CompletionWithDesc(fmt.Sprint(revision.Revision), fmt.Sprintf("%s %s", revision.Step, plural(int(revision.Clusters)))))
		}
		return all
	})(cmd, args, toComplete)
}

func (f *factory) completeFailed(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return f.fromRollout(func(r *v1alpha1.Rollout) (all []cobra.Completion) {
		for i := range r.Status.Clusters {
			if c := &r.Status.Clusters[i]; c.State == v1alpha1.ClusterFailed {
				all = append(all, nameOf(r.Namespace, v1alpha1.ClusterReference{Name: c.Name, Namespace: c.Namespace}))
			}
		}
		return all
	})(cmd, args, toComplete)
}
