import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import {
  type ChipCommandReport,
  findEndedCommands,
  listDueCommands,
  type WaitingChipCommand,
} from '../../../src/domain/chip-command.ts'
import { composeChipData, listChipTags } from '../../../src/domain/chip-data.ts'
import { type ChipProfileName, chipProfileNames } from '../../../src/domain/chip-profile.ts'
import type { PublicToken } from '../../../src/domain/identifiers.ts'
import { chipMoney, chippedCard, playChip } from '../../support/chip.ts'
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

/** A transaction: the PIN that the chip compares, and what gets lost. */
interface Payment {
  readonly pin?: string
  readonly isAnswerLost?: boolean
  /** Of the terminal, in tag 9F5B. */
  readonly areResultsLost?: boolean
  readonly entryMode?: string
}

const leaveOutResults = (data: string): string => {
  const read = listChipTags(Buffer.from(data, 'hex'))
  assert.ok('list' in read)
  return composeChipData(read.list.filter(([tag]) => tag !== '9F5B')).toString('hex')
}

/** One online transaction: the network's request, and its answer in the chip. */
async function payOnline(
  { call, card }: ChippedCard,
  { areResultsLost = false, entryMode = 'chip', isAnswerLost = false, pin }: Payment = {},
) {
  const made = await call('/transactions', { amount: 100, currency: 'EUR', ...(pin && { pin }) })
  const body = {
    publicToken: card.publicToken,
    entryMode,
    reference: 'R-1',
    amount: 100,
    currency: 'EUR',
    chip: { data: areResultsLost ? leaveOutResults(made.chip.data) : made.chip.data },
  }
  const options = { as: 'network', listener: 'private', body } as const
  const { json } = await service.call('POST', '//network/authorizations', options)
  const { approved, chip, responseCode } = json
  const { offlinePin } = made
  if (isAnswerLost || !chip) return { responseCode, offlinePin, commands: [] }
  const { commands } = await call('/answers', { chip, approved })
  return { responseCode, offlinePin, commands }
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

for (const areResultsLost of [false, true]) {
  const terminal = areResultsLost ? 'that reports no results' : 'that reports results'
  test(`a PIN is sent again after a lost answer, at a terminal ${terminal}`, async () => {
    const opened = await openChip()
    const { publicToken } = opened.card
    const [before = '', after = ''] = strongPins(opened.card)
    const setPin = (pin: string) =>
      service.call('POST', `/card-pin/${publicToken}/pin`, { body: { pin } })
    await setPin(before)
    await payOnline(opened)
    await setPin(after)
    await payOnline(opened, { areResultsLost, isAnswerLost: true })
    // The chip still counts the change before, and says that no answer came to it since.
    const next = await payOnline(opened, { areResultsLost })
    assert.equal(next.commands.length, 1)
    assert.equal((await readPinStatus(publicToken)).chipUpdate, 'sent')
    assert.equal((await payOnline(opened, { areResultsLost, pin: after })).offlinePin, 'right')
    assert.equal((await readPinStatus(publicToken)).chipUpdate, 'done')
  })
}

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

test('an answer carries one command, and the others follow in the next ones', async () => {
  const opened = await openChip()
  const { card } = opened
  for (const tag of ['9F58', '9F59', '9F53']) {
    const body = { command: 'put_data', tag, value: '00'.repeat(64) }
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
  panSequenceNumber: null,
  sentCount: atc === null ? 0 : 1,
  sentTo: atc === null ? null : '00',
  sentAtc: atc,
})
const report: ChipCommandReport = {
  panSequenceNumber: '00',
  atc: 8,
  plastic: 'unknown',
  newestPanSequenceNumber: '00',
  lastAtc: 7,
  lastContactAtc: 7,
  isContact: true,
  isCardExpired: false,
  isAdvice: false,
  results: null,
  processed: 1,
  countedTemplates: ['72'],
  hasFailed: false,
  isLastOnlineIncomplete: false,
  isDeclined: false,
}

test('a command that was sent ends by its result of the terminal, and by no other one', () => {
  const waiting = [sentTo(5, 7), sentTo(6, 8), sentTo(7, null), sentTo(8, 3)]
  const listed = (hex: string) => ({ ...report, results: Buffer.from(hex, 'hex') })
  const advice = { isAdvice: true, lastAtc: 8 }
  const cases = [
    // Performed, failed, and not performed, whatever the chip says.
    [listed('2000000005'), [5], []],
    [listed('1000000005'), [], [5]],
    [listed('0000000005'), [], []],
    [listed('20000000082000000005'), [5, 8], []],
    // Of a command that does not wait, of a part of one, and of none.
    [listed('2000000009'), [], []],
    [listed('20000000'), [], []],
    [listed(''), [], []],
    // Of commands that were sent later, or never, or to another chip.
    [listed('20000000061000000007'), [], []],
    [{ ...listed('2000000005'), panSequenceNumber: '01' }, [], []],
    // An advice is about the transaction whose answer had the command.
    [{ ...listed('20000000062000000007'), ...advice }, [6], []],
    [{ ...listed('2000000005'), ...advice, atc: 6 }, [], []],
  ] as const
  for (const [reported, done, failed] of cases) {
    assert.deepEqual(findEndedCommands(waiting, reported), { done, failed, unconfirmed: [] })
  }
})

test('without results of the terminal, a command ends only by a count that is certainly its own', () => {
  const single = [sentTo(5, 7), sentTo(6, 8), sentTo(7, null), sentTo(8, 3)]
  const early = [{ ...sentTo(5, 7), command: 'unblock_application' as const }]
  const cases = [
    [single, report, [5], []],
    [single, { ...report, hasFailed: true }, [], [5]],
    [single, { ...report, hasFailed: true, processed: 0 }, [], [5]],
    // Another number of commands than the answer had.
    [single, { ...report, processed: 0 }, [], []],
    [single, { ...report, processed: 2 }, [], []],
    // Another template than the chip counts.
    [early, report, [], []],
    [early, { ...report, hasFailed: true }, [], []],
    [early, { ...report, countedTemplates: ['71', '72'] as const }, [5], []],
    // An advice does not say how the chip was read.
    [single, { ...report, isAdvice: true }, [], []],
    // The answer was lost, or the chip does not say that it was not.
    [single, { ...report, isLastOnlineIncomplete: true }, [], []],
    [single, { ...report, isLastOnlineIncomplete: null }, [], []],
    // Another answer came since, to this chip or to another one. A tap has none.
    [single, { ...report, atc: 10, lastAtc: 9, lastContactAtc: 9 }, [], []],
    [single, { ...report, atc: 10, lastAtc: 9 }, [5], []],
    [single, { ...report, isContact: false }, [], []],
    [single, { ...report, results: Buffer.from('2000000005', 'hex'), isContact: false }, [], []],
    [single, { ...report, panSequenceNumber: '01' }, [], []],
    [single, { ...report, atc: 7 }, [], []],
  ] as const
  for (const [waiting, reported, done, failed] of cases) {
    assert.deepEqual(findEndedCommands(waiting, reported), { done, failed, unconfirmed: [] })
  }
})

test('an answer carries what blocks a chip first, then what was sent least often', () => {
  const due = (...commands: readonly Partial<WaitingChipCommand>[]) => {
    const waiting = commands.map((command, at) => ({ ...sentTo(at + 1, null), ...command }))
    return listDueCommands(waiting, { ...report, processed: 0 }).map(({ number }) => number)
  }
  const put = { command: 'put_data' } as const
  const block = { command: 'block_application' } as const
  const sent = { sentTo: '00', sentAtc: 7 } as const
  assert.deepEqual(due(put, put, {}, block), [4, 3, 1, 2])
  assert.deepEqual(due({ ...put, ...sent, sentCount: 1 }, put), [2, 1])
  assert.deepEqual(
    due({ ...sent, sentCount: 1 }, put, { ...block, ...sent, sentCount: 4 }),
    [3, 2, 1],
  )
  // A command for another chip, and one that was sent too often.
  assert.deepEqual(due({ ...put, panSequenceNumber: '01' }, { ...put, ...sent, sentCount: 10 }), [])
  assert.deepEqual(due({ ...block, ...sent, sentCount: 10 }), [1])
})

test('a command that was sent ten times without a result ends as unconfirmed, unless it blocks the chip', () => {
  const often = { sentCount: 10 }
  const unsure = { ...report, isLastOnlineIncomplete: null }
  const block = { command: 'block_card' } as const
  const find = (...commands: readonly Partial<WaitingChipCommand>[]) =>
    findEndedCommands(
      commands.map((command, at) => ({ ...sentTo(at + 1, 7), ...command })),
      unsure,
    )
  assert.deepEqual(find(often, { sentCount: 9 }, { ...block, ...often }), {
    done: [],
    failed: [],
    unconfirmed: [1],
  })
})

test('no report of a terminal ends a command that blocks a chip, while the chip is not blocked', () => {
  const of = (command: 'block_application' | 'block_card', over: Partial<ChipCommandReport>) =>
    findEndedCommands([{ ...sentTo(5, 7), command }], { ...report, ...over })
  const results = (hex: string) => ({ results: Buffer.from(hex, 'hex') })
  const none = { done: [], failed: [], unconfirmed: [] }
  for (const command of ['block_application', 'block_card'] as const) {
    for (const told of [results('2000000005'), results('1000000005'), {}, { hasFailed: true }]) {
      assert.deepEqual(of(command, told), none, command)
    }
    assert.deepEqual(of(command, { ...results('1000000005'), isDeclined: true }), none)
  }
  const declined = { ...results('2000000005'), isDeclined: true }
  assert.deepEqual(of('block_application', declined), { ...none, done: [5] })
  assert.deepEqual(of('block_card', declined), none)
})

test('a new PIN whose result no terminal reports is unconfirmed, and not refused by the chip', async () => {
  const opened = await openChip('mastercard-20')
  const { publicToken } = opened.card
  const [pin = ''] = strongPins(opened.card)
  await service.call('POST', `/card-pin/${publicToken}/pin`, { body: { pin } })
  for (let paid = 0; paid < 11; paid += 1) await payOnline(opened, { areResultsLost: true })
  assert.equal((await readPinStatus(publicToken)).chipUpdate, 'unconfirmed')
  const [event] = await sql(
    service.database,
    'select type from event where public_token = $1 order by sequence desc limit 1',
    [publicToken],
  )
  assert.deepEqual(event, { type: 'chip.command_unconfirmed' })
})

test('no answer carries a command that cannot reach the chip', () => {
  const list = (over: Partial<ChipCommandReport>) =>
    listDueCommands([sentTo(5, null), { ...sentTo(6, null), command: 'block_application' }], {
      ...report,
      ...over,
    }).map(({ number }) => number)
  assert.deepEqual(list({}), [6, 5])
  assert.deepEqual(list({ isContact: false }), [])
  // A slower request: the chip has got an answer with a higher counter.
  assert.deepEqual(list({ atc: 6 }), [])
  assert.deepEqual(list({ isCardExpired: true }), [6])
})

test('taps between purchases by the contacts neither carry a command nor end it', async () => {
  const opened = await openChip()
  const { publicToken } = opened.card
  const [first = '', second = ''] = strongPins(opened.card)
  const setPin = (pin: string) =>
    service.call('POST', `/card-pin/${publicToken}/pin`, { body: { pin } })
  const tap = { entryMode: 'contactless', areResultsLost: true }
  await setPin(first)
  for (let tapped = 0; tapped < 11; tapped += 1) {
    assert.deepEqual((await payOnline(opened, tap)).commands, [])
  }
  assert.equal((await readPinStatus(publicToken)).chipUpdate, 'pending')
  assert.equal((await payOnline(opened, { areResultsLost: true })).commands.length, 1)
  await payOnline(opened, { ...tap, isAnswerLost: true })
  await setPin(second)
  // The chip counts the first change, and no answer has carried the second one.
  await payOnline(opened, { ...tap, isAnswerLost: true })
  assert.equal((await readPinStatus(publicToken)).chipUpdate, 'pending')
  assert.equal((await payOnline(opened, { areResultsLost: true })).commands.length, 1)
  await payOnline(opened, { areResultsLost: true, pin: second })
  assert.equal((await readPinStatus(publicToken)).chipUpdate, 'done')
})

test('a tap after the answer with a command does not hide what the chip counts', async () => {
  const { publicToken } = await chippedCard(service)
  const chip = await playChip(service, { publicToken }, 'visa-cvn18', '00')
  const pay = async (atc: number, entryMode: string, processedCommands: number) => {
    const data = await chip.present({ atc, report: { processedCommands } })
    const body = { publicToken, entryMode, reference: 'R-1', ...chipMoney, chip: data }
    const options = { as: 'network', listener: 'private', body } as const
    const { json } = await service.call('POST', '//network/authorizations', options)
    assert.equal(json.responseCode, '00')
    return (await readPinStatus(publicToken)).chipUpdate
  }
  await service.call('POST', `/card-pin/${publicToken}/pin/unblock`)
  assert.equal(await pay(1, 'chip', 0), 'sent')
  assert.equal(await pay(2, 'contactless', 1), 'sent')
  assert.equal(await pay(3, 'chip', 1), 'done')
})

test('the chip of an expired card gets no PIN, even before the card is marked as expired', async () => {
  const opened = await openChip()
  const { publicToken } = opened.card
  await service.call('POST', `/card-pin/${publicToken}/pin/unblock`)
  await sql(
    service.database,
    `update card set start_date = '2019-01-01', expiry_date = '2020-01-31' where public_token = $1`,
    [publicToken],
  )
  const { commands, responseCode } = await payOnline(opened)
  assert.deepEqual([commands, responseCode], [[], '54'])
})

test('commands for the PIN go to the newest chip of a card, and end by its results only', () => {
  const of = (panSequenceNumber: string) => ({
    ...report,
    panSequenceNumber,
    newestPanSequenceNumber: '01',
  })
  const waiting = [sentTo(5, null)]
  const select = (number: string) => listDueCommands(waiting, of(number)).length
  assert.deepEqual(['00', '01', '02'].map(select), [0, 1, 1])
  const results = Buffer.from('2000000005', 'hex')
  assert.deepEqual(findEndedCommands([sentTo(5, 7)], { ...of('00'), results }).done, [])
})

test('a command that blocks a lost chip leaves its replacement alone, and other ones do, too', async () => {
  const opened = await openChip()
  const { publicToken } = opened.card
  const request = (body: object) =>
    service.call('POST', `/cards/${publicToken}/chip/commands`, { body })
  await payOnline(opened)
  assert.equal((await request({ command: 'block_card' })).status, 201)
  const path = `/simulator/cards/${publicToken}/chip`
  await service.call('POST', path, { body: {} })
  assert.deepEqual((await payOnline(opened)).commands, [])
  assert.equal((await payOnline(opened)).responseCode, '00')
  const body = { command: 'put_data', tag: '9F58', value: '03', panSequenceNumber: '00' }
  assert.equal((await request(body)).status, 201)
  assert.deepEqual((await payOnline(opened)).commands, [])
  assert.equal((await request({ ...body, panSequenceNumber: undefined })).status, 201)
  assert.equal((await payOnline(opened)).commands.length, 1)
  const { json } = await service.call('GET', `/cards/${publicToken}/chip`)
  assert.deepEqual(
    json.commands.map((each: Record<string, string>) => [each.panSequenceNumber, each.state]),
    [
      ['01', 'sent'],
      ['00', 'pending'],
      ['00', 'pending'],
    ],
  )
})
