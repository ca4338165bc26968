import {
  decodePinBlockFormat0,
  encodePinBlockFormat0,
} from '../../src/crypto/pin-block-format-0.ts'
import {
  decodePinBlockFormat1,
  encodePinBlockFormat1,
} from '../../src/crypto/pin-block-format-1.ts'
import {
  decodePinBlockFormat3,
  encodePinBlockFormat3,
  pinFieldFormat3,
} from '../../src/crypto/pin-block-format-3.ts'
import {
  decodePinFieldFormat4,
  panFieldFormat4,
  pinFieldFormat4,
} from '../../src/crypto/pin-block-format-4.ts'
import { encodePanField } from '../../src/crypto/pin-field.ts'

import {
  decipherUnder,
  decodePinBlockFormat2,
  encipherUnder,
  encodePinBlockFormat2,
  type PinBlockContext,
  requirePermittedTranslation,
  translatePinBlock,
} from '../../test/reference/pin-blocks.ts'
import {
  bytes,
  type Inputs,
  numberOr,
  type Operation,
  optionalBytes,
  optionalNibbles,
  parsePan,
  text,
  UncoveredRow,
} from './vector-file.ts'

type ByFormat<Result> = Readonly<Record<number, (inputs: Inputs) => Result>>

const encoders: ByFormat<Buffer> = {
  0: (inputs) => encodePinBlockFormat0(text(inputs, 'pin'), parsePan(inputs)),
  1: (inputs) => encodePinBlockFormat1(text(inputs, 'pin'), optionalNibbles(inputs, 'fill')),
  2: (inputs) => encodePinBlockFormat2(text(inputs, 'pin')),
  3: (inputs) =>
    encodePinBlockFormat3(text(inputs, 'pin'), parsePan(inputs), optionalNibbles(inputs, 'fill')),
}

const decoders: ByFormat<string> = {
  0: (inputs) => decodePinBlockFormat0(bytes(inputs, 'block'), parsePan(inputs)),
  1: (inputs) => decodePinBlockFormat1(bytes(inputs, 'block')),
  2: (inputs) => decodePinBlockFormat2(bytes(inputs, 'block')),
  3: (inputs) => decodePinBlockFormat3(bytes(inputs, 'block'), parsePan(inputs)),
}

/** A PAN whose field is zeros, which leaves the PIN field unchanged. */
const noPan = '0'.repeat(13)

const pinFields: ByFormat<Buffer> = {
  0: (inputs) => encodePinBlockFormat0(text(inputs, 'pin'), noPan),
  1: (inputs) => encodePinBlockFormat1(text(inputs, 'pin'), optionalNibbles(inputs, 'fill')),
  2: (inputs) => encodePinBlockFormat2(text(inputs, 'pin')),
  3: (inputs) => pinFieldFormat3(text(inputs, 'pin'), optionalNibbles(inputs, 'fill')),
  4: (inputs) => pinFieldFormat4(text(inputs, 'pin'), optionalBytes(inputs, 'random')),
}

const pinFieldDecoders: ByFormat<string> = {
  0: (inputs) => decodePinBlockFormat0(bytes(inputs, 'pinField'), noPan),
  1: (inputs) => decodePinBlockFormat1(bytes(inputs, 'pinField')),
  2: (inputs) => decodePinBlockFormat2(bytes(inputs, 'pinField')),
  3: (inputs) => decodePinBlockFormat3(bytes(inputs, 'pinField'), noPan),
  4: (inputs) => decodePinFieldFormat4(bytes(inputs, 'pinField')),
}

const panFields: ByFormat<Buffer> = {
  0: (inputs) => encodePanField(parsePan(inputs)),
  3: (inputs) => encodePanField(parsePan(inputs)),
  4: (inputs) => panFieldFormat4(text(inputs, 'pan')),
}

/** The operations on PIN blocks; the primitive's name has the format. */
export const pinBlockOperations: Readonly<Record<string, Operation>> = {
  encode: (inputs, primitive) => ({ block: ofFormat(encoders, inputs, primitive) }),
  decode: (inputs, primitive) => ({ pin: ofFormat(decoders, inputs, primitive) }),
  pinField: (inputs, primitive) => ({ pinField: ofFormat(pinFields, inputs, primitive) }),
  panField: (inputs, primitive) => ({ panField: ofFormat(panFields, inputs, primitive) }),
  decodePinField: (inputs, primitive) => ({ pin: ofFormat(pinFieldDecoders, inputs, primitive) }),
  encipher: async (inputs, primitive) => {
    const format = namedFormat(inputs, primitive)
    const random = optionalRandom(inputs, format)
    const block = await encipherUnder(context(inputs, format), text(inputs, 'pin'), random)
    return { block, ciphertext: block, ...(format === 4 ? fieldsFormat4(inputs) : {}) }
  },
  decipher: async (inputs, primitive) => {
    const under = context(inputs, namedFormat(inputs, primitive))
    return { pin: await decipherUnder(under, bytes(inputs, 'block', 'ciphertext')) }
  },
  translate: async (inputs) => {
    const { pan12 } = inputs
    const fromFormat = numberOr(inputs, 'fromFormat', -1)
    const toFormat = numberOr(inputs, 'toFormat', -1)
    requirePermittedTranslation({ fromFormat, toFormat })
    const from = context(
      { key: inputs.fromKey, pan: inputs.fromPan ?? inputs.pan, pan12 },
      fromFormat,
    )
    const to = context({ key: inputs.toKey, pan: inputs.toPan ?? inputs.pan, pan12 }, toFormat)
    const block = bytes(inputs, 'block', 'ciphertext')
    return { block: await translatePinBlock(block, from, to, optionalRandom(inputs, to.format)) }
  },
  policy: (inputs) => {
    const pans =
      inputs.fromPan === undefined
        ? {}
        : { fromPan: text(inputs, 'fromPan'), toPan: text(inputs, 'toPan') }
    const condition = requirePermittedTranslation({
      fromFormat: numberOr(inputs, 'fromFormat', -1),
      toFormat: numberOr(inputs, 'toFormat', -1),
      ...pans,
    })
    return { allowed: true, condition }
  },
}

function fieldsFormat4(inputs: Inputs): { pinField: Buffer; panField: Buffer } {
  return {
    pinField: pinFieldFormat4(text(inputs, 'pin'), optionalBytes(inputs, 'random')),
    panField: panFieldFormat4(text(inputs, 'pan')),
  }
}

function ofFormat<Result>(table: ByFormat<Result>, inputs: Inputs, primitive: string): Result {
  const operation = table[namedFormat(inputs, primitive)]
  if (!operation) throw new UncoveredRow()
  return operation(inputs)
}

function namedFormat(inputs: Inputs, primitive: string): number {
  return numberOr(inputs, 'format', Number(/format (\d)/i.exec(primitive)?.[1] ?? Number.NaN))
}

function context(inputs: Inputs, format: number): PinBlockContext {
  if (!isBetweenZones(format)) throw new UncoveredRow()
  // Format 1 is not bound to a PAN, so its rows have none.
  const isUnbound = format === 1 && inputs.pan === undefined && inputs.pan12 === undefined
  const pan = isUnbound ? '' : parsePan(inputs)
  return { format, pan, key: bytes(inputs, 'key') }
}

function isBetweenZones(format: number): format is PinBlockContext['format'] {
  return [0, 1, 3, 4].includes(format)
}

function optionalRandom(inputs: Inputs, format: number): Buffer | undefined {
  return format === 4 ? optionalBytes(inputs, 'random') : optionalNibbles(inputs, 'fill')
}
