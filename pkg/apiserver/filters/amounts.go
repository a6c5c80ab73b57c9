package filters

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

const (
	// maxAmount and maxExponent are how long the text of an amount may be, and how many digits its exponent may have. The library
	// computes with exact decimals: to decode 1e-999999999, or to compare 1E999999999 with 1, takes it longer than anybody waits, and
	// nothing ends it.
	maxAmount   = 64
	maxExponent = 2
)

// wrongAmount says what is wrong with the text of a quantity, before the library reads it.
func wrongAmount(text string) bool {
	if len(text) > maxAmount {
		return true
	}
	i := strings.IndexAny(text, "eE")
	if i < 0 {
		return false
	}
	exponent := strings.TrimLeft(text[i+1:], "+-")
	return len(exponent) > maxExponent && exponent[0] >= '0' && exponent[0] <= '9'
}

// CheckAmounts looks at the amounts in spec.resources of a body, whatever it is encoded in, before it is decoded. What it cannot read is
// nil, since the decoder will not read it either; but for protobuf, which a decoder reads until it meets what is wrong.
func CheckAmounts(mediaType string, body []byte, kind schema.GroupKind, name string) error {
	var found *field.Error
	switch mediaType {
	case runtime.ContentTypeProtobuf:
		var err error
		if found, err = amountsInProtobuf(body); err != nil {
			return apierrors.NewBadRequest(fmt.Sprintf("the body is no protobuf of Kubernetes: %v", err))
		}
	case runtime.ContentTypeYAML:
		converted, err := yaml.YAMLToJSON(body)
		if err != nil {
			return nil
		}
		found = amountsInJSON(converted)
	default:
		found = amountsInJSON(body)
	}
	if found == nil {
		return nil
	}
	return apierrors.NewInvalid(kind, name, field.ErrorList{found})
}

func amountError(path *field.Path, text string) *field.Error {
	return field.Invalid(path, text[:min(len(text), maxAmount)],
		fmt.Sprintf("must be at most %d characters, with an exponent of at most %d digits", maxAmount, maxExponent))
}

// amountsInJSON walks over the tokens, so that of two values of one name both are seen, as the decoder sees them.
func amountsInJSON(body []byte) *field.Error {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	// path has the name of each object's field on the way, "" for a list; key says that the next text in an object is a name.
	var path []string
	var object []bool
	key := false
	for {
		token, err := decoder.Token()
		if err != nil {
			return nil // The end, or what the decoder will not read either.
		}
		text := ""
		switch t := token.(type) {
		case json.Delim:
			switch t {
			case '{', '[':
				path, object = append(path, ""), append(object, t == '{')
			default:
				path, object = path[:len(path)-1], object[:len(object)-1]
			}
			key = len(object) > 0 && object[len(object)-1]
			continue
		case string:
			if key {
				path[len(path)-1], key = t, false
				continue
			}
			text = t
		case json.Number:
			text = t.String()
		}
		if len(path) == 4 && path[0] == "spec" && path[1] == "resources" && wrongAmount(text) {
			return amountError(field.NewPath("spec", "resources", path[2]).Key(path[3]), text)
		}
		key = len(object) > 0 && object[len(object)-1]
	}
}

// Numbers of the fields in the messages: runtime.Unknown, ClusterReport, ClusterReportSpec, ClusterResources, the entry of a map, Quantity.
const (
	unknownRaw      = 2
	reportSpec      = 2
	specResources   = 6
	entryKey        = 1
	entryValue      = 2
	quantityText    = 1
	protobufMagic   = "k8s\x00"
	capacityField   = 1
	allocatableList = 2
	availableList   = 3
)

var errProtobuf = errors.New("a field is broken off")

// amountsInProtobuf walks over the messages that lead to an amount, each as often as it comes.
func amountsInProtobuf(body []byte) (*field.Error, error) {
	rest, ok := bytes.CutPrefix(body, []byte(protobufMagic))
	if !ok {
		return nil, nil // The decoder does not read it either.
	}
	lists := map[protowire.Number]string{capacityField: "capacity", allocatableList: "allocatable", availableList: "available"}
	var found *field.Error
	err := each(rest, unknownRaw, func(report []byte) error {
		return each(report, reportSpec, func(spec []byte) error {
			return each(spec, specResources, func(resources []byte) error {
				for number, list := range lists {
					if err := each(resources, number, func(entry []byte) error {
						name := ""
						if err := each(entry, entryKey, func(key []byte) error { name = string(key); return nil }); err != nil {
							return err
						}
						return each(entry, entryValue, func(quantity []byte) error {
							return each(quantity, quantityText, func(text []byte) error {
								if wrongAmount(string(text)) {
									found = amountError(field.NewPath("spec", "resources", list).Key(name), string(text))
								}
								return nil
							})
						})
					}); err != nil {
						return err
					}
				}
				return nil
			})
		})
	})
	return found, err
}

// each calls f with each field of a number that holds bytes.
func each(message []byte, number protowire.Number, f func([]byte) error) error {
	for len(message) > 0 {
		n, kind, length := protowire.ConsumeTag(message)
		if length < 0 {
			return errProtobuf
		}
		message = message[length:]
		if n == number && kind == protowire.BytesType {
			value, length := protowire.ConsumeBytes(message)
			if length < 0 {
				return errProtobuf
			}
			if err := f(value); err != nil {
				return err
			}
			message = message[length:]
			continue
		}
		if length = protowire.ConsumeFieldValue(n, kind, message); length < 0 {
			return errProtobuf
		}
		message = message[length:]
	}
	return nil
}
