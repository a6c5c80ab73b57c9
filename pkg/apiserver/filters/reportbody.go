package filters

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"sigs.k8s.io/yaml"
)

// BodyRules are what the body of a POST to a subresource has to keep to before it is decoded.
type BodyRules struct {
	// Limit is how many bytes it may have. The limit of the library is one for all requests.
	Limit int64
	// Check says what is wrong with it beyond that: an answer, or nil.
	Check func(mediaType string, body []byte, info *request.RequestInfo) error
	// Refused is called where it is too large.
	Refused func()
}

// WithBody reads the body of a POST to a subresource and refuses what does not keep to the rules. It stands before the limit of requests at
// once, so that nobody holds one of those places who has not sent everything.
func (s Subresource) WithBody(handler http.Handler, serializer runtime.NegotiatedSerializer, rules BodyRules) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info, ok := request.RequestInfoFrom(req.Context())
		if !ok || !s.Created(info) {
			handler.ServeHTTP(w, req)
			return
		}
		body, err := s.readBody(req, rules)
		if err == nil && rules.Check != nil {
			err = rules.Check(mediaType(req), body, info)
		}
		if err != nil {
			responsewriters.ErrorNegotiated(err, serializer, schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}, w, req)
			return
		}
		req.Body = wholeBody{bytes.NewReader(body), body}
		handler.ServeHTTP(w, req)
	})
}

// usualReport is what most bodies of reports fit in, in bytes. Who says that there will be more gets room as it comes.
const usualReport = 8 << 10

// wholeBody is a body that has been read.
type wholeBody struct {
	*bytes.Reader
	data []byte
}

func (wholeBody) Close() error { return nil }

// WholeBody returns the body that WithBody has read, without reading it; nil where it has not. It must not be changed.
func WholeBody(req *http.Request) []byte {
	body, ok := req.Body.(wholeBody)
	if !ok {
		return nil
	}
	return body.data
}

func (s Subresource) readBody(req *http.Request, rules BodyRules) ([]byte, error) {
	var body []byte
	tooLarge := req.ContentLength > rules.Limit
	if !tooLarge && req.Body != nil {
		// Room for what is told, as far as most reports go, and for the read that finds the end.
		read := bytes.NewBuffer(make([]byte, 0, min(max(req.ContentLength, 0), usualReport)+bytes.MinRead))
		if _, err := read.ReadFrom(io.LimitReader(req.Body, rules.Limit+1)); err != nil {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("cannot read the body: %v", err))
		}
		body = read.Bytes()
		tooLarge = int64(len(body)) > rules.Limit
	}
	if !tooLarge && mediaType(req) == runtime.ContentTypeYAML {
		// A few anchors may stand for much more. What is no YAML is for the decoder to say.
		converted, err := yaml.YAMLToJSON(body)
		tooLarge = err == nil && int64(len(converted)) > rules.Limit
	}
	if tooLarge {
		rules.Refused()
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d bytes for %s of %s", rules.Limit, s.Name, s.Resource))
	}
	return body, nil
}
