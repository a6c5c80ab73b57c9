package pages

import (
	"fmt"
	"strconv"
	"strings"

	pagesv1 "github.com/binnacle-dev/binnacle/pkg/apis/pages/v1"
)

// Format is the version of the format that this package writes, and the only one that it reads.
const Format = 1

const magic = 'B'

// SlotsPerPage is how many clusters one SeenPage holds.
const SlotsPerPage = 16384

// maxSlots bounds how many clusters there are: it is far beyond what one etcd takes, and keeps a damaged page from taking all memory.
const maxSlots = 1 << 20

// Keys of the pages below their prefix.
const (
	HeadKey     = "head"
	factsPrefix = "facts/"
	seenPrefix  = "seen/"
)

// FactsKey is the key of the FactsPage that a publication wrote.
func FactsKey(sequence int64) string { return fmt.Sprintf("%s%016x", factsPrefix, sequence) }

// SeenKey is the key of a SeenPage.
func SeenKey(number int) string { return fmt.Sprintf("%s%08x", seenPrefix, number) }

// parseKey returns the prefix of a key and the number behind it. The head has none.
func parseKey(key string) (prefix string, number int64, err error) {
	if key == HeadKey {
		return HeadKey, 0, nil
	}
	for _, prefix := range []string{factsPrefix, seenPrefix} {
		if digits, ok := strings.CutPrefix(key, prefix); ok {
			number, err := strconv.ParseInt(digits, 16, 64)
			return prefix, number, err
		}
	}
	return "", 0, fmt.Errorf("no page of format %d has the key %q", Format, key)
}

// Message is a page.
type Message interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// Encode returns the value of a page.
func Encode(page Message) ([]byte, error) {
	data, err := page.Marshal()
	if err != nil {
		return nil, err
	}
	return append([]byte{magic, Format}, data...), nil
}

func decode(data []byte, page Message) error {
	if len(data) < 2 || data[0] != magic {
		return fmt.Errorf("this is no page: it does not begin with %q", magic)
	}
	if data[1] != Format {
		return &UnknownFormatError{Format: int(data[1])}
	}
	return page.Unmarshal(data[2:])
}

// UnknownFormatError is a page of a format that this version cannot read.
type UnknownFormatError struct {
	// Format is the version of the format.
	Format int
}

// Error implements error.
func (e *UnknownFormatError) Error() string {
	return fmt.Sprintf("the pages are of format %d, and this version reads format %d only", e.Format, Format)
}

// DecodeHead reads a Head.
func DecodeHead(data []byte) (pagesv1.Head, error) {
	var head pagesv1.Head
	err := decode(data, &head)
	return head, err
}
