package viewlog

import (
	"bytes"
	"io"
	"maps"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// maxEncodings is how many encodings of one event are kept. Clients ask for few: a media type or two, as objects, metadata or tables.
const maxEncodings = 8

// budget counts the bytes that encodings take.
type budget struct {
	used  atomic.Int64
	limit int64
}

func (b *budget) exhausted() bool {
	return b.used.Load() >= b.limit
}

// cacheable is a shared object on its way to watchers. An encoder sets the kind on the object that it is given, so it is never given the
// shared one; and what one watcher's encoder wrote is written to all others that ask for the same encoding.
type cacheable struct {
	object *binnacle.ClusterStatus
	// budget is what kept encodings are charged to. Without one none are kept.
	budget *budget

	mu        sync.Mutex
	encodings map[runtime.Identifier]*encoding
	charged   int64
	released  bool
}

type encoding struct {
	once sync.Once
	data []byte
	err  error
}

var (
	_ runtime.CacheableObject   = &cacheable{}
	_ metav1.ObjectMetaAccessor = &cacheable{}
)

// CacheEncode implements runtime.CacheableObject: the first who asks for an encoding makes it, the others wait for it.
func (c *cacheable) CacheEncode(id runtime.Identifier, encode func(runtime.Object, io.Writer) error, w io.Writer) error {
	kept := c.encoding(id)
	if kept == nil {
		return encode(c.shallow(), w)
	}
	kept.once.Do(func() {
		var b bytes.Buffer
		kept.err = encode(c.shallow(), &b)
		kept.data = b.Bytes()
		c.charge(int64(b.Cap()))
	})
	if kept.err != nil {
		return kept.err
	}
	if s, ok := w.(runtime.Splice); ok {
		s.Splice(kept.data)
		return nil
	}
	_, err := w.Write(kept.data)
	return err
}

// encoding returns where an encoding is kept, nil if it should not be.
func (c *cacheable) encoding(id runtime.Identifier) *encoding {
	if c.budget == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.encodings[id]; ok {
		return e
	}
	if c.released || len(c.encodings) >= maxEncodings || c.budget.exhausted() {
		return nil
	}
	if c.encodings == nil {
		c.encodings = map[runtime.Identifier]*encoding{}
	}
	e := &encoding{}
	c.encodings[id] = e
	return e
}

func (c *cacheable) charge(n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.released {
		c.charged += n
		c.budget.used.Add(n)
	}
}

// release forgets the encodings for good. Who still comes for the object encodes it without keeping anything.
func (c *cacheable) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.released, c.encodings = true, nil
	if c.charged > 0 {
		c.budget.used.Add(-c.charged)
		c.charged = 0
	}
}

// shallow returns a copy on which the kind can be set. All else of it is shared and only read.
func (c *cacheable) shallow() *binnacle.ClusterStatus {
	object := *c.object
	return &object
}

// GetObject implements runtime.CacheableObject: a copy that the caller owns.
func (c *cacheable) GetObject() runtime.Object {
	return c.object.DeepCopy()
}

// GetObjectKind implements runtime.Object. What is set on it has no effect.
func (c *cacheable) GetObjectKind() schema.ObjectKind {
	kind := c.object.TypeMeta
	return &kind
}

// DeepCopyObject implements runtime.Object. The copy keeps no encodings.
func (c *cacheable) DeepCopyObject() runtime.Object {
	return &cacheable{object: c.object.DeepCopy()}
}

// GetObjectMeta implements metav1.ObjectMetaAccessor, for who wants to know which object it is. What is set on it has no effect.
func (c *cacheable) GetObjectMeta() metav1.Object {
	object := c.object.ObjectMeta
	object.Labels, object.Annotations = maps.Clone(object.Labels), maps.Clone(object.Annotations)
	return &object
}
