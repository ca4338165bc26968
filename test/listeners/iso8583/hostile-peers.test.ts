import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { composeFrame } from '../../../src/listeners/iso8583/codec/frame.ts'
import { encode } from '../../../src/listeners/iso8583/codec/message.ts'
import { issueCard, otherDigits } from '../../support/network.ts'
import { openTestService, type TestService } from '../../support/service.ts'
import {
  connectSwitch,
  nextTrace,
  openLink,
  purchase,
  type TestLink,
} from '../../support/switch.ts'
import { until } from '../../support/until.ts'
import { keepAliveOf } from './keep-alive.ts'

let service: TestService
let link: TestLink
const lines: string[] = []
before(async () => {
  service = await openTestService({
    env: { RATE_LIMIT: 'off' },
    onLogLine: (line) => lines.push(line),
  })
  link = await openLink(service)
})

const connectSignedOn = async () => {
  const wire = await connectSwitch(link)
  await wire.signOn()
  return wire
}

const logOf = (reason: string): string[] =>
  lines.filter((line) => line.includes(`"reason":"${reason}"`) && line.includes(link.linkName))

test('a frame longer than 4,096 bytes ends the link', async () => {
  const wire = await connectSignedOn()
  wire.send(Buffer.from('1001', 'hex'))
  await wire.closed
  assert(logOf('frame').some((line) => line.includes('exceeds the limit of 4096 bytes')))
})

test('a length in digits where a binary one is agreed ends the link, and says what it is', async () => {
  // A link of its own: the log has one line a minute for each link and reason.
  const own = await openLink(service)
  const wire = await connectSwitch(own)
  wire.send(Buffer.from('00460800'))
  await wire.closed
  const said = lines.filter((line) => line.includes(own.linkName))
  assert(said.some((line) => line.includes('four digits of ASCII')))
})

test('five messages in a row that cannot be read end the link, and four do not', async () => {
  const wire = await connectSignedOn()
  const noise = () => wire.send(composeFrame(wire.profile.framing, randomBytes(40)))
  for (let sent = 0; sent < 4; sent += 1) noise()
  assert.equal((await wire.ask('0800', { 70: '301' })).fields['39'], '00')
  for (let sent = 0; sent < 5; sent += 1) noise()
  await wire.closed
})

test('a keep-alive of length zero is no message', async () => {
  const wire = await connectSignedOn()
  for (let sent = 0; sent < 20; sent += 1) wire.send(keepAliveOf(wire.profile.framing))
  assert.equal((await wire.ask('0800', { 70: '301' })).fields['39'], '00')
  wire.close()
})

test('unrequested answers are counted, and end nothing', async () => {
  const wire = await connectSignedOn()
  const { framing, layout } = wire.profile
  const fields = { 7: '1122170000', 11: nextTrace(), 39: '00', 70: '301' }
  for (let sent = 0; sent < 8; sent += 1) {
    wire.send(composeFrame(framing, encode(layout, { mti: '0810', fields })))
  }
  assert.equal((await wire.ask('0800', { 70: '301' })).fields['39'], '00')
  wire.close()
})

test('a link takes 16 connections and no more', async () => {
  const other = await openLink(service)
  const wires = []
  for (let connected = 0; connected < 16; connected += 1) {
    const wire = await connectSwitch(other)
    assert.equal(await wire.signOn(), '00')
    wires.push(wire)
  }
  const more = await connectSwitch(other)
  await more.closed
  for (const wire of wires) wire.close()
})

test('a megabyte of keep-alives is no work, and the link goes on', async () => {
  const wire = await connectSignedOn()
  const failures = logOf('message').length
  wire.send(Buffer.alloc(2 ** 20))
  assert.equal((await wire.ask('0800', { 70: '301' })).fields['39'], '00')
  assert.equal(logOf('message').length, failures)
  wire.close()
})

test('a link has 64 questions in work and no more, and all are answered in the end', async () => {
  const slow = await openTestService({ env: { RATE_LIMIT: 'off' } })
  const own = await openLink(slow)
  const wire = await connectSwitch(own)
  assert.equal(await wire.signOn(), '00')
  const card = await issueCard(slow)
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  // The one connection of the database is taken.
  const holding = slow.database.transaction(async () => held)
  const unknown = purchase(slow, card, { 2: '4000009999999991' })
  const asked = Array.from({ length: 100 }, () => wire.ask('0100', unknown))
  const inWork = () =>
    slow.links.load().find(({ linkName }) => linkName === own.linkName)?.inFlight ?? 0
  await until(() => inWork() === 64)
  // Whatever has been read since then waits.
  await wire.askWithin(200, '0800', { 70: '301' })
  assert.equal(inWork(), 64)
  release()
  await holding
  const codes = (await Promise.all(asked)).map(({ fields }) => fields['39'])
  assert.deepEqual([...new Set(codes)], ['14'])
  assert.equal(inWork(), 0)
  wire.close()
})

test('a question that has waited for longer than its deadline is dropped without a try', async () => {
  const slow = await openTestService({ env: { RATE_LIMIT: 'off', CALL_WAIT_MS: '150' } })
  const [first, second] = [await openLink(slow), await openLink(slow)]
  const card = await issueCard(slow)
  const wire = await connectSwitch(first)
  const other = await connectSwitch(second)
  assert.deepEqual([await wire.signOn(), await other.signOn()], ['00', '00'])
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  // The one connection of the database is taken, so that what has begun stays in work: as much as a
  // network may have.
  const holding = slow.database.transaction(async () => held)
  const unknown = { 2: '4000009999999991' }
  const begun = Array.from({ length: 64 }, () => wire.ask('0100', purchase(slow, card, unknown)))
  const inWorkOf = ({ linkName }: { linkName: string }) =>
    slow.links.load().find((load) => load.linkName === linkName)?.inFlight ?? 0
  await until(() => inWorkOf(first) === 64)
  const late = other.askWithin(1_500, '0100', purchase(slow, card, { pin: otherDigits(card.pin) }))
  // The frame is read in the first of these turns; its deadline ends in a later one.
  for (let turn = 0; turn < 5; turn += 1) await wait(100)
  release()
  await holding
  const answers = await Promise.all(begun)
  assert.deepEqual([...new Set(answers.map(({ fields }) => fields['39']))], ['14'])
  assert.equal(await late, null)
  const tries = await slow.call('GET', `/card-pin/${card.publicToken}/pin/status`)
  assert.equal(tries.json.remainingTries, 3)
  const again = await other.ask('0100', purchase(slow, card, { pin: otherDigits(card.pin) }))
  assert.equal(again.fields['39'], '55')
  for (const each of [wire, other]) each.close()
})
