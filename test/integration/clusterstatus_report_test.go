package integration

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

// listOf joins n members of a list or an object.
func listOf(n int, member func(i int) string) string {
	var members []string
	for i := range n {
		members = append(members, member(i))
	}
	return strings.Join(members, ",")
}

func propertyNamed(name, value string) string {
	return fmt.Sprintf(`"properties":[{"name":%q,"value":%q}]`, name, value)
}

func someProperties(n int) string {
	return `"properties":[` + listOf(n, func(i int) string { return fmt.Sprintf(`{"name":"p%d","value":"v"}`, i) }) + `]`
}

func someConditions(n int) string {
	return `"conditions":[` + listOf(n, func(i int) string { return fmt.Sprintf(`{"type":"C%d","status":"True"}`, i) }) + `]`
}

func someResources(n int) string {
	return `"resources":{"capacity":{` + listOf(n, func(i int) string { return fmt.Sprintf(`"example.com/r%d":"1"`, i) }) + `}}`
}

// testReportLimits takes what is at each limit and refuses by name what is above (cases.md, 17).
func testReportLimits(t *testing.T, f fleet) {
	f.add("a")
	long := strings.Repeat
	for _, c := range []struct {
		name, spec string
		// causes are empty where it is taken.
		causes []string
	}{
		{"nothing", ``, nil},
		{"256 properties", someProperties(256), nil},
		{"257 properties", someProperties(257), []string{"FieldValueTooMany spec.properties"}},
		{"a name of 253", propertyNamed(long("n", 253), "v"), nil},
		{"a name of 254", propertyNamed(long("n", 254), "v"), []string{"FieldValueTooLong spec.properties[0].name"}},
		{"no name", propertyNamed("", "v"), []string{"FieldValueRequired spec.properties[0].name"}},
		{"a value of 1024", propertyNamed("p", long("v", 1024)), nil},
		{"a value of 1025", propertyNamed("p", long("v", 1025)), []string{"FieldValueTooLong spec.properties[0].value"}},
		{"a value of 1024 times 3 bytes", propertyNamed("p", long("漢", 1024)), nil},
		{"a value of 1025 times 3 bytes", propertyNamed("p", long("漢", 1025)), []string{"FieldValueTooLong spec.properties[0].value"}},
		{"an empty value", propertyNamed("p", ""), nil},
		{"no value", `"properties":[{"name":"p"}]`, nil},
		{"one name twice", `"properties":[{"name":"p","value":"1"},{"name":"q","value":"2"},{"name":"p","value":"3"}]`, []string{"FieldValueDuplicate spec.properties[2]"}},
		{"32 conditions", someConditions(32), nil},
		{"33 conditions", someConditions(33), []string{"FieldValueTooMany spec.conditions"}},
		{"one condition twice", `"conditions":[{"type":"A","status":"True"},{"type":"A","status":"False"}]`, []string{"FieldValueDuplicate spec.conditions[1]"}},
		{"a condition that is maybe", `"conditions":[{"type":"A","status":"Maybe"}]`, []string{"FieldValueNotSupported spec.conditions[0].status"}},
		{"a condition without status", `"conditions":[{"type":"A"}]`, []string{"FieldValueRequired spec.conditions[0].status"}},
		{"a condition without type", `"conditions":[{"status":"True"}]`, []string{"FieldValueRequired spec.conditions[0].type"}},
		{"no nodes", `"nodes":{"total":0,"ready":0}`, nil},
		{"negative nodes", `"nodes":{"total":-1,"ready":-2}`, []string{"FieldValueInvalid spec.nodes.ready", "FieldValueInvalid spec.nodes.total"}},
		{"more ready than there are", `"nodes":{"total":1,"ready":2}`, []string{"FieldValueInvalid spec.nodes.ready"}},
		{"256 resources", someResources(256), nil},
		{"257 resources", someResources(257), []string{"FieldValueTooMany spec.resources.capacity"}},
		{"a resource with a bad name", `"resources":{"available":{"no name":"1"}}`, []string{"FieldValueInvalid spec.resources.available[no name]"}},
		{"a negative resource", `"resources":{"allocatable":{"cpu":"-1"}}`, []string{"FieldValueInvalid spec.resources.allocatable[cpu]"}},
		{"an interval of 1", `"intervalSeconds":1`, nil},
		{"an interval of 3600", `"intervalSeconds":3600`, nil},
		{"an interval of 0", `"intervalSeconds":0`, []string{"FieldValueInvalid spec.intervalSeconds"}},
		{"an interval of 3601", `"intervalSeconds":3601`, []string{"FieldValueInvalid spec.intervalSeconds"}},
		{"a version of 253", `"kubernetesVersion":"` + long("v", 253) + `"`, nil},
		{"a version of 254", `"kubernetesVersion":"` + long("v", 254) + `"`, []string{"FieldValueTooLong spec.kubernetesVersion"}},
		{"everything wrong", `"intervalSeconds":0,"nodes":{"total":1,"ready":2},` + propertyNamed("", "v"),
			[]string{"FieldValueInvalid spec.intervalSeconds", "FieldValueInvalid spec.nodes.ready", "FieldValueRequired spec.properties[0].name"}},
	} {
		r := reportOf("a", c.spec)
		r.path += "?dryRun=All"
		a := f.statuses.do(r)
		switch {
		case c.causes == nil && a.code == http.StatusCreated:
		case c.causes != nil && a.code == http.StatusUnprocessableEntity && a.status.Reason == "Invalid" && slices.Equal(a.causes(), c.causes):
		default:
			t.Errorf("%s: %s, want %v\n%s", c.name, a.summary(), c.causes, shorten(string(a.raw)))
		}
	}
	if a := f.status("a"); a.field("status", "phase") != "Unknown" {
		t.Errorf("dry runs and refused reports left %s", a.raw)
	}
}

// testBadReports refuses what is no report at all, and warns of what it does not know.
func testBadReports(t *testing.T, f fleet) {
	f.add("a")
	report := func(metadata, spec string) string {
		return `{"apiVersion":"GROUP/VERSION","kind":"ClusterReport","metadata":` + metadata + `,"spec":` + spec + `}`
	}
	const unknown = `{"colour":"red"}`
	for name, c := range map[string]struct {
		query, contentType, body string
		code                     int
		warning                  string
	}{
		"its own name and namespace": {body: report(`{"name":"a","namespace":"NS"}`, `{}`), code: 201},
		"another name":               {body: report(`{"name":"b"}`, `{}`), code: 400},
		"another namespace":          {body: report(`{"namespace":"elsewhere"}`, `{}`), code: 400},
		"no JSON":                    {body: `{`, code: 400},
		"nothing":                    {body: ``, code: 400},
		"another kind":               {body: `{"apiVersion":"GROUP/VERSION","kind":"ClusterStatus"}`, code: 400},
		"a type that is no number":   {body: report(`{}`, `{"intervalSeconds":"1"}`), code: 400},
		"a time that is none":        {body: report(`{}`, `{"time":"yesterday"}`), code: 400},
		"a quantity that is none":    {body: report(`{}`, `{"resources":{"capacity":{"cpu":"many"}}}`), code: 400},
		"a list that is an object":   {body: report(`{}`, `{"properties":{"p":"v"}}`), code: 400},
		"a number that is too large": {body: report(`{}`, `{"nodes":{"total":99999999999,"ready":0}}`), code: 400},
		"an unknown field, strict":   {query: "&fieldValidation=Strict", body: report(`{}`, unknown), code: 400},
		"an unknown field":           {body: report(`{}`, unknown), code: 201, warning: `unknown field "spec.colour"`},
		"an unknown field, warn":     {query: "&fieldValidation=Warn", body: report(`{}`, unknown), code: 201, warning: `unknown field "spec.colour"`},
		"an unknown field, ignore":   {query: "&fieldValidation=Ignore", body: report(`{}`, unknown), code: 201},
		"a field twice":              {query: "&fieldValidation=Strict", body: report(`{}`, `{"intervalSeconds":1,"intervalSeconds":2}`), code: 400},
		"a media type of its own":    {contentType: "text/plain", body: report(`{}`, `{}`), code: 415},
		"CBOR":                       {contentType: "application/cbor", body: report(`{}`, `{}`), code: 415},
	} {
		r := post("clusterstatuses/a/report?dryRun=All"+c.query, c.body)
		if c.contentType != "" {
			r.contentType = c.contentType
		}
		a := f.statuses.do(r)
		if a.code != c.code {
			t.Errorf("%s: %d %s, want %d", name, a.code, shorten(string(a.raw)), c.code)
		}
		if got := strings.ReplaceAll(strings.Join(a.warnings, "\n"), `\"`, `"`); got != c.warning {
			t.Errorf("%s: warnings %q", name, got)
		}
	}
}

// testLargeReports takes 64 KiB and not a byte more, whether or not the length is told before (cases.md, 17 and 50).
func testLargeReports(t *testing.T, f fleet) {
	f.add("a")
	for _, c := range []struct{ size, code int }{{64 << 10, 201}, {64<<10 + 1, 413}, {10 << 20, 413}} {
		// Spaces are none of the report, but they have to be read.
		body := f.statuses.expand(reportOf("a", "").body)
		body += strings.Repeat(" ", c.size-len(body))
		for _, length := range []int64{int64(c.size), -1} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.config.Host+"/apis/binnacle.dev/v1alpha1/namespaces/"+f.namespace+"/clusterstatuses/a/report?dryRun=All",
				struct{ io.Reader }{strings.NewReader(body)})
			if err != nil {
				t.Fatal(err)
			}
			req.ContentLength = length
			req.Header.Set("Content-Type", jsonType)
			resp, err := f.statuses.client.Do(req)
			if err != nil {
				t.Errorf("%d bytes, told %d: %v", c.size, length, err)
				continue
			}
			text, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode != c.code || c.code == 413 && !strings.Contains(string(text), `"reason":"RequestEntityTooLarge"`) {
				t.Errorf("%d bytes, told %d: %d %s", c.size, length, resp.StatusCode, shorten(string(text)))
			}
		}
	}
	// A kind that is no report may be larger, and so may the reports of others be right after.
	f.profiles.must(post("clusterprofiles", profileNamed("large", fmt.Sprintf(`,"spec":{"displayName":%q,"clusterManager":{"name":"m"}}`, strings.Repeat("x", 100_000)))))
	f.report("large", rarely)
	for _, n := range []int{1000, 5000} {
		a := f.statuses.do(reportOf("a", someProperties(n)))
		if n == 1000 && a.code != http.StatusUnprocessableEntity || n == 5000 && a.code != http.StatusRequestEntityTooLarge {
			t.Errorf("%d properties: %d %s", n, a.code, shorten(string(a.raw)))
		}
	}
	f.untilPhase("large", "Ready")
	if a := f.status("a"); a.field("status", "phase") != "Unknown" {
		t.Errorf("refused reports left %s", a.raw)
	}
}

// testReportEncodings sends the same report in each form that there is.
func testReportEncodings(t *testing.T, f fleet) {
	report := &v1alpha1.ClusterReport{Spec: v1alpha1.ClusterReportSpec{KubernetesVersion: "v1.37.2", Properties: []v1alpha1.ReportedProperty{{Name: "p", Value: "ü"}}}}
	for name, mediaType := range map[string]string{"json": jsonType, "yaml": yamlType, "protobuf": runtime.ContentTypeProtobuf} {
		f.add(name)
		f.statuses.must(request{method: http.MethodPost, path: "clusterstatuses/" + name + "/report", contentType: mediaType, body: reportSubject.encode(t, report, mediaType)})
		for _, answer := range []string{jsonType, yamlType, runtime.ContentTypeProtobuf} {
			if a := f.statuses.must(request{method: http.MethodGet, path: "clusterstatuses/" + name + "/report", accept: answer}); !strings.Contains(string(a.raw), "v1.37.2") || a.header.Get("Content-Type") != answer {
				t.Errorf("%s read as %s: %s %q", name, answer, a.header.Get("Content-Type"), a.raw)
			}
		}
		f.until(name, "what was reported", func(a answer) bool {
			return a.field("status", "kubernetesVersion") == "v1.37.2" && strings.Contains(string(a.raw), `"value":"ü"`)
		})
	}
}
