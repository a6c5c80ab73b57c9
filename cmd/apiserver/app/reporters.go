package app

import (
	"fmt"

	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// reviewsPerSecond is how often the hub is asked for the rights of reporters. The library's client asks 200 times a second at most, which
// after a restart would leave 10,000 clusters unheard for longer than their grace period.
const reviewsPerSecond = 1000

// reportAuthorizer returns what asks the hub for the rights of reporters: with the settings of the library's own, and a client of its own.
func (o *Options) reportAuthorizer() (authorizer.Authorizer, error) {
	own := o.Recommended.Authorization
	var config *rest.Config
	var err error
	if own.RemoteKubeConfigFile != "" {
		config, err = clientcmd.BuildConfigFromFlags("", own.RemoteKubeConfigFile)
	} else {
		config, err = rest.InClusterConfig()
	}
	if err != nil {
		return nil, fmt.Errorf("cannot ask the hub for the rights of reporters: %w", err)
	}
	config.QPS, config.Burst, config.Timeout = reviewsPerSecond, reviewsPerSecond, own.ClientTimeout
	if own.CustomRoundTripperFn != nil {
		config.Wrap(own.CustomRoundTripperFn)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: client.AuthorizationV1(),
		AllowCacheTTL:             own.AllowCacheTTL,
		DenyCacheTTL:              own.DenyCacheTTL,
		WebhookRetryBackoff:       own.WebhookRetryBackoff,
	}.New()
}
