"""Answers cases of chips, one JSON object a line, by pyemv: test/crypto/chip-cases.test.ts."""

import json
import sys

from pyemv import ac, kd, sm, cvv


def answer(case):
    get = lambda name: bytes.fromhex(case[name])
    derive = kd.derive_icc_mk_a if case["cardKey"] == "A" else kd.derive_icc_mk_b
    card_key = derive(get("issuerKey"), case["pan"], case["panSequenceNumber"])
    session_key = {
        "none": lambda: card_key,
        "common": lambda: kd.derive_common_sk(card_key, get("atc") + bytes(6)),
        "mChip": lambda: kd.derive_common_sk(card_key, get("atc") + bytes(2) + get("unpredictable")),
    }[case["sessionKey"]]()
    padding = ac.PaddingType.VISA if case["padding"] == 1 else ac.PaddingType.EMV
    arqc = ac.generate_ac(session_key, get("data"), padding)
    answer_key = card_key if case["answerKey"] == "card" else session_key
    if case["method"] == 1:
        arpc = ac.generate_arpc_1(answer_key, arqc, get("responseCode"))
    else:
        arpc = ac.generate_arpc_2(answer_key, arqc, get("cardStatusUpdate"), get("proprietary"))
    if case["messaging"] == "visa":
        script_key = kd.derive_visa_sm_sk(card_key, get("atc"))
        pin_block = sm.format_vis_pin_block(card_key, case["pin"], case["currentPin"])
        kind = sm.EncryptionType.VISA
    else:
        script_key = kd.derive_common_sk(card_key, arqc)
        pin_block = sm.format_iso9564_2_pin_block(case["pin"])
        kind = sm.EncryptionType.MASTERCARD
    enciphered = sm.encrypt_command_data(script_key, pin_block, kind)
    mac = sm.generate_command_mac(script_key, get("header") + get("atc") + arqc + enciphered)
    cvc3 = cvv.generate_cvc3(card_key, get("track"), get("atc"), get("unpredictable"))
    return {
        "arqc": arqc.hex(),
        "arpc": arpc.hex(),
        "enciphered": enciphered.hex(),
        "mac": mac.hex(),
        # It leaves out the leading zeros that a track has.
        "cvc3": cvc3.zfill(5),
    }


for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))))
