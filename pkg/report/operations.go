package report

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/binnacle-dev/binnacle/pkg/report/pages"
)

// writes are the operations of one publication, with what they cost.
type writes struct {
	operations []clientv3.Op
	bytes      map[string]int
}

// operations encodes a publication.
func (p *Publisher) operations(ctx context.Context, publication *pages.Publication) (*writes, error) {
	w := &writes{bytes: map[string]int{}}
	put := func(kind, key string, page pages.Message) error {
		key = p.Prefix + key
		value, err := Seal(ctx, p.Transformer, key, page)
		if err != nil {
			return err
		}
		w.operations = append(w.operations, clientv3.OpPut(key, string(value)))
		w.bytes[kind] += len(key) + len(value)
		return nil
	}
	if err := put(pageHead, pages.HeadKey, &publication.Head); err != nil {
		return nil, err
	}
	if publication.Facts != nil {
		if err := put(pageFacts, pages.FactsKey(publication.Head.Sequence), publication.Facts); err != nil {
			return nil, err
		}
	}
	for number, page := range publication.Seen {
		if err := put(pageSeen, pages.SeenKey(number), page); err != nil {
			return nil, err
		}
	}
	for _, sequence := range publication.Drop {
		w.operations = append(w.operations, clientv3.OpDelete(p.Prefix+pages.FactsKey(sequence)))
	}
	return w, nil
}

// count adds a publication that etcd took to the metrics.
func (w *writes) count(publication *pages.Publication) {
	for kind, bytes := range w.bytes {
		pagesWritten.WithLabelValues(kind).Inc()
		pageBytes.WithLabelValues(kind).Add(float64(bytes))
	}
	pagesWritten.WithLabelValues(pageSeen).Add(float64(max(0, len(publication.Seen)-1)))
	silenced.Add(float64(publication.Silenced))
	returned.Add(float64(publication.Returned))
}
