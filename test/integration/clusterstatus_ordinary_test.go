package integration

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

// inProtobuf is a report as most reporters send it.
func inProtobuf(t *testing.T, name string, report *v1alpha1.ClusterReport) request {
	t.Helper()
	return request{
		method: http.MethodPost, path: "clusterstatuses/" + name + "/report",
		contentType: runtime.ContentTypeProtobuf, body: reportSubject.encode(t, report, runtime.ContentTypeProtobuf),
	}
}

// testOrdinaryReports sends what the short way for reports takes, and the same with a parameter that says what holds anyway, which goes the
// library's way. Nobody is to see a difference.
func testOrdinaryReports(t *testing.T, f fleet) {
	spec := func(s v1alpha1.ClusterReportSpec) *v1alpha1.ClusterReport { return &v1alpha1.ClusterReport{Spec: s} }
	other := types.UID("another")
	for name, c := range map[string]struct {
		report *v1alpha1.ClusterReport
		accept string
		body   string
		// missing is for a cluster that nobody registered, and again for one that has just reported.
		missing, again bool
	}{
		"taken":               {report: spec(v1alpha1.ClusterReportSpec{KubernetesVersion: "v1.37.2", Time: ptr.To(metav1.Now())})},
		"taken-as-protobuf":   {report: spec(v1alpha1.ClusterReportSpec{}), accept: runtime.ContentTypeProtobuf},
		"taken-as-yaml":       {report: spec(v1alpha1.ClusterReportSpec{}), accept: yamlType},
		"taken-as-one-of-two": {report: spec(v1alpha1.ClusterReportSpec{}), accept: "application/vnd.kubernetes.protobuf,application/json"},
		"as-a-table":          {report: spec(v1alpha1.ClusterReportSpec{}), accept: "application/json;as=Table;v=v1;g=meta.k8s.io"},
		"as-an-image":         {report: spec(v1alpha1.ClusterReportSpec{}), accept: "image/png"},
		"missing":             {report: spec(v1alpha1.ClusterReportSpec{}), missing: true},
		"again":               {report: spec(v1alpha1.ClusterReportSpec{}), again: true},
		"named-otherwise":     {report: &v1alpha1.ClusterReport{Metadata: metav1.ObjectMeta{Name: "somebody"}}},
		"elsewhere":           {report: &v1alpha1.ClusterReport{Metadata: metav1.ObjectMeta{Namespace: "elsewhere"}}},
		"of-another-uid":      {report: spec(v1alpha1.ClusterReportSpec{ClusterProfileUID: &other})},
		"invalid": {report: spec(v1alpha1.ClusterReportSpec{
			IntervalSeconds: ptr.To[int32](0), Nodes: &v1alpha1.NodeCounts{Total: 1, Ready: 2}, Properties: []v1alpha1.ReportedProperty{{Name: ""}},
		})},
		"negative":  {report: spec(v1alpha1.ClusterReportSpec{Resources: &v1alpha1.ClusterResources{Capacity: corev1.ResourceList{"cpu": resource.MustParse("-1")}}})},
		"too-large": {report: spec(v1alpha1.ClusterReportSpec{KubernetesVersion: strings.Repeat("v", 64<<10)})},
		"no-body":   {},
		"garbage":   {body: "k8s\x00\xff\xff\xff\xff"},
		"text":      {body: "{}"},
		"a-status":  {body: statusSubject.encode(t, &v1alpha1.ClusterStatus{}, runtime.ContentTypeProtobuf)},
	} {
		t.Run(name, func(t *testing.T) {
			var told []map[string]any
			cluster, registered := "ordinary-"+name, c.missing
			for _, query := range []string{"", "?fieldValidation=Warn"} {
				r := request{method: http.MethodPost, path: "clusterstatuses/" + cluster + "/report", contentType: runtime.ContentTypeProtobuf, body: c.body}
				if c.report != nil {
					r = inProtobuf(t, cluster, c.report)
				}
				r.path += query
				r.accept = c.accept
				if !registered {
					f.profiles.must(post("clusterprofiles", profileNamed(cluster, managed)))
					registered = true
				}
				if c.again {
					f.statuses.must(r)
				}
				a := f.statuses.do(r)
				told = append(told, visible(a))
				if a.code == http.StatusCreated || c.again { // It is too early for another report of the same.
					f.profiles.must(request{method: http.MethodDelete, path: "clusterprofiles/" + cluster})
					registered = false
				}
			}
			if diff := cmp.Diff(told[0], told[1]); diff != "" {
				t.Errorf("the short way (-), the library's (+):\n%s", diff)
			}
			t.Log(told[0]["code"], told[0]["message"])
		})
	}
}

// visible is everything that an answer tells, but for times, what is drawn by lot, and the names of requests.
func visible(a answer) map[string]any {
	headers := http.Header{}
	for name, values := range a.header {
		if !slices.Contains([]string{"Audit-Id", "Date", "Content-Length"}, name) {
			headers[name] = values
		}
	}
	told := map[string]any{"code": a.code, "headers": headers, "message": a.status.Message, "warnings": a.warnings}
	if status, ok := a.object["status"].(map[string]any); ok {
		told["status"] = slices.Sorted(maps.Keys(status))
		delete(a.object, "status")
	}
	if told["object"] = a.object; a.object == nil {
		told["object"] = fmt.Sprint(len(a.raw) > 0)
	}
	return told
}
