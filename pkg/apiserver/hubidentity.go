package apiserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/kubernetes"
)

// Where a hub publishes whom its aggregated servers shall trust, and the keys of the CAs in it.
const (
	authenticationNamespace = "kube-system"
	authenticationConfigMap = "extension-apiserver-authentication"
)

var authenticationCAs = []string{"client-ca-file", "requestheader-client-ca-file"}

// hubIdentity is done when the server trusts the CAs that the hub published. They are loaded after the server has begun to serve, and
// until then it answers everybody with 401, the hub included.
type hubIdentity struct{ pending }

// identityInterval is short: it is a matter of milliseconds after each start.
const identityInterval = 50 * time.Millisecond

// AddHubIdentityCheck makes readiness of the server depend on whether it knows the callers that its hub knows. Give it the CAs that the
// server trusts.
func AddHubIdentityCheck(server *genericapiserver.GenericAPIServer, hub kubernetes.Interface, trusted func() []byte) error {
	check := &hubIdentity{newPending("hub-authentication-configuration")}
	if err := server.AddReadyzChecks(check); err != nil {
		return err
	}
	return server.AddPostStartHook("await-hub-authentication-configuration", func(ctx genericapiserver.PostStartHookContext) error {
		go check.poll(ctx, identityInterval, func(ctx context.Context) error { return trustsHub(ctx, hub, trusted()) })
		return nil
	})
}

func trustsHub(ctx context.Context, hub kubernetes.Interface, trusted []byte) error {
	published, err := hub.CoreV1().ConfigMaps(authenticationNamespace).Get(ctx, authenticationConfigMap, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("cannot read whom the hub trusts: %w", err)
	}
	for _, key := range authenticationCAs {
		if !bytes.Contains(trusted, bytes.TrimSpace([]byte(published.Data[key]))) {
			return errors.New("not loaded yet: " + key + " of " + authenticationNamespace + "/" + authenticationConfigMap)
		}
	}
	return nil
}
