import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { composeFrame } from '../../../src/listeners/iso8583/codec/frame.ts'
import { encode } from '../../../src/listeners/iso8583/codec/message.ts'
import { issueCard } from '../../support/network.ts'
import { openTestService, sql } from '../../support/service.ts'
import { makeTrack } from '../../support/stripes.ts'
import {
  cardNotPresent,
  connectSwitch,
  nextTrace,
  openLink,
  purchase,
} from '../../support/switch.ts'

const hexLength = (digits: string): string =>
  (digits.length / 2).toString(16).padStart(2, '0').toUpperCase()

test('no PAN, track, PIN block, CVV2 or cryptogram of a link comes to rest in a log, a metric or a table', async () => {
  const lines: string[] = []
  const service = await openTestService({
    env: { RATE_LIMIT: 'off', LOG_LEVEL: 'trace' },
    onLogLine: (line) => lines.push(line),
  })
  const link = await openLink(service)
  const wire = await connectSwitch(link)
  await wire.signOn()
  const card = await issueCard(service)
  const { pan } = card
  const track = `${pan}=${card.expiry.slice(2, 4)}${card.expiry.slice(5)}2011234500000987`
  const whole = purchase(service, card)
  const block = whole['52'] ?? ''
  const answers: unknown[] = []
  const ask = async (mti: string, fields: Record<string, string>) => {
    const { fields: answered } = await wire.ask(mti, fields)
    // The PAN goes back to whom it came from, and nowhere else.
    const { 2: _, ...others } = answered
    answers.push(others)
  }
  for (const mti of ['0100', '0101', '0120', '0200', '0220', '0400', '0420', '0600']) {
    await ask(mti, { ...whole, 37: `R${nextTrace()}`.padEnd(12, '0') })
    await ask(mti, {
      ...whole,
      35: track,
      45: `B${pan}^LIM/ANA^3011`,
      36: track,
      102: pan,
      103: pan,
      60: pan,
      126: `1 ${card.cvv2}`,
    })
    // Where people put card numbers.
    for (const [field, width] of [
      ['41', 8],
      ['42', 15],
      ['43', 40],
    ] as const) {
      await ask(mti, { ...whole, [field]: pan.slice(0, width).padEnd(width) })
    }
  }
  await ask('0100', cardNotPresent(service, card, card.cvv2))
  const chipCard = await issueCard(service, { cardType: 'Physical', activateNow: true })
  const chipTrack = await makeTrack(service, chipCard, '201', '999')
  const cryptogram = randomBytes(8).toString('hex').toUpperCase()
  const packed = `${chipTrack.replace('=', 'D')}F`.slice(0, 38)
  const chipData = `9F2608${cryptogram}57${hexLength(packed)}${packed}9F360200019F100706011203A00000`
  for (const mti of ['0100', '0120', '0200', '0220']) {
    for (const fields of [{ 55: chipData }, { 35: chipTrack }, { 22: '911', 35: chipTrack }]) {
      await ask(mti, { ...purchase(service, chipCard), 11: nextTrace(), ...fields })
    }
  }
  // What cannot be read, with all of it inside: answered where its trace number can be read.
  const trace = nextTrace()
  const bytes = encode(wire.profile.layout, {
    mti: '0100',
    fields: { ...whole, 7: '1122170000', 11: trace, 35: track },
  })
  const cut = [1, 2, 3, 4].map((count) => bytes.subarray(0, -count))
  for (const spoiled of [...cut, Buffer.concat([bytes, randomBytes(4)])]) {
    const answered = wire.awaitTrace(trace)
    wire.send(composeFrame(wire.profile.framing, spoiled))
    const { 2: _, ...others } = (await answered).fields
    answers.push(others)
  }
  for (let sent = 0; sent < 5; sent += 1) {
    const headless = Buffer.concat([Buffer.from('X'), bytes])
    wire.send(composeFrame(wire.profile.framing, headless))
  }
  await wire.closed
  await wait(200)

  const metrics = await service.call('GET', '//metrics', { listener: 'private', token: null })
  const tables = await sql<{ name: string }>(
    service.database,
    `select tablename as "name" from pg_tables where schemaname = 'public'`,
  )
  const rows: string[] = []
  for (const { name } of tables) {
    const found = await sql<{ row: string }>(
      service.database,
      `select t::text as "row" from ${name} t`,
    )
    rows.push(...found.map(({ row }) => row))
  }
  const places = {
    log: lines.join('\n'),
    metrics: metrics.text,
    tables: rows.join('\n'),
    answers: JSON.stringify(
      answers.map((each) => ({ ...(each as object), 41: '', 42: '', 37: '' })),
    ),
  }
  const hex = (text: string) => Buffer.from(text).toString('hex')
  for (const [place, text] of Object.entries(places)) {
    for (const secret of [
      pan,
      pan.slice(0, 12),
      track.slice(17),
      block,
      block.toLowerCase(),
      hex(pan),
      hex(block),
      chipCard.pan,
      chipTrack.slice(17),
      packed.slice(17),
      cryptogram,
      cryptogram.toLowerCase(),
    ]) {
      assert(!text.includes(secret), `${place} has ${secret.length} characters of a secret`)
    }
  }
  assert(lines.some((line) => line.includes('a link was refused')))
  assert(lines.some((line) => line.includes('a message of a link was answered')))
})
