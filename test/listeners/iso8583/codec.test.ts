import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describe } from '../../../src/listeners/iso8583/codec/describe.ts'
import { CodecError, type FieldLayout } from '../../../src/listeners/iso8583/codec/layout.ts'
import { decode, encode } from '../../../src/listeners/iso8583/codec/message.ts'
import { readParts, writeParts } from '../../../src/listeners/iso8583/codec/parts.ts'
import { createLayout } from '../../../src/listeners/iso8583/codec/versions.ts'
import { vectorLayout, vectors, withField } from './vectors.ts'

const bytesOf = (hex: string): Buffer => Buffer.from(hex, 'hex')
const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex').toUpperCase()

/**
 * Fields that the packagers of the source call digits, and that hold something else in the
 * published bytes.
 */
const otherTypes: Readonly<Record<string, readonly [string, FieldLayout['type']]>> = {
  'jpos-iso87apackager': ['35', 'z'],
  'jpos-iso93apackager': ['56', 'an'],
}

for (const { bitmap, fields, header, hex, id, layout: name, mti } of vectors.messages) {
  test(`the published message ${id} is read and written`, () => {
    const published = vectorLayout(name)
    const [field, type] = otherTypes[id] ?? []
    if (field) assert.throws(() => decode(published, bytesOf(hex)), { fault: 'not_digits', field })
    const layout = field && type ? withField(published, field, { type }) : published
    const message = { mti, fields, ...(header !== undefined && { header }) }
    assert.deepEqual(decode(layout, bytesOf(hex)), message)
    assert.equal(hexOf(encode(layout, message)), hex)
    const start = 2 * ((layout.header ?? 0) + (layout.mti === 'bcd' ? 2 : 4))
    if (layout.bitmap.encoding === 'binary') {
      assert.equal(hex.slice(start, start + bitmap.length), bitmap)
    }
  })
}

test('the vectors are all there', () => {
  assert.deepEqual(
    [vectors.messages.length, vectors.frames.length, vectors.refusals.length, vectors.macs.length],
    [25, 7, 16, 3],
  )
})

test('chip data are read and written', () => {
  const withTlv = vectors.messages.filter(({ tlv }) => tlv)
  for (const { fields, layout: name, tlv } of withTlv) {
    const layout = withField(vectorLayout(name), '55', { parts: { kind: 'ber-tlv' } }).fields['55']
    assert(layout)
    const parts = readParts('55', layout, fields['55'] ?? '')
    assert.deepEqual(Object.fromEntries(parts), tlv?.['55'])
    assert.equal(writeParts('55', layout, parts), fields['55'])
  }
  assert.equal(withTlv.length, 7)
})

test('subfields behind a bitmap of their own are read and written', () => {
  const text = { type: 'ans', encoding: 'ascii' } as const
  const counted = { ...text, max: 999, prefix: { digits: 3, encoding: 'ascii' } } as const
  const fields = {
    2: { ...text, max: 32, prefix: { digits: 2, encoding: 'ascii' } },
    25: { ...counted, max: 999, prefix: { digits: 4, encoding: 'ascii' } },
  } as const
  const post = vectors.messages.find(({ id }) => id === 'jpos-post-0620')
  assert(post)
  const layout = withField(vectorLayout('post'), '127', {
    parts: { kind: 'bitmap', encoding: 'binary', bits: 64, fields },
  }).fields['127']
  assert(layout)
  const parts = readParts('127', layout, post.fields['127'] ?? '')
  assert.deepEqual(Object.fromEntries(parts), post.sub?.['127']?.fields)
  assert.equal(writeParts('127', layout, parts), post.fields['127'])
})

test('a message within a field, with a header and a bitmap in EBCDIC, is read and written', () => {
  const message = vectors.messages.find(({ id }) => id === 'jpos-ebcdic93-1100')
  const sub = message?.sub?.['55']
  assert(message && sub)
  const value = message.fields['55'] ?? ''
  // As its packager has them: bytes, and digits of EBCDIC.
  const bytes = { 1: 8, 2: 3, 3: 1, 4: 4, 5: 2, 6: 5, 8: 4, 14: 8 }
  const digits = { 9: 2, 10: 3, 12: 3, 13: 12, 17: 6, 18: 12, 20: 1 }
  const each = (lengths: object, type: 'b' | 'n', encoding: 'binary' | 'ebcdic') =>
    Object.entries(lengths).map(([number, length]) => [number, { type, encoding, length }])
  const counted = { max: 99, prefix: { digits: 2, encoding: 'ebcdic' } }
  const fields = Object.fromEntries([
    ...each(bytes, 'b', 'binary'),
    ...each(digits, 'n', 'ebcdic'),
    [22, { type: 'b', encoding: 'binary', ...counted }],
  ])
  const parts = { kind: 'bitmap', encoding: 'hex-ebcdic', bits: 32, header: 1, fields } as const
  const layout = withField(vectorLayout('ebcdic93'), '55', { parts }).fields['55']
  assert(layout)
  const read = readParts('55', layout, value)
  assert.deepEqual(Object.fromEntries(read), { header: sub.header, ...sub.fields })
  assert.equal(writeParts('55', layout, read), value)
})

for (const { hex, id, layout, why } of vectors.refusals) {
  test(`refused is ${id}: ${why}`, () => {
    assert.throws(() => decode(vectorLayout(layout), bytesOf(hex)), CodecError)
  })
}

test('a fault names its field and its place, and never a value', () => {
  const layout = createLayout('1987', 'ascii')
  const message = {
    mti: '0100',
    fields: { 2: '4000001234567899', 4: '000000001000', 11: '000001' },
  }
  const bytes = encode(layout, message)
  const faults: [(bytes: Buffer) => Uint8Array, string, number, string][] = [
    [(b) => b.subarray(0, 3), 'mti', 0, 'too_short'],
    [(b) => b.subarray(0, 12), 'bitmap', 4, 'too_short'],
    [(b) => b.subarray(0, -1), '11', 50, 'too_short'],
    [(b) => Buffer.concat([b, Buffer.from('0')]), 'end', 56, 'bytes_left'],
    [(b) => changed(b, 22, 'A'), '2', 22, 'not_digits'],
    [(b) => changed(b, 20, '2'), '2', 20, 'too_long'],
    [(b) => changed(b, 40, 'A'), '4', 38, 'not_digits'],
    [(b) => changed(b, 40, '\u0080'), '4', 40, 'not_of_encoding'],
  ]
  for (const [change, field, offset, fault] of faults) {
    assert.throws(
      () => decode(layout, change(Buffer.from(bytes))),
      (error) => {
        assert(error instanceof CodecError)
        assert.deepEqual([error.field, error.offset, error.fault], [field, offset, fault])
        assert(!/4000001234567899|000000001000/.test(`${error.message}${error.stack}`))
        return true
      },
    )
  }
})

const changed = (bytes: Buffer, at: number, character: string): Buffer => {
  bytes.write(character, at, 'latin1')
  return bytes
}

test('letters do not become packed digits, and nothing short is padded', () => {
  const layout = createLayout('1987', 'bcd')
  const refused = (fields: Record<string, string>, fault: string) =>
    assert.throws(() => encode(layout, { mti: '0100', fields }), { fault })
  refused({ 4: '00000000ABCD' }, 'not_of_type')
  refused({ 4: '1000' }, 'wrong_length')
  refused({ 2: '12345678901234567890' }, 'too_long')
  refused({ 52: '00' }, 'wrong_length')
  refused({ 65: '00' }, 'unknown_field')
  refused({ 43: 'a\u0000b'.padEnd(40) }, 'not_of_encoding')
  // The separator of a packed track has one spelling.
  refused({ 35: '4000001234567899D3011' }, 'not_digits')
  const lettered = withField(layout, '41', { encoding: 'bcd' })
  const fields = { 41: 'TERM0001' }
  assert.throws(() => encode(lettered, { mti: '0100', fields }), { fault: 'not_digits' })
  const odd = decode(layout, encode(layout, { mti: '0100', fields: { 22: '051' } }))
  assert.equal(odd.fields['22'], '051')
  // The fill nibble is 0, and nothing else.
  assert.throws(() => decode(layout, bytesOf('010000000400000000001051')), {
    fault: 'wrong_padding',
  })
})

test('where bytes of packed digits are counted, a fill nibble F tells of an odd number', () => {
  const prefix = { digits: 1, encoding: 'binary', counts: 'bytes' } as const
  const pan = { type: 'n', encoding: 'bcd', max: 19, prefix, oddPad: 'right-f' } as const
  const layout = withField(createLayout('1987', 'bcd'), '2', pan)
  for (const digits of ['400000123456789', '4000001234567899', '']) {
    const bytes = encode(layout, { mti: '0100', fields: { 2: digits } })
    assert.equal(decode(layout, bytes).fields['2'], digits)
    assert.equal(bytes[10], Math.ceil(digits.length / 2))
  }
})

test('the same message in ASCII, in packed digits and in EBCDIC', () => {
  const fields = {
    2: '4000001234567899',
    3: '000000',
    28: 'D00000100',
    35: '4000001234567899=3011',
    41: '[A^|~] 1',
    90: '0'.repeat(42),
  }
  for (const encoding of ['ascii', 'bcd', 'ebcdic'] as const) {
    const layout = createLayout('1987', encoding)
    const bytes = encode(layout, { mti: '0420', fields })
    assert.deepEqual(decode(layout, bytes), { mti: '0420', fields })
  }
  // Code page 1047, as jPOS and mainframes have it.
  const ebcdic = encode(createLayout('1987', 'ebcdic'), { mti: '0100', fields: { 41: '[A^|~] 1' } })
  assert.equal(hexOf(ebcdic.subarray(-8)), 'ADC15F4FA1BD40F1')
})

test('a bitmap of 16 bytes always, and one in text', () => {
  const bitmap = { encoding: 'hex-ascii', size: 'always-16' } as const
  const always = { ...createLayout('1987', 'ascii'), bitmap }
  const bytes = encode(always, { mti: '0800', fields: { 11: '000001' } })
  assert.equal(bytes.toString('latin1', 4, 36), '80200000000000000000000000000000')
  assert.deepEqual(decode(always, bytes).fields, { 11: '000001' })
  const unsaid = { ...always, bitmap: { ...bitmap, indicator: false } } as const
  assert.throws(() => decode(unsaid, bytes), { fault: 'wrong_bitmap', field: 'bitmap' })
})

test('an error names a field by its place in the layout, never by bytes of the message', () => {
  const binary = { type: 'b', encoding: 'binary' } as const
  const kinds = {
    tlv: { parts: { kind: 'tlv', tagLength: 2, lengthDigits: 2 } },
    'ber-tlv': { ...binary, parts: { kind: 'ber-tlv' } },
    bitmap: {
      ...binary,
      parts: {
        kind: 'bitmap',
        encoding: 'binary',
        bits: 64,
        fields: { 9: { ...binary, length: 2 } },
      },
    },
  } as const
  for (const [kind, changes] of Object.entries(kinds)) {
    const layout = withField(createLayout('1987', 'ascii'), '48', changes).fields['48']
    assert(layout)
    let refused = 0
    // A length that is wrong by one makes digits of a CVV2 a tag, or bits of a bitmap.
    for (let cvv2 = 100; cvv2 < 1_000; cvv2 += 1) {
      const text = `9203${cvv2}${cvv2}${cvv2}`
      try {
        readParts('48', layout, kind === 'tlv' ? text : Buffer.from(text).toString('hex'))
      } catch (error) {
        assert(error instanceof CodecError)
        assert(['48', '48.9'].includes(error.field), `${kind} names ${error.field}`)
        refused += 1
      }
    }
    assert(refused > 100, kind)
  }
})

test('tags of two digits behind a letter, and subfields in a row', () => {
  const tlv = { kind: 'tlv', header: 1, tagLength: 2, lengthDigits: 2 } as const
  const layout = withField(createLayout('1987', 'ascii'), '48', { parts: tlv })
  const field = layout.fields['48']
  assert(field)
  const parts = new Map([
    ['header', 'T'],
    ['92', '123'],
    ['87', 'M'],
  ])
  assert.equal(writeParts('48', field, parts), 'T92031238701M')
  assert.deepEqual(readParts('48', field, 'T92031238701M'), parts)
  const fault = (fields: Record<string, string>) => () =>
    decode(layout, encode(layout, { mti: '0100', fields }))
  assert.throws(fault({ 48: 'T920412' }), { field: '48', fault: 'too_short', offset: 28 })
  assert.throws(fault({ 48: 'T92011920112' }), { field: '48', fault: 'wrong_parts' })
  const row = withField(layout, '44', { parts: { kind: 'row', lengths: { 1: 2, 2: 1 } } }).fields[
    '44'
  ]
  assert(row)
  assert.deepEqual([...readParts('44', row, 'AB')], [['1', 'AB']])
  assert.equal(
    writeParts(
      '44',
      row,
      new Map([
        ['1', 'AB'],
        ['2', 'C'],
      ]),
    ),
    'ABC',
  )
  assert.throws(() => readParts('44', row, 'ABCD'), { field: '44', fault: 'wrong_parts' })
})

test('chip data that do not hold together are refused', () => {
  const layout = withField(createLayout('1987', 'bcd'), '55', {
    type: 'b',
    encoding: 'binary',
    parts: { kind: 'ber-tlv' },
  })
  const read = (value: string) => () =>
    decode(layout, encode(layout, { mti: '0100', fields: { 55: value } }))
  assert.doesNotThrow(read('9F0206000000001000008201FF'))
  for (const wrong of [
    '9F',
    '9F02',
    '9F0206',
    '82050102',
    '8280',
    '82830102',
    '820100820100',
    '9F8181818101',
  ]) {
    assert.throws(read(wrong), CodecError, wrong)
  }
})

test('what is described of a message shows no PAN, track, PIN block or CVV2', () => {
  const layout = withField(createLayout('1987', 'ascii'), '55', {
    type: 'b',
    encoding: 'binary',
    parts: { kind: 'ber-tlv' },
  })
  const pan = '4000001234567899'
  const track = `${pan}=30112010000012300000`
  const fields = {
    2: pan,
    3: '000000',
    14: '3011',
    34: pan,
    35: track,
    36: track,
    43: `SHOP ${pan}`.padEnd(40),
    44: 'CVV 987',
    45: `B${pan}^LIM/ANA^3011`,
    48: '92 987',
    52: '1122334455667788',
    55: `5A08${pan}5710${pan}D301120100000000`,
    60: '987',
    102: pan,
    126: '987',
  }
  const described = describe(layout, '1987', { mti: '0100', fields })
  const text = JSON.stringify(described)
  assert(!text.includes(pan) && !text.includes('987"') && !text.includes('1122334455667788'))
  assert(!text.includes('3011'))
  assert.deepEqual(described[1], {
    field: '2',
    name: 'primary account number',
    value: '400000******7899',
  })
  assert(described.some(({ field, value }) => field === '55.5A' && value === '**** (16)'))
  assert(described.some(({ field, value }) => field === '3' && value === '000000'))
})

test('an answer with several scripts shows each, and parts name no tag twice', () => {
  const layout = withField(createLayout('1987', 'ascii'), '55', {
    type: 'b',
    encoding: 'binary',
    parts: { kind: 'ber-tlv' },
    tolerant: true,
  })
  const answer = { mti: '0110', fields: { 55: '9102AABB720186720187' } }
  const described = describe(layout, '1987', decode(layout, encode(layout, answer)))
  assert.deepEqual(
    described.filter(({ field }) => field.startsWith('55.')).map(({ field }) => field),
    ['55.91', '55.72', '55.72'],
  )
  assert.deepEqual(
    described.filter(({ field }) => field.startsWith('55.')).map(({ name }) => name),
    ['answer to the chip', 'commands after the decision', 'commands after the decision'],
  )
  const field = layout.fields['55']
  assert(field)
  assert.throws(() => readParts('55', field, answer.fields[55]), CodecError)
})
