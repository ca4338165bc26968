import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  composeFrame,
  createFrameReader,
  FrameError,
  type Framing,
  frameBytesMax,
} from '../../../src/listeners/iso8583/codec/frame.ts'
import { decode } from '../../../src/listeners/iso8583/codec/message.ts'
import { keepAliveOf } from './keep-alive.ts'
import { vectorLayout, vectors } from './vectors.ts'

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex').toUpperCase()

/** How the vectors name what this program's links are told. */
const framings: Readonly<Record<string, Framing>> = {
  'ascii-4': { length: 'ascii-4' },
  'bcd-2': { length: 'bcd-2' },
  'binary-2': { length: 'binary-2' },
  'binary-2 and two bytes of zero': { length: 'binary-2-session' },
  'binary-2 and two bytes': { length: 'binary-2-session' },
}

const framingOf = (name = ''): Framing => {
  const framing = framings[name]
  assert(framing, name)
  return framing
}

for (const { framing: name, hex, id, length, sessionControl } of vectors.frames) {
  test(`the published frame ${id} is read and written`, () => {
    const framing = framingOf(name)
    const published = Buffer.from(hex, 'hex')
    const lengthBytes = keepAliveOf(framing).length
    const message = published.subarray(lengthBytes)
    const body = message.length === length ? message : Buffer.alloc(length, 1)
    const bytes = Buffer.concat([published.subarray(0, lengthBytes), body])
    const frames = createFrameReader(framing).push(bytes)
    // A message of the session is no message of a card.
    assert.deepEqual(
      frames.map((frame) => frame.message.length),
      [sessionControl ? 0 : length],
    )
    if (!sessionControl) assert.equal(hexOf(composeFrame(framing, body)), hexOf(bytes))
  })
}

test('published messages in their frames are read, with and without a TPDU', () => {
  const framed = vectors.messages.filter(({ frame }) => frame !== undefined)
  for (const { fields, frame = '', framing: name, layout, tpdu } of framed) {
    const framing: Framing = { ...framingOf(name), ...(tpdu && { header: { kind: 'tpdu' } }) }
    const [read] = createFrameReader(framing).push(Buffer.from(frame, 'hex'))
    assert(read)
    assert.equal(hexOf(read.header), tpdu ?? '')
    assert.deepEqual(decode(vectorLayout(layout), read.message).fields, fields)
  }
  assert.equal(framed.length, 2)
})

test('the addresses of a header are turned round in the answer', () => {
  const [base1] = vectors.headers
  assert(base1)
  const message = Buffer.alloc(258 - 22)
  const base: Framing = { length: 'binary-2', header: { kind: 'base-1' } }
  const answered = composeFrame(base, message, Buffer.from(base1.hex, 'hex'))
  assert.equal(hexOf(answered.subarray(2, 24)), base1.swapped)
  const tpdu: Framing = { length: 'bcd-2', header: { kind: 'tpdu' } }
  const frame = composeFrame(tpdu, Buffer.from('abc'), Buffer.from('6000100020', 'hex'))
  assert.equal(hexOf(frame), '00086000200010616263')
})

test('frames in any pieces are the same frames', () => {
  const every: Framing[] = [
    ...Object.values(framings),
    { length: 'binary-4', inclusive: true },
    { length: 'ascii-4', inclusive: true, header: { kind: 'text', text: 'ISO0250000' } },
  ]
  for (const framing of every) {
    const messages = ['first', 'the second', 'x'.repeat(4_000)].map((text) => Buffer.from(text))
    const stream = Buffer.concat([
      keepAliveOf(framing),
      ...messages.map((message) => composeFrame(framing, message)),
    ])
    for (const piece of [1, 3, 1_000, stream.length]) {
      const reader = createFrameReader(framing)
      const frames = []
      for (let at = 0; at < stream.length; at += piece) {
        frames.push(...reader.push(stream.subarray(at, at + piece)))
      }
      assert.deepEqual(
        frames.map(({ message }) => message.toString()),
        ['', ...messages.map(String)],
      )
      assert.equal(reader.waiting(), 0)
    }
  }
})

test('a length that cannot be is told to the operator as what it seems to be', () => {
  const push = (framing: Framing, bytes: string) => () =>
    createFrameReader(framing).push(Buffer.from(bytes, 'latin1'))
  const fails = (framing: Framing, bytes: string, message: RegExp) =>
    assert.throws(push(framing, bytes), (error) => {
      assert(error instanceof FrameError)
      assert.match(error.message, message)
      return true
    })
  fails({ length: 'binary-2' }, '00460800', /seems to be four digits of ASCII/)
  fails({ length: 'binary-4' }, '00460800', /seems to be four digits of ASCII/)
  fails({ length: 'ascii-4' }, '\x00\x2e08', /seems to be binary/)
  fails({ length: 'bcd-2' }, '\x0a\x00', /not digits/)
  fails({ length: 'binary-2', inclusive: true }, '\x00\x01', /less than its own/)
  fails({ length: 'binary-2', header: { kind: 'tpdu' } }, '\x00\x01\x60', /ends within its header/)
  fails({ length: 'binary-2', header: { kind: 'text', text: 'ISO' } }, '\x00\x03OSI', /agreed/)
  fails({ length: 'binary-2' }, '\x10\x01', new RegExp(`limit of ${frameBytesMax} bytes`))
})

test('a length in packed digits that is read as binary is suspected', () => {
  // The guide's frame of 46 bytes: 0046 is no binary length, which would be of 70 bytes.
  const frame = vectors.frames.find(({ id }) => id === 'frame-jpos-bcd')
  assert(frame)
  const reader = createFrameReader({ length: 'binary-2' })
  assert.deepEqual(reader.push(Buffer.from(frame.hex, 'hex')), [])
  assert.match(reader.suspicion() ?? '', /Read as bcd-2/)
  assert.equal(createFrameReader({ length: 'ascii-4' }).suspicion(), null)
})
