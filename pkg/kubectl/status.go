package kubectl

import (
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	corev1 "k8s.io/api/core/v1"
)

// chunk is how many objects a list asks for at once.
const chunk = 500

// statusOptions are the flags of status.
type statusOptions struct {
	*factory
	print             *genericclioptions.JSONYamlPrintFlags
	output            string
	all               bool
	selector, field   string
	resource, groupBy string
	chunk             int64
}

func newStatusCommand(f *factory) *cobra.Command {
	o := &statusOptions{
		factory: f, print: genericclioptions.NewJSONYamlPrintFlags(), resource: "nvidia.com/gpu", groupBy: "topology.kubernetes.io/region", chunk: chunk,
	}
	cmd := &cobra.Command{
		Use: "status", Short: "Show the fleet at a glance", Args: exactly(),
		Long: `Show the clusters of a namespace, or of all, at a glance: how many are in which phase, what they run, how much of a resource is free where, and
which of them has been silent longest. What is free counts only of clusters that are Ready.`,
		Example: `  # GPUs by region, everywhere
  kubectl binnacle status -A
  # Memory by environment, of the clusters of one manager
  kubectl binnacle status --resource=memory --group-by=env -l x-k8s.io/cluster-manager=karmada`,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	fs := cmd.Flags()
	fs.BoolVarP(&o.all, "all-namespaces", "A", false, "The clusters of all namespaces.")
	fs.StringVarP(&o.selector, "selector", "l", "", "Selector on labels: =, ==, !=, in, notin.")
	fs.StringVar(&o.field, "field-selector", "", "Selector on fields, such as status.phase=Ready.")
	fs.StringVar(&o.resource, "resource", o.resource, "Resource to sum up.")
	fs.StringVar(&o.groupBy, "group-by", o.groupBy, "Label to sum up by, or property where a cluster has no such label.")
	fs.Int64Var(&o.chunk, "chunk-size", o.chunk, "How many clusters to ask for at once. 0 asks for all.")
	fs.StringVarP(&o.output, "output", "o", "", "Output format. One of: (json, yaml).")
	o.print.AddFlags(cmd)
	complete(cmd, "output", cobra.FixedCompletions([]cobra.Completion{"json", "yaml"}, cobra.ShellCompDirectiveNoFileComp))
	complete(cmd, "resource", cobra.FixedCompletions([]cobra.Completion{"nvidia.com/gpu", "cpu", "memory"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (o *statusOptions) run(cmd *cobra.Command) error {
	if o.output != "" {
		if _, err := o.print.ToPrinter(o.output); err != nil {
			return err
		}
	}
	client, namespace, err := o.connect()
	if err != nil {
		return err
	}
	if o.all {
		namespace = metav1.NamespaceAll
	}
	list := client.BinnacleV1alpha1().ClusterStatuses(namespace).List
	sum, err := collect(cmd.Context(), list, metav1.ListOptions{LabelSelector: o.selector, FieldSelector: o.field, Limit: o.chunk},
		corev1.ResourceName(o.resource), o.groupBy)
	switch {
	case err != nil:
		return err
	case o.output != "":
		return o.printFleet(sum)
	case sum.Clusters == 0 && o.all:
		_, err = fmt.Fprintln(o.ErrOut, "No clusters found.")
	case sum.Clusters == 0:
		_, err = fmt.Fprintf(o.ErrOut, "No clusters found in %s namespace.\n", namespace)
	default:
		_, err = fmt.Fprint(o.Out, describeFleet(sum, o.now()))
	}
	return err
}

// printFleet prints the sums as an object of no served kind, since printers take nothing else.
func (o *statusOptions) printFleet(sum *fleet) error {
	printer, err := o.print.ToPrinter(o.output)
	if err != nil {
		return err
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(sum)
	if err != nil {
		return err
	}
	fields["apiVersion"], fields["kind"] = "kubectl.binnacle.dev/v1alpha1", "FleetSummary"
	return printer.PrintObj(&unstructured.Unstructured{Object: fields}, o.Out)
}
