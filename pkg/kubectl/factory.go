package kubectl

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"

	"github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned"
)

// factory is what every command is made with.
type factory struct {
	genericiooptions.IOStreams
	flags *genericclioptions.ConfigFlags
	now   func() time.Time
	// terminal says how wide the lines of a stream are, and whether it is a terminal.
	terminal func(stream any) (int, bool)
}

// connect returns a client and the namespace that the flags and the kubeconfig choose.
func (f *factory) connect() (versioned.Interface, string, error) {
	config, namespace, err := f.config()
	if err != nil {
		return nil, "", err
	}
	client, err := versioned.NewForConfig(config)
	return client, namespace, err
}

// config is how to reach the server, and the namespace.
func (f *factory) config() (*rest.Config, string, error) {
	namespace, _, err := f.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, "", err
	}
	shared, err := f.flags.ToRESTConfig()
	if err != nil {
		return nil, "", err
	}
	config := rest.CopyConfig(shared)
	// A page of 500 clusters is smaller than in JSON, and read several times as fast.
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	// As kubectl does: a command is short, and 20 pages at the library's pace of 5 a second would take longer than to serve them.
	config.QPS, config.Burst = 50, 300
	config.WarningHandler = rest.NewWarningWriter(f.ErrOut, rest.WarningWriterOptions{Deduplicate: true})
	return config, namespace, nil
}
