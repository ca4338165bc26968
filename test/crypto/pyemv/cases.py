"""
Draws cases of chips and answers them by pyemv, for test/crypto/chip-cases.test.ts:

    PYTHONPATH=/path/to/pyemv python3 test/crypto/pyemv/cases.py 100 > test/vectors/chips/cases.json

The number is that of the cases of each profile. The same number draws the same cases, unless a seed
follows. pyemv says itself which method belongs to which cryptogram version, except for the EMV Common
Payment Application, which is put together here (EMV Book 2; pyemv's test_ccd_pin_change).
"""

import json
import random
import sys

from pyemv import ac, cvn, cvv, kd, sm

ISSUER_KEYS = {
    "chip-ac": "0123456789abcdeffedcba9876543210",
    "chip-smc": "89abcdef0123456776543210fedcba98",
    "chip-smi": "fedcba98765432100123456789abcdef",
    "chip-dynamic": "23456789abcdef01efcdab8967452301",
}
COMMON_TAGS = {
    "9F02": 6, "9F03": 6, "9F1A": 2, "95": 5, "5F2A": 2, "9A": 3, "9C": 1, "9F37": 4, "82": 2,
    "9F36": 2,
}
BLOCK_HEADER = "841E0000"
PIN_HEADER = "84240002"
MAC_LENGTH = 8


class CommonPaymentApplication(cvn.VisaCVN22):
    """As CVN 22, but the data of commands are padded and enciphered as EMV has it."""

    def encrypt_command_data(self, command_data, tag_9f26):
        key = self._derive_sk_sm_common(self.icc_mk_smc, tag_9f26)
        return sm.encrypt_command_data(key, command_data, sm.EncryptionType.EMV)


# Profile: the class, the bytes of 9F10 and its fixed start, the parts of it that enter.
PROFILES = {
    "visa-cvn10": (cvn.VisaCVN10, 7, {0: 0x06, 2: 0x0A}, {"cvr": (3, 7)}),
    "visa-cvn18": (cvn.VisaCVN18, 7, {0: 0x06, 2: 0x12}, {"tag_9f10": (0, 7)}),
    "visa-cvn22": (cvn.VisaCVN22, 32, {0: 0x1F, 1: 0x22}, {"tag_9f10": (0, 32)}),
    "mastercard-16": (cvn.MasterCardCVN16, 18, {1: 0x10}, {"cvr": (2, 8)}),
    "mastercard-20": (cvn.MasterCardCVN20, 18, {1: 0x14}, {"cvr": (2, 8)}),
    "mastercard-17": (
        cvn.MasterCardCVN17, 18, {1: 0x11}, {"cvr": (2, 8), "counters": (10, 18)}
    ),
    "mastercard-21": (
        cvn.MasterCardCVN21, 26, {1: 0x15}, {"cvr": (2, 8), "counters": (10, 26)}
    ),
    "cpa": (CommonPaymentApplication, 32, {0: 0x0F, 1: 0xA5, 16: 0x0F}, {"tag_9f10": (0, 32)}),
}


def digits(drawn, length):
    return "".join(str(drawn.randrange(10)) for _ in range(length))


def draw_pan(drawn):
    """Of the test range 400000, with its check digit (ISO/IEC 7812-1, annex B)."""
    head = "400000" + digits(drawn, drawn.randrange(6, 13))
    doubled = sum(int(digit) * 2 // 10 + int(digit) * 2 % 10 for digit in head[::-1][::2])
    return head + str(-(doubled + sum(int(digit) for digit in head[::-1][1::2])) % 10)


def draw(name, drawn):
    """One case with all inputs, and what a chip and its issuer make of them."""
    chip_class, length, fixed, parts = PROFILES[name]
    pan = draw_pan(drawn)
    sequence = digits(drawn, 2)
    tags = {tag: drawn.randbytes(size) for tag, size in COMMON_TAGS.items()}
    application = bytearray(drawn.randbytes(length))
    for at, byte in fixed.items():
        application[at] = byte
    keys = {key: bytes.fromhex(value) for key, value in ISSUER_KEYS.items()}
    chip = chip_class(keys["chip-ac"], keys["chip-smi"], keys["chip-smc"], pan, sequence)
    given = {f"tag_{tag.lower()}": value for tag, value in tags.items()}
    given.update({part: bytes(application[a:b]) for part, (a, b) in parts.items()})
    arqc = chip.generate_ac(**given)
    atc = tags["9F36"]
    pin = digits(drawn, drawn.randrange(4, 13))
    answer, arpc = respond(chip, arqc, atc, drawn)
    track = drawn.randbytes(19)
    dynamic_key = (kd.derive_icc_mk_a if name in A_CARDS else kd.derive_icc_mk_b)(
        keys["chip-dynamic"], pan, sequence
    )
    return {
        "pan": pan,
        "panSequenceNumber": sequence,
        "tags": {**hexadecimal(tags), "9F10": application.hex()},
        "arqc": arqc.hex(),
        "answer": answer.hex(),
        "arpc": arpc.hex(),
        "blockApplication": protect(chip, BLOCK_HEADER, b"", arqc, atc),
        "pin": pin,
        "changePin": protect(chip, PIN_HEADER, encipher_pin(chip, pin, arqc, atc), arqc, atc),
        "track": track.hex(),
        # It leaves out the leading zeros that a track has.
        "cvc3": cvv.generate_cvc3(dynamic_key, track, atc, tags["9F37"]).zfill(5),
    }


A_CARDS = {"visa-cvn10", "mastercard-16", "mastercard-17", "mastercard-20", "mastercard-21"}


def hexadecimal(values):
    return {name: value.hex() for name, value in values.items()}


def respond(chip, arqc, atc, drawn):
    """Method 1 has an answer of two bytes, method 2 one of four."""
    if isinstance(chip, (cvn.VisaCVN18, cvn.VisaCVN22)):
        answer = drawn.randbytes(4)
        return answer, chip.generate_arpc(arqc, atc, answer)
    answer = drawn.randbytes(2)
    if isinstance(chip, (cvn.MasterCardCVN20, cvn.MasterCardCVN21)):
        return answer, chip.generate_arpc(arqc, atc, answer)
    return answer, chip.generate_arpc(arqc, answer)


def encipher_pin(chip, pin, arqc, atc):
    if isinstance(chip, (cvn.VisaCVN10, cvn.VisaCVN18)):
        return chip.encrypt_command_data(sm.format_vis_pin_block(chip.icc_mk_ac, pin), atc)
    return chip.encrypt_command_data(sm.format_iso9564_2_pin_block(pin), arqc)


def protect(chip, header, data, arqc, atc):
    start = bytes.fromhex(header) + bytes([len(data) + MAC_LENGTH])
    return (start + data + chip.generate_command_mac(start, arqc, atc, data)).hex()


each = int(sys.argv[1])
seed = sys.argv[2] if len(sys.argv) > 2 else "chips"
print('{"source": "pyemv (github.com/knovichikhin/pyemv), drawn by test/crypto/pyemv/cases.py",')
print(f'"issuerKeys": {json.dumps(ISSUER_KEYS)},\n"cases": {{')
for place, name in enumerate(PROFILES):
    drawn = random.Random(f"{seed} {name}")
    print(("," if place else "") + f'"{name}": [')
    print(",\n".join(json.dumps(draw(name, drawn)) for _ in range(each)))
    print("]")
print("}}")
