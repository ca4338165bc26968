package main

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/moov-io/iso8583"
	"github.com/moov-io/iso8583/encoding"
	"github.com/moov-io/iso8583/field"
	"github.com/moov-io/iso8583/prefix"
	isosort "github.com/moov-io/iso8583/sort"
)

// layout is how a profile's messages are, its fields by number.
type layout struct {
	Header int
	MTI    string
	Bitmap struct {
		Encoding  string
		Size      string
		Indicator *bool
	}
	Fields map[string]fieldLayout
}

type fieldLayout struct {
	Type     string
	Encoding string
	Length   *int
	Max      int
	Prefix   *struct {
		Digits   int
		Encoding string
		Counts   string
	}
	OddPad string
	Parts  *parts
}

type parts struct {
	Kind         string
	Encoding     string
	Bits         int
	TagLength    int
	LengthDigits int
	Header       int
	Fields       map[string]fieldLayout
}

var textEncodings = map[string]encoding.Encoder{
	"ascii":  encoding.ASCII,
	"ebcdic": encoding.EBCDIC1047,
}

var byteEncodings = map[string]encoding.Encoder{
	"binary":    encoding.Binary,
	"hex-ascii": encoding.BytesToASCIIHex,
}

var prefixes = map[string]prefix.Prefixers{
	"ascii":  prefix.ASCII,
	"ebcdic": prefix.EBCDIC1047,
	"bcd":    prefix.BCD,
	"binary": prefix.Binary,
}

// specOf translates a layout, and refuses one that the library cannot express.
func specOf(given layout, tags map[string][]string) (*iso8583.MessageSpec, error) {
	bitmap, ok := byteEncodings[given.Bitmap.Encoding]
	if !ok || given.Header != 0 || given.Bitmap.Size != "" || given.Bitmap.Indicator != nil {
		return nil, fmt.Errorf("the library has no such bitmap or header")
	}
	length := 4
	mti, err := fieldOf(fieldLayout{Type: "n", Encoding: given.MTI, Length: &length}, nil)
	if err != nil {
		return nil, err
	}
	// The standard's bitmap has 64 bits, and the library adds 64 where the first one says so.
	bits := &field.Spec{Length: 8, Description: "bitmap", Enc: bitmap, Pref: prefix.Binary.Fixed}
	fields := map[int]field.Field{0: mti, 1: field.NewBitmap(bits)}
	for name, each := range given.Fields {
		number, err := strconv.Atoi(name)
		if err != nil {
			return nil, err
		}
		fields[number], err = fieldOf(each, tags[name])
		if err != nil {
			return nil, fmt.Errorf("field %s: the library has no %w", name, err)
		}
	}
	return &iso8583.MessageSpec{Name: "profile", Fields: fields}, nil
}

// fieldOf translates one field. Of a field of tags the library has to know each tag that may come.
func fieldOf(given fieldLayout, tags []string) (field.Field, error) {
	length, lengthPrefix, err := lengthOf(given)
	if err != nil {
		return nil, err
	}
	spec := &field.Spec{Length: length, Description: given.Type, Pref: lengthPrefix}
	switch {
	case given.Parts != nil && len(tags) > 0:
		return compositeOf(given, spec, tags)
	case given.Type == "b":
		spec.Enc = byteEncodings[given.Encoding]
		if spec.Enc == nil {
			return nil, fmt.Errorf("bytes in %s", given.Encoding)
		}
		return field.NewHex(spec), nil
	case given.Encoding == "bcd":
		return packedOf(given, spec)
	}
	spec.Enc = textEncodings[given.Encoding]
	if spec.Enc == nil {
		return nil, fmt.Errorf("text in %s", given.Encoding)
	}
	return field.NewString(spec), nil
}

func lengthOf(given fieldLayout) (int, prefix.Prefixer, error) {
	if given.Length != nil {
		return *given.Length, prefix.ASCII.Fixed, nil
	}
	known, ok := prefixes[given.Prefix.Encoding]
	lengths := []prefix.Prefixer{known.L, known.LL, known.LLL, known.LLLL, known.LLLLL, known.LLLLLL}
	if !ok {
		return 0, nil, fmt.Errorf("a length in %s", given.Prefix.Encoding)
	}
	return given.Max, lengths[given.Prefix.Digits-1], nil
}

// packedOf translates packed digits. Where their bytes are counted, they are hexadecimal to the
// library.
func packedOf(given fieldLayout, spec *field.Spec) (field.Field, error) {
	if given.Type == "x+n" {
		return signedOf(spec), nil
	}
	if given.Prefix != nil && given.Prefix.Counts == "bytes" {
		spec.Enc = encoding.Binary
		spec.Length = given.Max / 2
		return field.NewHex(spec), nil
	}
	isLeft := given.OddPad == "left-0" || given.OddPad == ""
	if given.Type == "z" {
		return trackOf(spec, isLeft), nil
	}
	switch given.OddPad {
	case "", "left-0":
		spec.Enc = encoding.BCD
	case "right-0":
		spec.Enc = encoding.LBCD
	default:
		return nil, fmt.Errorf("digits filled with F")
	}
	return field.NewString(spec), nil
}

// signedOf packs a sign in text before digits, by the library's hook for encodings of one's own.
func signedOf(spec *field.Spec) field.Field {
	spec.Packer = field.PackerFunc(func(amount []byte, spec *field.Spec) ([]byte, error) {
		if len(amount) != spec.Length {
			return nil, fmt.Errorf("%d characters where there are %d", len(amount), spec.Length)
		}
		sign, err := encoding.ASCII.Encode(amount[:1])
		if err != nil {
			return nil, err
		}
		digits, err := encoding.BCD.Encode(amount[1:])
		return append(sign, digits...), err
	})
	spec.Unpacker = field.UnpackerFunc(func(data []byte, spec *field.Spec) ([]byte, int, error) {
		sign, read, err := encoding.ASCII.Decode(data, 1)
		if err != nil {
			return nil, 0, err
		}
		digits, packed, err := encoding.BCD.Decode(data[read:], spec.Length-1)
		return append(sign, digits...), read + packed, err
	})
	return field.NewString(spec)
}

// trackOf packs a track, whose separator is the nibble D, by the same hook. Digits are counted.
func trackOf(spec *field.Spec, isLeft bool) field.Field {
	spec.Enc = encoding.ASCIIHexToBytes
	spec.Packer = field.PackerFunc(func(track []byte, spec *field.Spec) ([]byte, error) {
		length, err := spec.Pref.EncodeLength(spec.Length, len(track))
		if err != nil {
			return nil, err
		}
		nibbles := string(track)
		if len(nibbles)%2 == 1 && isLeft {
			nibbles = "0" + nibbles
		} else if len(nibbles)%2 == 1 {
			nibbles += "0"
		}
		packed, err := spec.Enc.Encode([]byte(nibbles))
		return append(length, packed...), err
	})
	spec.Unpacker = field.UnpackerFunc(func(data []byte, spec *field.Spec) ([]byte, int, error) {
		length, read, err := spec.Pref.DecodeLength(spec.Length, data)
		if err != nil {
			return nil, 0, err
		}
		nibbles, packed, err := spec.Enc.Decode(data[read:], (length+1)/2)
		if err != nil {
			return nil, 0, err
		}
		if isLeft {
			return nibbles[len(nibbles)-length:], read + packed, nil
		}
		return nibbles[:length], read + packed, nil
	})
	return field.NewString(spec)
}

func compositeOf(given fieldLayout, spec *field.Spec, tags []string) (field.Field, error) {
	spec.Subfields = map[string]field.Field{}
	switch given.Parts.Kind {
	case "ber-tlv":
		spec.Tag = &field.TagSpec{Enc: encoding.BerTLVTag, Sort: isosort.StringsByHex}
		for _, tag := range tags {
			spec.Subfields[tag] = field.NewHex(&field.Spec{Enc: encoding.Binary, Pref: prefix.BerTLV})
		}
		return field.NewComposite(spec), nil
	case "tlv":
		return taggedOf(given, spec, tags)
	case "bitmap":
		bits := byteEncodings[given.Parts.Encoding]
		if given.Parts.Header != 0 || bits == nil {
			return nil, fmt.Errorf("bitmap of subfields in %s", given.Parts.Encoding)
		}
		spec.Bitmap = field.NewBitmap(&field.Spec{
			Length:            given.Parts.Bits / 8,
			Enc:               bits,
			Pref:              prefix.Binary.Fixed,
			DisableAutoExpand: true,
		})
		for number, each := range given.Parts.Fields {
			subfield, err := fieldOf(each, nil)
			if err != nil {
				return nil, err
			}
			spec.Subfields[number] = subfield
		}
		return field.NewComposite(spec), nil
	}
	return nil, fmt.Errorf("parts of kind %s", given.Parts.Kind)
}

// taggedOf translates tags in text. A header before them is a subfield, and they are another one.
func taggedOf(given fieldLayout, spec *field.Spec, tags []string) (field.Field, error) {
	text := textEncodings[given.Encoding]
	length := prefixes[given.Encoding]
	if text == nil || given.Parts.LengthDigits != 2 {
		return nil, fmt.Errorf("tags in %s", given.Encoding)
	}
	tagged := spec
	if given.Parts.Header > 0 {
		tagged = &field.Spec{Pref: prefix.None.Fixed, Subfields: map[string]field.Field{}}
	}
	tagged.Tag = &field.TagSpec{Length: given.Parts.TagLength, Enc: text, Sort: isosort.Strings}
	for _, tag := range tags {
		tagged.Subfields[tag] = field.NewString(&field.Spec{Length: 99, Enc: text, Pref: length.LL})
	}
	if given.Parts.Header > 0 {
		header := &field.Spec{Length: given.Parts.Header, Enc: text, Pref: length.Fixed}
		spec.Tag = &field.TagSpec{Sort: isosort.StringsByInt}
		spec.Subfields["0"] = field.NewString(header)
		spec.Subfields["1"] = field.NewComposite(tagged)
	}
	return field.NewComposite(spec), nil
}

// parted is the value of a field that has parts, as the document has it.
type parted struct {
	Header string                     `json:"header,omitempty"`
	Parts  map[string]json.RawMessage `json:"parts"`
}

// valuesForLibrary turns parts into the subfields that compositeOf makes.
func valuesForLibrary(fields map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	values := map[string]json.RawMessage{}
	for number, value := range fields {
		values[number] = value
		if value[0] != '{' {
			continue
		}
		var given parted
		if err := json.Unmarshal(value, &given); err != nil {
			return nil, err
		}
		var whole any = given.Parts
		if given.Header != "" {
			whole = map[string]any{"0": given.Header, "1": given.Parts}
		}
		written, err := json.Marshal(whole)
		if err != nil {
			return nil, err
		}
		values[number] = written
	}
	return values, nil
}

// valuesFromLibrary is its inverse: no tag of a profile is a single digit but 0 and 1 of a header.
func valuesFromLibrary(fields map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	values := map[string]json.RawMessage{}
	for number, value := range fields {
		values[number] = value
		if value[0] != '{' {
			continue
		}
		var subfields map[string]json.RawMessage
		if err := json.Unmarshal(value, &subfields); err != nil {
			return nil, err
		}
		whole := parted{Parts: subfields}
		if header, ok := subfields["0"]; ok {
			whole = parted{}
			if err := json.Unmarshal(header, &whole.Header); err != nil {
				return nil, err
			}
			if err := json.Unmarshal(subfields["1"], &whole.Parts); err != nil {
				return nil, err
			}
		}
		written, err := json.Marshal(whole)
		if err != nil {
			return nil, err
		}
		values[number] = written
	}
	return values, nil
}
