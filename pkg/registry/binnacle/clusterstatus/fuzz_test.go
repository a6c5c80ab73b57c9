package clusterstatus

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/endpoints/request"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/install"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/report"
	"github.com/binnacle-dev/binnacle/pkg/report/pages"
)

// fullBody is a report with every field, as clients send it.
const fullBody = `{"apiVersion":"binnacle.dev/v1alpha1","kind":"ClusterReport","metadata":{"name":"atlas"},"spec":{"clusterProfileUID":"uid-1",
"time":"2027-01-15T08:00:00Z","intervalSeconds":10,"kubernetesVersion":"v1.37.2","nodes":{"total":3,"ready":2},
"resources":{"capacity":{"cpu":"12"},"allocatable":{"cpu":"11500m","nvidia.com/gpu":"8"},"available":{"cpu":"1.5","memory":"3Gi"}},
"properties":[{"name":"region","value":"Zürich"},{"name":"empty","value":""}],
"conditions":[{"type":"Ready","status":"True","reason":"Fine","message":"üb"},{"type":"example.com/X","status":"Unknown"}]},"status":{"nextReportSeconds":1}}`

// FuzzReport takes bodies the whole way of a report: decoded, checked, accepted, published, read back and encoded for a client. Whatever
// is accepted must not be lost on the way. Inputs that are found are minimized for a minute each unless -fuzzminimizetime says otherwise,
// during which the number of executions stands still.
func FuzzReport(f *testing.F) {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	codecs := serializer.NewCodecFactory(scheme)
	decoder, encoder := codecs.UniversalDecoder(binnacle.SchemeGroupVersion), codecs.LegacyCodec(v1alpha1.SchemeGroupVersion)
	var full v1alpha1.ClusterReport
	if err := json.Unmarshal([]byte(fullBody), &full); err != nil {
		f.Fatal(err)
	}
	binary, err := runtime.Encode(protobuf.NewSerializer(scheme, scheme), &full)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(fullBody))
	f.Add(binary)
	f.Add([]byte(`{"apiVersion":"binnacle.dev/v1alpha1","kind":"ClusterReport"}`))
	f.Add([]byte(`{"apiVersion":"binnacle.dev/v1alpha1","kind":"ClusterReport","spec":{"time":null,"nodes":{},"resources":{"available":{"a":"1e400"}}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		obj, _, err := decoder.Decode(body, nil, nil)
		if err != nil {
			return
		}
		wall := clocktesting.NewFakeClock(began)
		table := report.NewTable(report.Limits{Interval: 10 * time.Second, PerSecond: 1000}, report.NewClock(wall))
		view := &fakeView{profiles: map[string]types.UID{"fleet/atlas": "uid-1"}, state: pages.NewState()}
		storage := NewReportREST(scheme, view, table)
		ctx := request.WithRequestInfo(request.WithNamespace(context.Background(), "fleet"), &request.RequestInfo{
			IsResourceRequest: true, APIGroup: binnacle.GroupName, APIVersion: "v1alpha1", Resource: "clusterstatuses", Subresource: "report"})
		answer, err := storage.Create(ctx, anyName, obj, nil, &metav1.CreateOptions{})
		if err != nil {
			return
		}
		if _, err := runtime.Encode(encoder, answer); err != nil {
			t.Fatalf("the answer cannot be encoded: %v", err)
		}
		arrivals := table.Take()
		publishArrivals(t, view, arrivals)
		table.Published(arrivals)
		got, err := storage.Get(ctx, anyName, nil)
		if err != nil {
			t.Fatalf("it is lost: %v", err)
		}
		if _, err := runtime.Encode(encoder, got); err != nil {
			t.Fatalf("it cannot be encoded for a reader: %v", err)
		}
		entry, _ := view.state.Entry("uid-1")
		if digest, err := pages.Digest(&entry.Facts.Report); err != nil || digest != arrivals[0].Digest {
			t.Fatalf("other facts came out than went in: %v\n%+v\n%+v", err, arrivals[0].Report, entry.Facts.Report)
		}
	})
}
