import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { PublicToken } from '../../../src/domain/identifiers.ts'
import { usualChip } from '../../../src/domain/product-chip.ts'
import { demoProducts } from '../../../src/sandbox/demo-data.ts'
import { expireCards } from '../../../src/storage/cards/changes.ts'
import { findTries } from '../../../src/storage/cards/tries.ts'
import { type ChipResults, recordChipResults } from '../../../src/storage/chips/commands.ts'
import { product } from '../../support/builders.ts'
import { chippedCard, listCommandNumbers } from '../../support/chip.ts'
import { openTestService, sql, strongPins, type TestService } from '../../support/service.ts'

let service: TestService

before(async () => {
  service = await openTestService()
  const [common] = demoProducts
  assert.ok(common)
  await product(service.database, { ...common, productId: 9020, pinRevealable: false })
  await sql(service.database, 'update product set chip = $1::jsonb where product_id = 9020', [
    JSON.stringify({ profile: 'cpa', ...usualChip }),
  ])
})

const setPin = (publicToken: PublicToken, pin: string | undefined) =>
  service.call('POST', `/card-pin/${publicToken}/pin`, { body: { pin } })
const unblock = (publicToken: PublicToken) =>
  service.call('POST', `/card-pin/${publicToken}/pin/unblock`)
const readStatus = async (publicToken: PublicToken) =>
  (await service.call('GET', `/card-pin/${publicToken}/pin/status`)).json
const request = (publicToken: PublicToken, body: object, key?: string) =>
  service.call('POST', `/cards/${publicToken}/chip/commands`, {
    body,
    ...(key !== undefined && { headers: { 'idempotency-key': key } }),
  })

const listCommands = (publicToken: PublicToken) =>
  sql(
    service.database,
    `select command, state, pin_block is not null as "hasPin" from chip_command
     where public_token = $1 order by command_number`,
    [publicToken],
  )

const listEvents = async (publicToken: PublicToken): Promise<readonly string[]> =>
  (
    await sql<{ type: string }>(
      service.database,
      `select type from event where public_token = $1 and type like 'chip.%' order by sequence`,
      [publicToken],
    )
  ).map(({ type }) => type)

const record = (publicToken: PublicToken, results: Partial<ChipResults>) =>
  recordChipResults(service.database, {
    publicToken,
    panSequenceNumber: '00',
    atc: 1,
    sent: [],
    done: [],
    failed: [],
    unconfirmed: [],
    remainingOfflineTries: null,
    ...results,
  })

test('a new PIN and an unblock wait for the chip, and the status of the PIN follows them', async () => {
  const card = await chippedCard(service)
  const { publicToken } = card
  assert.equal((await readStatus(publicToken)).chipUpdate, 'none')
  assert.equal((await setPin(publicToken, strongPins(card)[0])).status, 204)
  assert.equal((await readStatus(publicToken)).chipUpdate, 'pending')
  const [change = 0] = await listCommandNumbers(service, publicToken)
  await record(publicToken, { sent: [change] })
  assert.equal((await readStatus(publicToken)).chipUpdate, 'sent')
  await record(publicToken, { atc: 2, sent: [change] })
  await record(publicToken, { atc: 3, done: [change], remainingOfflineTries: 3 })
  const { chipUpdate, remainingTries } = await readStatus(publicToken)
  assert.deepEqual([chipUpdate, remainingTries], ['done', 3])
  assert.deepEqual(await listEvents(publicToken), [
    'chip.command_queued',
    'chip.command_sent',
    'chip.command_done',
  ])
  assert.equal((await unblock(publicToken)).status, 204)
  assert.equal((await readStatus(publicToken)).chipUpdate, 'pending')
  const [, unblocking = 0] = await listCommandNumbers(service, publicToken)
  await record(publicToken, { failed: [unblocking] })
  assert.equal((await readStatus(publicToken)).chipUpdate, 'failed')
})

test('a report that the PIN in the chip is blocked ends with the command that unblocks it', async () => {
  const { publicToken } = await chippedCard(service)
  const insertChip = `insert into chip (
      public_token, pan_sequence_number, highest_atc, seen_atcs, key_version,
      remaining_offline_tries, offline_tries_at, offline_tries_atc
    ) values ($1, '00', 1, 1, 1, 0, now(), 1)`
  await sql(service.database, insertChip, [publicToken])
  await unblock(publicToken)
  const sent = await listCommandNumbers(service, publicToken)
  await record(publicToken, { sent })
  assert.equal((await readStatus(publicToken)).remainingOfflineTries, 0)
  await record(publicToken, { atc: 2, done: sent })
  assert.equal((await readStatus(publicToken)).remainingOfflineTries, undefined)
  // An advice of the transaction that was answered with the command, late or repeated.
  await record(publicToken, { atc: 1, done: sent, remainingOfflineTries: 0 })
  assert.equal((await readStatus(publicToken)).remainingOfflineTries, undefined)
  await record(publicToken, { atc: 2, remainingOfflineTries: 0 })
  assert.equal((await readStatus(publicToken)).remainingOfflineTries, 0)
})

test('a new PIN that the chip refused stays visible until another one, whatever is unblocked', async () => {
  const card = await chippedCard(service)
  const { publicToken } = card
  const [first, second] = strongPins(card)
  await setPin(publicToken, first)
  const [change = 0] = await listCommandNumbers(service, publicToken)
  await record(publicToken, { failed: [change] })
  await unblock(publicToken)
  assert.equal((await readStatus(publicToken)).chipUpdate, 'failed')
  const [, unblocking = 0] = await listCommandNumbers(service, publicToken)
  await record(publicToken, { atc: 2, done: [unblocking] })
  assert.equal((await readStatus(publicToken)).chipUpdate, 'failed')
  // The console shows the same.
  const { json } = await service.call('GET', `/cards/${publicToken}/chip`)
  assert.equal(json.chipUpdate, 'failed')
  await setPin(publicToken, second)
  assert.equal((await readStatus(publicToken)).chipUpdate, 'pending')
})

test('reads of several PINs and CVVs in one turn tell each what it is told alone', async () => {
  const { database, sandbox } = service
  assert.ok(sandbox)
  const changed = await chippedCard(service)
  const quiet = await chippedCard(service)
  const virtual = await service.createCard()
  const { publicToken } = changed
  await setPin(publicToken, strongPins(changed)[0])
  const [change = 0] = await listCommandNumbers(service, publicToken)
  await record(publicToken, { done: [change] })
  await unblock(publicToken)
  await setPin(publicToken, strongPins(changed)[1])
  await unblock(publicToken)
  const numbers = await listCommandNumbers(service, publicToken)
  await record(publicToken, { failed: numbers.slice(-1) })
  await sql(
    database,
    `insert into chip (
       public_token, pan_sequence_number, highest_atc, seen_atcs, key_version,
       remaining_offline_tries, offline_tries_at
     )
     values ($1, '00', 1, 1, 1, 0, '2026-01-03'), ($1, '01', 1, 1, 1, 2, '2026-01-02')`,
    [publicToken],
  )
  const asked = [changed, quiet, virtual].flatMap((card) =>
    (['pin', 'cvv'] as const).map((kind) => [card.publicToken, kind] as const),
  )
  const find = ([each, kind]: (typeof asked)[number]) =>
    findTries(database, each, kind, sandbox.clientId)
  const alone = []
  for (const each of asked) alone.push(await find(each))
  assert.deepEqual(await Promise.all(asked.map(find)), alone)
  assert.deepEqual(
    alone.map((tries) => [tries?.chipUpdate, tries?.remainingOfflineTries]),
    // The newest command failed, and a change before it waits.
    [
      ['pending', 2],
      [null, null],
      ['none', null],
      [null, null],
      [null, null],
      [null, null],
    ],
  )
  const { remainingOfflineTries, reportedAt } = await readStatus(publicToken)
  assert.deepEqual([remainingOfflineTries, reportedAt], [2, '2026-01-02T00:00:00.000Z'])
})

test('what has ended stays as it is, and its PIN is gone', async () => {
  const card = await chippedCard(service)
  const { publicToken } = card
  await setPin(publicToken, strongPins(card)[0])
  const [change = 0] = await listCommandNumbers(service, publicToken)
  await record(publicToken, { done: [change] })
  await record(publicToken, { sent: [change], failed: [change] })
  assert.deepEqual(await listCommands(publicToken), [
    { command: 'change_pin', state: 'done', hasPin: false },
  ])
  assert.deepEqual(await listEvents(publicToken), ['chip.command_queued', 'chip.command_done'])
})

test('a new PIN replaces a waiting one and a waiting unblock, and an unblock only its like', async () => {
  const card = await chippedCard(service)
  const { publicToken } = card
  const [first, second] = strongPins(card)
  await unblock(publicToken)
  await unblock(publicToken)
  await setPin(publicToken, first)
  await setPin(publicToken, second)
  await unblock(publicToken)
  assert.deepEqual(await listCommands(publicToken), [
    { command: 'unblock_pin', state: 'superseded', hasPin: false },
    { command: 'unblock_pin', state: 'superseded', hasPin: false },
    { command: 'change_pin', state: 'superseded', hasPin: false },
    { command: 'change_pin', state: 'pending', hasPin: true },
    { command: 'unblock_pin', state: 'pending', hasPin: false },
  ])
})

test('a product that keeps no PIN seals it for the chip until the command has ended', async () => {
  const card = await service.createCard({ cardType: 'Physical', cardProduct: 9020 })
  const { publicToken } = card
  assert.equal((await setPin(publicToken, strongPins(card)[0])).status, 204)
  const [row] = await sql(
    service.database,
    `select card.pin_block as "stored", command.pin_key as "key"
     from card join chip_command as command using (public_token) where public_token = $1`,
    [publicToken],
  )
  assert.deepEqual(row, { stored: null, key: 'pin-storage/1' })
  const [change = 0] = await listCommandNumbers(service, publicToken)
  await record(publicToken, { failed: [change] })
  assert.deepEqual(await listCommands(publicToken), [
    { command: 'change_pin', state: 'failed', hasPin: false },
  ])
})

test('a card without a chip has no commands, and the status of its PIN is as before', async () => {
  const card = await service.createCard()
  const { publicToken } = card
  await setPin(publicToken, strongPins(card)[0])
  await unblock(publicToken)
  assert.deepEqual(await listCommands(publicToken), [])
  assert.deepEqual(Object.keys(await readStatus(publicToken)), [
    'status',
    'description',
    'remainingTries',
  ])
  for (const answer of [
    await request(publicToken, { command: 'block_application' }),
    await service.call('GET', `/cards/${publicToken}/chip`),
  ]) {
    assert.deepEqual([answer.status, answer.json.code], [409, 'card_without_chip'])
  }
})

test('a client commands the chip once for an idempotency key, and reads what waits', async () => {
  const { publicToken } = await chippedCard(service)
  const put = { command: 'put_data', tag: '9F58', value: '03' }
  const first = await request(publicToken, put, 'once')
  const again = await request(publicToken, put, 'once')
  assert.deepEqual([first.status, again.status], [201, 201])
  assert.deepEqual(again.json, first.json)
  await request(publicToken, { ...put, tag: '9F59' })
  await request(publicToken, { command: 'block_application' })
  await request(publicToken, { command: 'unblock_application' })
  const { json } = await service.call('GET', `/cards/${publicToken}/chip`)
  assert.deepEqual(json.chips, [])
  assert.deepEqual(
    json.commands.map(({ command, state, tag }: Record<string, string>) => [command, state, tag]),
    [
      ['unblock_application', 'pending', undefined],
      ['block_application', 'superseded', undefined],
      ['put_data', 'pending', '9F59'],
      ['put_data', 'pending', '9F58'],
    ],
  )
  assert.equal(json.commands.at(-1).commandNumber, first.json.commandNumber)
})

test('a command that no chip could take is refused with its member', async () => {
  const { publicToken } = await chippedCard(service)
  const faults: readonly (readonly [object, string])[] = [
    [{ command: 'put_data', tag: '9F58' }, '/value'],
    [{ command: 'put_data', value: '03' }, '/tag'],
    [{ command: 'put_data', tag: '95', value: '03' }, '/tag'],
    [{ command: 'put_data', tag: 'DF8101', value: '03' }, '/tag'],
    [{ command: 'put_data', tag: '9F58', value: '030' }, '/value'],
    [{ command: 'put_data', tag: '9F58', value: '00'.repeat(65) }, '/value'],
    [{ command: 'block_card', tag: '9F58' }, '/tag'],
    [{ command: 'change_pin' }, '/command'],
    // No command undoes it, and no chip was seen.
    [{ command: 'block_card' }, '/panSequenceNumber'],
    // Card numbers: in digits, between fillers, and in ASCII.
    ...['5555555555554444', 'D0A05555555555554444FF', '0835353535353535353535353534343434'].map(
      (value) => [{ command: 'put_data', tag: '9F58', value }, '/value'] as const,
    ),
  ]
  for (const [body, pointer] of faults) {
    const { json, status } = await request(publicToken, body)
    assert.deepEqual([status, json.errors?.[0]?.pointer], [422, pointer], JSON.stringify(body))
  }
})

test('an amount may be put into a chip, even if its digits would be a card number', async () => {
  const { publicToken } = await chippedCard(service)
  for (const value of ['000000000000', '000000000018', '00'.repeat(64)]) {
    const put = { command: 'put_data', tag: '9F58', value }
    assert.equal((await request(publicToken, put)).status, 201, value)
  }
})

test('a block for ever goes to a chip that is known, and no command to one that is not', async () => {
  const { publicToken } = await chippedCard(service)
  const insertChip = (number: string) =>
    sql(
      service.database,
      `insert into chip (public_token, pan_sequence_number, highest_atc, seen_atcs, key_version)
       values ($1, $2, 1, 1, 1)`,
      [publicToken, number],
    )
  const ask = async (command: string, panSequenceNumber?: string) =>
    (await request(publicToken, { command, panSequenceNumber })).status
  assert.equal(await ask('block_card', '00'), 201)
  await insertChip('00')
  assert.equal(await ask('block_card'), 201)
  assert.equal(await ask('block_application', '77'), 422)
  await insertChip('01')
  assert.equal(await ask('block_card'), 422)
  assert.equal(await ask('block_card', '00'), 201)
  assert.equal(await ask('block_application'), 201)
})

test('the chip of a closed card can still be blocked, and is told nothing else', async () => {
  const { publicToken } = await chippedCard(service)
  const body = { cardStatusCode: '41' }
  await service.call('PUT', `/cards/${publicToken}/status`, { body })
  const block = { command: 'block_card', panSequenceNumber: '00' }
  assert.equal((await request(publicToken, block)).status, 201)
  const refused = await request(publicToken, { command: 'unblock_application' })
  assert.deepEqual([refused.status, refused.json.code], [409, 'card_closed'])
})

test('a card that is closed or has expired keeps no command for its chip but blocks', async () => {
  const closeCard = (publicToken: PublicToken) =>
    service.call('PUT', `/cards/${publicToken}/status`, { body: { cardStatusCode: '43' } })
  const endings: readonly ((publicToken: PublicToken) => Promise<unknown>)[] = [
    closeCard,
    // Callers at the same time share a statement.
    (publicToken) => Promise.all([closeCard(publicToken), closeCard(publicToken)]),
    async (publicToken) => {
      await sql(
        service.database,
        `update card set start_date = '2019-01-01', expiry_date = '2020-01-31'
         where public_token = $1`,
        [publicToken],
      )
      await expireCards(service.database, '2020-02-01', 10)
    },
  ]
  for (const end of endings) {
    const card = await chippedCard(service)
    const { publicToken } = card
    await setPin(publicToken, strongPins(card)[0])
    await unblock(publicToken)
    await request(publicToken, { command: 'unblock_application', panSequenceNumber: '00' })
    await request(publicToken, { command: 'put_data', tag: '9F58', value: '03' })
    await request(publicToken, { command: 'block_application', panSequenceNumber: '01' })
    await end(publicToken)
    assert.deepEqual(await listCommands(publicToken), [
      { command: 'change_pin', state: 'superseded', hasPin: false },
      { command: 'unblock_pin', state: 'superseded', hasPin: false },
      { command: 'unblock_application', state: 'superseded', hasPin: false },
      { command: 'put_data', state: 'superseded', hasPin: false },
      { command: 'block_application', state: 'pending', hasPin: false },
    ])
  }
})

test('a PIN that does not go to the chip replaces one that waits for it', async () => {
  const card = await chippedCard(service)
  const { publicToken } = card
  const [first, second] = strongPins(card)
  const changeChip = (chip: object | null) =>
    sql(service.database, 'update product set chip = $1::jsonb where product_id = $2', [
      chip && JSON.stringify(chip),
      1001,
    ])
  for (const isShared of [false, true]) {
    await setPin(publicToken, first)
    await changeChip(null)
    const changed = await setPin(publicToken, second)
    assert.equal(changed.status, 204, `${isShared}`)
    await changeChip({ profile: 'visa-cvn18', ...usualChip })
    const states = (await listCommands(publicToken)).map(({ state }) => state)
    assert.ok(
      states.every((state) => state === 'superseded'),
      `${states}`,
    )
  }
})

test('no more than 16 commands wait for a chip', async () => {
  const { publicToken } = await chippedCard(service)
  const put = (at: number) => {
    const tag = `9F${(0x50 + at).toString(16).toUpperCase()}`
    return request(publicToken, { command: 'put_data', tag, value: '00' })
  }
  for (let at = 0; at < 16; at += 1) assert.equal((await put(at)).status, 201)
  const refused = await put(16)
  assert.deepEqual([refused.status, refused.json.code], [409, 'too_many_chip_commands'])
  // A chip that must stop is never told too late.
  for (let asked = 0; asked < 30; asked += 1) {
    const block = { command: 'block_card', panSequenceNumber: '00' }
    assert.equal((await request(publicToken, block)).status, 201)
    assert.equal((await request(publicToken, { command: 'block_application' })).status, 201)
  }
  assert.equal((await put(17)).json.code, 'too_many_chip_commands')
  const unblock = { command: 'unblock_application' }
  assert.equal((await request(publicToken, unblock)).status, 201, 'an unblock is never refused')
})

test('commands that wait for a replaced chip do not refuse those for its successor', async () => {
  const { publicToken } = await chippedCard(service)
  for (const number of ['01', '02']) {
    await sql(
      service.database,
      `insert into chip (public_token, pan_sequence_number, highest_atc, seen_atcs, key_version)
       values ($1, $2, 1, 1, 1)`,
      [publicToken, number],
    )
  }
  const put = (at: number, panSequenceNumber?: string) => {
    const tag = `9F${(0x50 + at).toString(16).toUpperCase()}`
    return request(publicToken, { command: 'put_data', tag, value: '00', panSequenceNumber })
  }
  for (let at = 0; at < 16; at += 1) assert.equal((await put(at, '01')).status, 201)
  assert.equal((await put(16, '01')).json.code, 'too_many_chip_commands')
  assert.equal((await put(16)).status, 201)
})

test('the list of commands has every one that waits, and the 50 newest', async () => {
  const { publicToken } = await chippedCard(service)
  const put = { command: 'put_data', tag: '9F51', value: '00' }
  const { json } = await request(publicToken, put)
  for (let asked = 0; asked < 55; asked += 1) {
    await request(publicToken, { command: 'block_application' })
  }
  const { commands } = (await service.call('GET', `/cards/${publicToken}/chip`)).json
  assert.equal(commands.length, 51)
  assert.equal(commands.at(-1).commandNumber, json.commandNumber)
})

test('a new PIN waits, however many other commands were queued after it', async () => {
  const card = await chippedCard(service)
  const { publicToken } = card
  await setPin(publicToken, strongPins(card)[0])
  for (let asked = 0; asked < 55; asked += 1) {
    await request(publicToken, { command: 'block_application' })
  }
  assert.equal((await readStatus(publicToken)).chipUpdate, 'pending')
})
