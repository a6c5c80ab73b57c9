package standalone

import (
	"net/url"
	"strconv"

	apiserverapi "k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/anonymous"
	"k8s.io/apiserver/pkg/authentication/request/union"
	"k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/authorization/path"
	authzunion "k8s.io/apiserver/pkg/authorization/union"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"

	"github.com/binnacle-dev/binnacle/pkg/apiserver"
)

// ApplyIdentity makes a server know its administrator by certificate, and nobody else. Both parts must be set: the generic server
// lets everybody do everything where they are not.
func ApplyIdentity(pki PKI, c *genericapiserver.Config) error {
	ca, err := dynamiccertificates.NewDynamicCAContentFromFile("client-ca", pki.CAFile())
	if err != nil {
		return err
	}
	if err := c.Authentication.ApplyClientCert(ca, c.SecureServing); err != nil {
		return err
	}
	var onlyHealth []apiserverapi.AnonymousAuthCondition
	for _, p := range apiserver.HealthPaths {
		onlyHealth = append(onlyHealth, apiserverapi.AnonymousAuthCondition{Path: p})
	}
	c.Authentication.Authenticator = union.NewFailOnError(
		group.NewAuthenticatedGroupAdder(x509.NewDynamic(ca.VerifyOptions, x509.CommonNameUserConversion)),
		anonymous.NewAuthenticator(onlyHealth),
	)
	health, err := path.NewAuthorizer(apiserver.HealthPaths)
	if err != nil {
		return err
	}
	c.Authorization.Authorizer, err = authzunion.New(
		authzunion.NamedAuthorizer{AuthorizerName: "administrator", Authorizer: authorizerfactory.NewPrivilegedGroups(adminGroup)},
		authzunion.NamedAuthorizer{AuthorizerName: "health", Authorizer: health},
	)
	return err
}

func portOfURL(server string) int {
	u, err := url.Parse(server)
	if err != nil {
		return 0
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		return 0
	}
	return port
}
