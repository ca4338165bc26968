import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { createFrameReader, FrameError } from '../../../src/listeners/iso8583/codec/frame.ts'
import {
  CodecError,
  type FieldLayout,
  type IsoMessage,
  type Layout,
} from '../../../src/listeners/iso8583/codec/layout.ts'
import { decode, encode } from '../../../src/listeners/iso8583/codec/message.ts'
import { createLayout } from '../../../src/listeners/iso8583/codec/versions.ts'
import { cases } from '../../support/cases.ts'
import { vectors, withField } from './vectors.ts'

const own = (['1987', '1993'] as const).flatMap((version) =>
  (['ascii', 'bcd', 'ebcdic'] as const).map(
    (encoding) => [`${version} ${encoding}`, createLayout(version, encoding)] as const,
  ),
)

const bytesField = { type: 'b', encoding: 'binary' } as const

/**
 * What no layout of the vectors has: bytes of digits counted, binary lengths, parts of every kind.
 */
const composed: Layout = [
  [
    '2',
    {
      encoding: 'bcd',
      oddPad: 'right-f',
      prefix: { digits: 1, encoding: 'binary', counts: 'bytes' },
    },
  ],
  ['44', { parts: { kind: 'row', lengths: { 1: 5, 2: 10, 3: 10 } } }],
  ['48', { parts: { kind: 'tlv', header: 1, tagLength: 2, lengthDigits: 2 } }],
  ['55', { ...bytesField, prefix: { digits: 2, encoding: 'binary' }, parts: { kind: 'ber-tlv' } }],
  [
    '126',
    {
      ...bytesField,
      parts: {
        kind: 'bitmap',
        encoding: 'binary',
        bits: 64,
        fields: {
          9: { ...bytesField, length: 20 },
          10: { type: 'an', encoding: 'ascii', length: 6 },
        },
      },
    },
  ],
].reduce<Layout>(
  (layout, [field, changes]) => withField(layout, field as string, changes as Partial<FieldLayout>),
  createLayout('1987', 'bcd'),
)

const layouts: readonly (readonly [string, Layout])[] = [
  ...own,
  ['composed', composed],
  ...Object.entries(vectors.layouts),
]

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz '
const printable = Array.from({ length: 95 }, (_, at) => String.fromCharCode(0x20 + at)).join('')
const alphabets = {
  n: '0123456789',
  a: letters,
  an: `${letters}0123456789`,
  ans: printable,
  z: '0123456789=',
} as const

/** Values that a field may hold. */
function valueIn({
  encoding,
  length,
  max = 0,
  oddPad,
  parts,
  prefix,
  type,
}: FieldLayout): fc.Arbitrary<string> {
  if (parts) return fc.constantFrom(...partedValues[parts.kind])
  const least = length ?? 0
  const most = length ?? Math.min(max, 60)
  if (type === 'b') {
    return fc.uint8Array({ minLength: least, maxLength: most }).map(hexOf)
  }
  const isEven =
    encoding === 'bcd' &&
    length === undefined &&
    (!oddPad || (prefix?.counts === 'bytes' && oddPad !== 'right-f'))
  if (type === 'x+n') {
    return fc
      .tuple(fc.constantFrom('C', 'D'), textOf(alphabets.n, least - 1, most - 1))
      .map((texts) => texts.join(''))
  }
  const text = textOf(
    encoding === 'utf-8' && type === 'ans' ? 'aé®ü√ 9' : alphabets[type],
    least,
    most,
  )
  return isEven ? text.map((value) => (value.length % 2 ? value.slice(1) : value)) : text
}

const textOf = (alphabet: string, minLength: number, maxLength: number) =>
  fc.string({ unit: fc.constantFrom(...alphabet), minLength, maxLength })

const partedValues = {
  row: ['', 'ABCDE', 'ABCDE0123456789', 'ABCDE01234567890123456789'],
  tlv: ['T', 'T92031238701M', 'Z0100'],
  'ber-tlv': ['', '9F0206000000001000', '008201FF00', `70818${'0'}${'AB'.repeat(0x80)}`],
  bitmap: [
    '0000000000000000',
    '0040000000000000313233414243',
    `00C0000000000000${'00'.repeat(20)}313233414243`,
  ],
} as const

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex').toUpperCase()

const messageOf = (layout: Layout): fc.Arbitrary<IsoMessage> => {
  const values = Object.entries(layout.fields)
    .filter(([number]) => number !== '65' || layout.bitmap.indicator === false)
    .map(([number, field]) => [number, fc.option(valueIn(field), { nil: undefined })] as const)
  const header = layout.header ?? 0
  return fc
    .tuple(
      textOf(alphabets.n, 4, 4),
      fc.record(Object.fromEntries(values)),
      fc.uint8Array({ minLength: header, maxLength: header }).map(hexOf),
    )
    .map(([mti, given, before]) => ({
      mti,
      fields: Object.fromEntries(
        Object.entries(given).flatMap(([number, value]) =>
          value === undefined ? [] : [[number, value]],
        ),
      ),
      ...(header > 0 && { header: before }),
    }))
}

for (const [name, layout] of layouts) {
  test(`a random message of ${name} is read as it was written`, () => {
    fc.assert(
      fc.property(messageOf(layout), (message) => {
        assert.deepEqual(decode(layout, encode(layout, message)), message)
      }),
      cases(40, 1_000),
    )
  })
}

/** One byte changed, cut out or put in, or the end cut off. */
const mutationOf = (bytes: Buffer): fc.Arbitrary<Buffer> =>
  fc
    .tuple(fc.nat(bytes.length), fc.nat(255), fc.constantFrom('change', 'cut', 'add', 'end'))
    .map(([at, byte, kind]) => {
      const after = kind === 'add' ? at : at + 1
      const put = kind === 'cut' ? [] : [byte]
      return kind === 'end'
        ? bytes.subarray(0, at)
        : Buffer.concat([bytes.subarray(0, at), Buffer.from(put), bytes.subarray(after)])
    })

test('a message with a byte changed, cut or added is refused, or is another message whole', () => {
  let refused = 0
  let tried = 0
  for (const [, layout] of layouts) {
    const mutated = messageOf(layout).chain((message) => mutationOf(encode(layout, message)))
    fc.assert(
      fc.property(mutated, (bytes) => {
        tried += 1
        const message = decodeOrRefuse(layout, bytes)
        if (message) assert.equal(hexOf(encode(layout, message)), hexOf(bytes))
        else refused += 1
      }),
      cases(400, 4_000),
    )
  }
  assert(tried >= 10_000, `${tried} messages`)
  assert(refused > tried / 4 && refused < tried, `${refused} of ${tried} were refused`)
})

/** Null where it is refused; whatever else is thrown goes on. */
function decodeOrRefuse(layout: Layout, bytes: Uint8Array): IsoMessage | null {
  try {
    return decode(layout, bytes)
  } catch (error) {
    if (error instanceof CodecError) return null
    throw error
  }
}

/** `ISO8583_NOISE_MIB=1024` for the whole of it, which takes a minute. */
const noiseMib = Number(process.env.ISO8583_NOISE_MIB ?? 16)

test('noise leaves memory as it was', () => {
  const framing = { length: 'binary-2' } as const
  const layout = createLayout('1987', 'ascii')
  const tally = { messages: 0, refused: 0, ended: 0 }
  let reader = createFrameReader(framing)
  const feed = (noise: Uint8Array) => {
    try {
      for (const { message } of reader.push(noise)) {
        tally.messages += 1
        if (!decodeOrRefuse(layout, message)) tally.refused += 1
      }
    } catch (error) {
      if (!(error instanceof FrameError)) throw error
      tally.ended += 1
      reader = createFrameReader(framing)
    }
    assert(reader.waiting() <= 4_098)
  }
  const feedMib = (mib: number) => {
    for (let fed = 0; fed < mib * 16; fed += 1) feed(noiseOf(fed))
  }
  feedMib(4)
  const before = usedBytes()
  feedMib(noiseMib)
  const grownMib = (usedBytes() - before) / 2 ** 20
  assert(tally.messages > noiseMib && tally.ended > noiseMib, JSON.stringify(tally))
  assert.equal(tally.refused, tally.messages)
  assert(grownMib < 8, `${grownMib.toFixed(1)} MiB more after ${noiseMib} MiB`)
})

/** 64 KiB: every other time in frames that may be, so that what is in them is read. */
function noiseOf(turn: number): Buffer {
  const noise = randomBytes(64 * 1_024)
  if (turn % 2 === 0) noise.writeUInt16BE(0xffff, noise.readUInt16BE(0) % 60_000)
  else for (let at = 0; at < noise.length; at += 512) noise.writeUInt16BE(510, at)
  return noise
}

/** What is in use once all else is cleared away: when that happens by itself is no matter here. */
function usedBytes(): number {
  setFlagsFromString('--expose-gc')
  const clearAway: () => void = runInNewContext('gc')
  clearAway()
  clearAway()
  const { arrayBuffers, heapUsed } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
