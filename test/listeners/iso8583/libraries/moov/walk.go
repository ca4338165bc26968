// Walks a link with github.com/moov-io/iso8583: code that is not ours packs every request and
// unpacks every answer. Standard input is one JSON document (see programs.ts): an address, a
// profile's layout and framing, and messages. Standard output has one line of JSON for each answer.
package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"sort"
	"time"

	"github.com/moov-io/iso8583"
	"github.com/moov-io/iso8583/network"
)

const answerTimeout = 30 * time.Second

const chipField = 55

type document struct {
	Address string
	Layout  layout
	Framing framing
	Tags    map[string][]string
	Steps   []step
}

type step struct {
	Name   string
	MTI    string
	Fields map[string]json.RawMessage
	// Bytes that are taken off the end of the packed message.
	Cut int
}

type framing struct {
	Length    string
	Inclusive bool
	Header    *struct{ Kind, Text string }
}

type answer struct {
	Name   string                     `json:"name"`
	Header string                     `json:"header"`
	MTI    string                     `json:"mti"`
	Fields map[string]json.RawMessage `json:"fields"`
	Bytes  string                     `json:"bytes"`
}

func main() {
	log.SetFlags(0)
	var walk document
	exitOn(json.NewDecoder(os.Stdin).Decode(&walk), "reading the document")
	spec, err := specOf(walk.Layout, walk.Tags)
	exitOn(err, "translating the profile")
	lines := json.NewEncoder(os.Stdout)

	connection, err := net.DialTimeout("tcp", walk.Address, answerTimeout)
	exitOn(err, "connecting")
	defer connection.Close()
	for _, each := range walk.Steps {
		exitOn(connection.SetDeadline(time.Now().Add(answerTimeout)), each.Name)
		answered, err := ask(connection, walk.Framing, spec, each)
		exitOn(err, each.Name)
		exitOn(lines.Encode(answered), "printing")
	}
}

func exitOn(err error, doing string) {
	if err != nil {
		log.Fatalf("%s: %v", doing, err)
	}
}

// ask sends one message and returns the answer to it.
func ask(
	connection net.Conn,
	framing framing,
	spec *iso8583.MessageSpec,
	asked step,
) (*answer, error) {
	packed, err := pack(spec, asked)
	if err != nil {
		return nil, err
	}
	packed = packed[:len(packed)-asked.Cut]
	if err := writeFrame(connection, framing, packed); err != nil {
		return nil, err
	}
	header, message, err := readFrame(connection, framing)
	if err != nil {
		return nil, err
	}
	answered, err := unpack(spec, message)
	if err != nil {
		return nil, err
	}
	answered.Name = asked.Name
	answered.Header = hex.EncodeToString(header)
	return answered, nil
}

func pack(spec *iso8583.MessageSpec, asked step) ([]byte, error) {
	fields, err := valuesForLibrary(asked.Fields)
	if err != nil {
		return nil, err
	}
	fields["0"], err = json.Marshal(asked.MTI)
	if err != nil {
		return nil, err
	}
	whole, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	message := iso8583.NewMessage(spec)
	if err := message.UnmarshalJSON(whole); err != nil {
		return nil, err
	}
	return message.Pack()
}

func sorted(packed []byte) []byte {
	ordered := append([]byte{}, packed...)
	sort.Slice(ordered, func(one, other int) bool { return ordered[one] < ordered[other] })
	return ordered
}

// unpack reads an answer, and refuses one that the library would write otherwise.
func unpack(spec *iso8583.MessageSpec, packed []byte) (*answer, error) {
	message := iso8583.NewMessage(spec)
	if err := message.Unpack(packed); err != nil {
		return nil, fmt.Errorf("unpacking %x: %w", packed, err)
	}
	again, err := message.Pack()
	if err != nil {
		return nil, err
	}
	// The library writes the tags of chip data in the order of their names.
	expected, written := packed, again
	if message.Bitmap().IsSet(chipField) {
		expected, written = sorted(packed), sorted(again)
	}
	if !bytes.Equal(written, expected) {
		return nil, fmt.Errorf("the library writes %x where the answer is %x", again, packed)
	}
	whole, err := message.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(whole, &fields); err != nil {
		return nil, err
	}
	delete(fields, "0")
	delete(fields, "1")
	mti, err := message.GetMTI()
	if err != nil {
		return nil, err
	}
	fields, err = valuesFromLibrary(fields)
	return &answer{MTI: mti, Fields: fields, Bytes: hex.EncodeToString(packed)}, err
}

// lengthHeader is what stands before every message, as the library has it.
type lengthHeader interface {
	Length() int
	WriteTo(io.Writer) (int, error)
	ReadFrom(io.Reader) (int, error)
}

func newLengthHeader(framing framing, length int) (lengthHeader, error) {
	if framing.Inclusive {
		return nil, fmt.Errorf("the library has no length that counts itself")
	}
	switch framing.Length {
	case "binary-2":
		header := network.NewBinary2BytesHeader()
		return header, header.SetLength(length)
	case "binary-2-session":
		header := network.NewVMLHeader()
		return header, header.SetLength(length)
	case "bcd-2":
		header := network.NewBCD2BytesHeader()
		header.SetLength(length)
		return header, nil
	case "ascii-4":
		header := network.NewASCII4BytesHeader()
		header.SetLength(length)
		return header, nil
	}
	return nil, fmt.Errorf("the library has no length %s", framing.Length)
}

func writeFrame(connection net.Conn, framing framing, message []byte) error {
	header := requestHeader(framing, len(message))
	length, err := newLengthHeader(framing, len(header)+len(message))
	if err != nil {
		return err
	}
	var frame bytes.Buffer
	if _, err := length.WriteTo(&frame); err != nil {
		return err
	}
	frame.Write(header)
	frame.Write(message)
	_, err = connection.Write(frame.Bytes())
	return err
}

func readFrame(connection net.Conn, framing framing) ([]byte, []byte, error) {
	length, err := newLengthHeader(framing, 0)
	if err != nil {
		return nil, nil, err
	}
	if _, err := length.ReadFrom(connection); err != nil {
		return nil, nil, err
	}
	body := make([]byte, length.Length())
	if _, err := io.ReadFull(connection, body); err != nil {
		return nil, nil, err
	}
	size := len(requestHeader(framing, 0))
	if len(body) < size {
		return nil, nil, fmt.Errorf("the frame ends in its header")
	}
	return body[:size], body[size:], nil
}

// requestHeader has the addresses 1111 and 2222: an answer shows whether they were turned round.
func requestHeader(framing framing, length int) []byte {
	if framing.Header == nil {
		return nil
	}
	switch framing.Header.Kind {
	case "tpdu":
		return []byte{0x60, 0x11, 0x11, 0x22, 0x22}
	case "base-1":
		header := make([]byte, 22)
		whole := len(header) + length
		copy(header, []byte{22, 1, 2, byte(whole >> 8), byte(whole)})
		copy(header[5:], []byte{0x11, 0x11, 0x11, 0x22, 0x22, 0x22})
		return header
	}
	return []byte(framing.Header.Text)
}
