// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// AdminGroup is the group that may do anything.
const AdminGroup = "system:masters"

// AdminConfig is a client configuration for the hub's administrator.
func (h *Hub) AdminConfig() *rest.Config { return h.ConfigFor("admin", AdminGroup) }

// ConfigFor is a client configuration for a user of the hub, who shows a certificate that the hub's client CA signed. The user has
// the rights that somebody grants, and no others.
func (h *Hub) ConfigFor(user string, groups ...string) *rest.Config {
	return h.clientConfig(h.URL(), user, groups)
}

// clientConfig does not limit the rate of a client: the server does.
func (h *Hub) clientConfig(host, user string, groups []string) *rest.Config {
	key := strings.Join(append([]string{user}, groups...), "\n")
	tls, found := h.configs.Load(key)
	if !found {
		certPEM, keyPEM, err := h.ClientCA.Issue(Leaf{CommonName: user, Organization: groups})
		if err != nil {
			panic(fmt.Sprintf("sign a certificate for %s: %v", user, err)) // only without randomness
		}
		tls, _ = h.configs.LoadOrStore(key, rest.TLSClientConfig{CAData: h.ServingCA.PEM(), CertData: certPEM, KeyData: keyPEM})
	}
	return &rest.Config{Host: host, QPS: -1, TLSClientConfig: tls.(rest.TLSClientConfig)}
}

// Kubeconfig writes ConfigFor into a file of the state folder and returns its path, which has no colon: KUBECONFIG is a list.
func (h *Hub) Kubeconfig(user string, groups ...string) (string, error) {
	path := filepath.Join(h.opts.Dir, "kubeconfigs", url.QueryEscape(strings.Join(append([]string{user}, groups...), ",")))
	return path, WriteKubeconfig(path, h.ConfigFor(user, groups...))
}

// ServiceAccountConfig is a client configuration for a service account, which shows a token that the hub signed.
func (h *Hub) ServiceAccountConfig(ctx context.Context, namespace, name string) (*rest.Config, error) {
	client, err := kubernetes.NewForConfig(h.AdminConfig())
	if err != nil {
		return nil, err
	}
	lifetime := int64(certLifetime.Seconds())
	token, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &lifetime},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("token for service account %s/%s: %w", namespace, name, err)
	}
	return &rest.Config{
		Host: h.URL(), QPS: -1, BearerToken: token.Status.Token,
		TLSClientConfig: rest.TLSClientConfig{CAData: h.ServingCA.PEM()},
	}, nil
}

// WriteKubeconfig writes a client configuration into a kubeconfig file that only its owner may read.
func WriteKubeconfig(path string, c *rest.Config) error {
	return clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{
			"hub": {Server: c.Host, CertificateAuthorityData: c.CAData, CertificateAuthority: c.CAFile},
		},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{"user": {
			ClientCertificateData: c.CertData, ClientKeyData: c.KeyData,
			Token: c.BearerToken, TokenFile: c.BearerTokenFile,
		}},
		Contexts:       map[string]*clientcmdapi.Context{"hub": {Cluster: "hub", AuthInfo: "user"}},
		CurrentContext: "hub",
	}, path)
}
