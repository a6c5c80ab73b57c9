package main

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
)

// profile is the JSON of a ClusterProfile of the size that real ones have: labels, and in its status a dozen properties with times, two
// conditions and an access provider with CA data.
func profile(group, name string, i int) string {
	return fmt.Sprintf(`{"apiVersion":"%s/v1alpha1","kind":"ClusterProfile","metadata":{"name":"%s","labels":{"x-k8s.io/cluster-manager":"fleet","env":"prod","region":"r%d","provider":"p%d"}},`+
		`"spec":{"displayName":"Cluster %d","clusterManager":{"name":"fleet"}}}`, group, name, i%20, i%3, i)
}

func name(i int) string { return fmt.Sprintf("cluster-%05d", i) }

// status is the JSON of a merge patch of a status; another round changes what would change.
func status(i, round int) string {
	var properties []string
	for p := range 12 {
		properties = append(properties, fmt.Sprintf(`{"name":"property-%02d.example.com/fact","value":"value %d of cluster %d","lastObservedTime":"2026-11-30T12:%02d:%02dZ"}`, p, p, i, round%60, p))
	}
	condition := func(kind string) string {
		return fmt.Sprintf(`{"type":%q,"status":"True","reason":"AsExpected","message":"seen in round %d","lastTransitionTime":"2026-11-30T12:00:00Z"}`, kind, round)
	}
	return fmt.Sprintf(`{"status":{"version":{"kubernetes":"v1.37.%d"},"conditions":[%s,%s],"properties":[%s],"accessProviders":[{"name":"oidc","cluster":{"server":"https://%s.example.com:6443",`+
		`"certificate-authority-data":%q,"extensions":[{"name":"client.authentication.k8s.io/exec","extension":{"clusterName":%q}}]}}]}}`,
		round%10, condition("ControlPlaneHealthy"), condition("Joined"), strings.Join(properties, ","), name(i), caData(i), name(i))
}

// caData is as long as the certificate of an EC CA in PEM, as random as one, and another one for each cluster.
func caData(i int) string {
	data := make([]byte, 560)
	_, _ = rand.NewChaCha8([32]byte{byte(i), byte(i >> 8)}).Read(data)
	return base64.StdEncoding.EncodeToString(data)
}
