import { openAesGcm, sealAesGcm } from '../../src/crypto/aes-gcm.ts'
import { aesCmac, tdesCmac } from '../../src/crypto/cmac.ts'
import { unwrapKeyBlock, wrapKeyBlock } from '../../src/crypto/key-block.ts'
import { type KeyBlockKeys, keyBlockKeysOf } from '../../src/crypto/key-block-derivation.ts'
import { parseKeyBlockHeader, writeKeyBlockHeader } from '../../src/crypto/key-block-header.ts'
import { aesKeyCheckValue, tdesKeyCheckValue } from '../../src/crypto/key-check-value.ts'
import { combineComponents, hasOddParity, setOddParity } from '../../src/crypto/tdes-keys.ts'
import { unwrapAesKey, wrapAesKey } from '../../test/reference/aes-key-wrap.ts'
import { keyBlockVariantsOf } from '../../test/reference/key-block-variants.ts'
import {
  bytes,
  bytesList,
  HexDigits,
  type Inputs,
  numberOr,
  type Operation,
  optionalBytes,
  text,
  UncoveredRow,
} from './inputs.ts'

/** Methods of key derivation by the names that the files give them. */
const methods: Readonly<Record<string, (kbpk: Uint8Array) => KeyBlockKeys>> = {
  kbVariant: keyBlockVariantsOf,
  kbDeriveB: (kbpk) => keyBlockKeysOf(kbpk, 'tdesCmac'),
  kbDeriveD: (kbpk) => keyBlockKeysOf(kbpk, 'aesCmac'),
}

/** The operations on keys: sealing, wrapping, key blocks, check values, parity. */
export const keyOperations: Readonly<Record<string, Operation>> = {
  seal: (inputs) => {
    const { ciphertext, tag } = sealAesGcm(
      bytes(inputs, 'key'),
      bytes(inputs, 'iv'),
      associated(inputs),
      bytes(inputs, 'plaintext'),
    )
    return { ciphertext, tag }
  },
  open: (inputs) => {
    const sealed = { ciphertext: bytes(inputs, 'ciphertext'), tag: bytes(inputs, 'tag') }
    const [key, iv, aad] = [bytes(inputs, 'key'), bytes(inputs, 'iv'), associated(inputs)]
    return { plaintext: openAesGcm(key, iv, aad, sealed) }
  },
  // A key of 16 or 24 bytes may be either's: the primitive's name says whose.
  cmac: (inputs, primitive) => {
    const cmacOf = /t?des/i.test(primitive) ? tdesCmac : aesCmac
    return { mac: cmacOf(bytes(inputs, 'key'), bytes(inputs, 'message')) }
  },
  // Two primitives share these two words; their keys have different names.
  wrap: (inputs) =>
    inputs.kbpk === undefined
      ? { wrapped: wrapAesKey(bytes(inputs, 'kek'), bytes(inputs, 'key')) }
      : { keyBlock: wrapped(inputs) },
  unwrap: (inputs) =>
    inputs.kbpk === undefined
      ? { key: unwrapAesKey(bytes(inputs, 'kek'), bytes(inputs, 'wrapped')) }
      : unwrapped(inputs),
  parseHeader: (inputs) => ({ ...parseKeyBlockHeader(text(inputs, 'header')) }),
  normaliseHeader: (inputs) => ({
    header: writeKeyBlockHeader(parseKeyBlockHeader(text(inputs, 'header'))),
  }),
  kbek: (inputs) => ({ kbek: derived(inputs).kbek }),
  kbak: (inputs) => ({ kbak: derived(inputs).kbak }),
  kcvTdes: (inputs) => ({ kcv: checkValue(tdesKeyCheckValue, bytes(inputs, 'key'), inputs) }),
  kcvAesCmac: (inputs) => ({ kcv: checkValue(aesKeyCheckValue, bytes(inputs, 'key'), inputs) }),
  components: (inputs) => {
    const key = combineComponents(bytesList(inputs, 'components'))
    // No TDES key has 32 bytes; of the other lengths the row says so where they are of AES.
    const isAes = key.length === 32 || inputs.algorithm === 'AES'
    return { key, kcv: checkValue(isAes ? aesKeyCheckValue : tdesKeyCheckValue, key, inputs) }
  },
  note: (inputs) => ({
    tdes: tdesKeyCheckValue(bytes(inputs, 'key')),
    aesCmac: aesKeyCheckValue(bytes(inputs, 'key'), 3),
  }),
  setOddParity: (inputs) => ({ key: setOddParity(bytes(inputs, 'key')) }),
  isOddParity: (inputs) => ({ odd: hasOddParity(bytes(inputs, 'key')) }),
}

/** Versions A and C: their keys are derived, but no block is taken in them. */
function refuseOlderVersion(block: string, inputs: Inputs): string {
  if (/^[AC]/.test(block) && inputs.kbpk !== undefined) throw new UncoveredRow()
  return block
}

function wrapped(inputs: Inputs): string {
  const header = parseKeyBlockHeader(refuseOlderVersion(text(inputs, 'header'), inputs))
  const padding = optionalBytes(inputs, 'padding')
  return wrapKeyBlock(bytes(inputs, 'kbpk'), header, bytes(inputs, 'key'), padding)
}

function unwrapped(inputs: Inputs): Readonly<Record<string, unknown>> {
  const { header, headerText, key } = unwrapKeyBlock(
    bytes(inputs, 'kbpk'),
    refuseOlderVersion(text(inputs, 'keyBlock'), inputs),
  )
  return { ...header, header: headerText, key }
}

function derived(inputs: Inputs): KeyBlockKeys {
  const derive = methods[text(inputs, 'method')]
  if (!derive) throw new UncoveredRow()
  return derive(bytes(inputs, 'kbpk'))
}

const associated = (inputs: Inputs): Buffer => optionalBytes(inputs, 'aad') ?? Buffer.alloc(0)

/** The files count a check value in hexadecimal digits. */
function checkValue(
  of: (key: Uint8Array, lengthBytes: number) => Buffer,
  key: Uint8Array,
  inputs: Inputs,
): HexDigits {
  const digits = numberOr(inputs, 'length', 6)
  return new HexDigits(of(key, Math.ceil(digits / 2)), digits)
}
