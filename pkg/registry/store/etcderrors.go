package store

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
)

// MaxObjectBytes is how large an object may be as it is stored, in bytes: what etcd takes in one request by default.
const MaxObjectBytes = 1536 * 1024

// tooLarge are the texts by which etcd and its client refuse a request for its size. Neither exports an error that survives the way
// through the storage layer.
var tooLarge = []string{"etcdserver: request is too large", "trying to send message larger than max"}

// full are the texts by which etcd refuses to write because its database has reached its quota.
var full = []string{"etcdserver: mvcc: database space exceeded"}

// explain turns etcd's refusal of an object's size into 413 with both sizes, says what to do when etcd is full, and leaves every other
// error alone.
func (s *Store) explain(err error, obj runtime.Object) error {
	switch {
	case err == nil || isAnswer(err):
		return err
	case containsAny(err.Error(), full):
		return apierrors.NewInternalError(errors.New(
			"etcd is full and takes no writes; it can be read, and objects without finalizers can be deleted: compact and defragment it, or raise its quota, and disarm its alarm"))
	case !containsAny(err.Error(), tooLarge):
		return err
	}
	size := "too large"
	if sized, ok := s.stored(obj); ok {
		size = fmt.Sprintf("%d bytes", sized)
	}
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(
		"the %s is %s as stored, and the limit is %d bytes: make it smaller", s.Kind, size, MaxObjectBytes))
}

// isAnswer says whether an error is the API's own already, which may quote etcd's words out of an object or a policy.
func isAnswer(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && !apierrors.IsInternalError(err)
}

// stored returns how many bytes an object takes in the version and encoding in which it is stored.
func (s *Store) stored(obj runtime.Object) (int, bool) {
	if obj == nil {
		return 0, false
	}
	data, err := runtime.Encode(s.Storage.Codec, obj)
	return len(data), err == nil
}

func containsAny(text string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}
