import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe } from '../../../src/listeners/iso8583/codec/describe.ts'
import { composeFrame } from '../../../src/listeners/iso8583/codec/frame.ts'
import type { IsoMessage } from '../../../src/listeners/iso8583/codec/layout.ts'
import { CodecError } from '../../../src/listeners/iso8583/codec/layout.ts'
import { decode, decodeReadable, encode } from '../../../src/listeners/iso8583/codec/message.ts'
import { type IssuedCard, issueCard, otherDigits } from '../../support/network.ts'
import { openTestService, type TestService } from '../../support/service.ts'
import {
  cardNotPresent,
  connectSwitch,
  findProfile,
  nextTrace,
  openLink,
  purchase,
  type Switch,
  type TestLink,
} from '../../support/switch.ts'

let service: TestService
let link: TestLink
let wire: Switch
before(async () => {
  service = await openTestService({ env: { RATE_LIMIT: 'off' } })
  link = await openLink(service)
  wire = await connectSwitch(link)
  assert.equal(await wire.signOn(), '00')
})

const layout = findProfile('ascii-1987').layout
const packed = findProfile('binary-1987').layout

const triesOf = async ({ publicToken }: IssuedCard): Promise<number> =>
  (await service.call('GET', `/card-pin/${publicToken}/pin/status`)).json.remainingTries

/** Fails a test that would wait for ever. */
const endOfWait = async (): Promise<never> => {
  await sleep(20_000, null, { ref: false })
  throw new Error('The link was not closed.')
}

/** Sends a message by its bytes, and gives its answer. */
const sendBytes = (to: Switch, trace: string, bytes: Uint8Array): Promise<IsoMessage> => {
  const answer = to.awaitTrace(trace)
  to.send(composeFrame(to.profile.framing, bytes))
  return answer
}

/** A purchase whose amount is not digits: its type and its trace number can be read. */
const spoiledPurchase = (card: IssuedCard): { trace: string; bytes: Buffer } => {
  const trace = nextTrace()
  const fields = { ...purchase(service, card), 7: '1122170000', 11: trace }
  const bytes = encode(layout, { mti: '0100', fields })
  const at = bytes.indexOf('000000001000')
  bytes.write('ABCD', at, 'latin1')
  return { trace, bytes }
}

test('a message that cannot be read is answered 30, with what of it can be read', async () => {
  const card = await issueCard(service)
  const { bytes, trace } = spoiledPurchase(card)
  const { fields, mti } = await sendBytes(wire, trace, bytes)
  assert.equal(mti, '0110')
  assert.equal(fields['39'], '30')
  assert.equal(fields['2'], card.pan)
  assert.equal(fields['41'], 'TERM0001')
  assert.equal(fields['4'], undefined)
  assert.equal(fields['38'], undefined)
  assert.equal(await triesOf(card), 3)
})

test('a message that ends early, and one with bytes left, are answered 30', async () => {
  const card = await issueCard(service)
  for (const spoil of [
    (bytes: Buffer) => bytes.subarray(0, -7),
    (bytes: Buffer) => Buffer.concat([bytes, Buffer.from('9')]),
  ]) {
    const trace = nextTrace()
    const fields = { ...purchase(service, card), 7: '1122170000', 11: trace }
    const bytes = spoil(encode(layout, { mti: '0200', fields }))
    const answer = await sendBytes(wire, trace, bytes)
    assert.deepEqual([answer.mti, answer.fields['39']], ['0210', '30'])
  }
})

test('messages that cannot be read and are answered end the link only when fifty come in a row', async () => {
  const card = await issueCard(service)
  const other = await connectSwitch(link)
  assert.equal(await other.signOn(), '00')
  for (let sent = 0; sent < 12; sent += 1) {
    const { bytes, trace } = spoiledPurchase(card)
    assert.equal((await sendBytes(other, trace, bytes)).fields['39'], '30')
  }
  assert.equal((await other.ask('0100', purchase(service, card))).fields['39'], '00')
  for (let sent = 0; sent < 50; sent += 1) {
    const { bytes, trace } = spoiledPurchase(card)
    assert.equal((await sendBytes(other, trace, bytes)).fields['39'], '30', String(sent))
  }
  await Promise.race([other.closed, endOfWait()])
})

test('what cannot be read of an answer or a notification is not answered', async () => {
  const fields = { 4: '000000001000', 7: '1122170000', 11: nextTrace() }
  for (const mti of ['0110', '0140', '0240']) {
    const bytes = encode(layout, { mti, fields })
    bytes.write('ABCD', bytes.indexOf('000000001000'), 'latin1')
    wire.send(composeFrame(wire.profile.framing, bytes))
  }
  assert.equal((await wire.ask('0800', { 70: '301' })).fields['39'], '00')
  assert.deepEqual(wire.received, [])
})

test('a purchase that is in work is answered before five unreadable messages end the link', async () => {
  const card = await issueCard(service)
  const other = await connectSwitch(link)
  assert.equal(await other.signOn(), '00')
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  // The one connection of the database is taken: the purchase stays in work.
  const holding = service.database.transaction(async () => held)
  const asked = other.ask('0100', purchase(service, card))
  for (let sent = 0; sent < 5; sent += 1) {
    other.send(composeFrame(other.profile.framing, randomBytes(40)))
  }
  setTimeout(release, 200)
  assert.equal((await asked).fields['39'], '00')
  await holding
  await other.closed
})

test('a purchase before a broken frame is answered before the link ends', async () => {
  const card = await issueCard(service)
  const other = await connectSwitch(link)
  assert.equal(await other.signOn(), '00')
  const trace = nextTrace()
  const fields = { ...purchase(service, card), 7: '1122170000', 11: trace }
  const frame = composeFrame(other.profile.framing, encode(layout, { mti: '0100', fields }))
  const answer = other.awaitTrace(trace)
  other.send(Buffer.concat([frame, Buffer.from('FFFF', 'hex')]))
  assert.equal((await answer).fields['39'], '00')
  await other.closed
})

test('field 48 that is no tags is no fault, and what may hold a CVV2 that cannot be read is', async () => {
  const card = await issueCard(service)
  const retailer = 'PINFOLD SHOP 000000112345601'
  assert.equal(
    (await wire.ask('0200', purchase(service, card, { 48: retailer }))).fields['39'],
    '00',
  )
  const keyed = cardNotPresent(service, card, card.cvv2, { 48: retailer })
  assert.equal((await wire.ask('0200', keyed)).fields['39'], '00')
  for (const broken of ['8701M9204', '92051234', '8701M8701M9203123', '8705M9203123']) {
    const spoiled = cardNotPresent(service, card, card.cvv2, { 48: broken })
    assert.equal((await wire.ask('0200', spoiled)).fields['39'], '30', broken)
  }
  const wrong = cardNotPresent(service, card, otherDigits(card.cvv2))
  assert.equal((await wire.ask('0200', wrong)).fields['39'], 'N7')
})

/** A message of one field, by its bytes. */
const withField = (field: number, mti: string, bytes: Buffer): Buffer => {
  const bitmap = Buffer.alloc(8)
  bitmap[(field - 1) >> 3] = 0x80 >> ((field - 1) & 7)
  return Buffer.concat([Buffer.from(mti + bitmap.toString('hex').toUpperCase()), bytes])
}

test('a name in Latin-1, and bytes in a field with a length, are read and written as they came', () => {
  const name = Buffer.from('CAFÉ ÑANDÚ'.padEnd(40), 'latin1')
  const named = withField(43, '0100', name)
  assert.equal(decode(layout, named).fields['43'], name.toString('latin1'))
  assert.deepEqual(encode(layout, decode(layout, named)), named)
  const shown = describe(layout, '1987', decode(layout, named)).at(-1)?.value ?? ''
  assert(!/\p{Cc}/u.test(shown), shown)
  const bytes = Buffer.concat([Buffer.from('004'), Buffer.from('00FF1B80', 'hex')])
  const binary = withField(63, '0100', bytes)
  assert.deepEqual(encode(layout, decode(layout, binary)), binary)
  // Nothing but characters belongs in a text without a length, and nothing but digits in a number.
  const control = withField(43, '0100', Buffer.from('\u0000'.padEnd(40), 'latin1'))
  assert.throws(() => decode(layout, control), CodecError)
  const number = withField(4, '0100', Buffer.from('00000000100É', 'latin1'))
  assert.throws(() => decode(layout, number), CodecError)
})

test('the same in EBCDIC', () => {
  const { layout: ebcdic } = findProfile('mastercard-public')
  const message = { mti: '0100', fields: { 43: 'CAFÉ ÑANDÚ'.padEnd(40), 63: 'A\u0000\u00FFB' } }
  const bytes = encode(ebcdic, message)
  assert.deepEqual(decode(ebcdic, bytes), message)
  // É and Ñ of code page 1047.
  assert(bytes.includes(Buffer.from('C3C1C67140', 'hex')))
})

test('hexadecimal in small letters is read in bitmaps and in fields', () => {
  const message = {
    mti: '0800',
    fields: { 7: '1122170000', 11: '000001', 52: 'AABBCCDDEEFF0011', 70: '301' },
  }
  const bytes = encode(layout, message)
  const small = Buffer.from(bytes.toString('latin1').toLowerCase(), 'latin1')
  assert.notDeepEqual(small, bytes)
  assert.deepEqual(decode(layout, small), message)
})

test('a track that is filled with F is read without it, counted or not', () => {
  const track = '4000001234567899=30112011234567890123'
  assert.equal(track.length, 37)
  const read = (bytes: Buffer) => decode(layout, withField(35, '0100', bytes)).fields['35']
  assert.equal(read(Buffer.from(`38${track}F`)), track)
  assert.equal(read(Buffer.from('264000001234567899d30112011F')), '4000001234567899D30112011')
  assert.throws(() => read(Buffer.from(`38${track}1`)), CodecError)
  assert.throws(() => read(Buffer.from('264000001234567899=30F12011F')), CodecError)
  const inBytes = (hex: string) => {
    const bitmap = '0000000020000000'
    return decode(packed, Buffer.from(`0100${bitmap}${hex}`, 'hex')).fields['35']
  }
  const digits = track.replace('=', 'D')
  assert.equal(inBytes(`37${digits}F`), track)
  assert.equal(inBytes(`38${digits}F`), track)
  assert.equal(inBytes(`37${digits}0`), track)
})

test('chip data are read as bytes and as digits of hexadecimal, whichever are counted', () => {
  const chip = '9F02060000000010009F2608A1B2C3D4E5F60718'
  const read = (bytes: Buffer) => decode(layout, withField(55, '0100', bytes)).fields['55']
  assert.equal(read(Buffer.concat([Buffer.from('020'), Buffer.from(chip, 'hex')])), chip)
  assert.equal(read(Buffer.from(`040${chip}`)), chip)
  assert.equal(read(Buffer.from(`040${chip.toLowerCase()}`)), chip)
  assert.equal(read(Buffer.from(`020${chip}`)), chip)
  const digits = Buffer.from(chip.slice(1))
  const counted = read(Buffer.concat([Buffer.from('039'), digits]))
  assert.equal(counted, digits.toString('hex').toUpperCase(), 'what is neither stays as it is')
})

test('what can be read of a message is read, whatever comes behind it, and nothing else is thrown', () => {
  const message = {
    mti: '0200',
    fields: { 2: '4000001234567899', 4: '000000001000', 11: '000001', 48: '9203123' },
  }
  const bytes = encode(layout, message)
  for (let at = 0; at < bytes.length; at += 1) {
    const readable = decodeReadable(layout, bytes.subarray(0, at))
    if (readable) assert.equal(readable.mti, '0200')
    const spoiled = Buffer.from(bytes)
    spoiled[at] = 0x7f
    const { 2: pan, 11: trace } = decodeReadable(layout, spoiled)?.fields ?? {}
    if (at >= 22 && at < 38) assert.deepEqual([pan, trace], [undefined, '000001'])
  }
  for (let tried = 0; tried < 500; tried += 1) decodeReadable(layout, randomBytes(80))
})
