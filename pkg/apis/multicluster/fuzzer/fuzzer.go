// Package fuzzer fills the SIG-Multicluster kinds with random content for tests.
//
// It may import apimachinery and pkg/apis/multicluster only, and nothing but tests may import it.
package fuzzer

import (
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/randfill"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha2"
)

// Funcs returns what the kinds need beyond random values of each Go type. Internal objects leave out what v1alpha2 lacks, so that both
// served versions hold all of them; versioned objects are filled to the last field.
func Funcs(serializer.CodecFactory) []any {
	return []any{
		func(malformed **multicluster.Malformed, _ randfill.Continue) {
			// It lives within one request and has no place in any version.
			*malformed = nil
		},
		func(status *multicluster.ClusterProfileStatus, c randfill.Continue) {
			c.FillNoCustom(status)
			status.CredentialProviders = nil
		},
		func(cluster *multicluster.Cluster, c randfill.Continue) {
			c.FillNoCustom(cluster)
			cluster.CertificateAuthority = ""
		},
		func(extension *runtime.RawExtension, c randfill.Continue) {
			extension.Object, extension.Raw = nil, randomJSON(c)
		},
		func(t *multicluster.Timestamp, c randfill.Continue) { *t = multicluster.Timestamp(randomTimestamp(c)) },
		func(t *v1alpha1.Timestamp, c randfill.Continue) { *t = v1alpha1.Timestamp(randomTimestamp(c)) },
		func(t *v1alpha2.Timestamp, c randfill.Continue) { *t = v1alpha2.Timestamp(randomTimestamp(c)) },
	}
}

// randomJSON returns an object as encoding/json spells it, which is what a JSON round trip gives back.
func randomJSON(c randfill.Continue) []byte {
	data, err := json.Marshal(map[string]any{
		"number": c.Int63(),
		"text":   c.String(0),
		"list":   []any{c.String(0), c.Bool(), nil},
		"object": map[string]any{c.String(8): c.String(0)},
	})
	if err != nil {
		panic(fmt.Sprintf("cannot encode a random extension: %v", err))
	}
	return data
}

// randomTimestamp returns a time in one of the spellings that a client may send.
func randomTimestamp(c randfill.Continue) string {
	layouts := []string{time.RFC3339, time.RFC3339Nano, "2006-01-02T15:04:05.000000Z07:00"}
	zone := time.FixedZone("", int(c.Int31n(24*60)-12*60)*60)
	return time.Unix(int64(c.Uint32()), int64(c.Int31n(1e9))).In(zone).Format(layouts[c.Intn(len(layouts))])
}
