"""Walks a link with pyiso8583: code that is not ours packs every request and unpacks every answer.

Standard input is one JSON document (see programs.ts): an address, a profile's layout and framing,
and messages. Standard output has one line of JSON for each answer.
"""

import json
import socket
import struct
import sys

import iso8583
from iso8583.specs import default_ascii

ANSWER_TIMEOUT_SECONDS = 30

# Python has no code page 1047. The walk sends characters that are the same in page 500.
TEXT = {"ascii": "ascii", "ebcdic": "cp500"}
BYTES = {"binary": "b", "hex-ascii": "ascii", "hex-ebcdic": "cp500"}
LENGTHS = {"ascii": "ascii", "ebcdic": "cp500", "bcd": "bcd", "binary": "b"}
PADS = {
    "left-0": {"left_pad": "0"},
    "right-0": {"right_pad": "0"},
    "right-f": {"right_pad": "F"},
}
HEADER_BYTES = {"tpdu": 5, "base-1": 22}


class NotExpressible(Exception):
    """The library has no such field."""


def fixed(encoding, length, **others):
    return {
        "data_enc": encoding,
        "len_enc": "ascii",
        "len_type": 0,
        "max_len": length,
        "desc": "",
        **others,
    }


def spec_of(layout, framing):
    """Translates a layout, and refuses one that the library cannot express."""
    bitmap = layout["bitmap"]
    if "header" in layout or "size" in bitmap or "indicator" in bitmap:
        raise NotExpressible("The library has no such bitmap or header.")
    bits = BYTES[bitmap["encoding"]]
    header = framing.get("header")
    spec = {
        # What stands between the length and the message is the library's header.
        "h": fixed("b", HEADER_BYTES[header["kind"]] if header else 0),
        "t": fixed("b", 2) if layout["mti"] == "bcd" else fixed(TEXT[layout["mti"]], 4),
        "p": fixed(bits, 8 if bits == "b" else 16),
        "1": fixed(bits, 8 if bits == "b" else 16),
    }
    for number, field in layout["fields"].items():
        spec[number] = field_of(field)
    return spec


def field_of(field):
    """Translates one field. The library has no parts, and takes the whole value."""
    encoding, prefix, kind = field["encoding"], field.get("prefix"), field["type"]
    units = field["length"] if prefix is None else field["max"]
    counted_in_bytes = prefix is not None and prefix.get("counts") == "bytes"
    others = {}
    if kind == "b":
        data = BYTES[encoding]
        units = units if data == "b" else 2 * units
        if prefix is not None and data != "b":
            raise NotExpressible("The library counts digits of hexadecimal, and not bytes.")
    elif encoding == "bcd" and kind == "x+n":
        # A sign in text before digits: the library has their bytes, and value_of makes them.
        data, units = "b", 1 + units // 2
    elif encoding == "bcd" and counted_in_bytes:
        data, units = "b", units // 2
    elif encoding == "bcd":
        data = "b"
        others = {"len_count": "nibbles", **PADS.get(field.get("oddPad"), {})}
    elif encoding in TEXT:
        data = TEXT[encoding]
    else:
        raise NotExpressible(encoding)
    if prefix is None:
        return fixed(data, units, **others)
    digits = prefix["digits"]
    packed = prefix["encoding"] == "bcd"
    others["len_enc"] = LENGTHS[prefix["encoding"]]
    others["len_type"] = (digits + 1) // 2 if packed else digits
    return {**fixed(data, units), **others}


def value_of(field, value):
    """The whole value of a field, made of its parts where the document has parts."""
    if field["type"] == "x+n" and field["encoding"] == "bcd":
        return value[0].encode("ascii").hex() + value[1:]
    if isinstance(value, str):
        return value
    layout, parts = field["parts"], value["parts"]
    if layout["kind"] == "tlv":
        digits = layout["lengthDigits"]
        tags = (f"{tag}{len(part):0{digits}d}{part}" for tag, part in parts.items())
        return value.get("header", "") + "".join(tags)
    if layout["kind"] == "ber-tlv":
        return "".join(f"{tag}{len(part) // 2:02X}{part}" for tag, part in parts.items())
    numbers = sorted(int(number) for number in parts)
    bits = sum(1 << (layout["bits"] - number) for number in numbers)
    whole = bits.to_bytes(layout["bits"] // 8, "big")
    for number in numbers:
        subfield, part = layout["fields"][str(number)], parts[str(number)]
        if subfield["encoding"] == "bcd":
            part = part.zfill(len(part) + len(part) % 2)
        is_bytes = subfield["type"] == "b" or subfield["encoding"] == "bcd"
        whole += bytes.fromhex(part) if is_bytes else part.encode(TEXT[subfield["encoding"]])
    return whole.hex().upper()


def parts_of(field, value):
    """Takes a value apart as value_of makes it. Answers have tags in text and no other parts."""
    layout = field.get("parts")
    if layout is None or layout["kind"] != "tlv":
        return value
    header, parts, at = value[: layout.get("header", 0)], {}, layout.get("header", 0)
    while at < len(value):
        tag = value[at : at + layout["tagLength"]]
        at += layout["tagLength"] + layout["lengthDigits"]
        length = int(value[at - layout["lengthDigits"] : at])
        parts[tag] = value[at : at + length]
        at += length
    return {"header": header, "parts": parts} if header else {"parts": parts}


def request_header(framing, length):
    """The addresses 1111 and 2222, so that an answer shows whether they were turned round."""
    header = framing.get("header")
    if header is None:
        return ""
    if header["kind"] == "tpdu":
        return "6011112222"
    return f"160102{22 + length:04X}111111222222{'00' * 11}"


def length_of(framing, length):
    if framing.get("inclusive"):
        raise NotExpressible("A length that counts itself.")
    forms = {
        "binary-2": lambda: struct.pack(">H", length),
        "binary-4": lambda: struct.pack(">I", length),
        "binary-2-session": lambda: struct.pack(">HH", length, 0),
        "bcd-2": lambda: bytes.fromhex(f"{length:04d}"),
        "ascii-4": lambda: f"{length:04d}".encode("ascii"),
    }
    return forms[framing["length"]]()


def counted(framing, length):
    if framing["length"] == "ascii-4":
        return int(length.decode("ascii"))
    if framing["length"] == "bcd-2":
        return int(length.hex())
    return struct.unpack_from(">I" if framing["length"] == "binary-4" else ">H", length)[0]


def receive(connection, count):
    received = b""
    while len(received) < count:
        more = connection.recv(count - len(received))
        if not more:
            raise ConnectionError("The link was closed.")
        received += more
    return received


def pack(document, spec, step):
    fields = document["layout"]["fields"]
    message = {number: value_of(fields[number], value) for number, value in step["fields"].items()}
    message["t"] = step["mti"]
    framing = document["framing"]
    if spec["h"]["max_len"] > 0:
        # The header has the length, which is known once the message is packed.
        message["h"] = request_header(framing, 0)
        packed, _ = iso8583.encode(message, spec)
        length = len(packed) - spec["h"]["max_len"] - step["cut"]
        message["h"] = request_header(framing, length)
    packed, _ = iso8583.encode(message, spec)
    packed = packed[: len(packed) - step["cut"]]
    return length_of(framing, len(packed)) + packed


def unpack(document, spec, packed):
    """Reads an answer, and refuses one that the library would write otherwise."""
    decoded, _ = iso8583.decode(packed, spec)
    again, _ = iso8583.encode(dict(decoded), spec)
    if again != packed:
        raise ValueError(f"The library writes {again.hex()} where the answer is {packed.hex()}.")
    fields = document["layout"]["fields"]
    return {
        "header": decoded.get("h", "").lower(),
        "mti": decoded["t"],
        "fields": {
            number: parts_of(fields[number], value)
            for number, value in decoded.items()
            if number not in ("h", "t", "p", "1")
        },
        "bytes": packed[spec["h"]["max_len"] :].hex(),
    }


def main():
    document = json.load(sys.stdin)
    if document["table"] == "library":
        spec = default_ascii
    else:
        spec = spec_of(document["layout"], document["framing"])
    host, port = document["address"].rsplit(":", 1)
    with socket.create_connection((host, int(port)), ANSWER_TIMEOUT_SECONDS) as connection:
        for step in document["steps"]:
            connection.sendall(pack(document, spec, step))
            framing = document["framing"]
            prefix = receive(connection, len(length_of(framing, 0)))
            answer = unpack(document, spec, receive(connection, counted(framing, prefix)))
            print(json.dumps({"name": step["name"], **answer}))


main()
