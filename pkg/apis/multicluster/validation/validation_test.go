package validation_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/validation"
)

var root = field.NewPath("field")

// anyOrder compares errors as sets: which rule of a field is asked first is nobody's business.
var anyOrder = cmpopts.SortSlices(func(a, b string) bool { return a < b })

// brief tells errors by type and field.
func brief(errs field.ErrorList) []string {
	var told []string
	for _, err := range errs {
		told = append(told, string(err.Type)+" "+err.Field)
	}
	return told
}

func expect(t *testing.T, got field.ErrorList, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, brief(got), anyOrder); diff != "" {
		t.Errorf("errors (-want +got):\n%s%v", diff, got)
	}
}

func TestValidateImmutableClusterManager(t *testing.T) {
	tests := []struct {
		name     string
		new, old *string
		want     []string
	}{
		{name: "same", new: ptr.To("a"), old: ptr.To("a")},
		{name: "both missing"},
		{name: "changed", new: ptr.To("b"), old: ptr.To("a"), want: []string{"FieldValueInvalid field"}},
		{name: "emptied", new: ptr.To(""), old: ptr.To("a"), want: []string{"FieldValueInvalid field"}},
		{name: "removed", old: ptr.To("a"), want: []string{"FieldValueInvalid field"}},
		{name: "empty is not missing", new: ptr.To(""), want: []string{"FieldValueInvalid field"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			errs := validation.ValidateImmutableClusterManager(root, test.new, test.old)
			expect(t, errs, test.want...)
			// Clients match on upstream's words.
			if len(errs) > 0 && errs[0].Detail != "ClusterManager is immutable" {
				t.Errorf("detail %q", errs[0].Detail)
			}
		})
	}
}

func TestValidateTimestamp(t *testing.T) {
	good := []string{
		"2026-11-30T12:00:00Z", "2026-11-30T12:00:00.5Z", "2026-11-30T12:00:00.123456789+05:45", "2026-11-30T12:00:00-00:00",
		"0001-01-01T00:00:00Z", "2024-02-29T23:59:59Z", "2026-11-30t12:00:00z",
	}
	bad := []string{
		"", "now", "2026-11-30", "12:00:00Z", "2026-11-30T12:00:00", "2026-11-30 12:00:00Z", "2026-11-30T24:00:00Z", "2026-11-30T12:60:00Z",
		"2026-02-30T12:00:00Z", "2025-02-29T12:00:00Z", "2026-13-01T12:00:00Z", "2026-11-30T12:00:00+0545", "1780000000",
	}
	expect(t, validation.ValidateTimestamp(root, nil))
	for _, text := range good {
		t.Run("good/"+text, func(t *testing.T) { expect(t, validation.ValidateTimestamp(root, &text)) })
	}
	for _, text := range bad {
		t.Run("bad/"+text, func(t *testing.T) {
			expect(t, validation.ValidateTimestamp(root, &text), "FieldValueTypeInvalid field")
		})
	}
}

func TestValidateExtension(t *testing.T) {
	tests := []struct {
		name, raw string
		want      []string
	}{
		{name: "object", raw: `{"a": 1}`},
		{name: "empty object", raw: `{}`},
		{name: "object with white space around", raw: " \n{}\t"},
		{name: "missing", raw: ``, want: []string{"FieldValueRequired field"}},
		{name: "white space", raw: ` `, want: []string{"FieldValueRequired field"}},
		{name: "null", raw: `null`, want: []string{"FieldValueRequired field"}},
		{name: "null with white space around", raw: " null ", want: []string{"FieldValueRequired field"}},
		{name: "array", raw: `["--audience", "atlas"]`, want: []string{"FieldValueTypeInvalid field"}},
		{name: "text", raw: `"{}"`, want: []string{"FieldValueTypeInvalid field"}},
		{name: "number", raw: `1`, want: []string{"FieldValueTypeInvalid field"}},
		{name: "boolean", raw: `true`, want: []string{"FieldValueTypeInvalid field"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			expect(t, validation.ValidateExtension(root, &runtime.RawExtension{Raw: []byte(test.raw)}), test.want...)
		})
	}
}

func TestValidateServerURL(t *testing.T) {
	tests := []struct {
		name   string
		server *string
		good   bool
	}{
		{name: "https", server: ptr.To("https://api.example.com:6443"), good: true},
		{name: "http", server: ptr.To("http://api.example.com"), good: true},
		{name: "path, query and fragment", server: ptr.To("https://proxy.example.com/clusters/atlas?a=b#c"), good: true},
		{name: "IPv6", server: ptr.To("https://[2001:db8::1]:6443"), good: true},
		{name: "missing"},
		{name: "empty", server: ptr.To("")},
		{name: "no scheme", server: ptr.To("api.example.com:6443")},
		{name: "no host", server: ptr.To("https://")},
		{name: "path only", server: ptr.To("/api")},
		{name: "relative", server: ptr.To("api")},
		{name: "opaque", server: ptr.To("mailto:a@example.com")},
		{name: "space", server: ptr.To("https://api example.com")},
		{name: "bad port", server: ptr.To("https://api.example.com:port")},
		{name: "bad escape", server: ptr.To("https://api.example.com/%zz")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var want []string
			if !test.good {
				want = []string{"FieldValueInvalid field"}
			}
			expect(t, validation.ValidateServerURL(root, test.server), want...)
		})
	}
}

func TestValidateProxyURL(t *testing.T) {
	tests := []struct {
		name  string
		proxy *string
		good  bool
	}{
		{name: "missing", good: true},
		{name: "empty", proxy: ptr.To(""), good: true},
		{name: "http", proxy: ptr.To("http://proxy.example.com:3128"), good: true},
		{name: "https", proxy: ptr.To("https://proxy.example.com"), good: true},
		{name: "socks5", proxy: ptr.To("socks5://user:word@proxy.example.com:1080"), good: true},
		{name: "scheme in capitals is the same scheme", proxy: ptr.To("HTTP://proxy.example.com"), good: true},
		{name: "socks5h", proxy: ptr.To("socks5h://proxy.example.com")},
		{name: "ftp", proxy: ptr.To("ftp://proxy.example.com")},
		{name: "no scheme", proxy: ptr.To("proxy.example.com:3128")},
		{name: "no host", proxy: ptr.To("http://")},
		{name: "path only", proxy: ptr.To("/proxy")},
		{name: "space", proxy: ptr.To(" ")},
		{name: "long but well formed is no business of this rule", proxy: ptr.To("http://p/" + strings.Repeat("a", 4000)), good: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var want []string
			if !test.good {
				want = []string{"FieldValueInvalid field"}
			}
			expect(t, validation.ValidateProxyURL(root, test.proxy), want...)
		})
	}
}
