import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { findEndedCommands, type WaitingChipCommand } from '../../../src/domain/chip-command.ts'
import { type ChipProfileName, chipProfileNames } from '../../../src/domain/chip-profile.ts'
import type { PublicToken } from '../../../src/domain/identifiers.ts'
import { chippedCard } from '../../support/chips.ts'
import { otherDigits } from '../../support/network.ts'
import { openTestService, sql, strongPins, type TestService } from '../../support/service.ts'

let service: TestService

before(async () => {
  service = await openTestService({ env: { RATE_LIMIT: 'off' } })
})

type ChippedCard = Awaited<ReturnType<typeof openChip>>

/** A card with a virtual chip. */
async function openChip(profile: ChipProfileName = 'visa-cvn18') {
  const card = await chippedCard(service, profile)
  const path = `/simulator/cards/${card.publicToken}/chip`
  const made = await service.call('POST', path, { body: {} })
  assert.equal(made.status, 201, made.text)
  const call = async (suffix: string, body: object) => {
    const answer = await service.call('POST', path + suffix, { body })
    assert.equal(answer.status, 200, answer.text)
    return answer.json
  }
  return { card, call, read: async () => (await service.call('GET', path)).json }
}

/** One online transaction: the network's request, and its answer in the chip. */
async function payOnline(
  { call, card }: ChippedCard,
  { pin, isAnswerLost = false }: { readonly pin?: string; readonly isAnswerLost?: boolean } = {},
) {
  const made = await call('/transactions', { amount: 100, currency: 'EUR', ...(pin && { pin }) })
  const body = {
    publicToken: card.publicToken,
    entryMode: 'chip',
    reference: 'R-1',
    amount: 100,
    currency: 'EUR',
    chip: { data: made.chip.data },
  }
  const options = { as: 'network', listener: 'private', body } as const
  const { json } = await service.call('POST', '//network/authorizations', options)
  const { approved, chip, responseCode } = json
  if (isAnswerLost || !chip) return { responseCode, commands: [] }
  const { commands } = await call('/answers', { chip, approved })
  return { responseCode, commands }
}

const readPinStatus = async (publicToken: PublicToken) =>
  (await service.call('GET', `/card-pin/${publicToken}/pin/status`)).json

for (const profile of chipProfileNames) {
  test(`a new PIN reaches a ${profile} chip with the next answer, and the one after says so`, async () => {
    const opened = await openChip(profile)
    const { card } = opened
    const [pin = ''] = strongPins(card)
    await service.call('POST', `/card-pin/${card.publicToken}/pin`, { body: { pin } })
    const first = await payOnline(opened)
    assert.equal(first.responseCode, '00')
    assert.equal(first.commands.length, 1, JSON.stringify(first))
    assert.equal((await readPinStatus(card.publicToken)).chipUpdate, 'sent')
    const second = await payOnline(opened, { pin })
    assert.deepEqual([second.responseCode, second.commands], ['00', []])
    assert.equal((await readPinStatus(card.publicToken)).chipUpdate, 'done')
  })
}

test('an unblocked PIN reaches a chip whose tries are used up, with a decline', async () => {
  const opened = await openChip()
  const { card } = opened
  const [pin = ''] = strongPins(card)
  await service.call('POST', `/card-pin/${card.publicToken}/pin`, { body: { pin } })
  await payOnline(opened)
  await payOnline(opened, { pin })
  for (let tried = 0; tried < 3; tried += 1) {
    await opened.call('/transactions', { amount: 100, currency: 'EUR', pin: otherDigits(pin) })
  }
  await service.call('POST', `/card-pin/${card.publicToken}/pin/unblock`)
  const declined = await payOnline(opened, { pin })
  assert.equal(declined.responseCode, '75')
  assert.equal(declined.commands.length, 1)
  const approved = await payOnline(opened, { pin })
  assert.equal(approved.responseCode, '00')
  assert.equal((await readPinStatus(card.publicToken)).chipUpdate, 'done')
})

test('an answer that never reaches the chip is followed by another one with the command', async () => {
  const opened = await openChip()
  const { card } = opened
  await service.call('POST', `/card-pin/${card.publicToken}/pin/unblock`)
  await payOnline(opened, { isAnswerLost: true })
  const next = await payOnline(opened)
  assert.equal(next.commands.length, 1)
  const { json } = await service.call('GET', `/cards/${card.publicToken}/chip`)
  assert.deepEqual([json.commands[0].state, json.commands[0].sentCount], ['sent', 2])
  await payOnline(opened)
  assert.equal((await readPinStatus(card.publicToken)).chipUpdate, 'done')
})

test('a command whose sending was never recorded is sent again', async () => {
  const opened = await openChip()
  const { card } = opened
  await service.call('POST', `/card-pin/${card.publicToken}/pin/unblock`)
  await payOnline(opened, { isAnswerLost: true })
  // As if the process had been killed between the commit of the answer and this record.
  await sql(
    service.database,
    `update chip_command set state = 'pending', sent_to = null, sent_atc = null, sent_count = 0
     where public_token = $1`,
    [card.publicToken],
  )
  assert.equal((await payOnline(opened)).commands.length, 1)
  await payOnline(opened)
  assert.equal((await readPinStatus(card.publicToken)).chipUpdate, 'done')
})

test('commands that do not fit into one answer follow in the next ones, in their order', async () => {
  const opened = await openChip()
  const { card } = opened
  for (const tag of ['9F58', '9F59', '9F53']) {
    const body = { command: 'put_data', tag, value: '00'.repeat(48) }
    await service.call('POST', `/cards/${card.publicToken}/chip/commands`, { body })
  }
  const carried = []
  for (let paid = 0; paid < 3; paid += 1) carried.push((await payOnline(opened)).commands.length)
  assert.deepEqual(carried, [1, 1, 1])
  await payOnline(opened)
  const { json } = await service.call('GET', `/cards/${card.publicToken}/chip`)
  assert.deepEqual(
    new Set(json.commands.map(({ state }: { state: string }) => state)),
    new Set(['done']),
  )
})

const sentTo = (number: number, atc: number | null): WaitingChipCommand => ({
  number,
  command: 'unblock_pin',
  pinBlock: null,
  pinKey: null,
  dataObject: null,
  sentTo: atc === null ? null : '00',
  sentAtc: atc,
})
const report = { panSequenceNumber: '00', atc: 8, results: null, processed: 1, hasFailed: false }

test('a command ends by its own result, else by what the chip says later of those it was sent', () => {
  const waiting = [sentTo(5, 7), sentTo(6, 8), sentTo(7, null)]
  const results = (hex: string) => ({ ...report, results: Buffer.from(hex, 'hex') })
  const cases = [
    [report, [5], []],
    [{ ...report, hasFailed: true }, [], [5]],
    [{ ...report, processed: 0 }, [], []],
    [{ ...report, processed: null }, [], []],
    [{ ...report, panSequenceNumber: '01' }, [], []],
    // Performed, failed, and not performed, whatever the chip says.
    [results('2000000005'), [5], []],
    [results('1000000005'), [], [5]],
    [results('0000000005'), [], []],
    // A result for a command that does not wait, and a part of one.
    [results('2000000009'), [5], []],
    [results('20000000'), [5], []],
    [results('20000000061000000007'), [5, 6], [7]],
  ] as const
  for (const [reported, done, failed] of cases) {
    assert.deepEqual(findEndedCommands(waiting, reported), { done, failed })
  }
})
