package filters_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/apiserver"
	"github.com/binnacle-dev/binnacle/pkg/apiserver/filters"
)

// TestCheckAmounts has amounts that would keep the library busy for ever, hidden in every way that a decoder still finds them.
func TestCheckAmounts(t *testing.T) {
	const wrong = "1e-999999999"
	in := func(amount string) string { return `{"spec":{"resources":{"capacity":{"cpu":` + amount + `}}}}` }
	tests := []struct {
		name, mediaType, body string
		refused               string
	}{
		{"plain", "application/json", in(`"4"`), ""},
		{"every suffix", "application/json", `{"spec":{"resources":{"capacity":{"a":"1E","b":"1Ei","c":"1e3","d":"1E-9","e":12,"f":1e9,"g":"-1.5e+10"}}}}`, ""},
		{"small exponent", "application/json", in(`"1e-999999999"`), "spec.resources.capacity[cpu]"},
		{"large exponent", "application/json", in(`"1E100000000"`), "spec.resources.capacity[cpu]"},
		{"with a sign", "application/json", in(`"1e+100"`), "spec.resources.capacity[cpu]"},
		{"as a number", "application/json", in(`1e-999`), "spec.resources.capacity[cpu]"},
		{"long", "application/json", in(`"` + strings.Repeat("1", 65) + `"`), "spec.resources.capacity[cpu]"},
		{"escaped", "application/json", in(`"1\u0065-999999999"`), "spec.resources.capacity[cpu]"},
		{"name escaped", "application/json", `{"sp\u0065c":{"resources":{"available":{"x/gpu":"` + wrong + `"}}}}`, "spec.resources.available[x/gpu]"},
		{"first of two of one name", "application/json", `{"spec":{"resources":{"capacity":{"cpu":"` + wrong + `","cpu":"1"}}}}`, "spec.resources.capacity[cpu]"},
		{"first of two specs", "application/json", in(`"` + wrong + `"`)[:len(in(`"`+wrong+`"`))-1] + `,"spec":{}}`, "spec.resources.capacity[cpu]"},
		{"behind other fields", "application/json", `{"metadata":{"name":"x"},"spec":{"properties":[{"name":"a","value":"b"}],"resources":{"allocatable":{"m":"1","cpu":"` + wrong + `"}}}}`, "spec.resources.allocatable[cpu]"},
		{"elsewhere it is a text", "application/json", `{"spec":{"properties":[{"name":"a","value":"` + wrong + `"}]}}`, ""},
		{"no JSON", "application/json", `{"spec":{"resources":`, ""},
		{"yaml", "application/yaml", "spec:\n  resources:\n    capacity:\n      cpu: \"" + wrong + "\"\n", "spec.resources.capacity[cpu]"},
		{"yaml, escaped and folded", "application/yaml", "spec:\n  resources:\n    capacity:\n      cpu: \"1\\x65-99999\\\n        9999\"\n", "spec.resources.capacity[cpu]"},
		{"yaml, anchor", "application/yaml", "x: &a \"" + wrong + "\"\nspec:\n  resources:\n    capacity:\n      cpu: *a\n", "spec.resources.capacity[cpu]"},
		{"protobuf", runtime.ContentTypeProtobuf, protobuf(t, "4"), ""},
		{"protobuf, wrong", runtime.ContentTypeProtobuf, strings.Replace(protobuf(t, "444444444444"), "444444444444", wrong, 1), "spec.resources.capacity[cpu]"},
		{"protobuf, broken off behind it", runtime.ContentTypeProtobuf, protobuf(t, "4") + string(protowire.AppendTag(nil, 2, protowire.BytesType)) + "\xff", "no protobuf"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := filters.CheckAmounts(test.mediaType, []byte(test.body), binnacle.Kind("ClusterReport"), "x")
			if (err == nil) != (test.refused == "") || err != nil && !strings.Contains(err.Error(), test.refused) {
				t.Errorf("%v, want %q", err, test.refused)
			}
			if err != nil && !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) {
				t.Errorf("%T %v", err, err)
			}
		})
	}
}

// protobuf is a report as a client sends it.
func protobuf(t *testing.T, amount string) string {
	t.Helper()
	info, _ := runtime.SerializerInfoForMediaType(apiserver.Codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	data, err := runtime.Encode(apiserver.Codecs.EncoderForVersion(info.Serializer, v1alpha1.SchemeGroupVersion), &v1alpha1.ClusterReport{Spec: v1alpha1.ClusterReportSpec{
		KubernetesVersion: "v1", Resources: &v1alpha1.ClusterResources{Capacity: corev1.ResourceList{"cpu": resource.MustParse(amount), "memory": resource.MustParse("1Gi")}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
