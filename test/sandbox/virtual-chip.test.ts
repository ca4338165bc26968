import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, beforeEach, test } from 'node:test'
import { parseApplicationData } from '../../src/domain/chip-application-data.ts'
import { parseChipData } from '../../src/domain/chip-data.ts'
import { type ChipTags, chipProfileNames, chipProfiles } from '../../src/domain/chip-profile.ts'
import { chooseNewPin, type IssuedCard, issueCard, otherDigits } from '../support/network.ts'
import { type CallOptions, openTestService, sql, type TestService } from '../support/service.ts'

const physical = { cardType: 'Physical' }

let service: TestService
let card: IssuedCard
before(async () => {
  service = await openTestService({ env: { RATE_LIMIT: 'off' } })
})
beforeEach(async () => {
  await chooseProfile('visa-cvn18')
  card = await issueCard(service, physical)
})

const chooseProfile = (profile: string) =>
  sql(
    service.database,
    `update product set chip = jsonb_set(chip, '{profile}', to_jsonb($1::text))
     where product_id = 1001`,
    [profile],
  )

const chip = (method: string, path = '', body?: object, options: CallOptions = {}) =>
  service.call(method, `/simulator/cards/${card.publicToken}/chip${path}`, {
    ...(body && { body }),
    ...options,
  })

const buy = async (body: object = {}) => {
  const { json, status } = await chip('POST', '/transactions', body)
  assert.equal(status, 200, JSON.stringify(json))
  return json
}

const readTags = (data: string): ChipTags => {
  const read = parseChipData(Buffer.from(data, 'hex'))
  if ('fault' in read) throw new Error(read.fault)
  return read.tags
}

const hex = (tags: ChipTags, tag: string): string =>
  Buffer.from(tags.get(tag) ?? [])
    .toString('hex')
    .toUpperCase()

for (const profile of chipProfileNames) {
  test(`a virtual ${profile} chip counts transactions and tries, and says so`, async () => {
    await chooseProfile(profile)
    const made = await chip('POST')
    assert.equal(made.status, 201)
    assert.deepEqual(made.json, {
      publicToken: card.publicToken,
      panSequenceNumber: '00',
      profile,
      atc: 0,
      offlineTryLimit: 3,
      remainingOfflineTries: 3,
      isApplicationBlocked: false,
      isCardBlocked: false,
      dataObjects: {},
    })
    const steps = [
      [{}, 'not_given', 3],
      [{ pin: otherDigits(card.pin) }, 'wrong', 2],
      [{ pin: card.pin }, 'right', 3],
      [{ pin: otherDigits(card.pin) }, 'wrong', 2],
      [{ pin: otherDigits(card.pin) }, 'wrong', 1],
      [{ pin: otherDigits(card.pin) }, 'wrong', 0],
      [{ pin: card.pin }, 'blocked', 0],
    ] as const
    for (const [at, [body, offlinePin, remaining]] of steps.entries()) {
      const transaction = await buy({ amount: 1234, currency: 'EUR', ...body })
      assert.equal(transaction.offlinePin, offlinePin)
      assert.equal(transaction.remainingOfflineTries, remaining)
      assert.equal(transaction.decision, 'online')
      const tags = readTags(transaction.chip.data)
      assert.equal(hex(tags, '9F36'), (at + 1).toString(16).padStart(4, '0').toUpperCase())
      assert.deepEqual(
        [hex(tags, '9F02'), hex(tags, '5F2A'), hex(tags, '9F27'), hex(tags, '5F34')],
        ['000000001234', '0978', '80', '00'],
      )
      const exceeded = remaining === 0 ? 0x20 : 0
      const failed = offlinePin === 'wrong' || offlinePin === 'blocked' ? 0x80 : 0
      assert.equal(tags.get('95')?.[2], exceeded | failed)
      const report = parseApplicationData(
        chipProfiles[profile],
        tags.get('9F10') ?? Buffer.alloc(0),
      )
      assert.ok(report)
      assert.equal(report.isOfflinePinFailed, offlinePin === 'wrong')
      assert.equal(report.isOfflinePinBlocked, remaining === 0)
      assert.equal(report.derivationKeyIndex, 1)
    }
  })
}

test('a chip that replaces another one has the next sequence number and a counter from 0', async () => {
  await chip('POST', '', { offlineTryLimit: 5 })
  await buy({ pin: otherDigits(card.pin) })
  const { json } = await chip('GET')
  assert.deepEqual([json.atc, json.offlineTryLimit, json.remainingOfflineTries], [1, 5, 4])
  const { json: next } = await chip('POST')
  assert.deepEqual([next.panSequenceNumber, next.atc, next.remainingOfflineTries], ['01', 0, 3])
})

test('the chip of a later plastic has the number of that plastic', async () => {
  const renewal = { renewStep: 'RenewWithSameExpiry', activateNow: true }
  const renew = async () => {
    const path = `/cards/${card.publicToken}/renew`
    const { status, text } = await service.call('POST', path, { body: renewal })
    assert.equal(status, 204, text)
  }
  await renew()
  assert.equal((await chip('POST')).json.panSequenceNumber, '01')
  await renew()
  await renew()
  assert.equal((await chip('POST')).json.panSequenceNumber, '03')
  assert.equal((await chip('POST')).json.panSequenceNumber, '04')
})

test('a chip keeps its PIN when the card gets another one', async () => {
  await chip('POST')
  const pin = chooseNewPin(card)
  const set = await service.call('POST', `/card-pin/${card.publicToken}/pin`, { body: { pin } })
  assert.equal(set.status, 204)
  assert.equal((await buy({ pin })).offlinePin, 'wrong')
  assert.equal((await buy({ pin: card.pin })).offlinePin, 'right')
})

test('a chip whose PIN is stored as a check value compares it, too', async () => {
  await sql(
    service.database,
    `update product set chip = (select chip from product where product_id = 1001)
     where product_id = 1002`,
  )
  card = await issueCard(service, { ...physical, cardProduct: 1002 })
  await chip('POST')
  assert.equal((await buy({ pin: otherDigits(card.pin) })).offlinePin, 'wrong')
  assert.equal((await buy({ pin: card.pin })).offlinePin, 'right')
})

test('transactions at the same time have counters of their own', async () => {
  await chip('POST')
  const made = await Promise.all(Array.from({ length: 5 }, () => buy()))
  assert.deepEqual(made.map(({ atc }) => atc).sort(), [1, 2, 3, 4, 5])
})

test('an answer that the issuer did not make changes nothing in the chip', async () => {
  await chip('POST')
  const answers = [
    undefined,
    { data: '00' },
    { data: '910811223344008000' },
    { data: '91081122334400800000' },
    { data: `91081122334400800000720F9F180400000001860484240000` },
  ]
  for (const data of answers) {
    const { atc } = await buy()
    const body = { approved: true, ...(data && { chip: data }) }
    const { json, status } = await chip('POST', '/answers', body)
    assert.equal(status, 200)
    assert.deepEqual([json.answerVerified, json.approved], [false, false])
    assert.ok(json.commands.every(({ result }: { result: string }) => result === 'not_carried_out'))
    const { json: after } = await chip('GET')
    assert.equal(after.atc, atc)
    const again = await chip('POST', '/answers', body)
    assert.deepEqual([again.status, again.json.code], [409, 'virtual_chip_unusable'])
  }
})

test('only cards of one’s own that have a chip have a virtual one', async () => {
  const missing = await chip('GET')
  assert.deepEqual([missing.status, missing.json.code], [409, 'virtual_chip_unusable'])
  for (const [method, path] of [
    ['POST', ''],
    ['GET', ''],
    ['POST', '/transactions'],
  ] as const) {
    const body = method === 'POST' ? {} : undefined
    const other = await chip(method, path, body, { as: 'otherClient' })
    assert.deepEqual([other.status, other.json.code], [404, 'card_not_found'])
  }
  card = await issueCard(service)
  const virtual = await chip('POST')
  assert.deepEqual([virtual.status, virtual.json.code], [409, 'virtual_chip_unusable'])
})

test('a virtual chip cannot pay where no chip is read', async () => {
  for (const entryMode of ['magstripe', 'ecommerce', 'moto']) {
    const body = { publicToken: card.publicToken, chip: true, entryMode }
    const { json, status } = await service.call('POST', '/simulator/authorizations', { body })
    assert.equal(status, 422)
    assert.equal(json.errors[0].pointer, '/entryMode')
  }
  assert.equal((await chip('GET')).status, 409, 'no chip was made')
})

test('a simulated swipe has the track of the card', async () => {
  const swipe = (publicToken: string) =>
    service.call('POST', '/simulator/authorizations', {
      body: { publicToken, entryMode: 'magstripe' },
    })
  card = await issueCard(service, { ...physical, activateNow: true })
  const { json } = await swipe(card.publicToken)
  assert.equal(json.responseCode, '00')
  const path = `/cards/${card.publicToken}/authorizations?limit=1`
  const [{ checks }] = (await service.call('GET', path)).json
  const value = checks.find(({ check }: { check: string }) => check === 'card_value')
  assert.equal(value?.result, 'passed')
})

test('a snapshot contains the virtual chip', async () => {
  if (service.database.isCluster()) return
  await chip('POST')
  await buy({ pin: otherDigits(card.pin) })
  const { json: before } = await chip('GET')
  const snapshot = (method: string, path: string) =>
    service.call(method, `//sandbox/snapshots/${path}`, { as: 'admin', listener: 'private' })
  assert.equal((await snapshot('PUT', 'with-a-chip')).status, 200)
  await buy({ pin: otherDigits(card.pin) })
  await chip('POST')
  assert.equal((await snapshot('POST', 'with-a-chip/restore')).status, 200)
  assert.deepEqual((await chip('GET')).json, before)
})

const activate = async () => {
  const body = { cardStatusCode: '00' }
  const answer = await service.call('PUT', `/cards/${card.publicToken}/status`, { body })
  assert.ok(answer.status < 300, answer.text)
}

const simulate = async (members: object = {}) => {
  const { json, status } = await service.call('POST', '/simulator/authorizations', {
    body: { publicToken: card.publicToken, chip: true, amount: 500, currency: 'EUR', ...members },
  })
  assert.equal(status, 200, JSON.stringify(json))
  return json
}

for (const profile of chipProfileNames) {
  test(`a blocked ${profile} chip works again after Unblock PIN and one online transaction`, async () => {
    await chooseProfile(profile)
    await activate()
    const bought = await simulate({ offlinePin: card.pin })
    assert.deepEqual(
      [bought.responseCode, bought.virtualChip],
      [
        '00',
        {
          offlinePin: 'right',
          remainingOfflineTries: 3,
          answerVerified: true,
          approved: true,
          commands: [],
        },
      ],
    )
    for (const _ of [1, 2, 3]) await buy({ pin: otherDigits(card.pin) })
    const blocked = await simulate()
    assert.deepEqual(
      [blocked.responseCode, blocked.virtualChip.answerVerified, blocked.virtualChip.commands],
      ['75', true, []],
    )
    const unblocked = await service.call('POST', `/card-pin/${card.publicToken}/pin/unblock`)
    assert.equal(unblocked.status, 204)
    const first = await simulate()
    assert.equal(first.responseCode, '75')
    assert.equal(first.virtualChip.remainingOfflineTries, 3)
    assert.deepEqual(
      first.virtualChip.commands.map(({ result }: { result: string }) => result),
      ['done'],
    )
    const second = await simulate({ offlinePin: card.pin })
    assert.deepEqual([second.responseCode, second.virtualChip.commands], ['00', []])
  })

  test(`a ${profile} chip takes the PIN of Set PIN with one online transaction`, async () => {
    await chooseProfile(profile)
    await activate()
    await chip('POST')
    const pin = chooseNewPin(card)
    await service.call('POST', `/card-pin/${card.publicToken}/pin`, { body: { pin } })
    const first = await simulate({ pin })
    assert.deepEqual([first.responseCode, first.virtualChip.commands.length], ['00', 1])
    const second = await simulate({ offlinePin: pin })
    assert.deepEqual([second.responseCode, second.virtualChip.offlinePin], ['00', 'right'])
    assert.deepEqual(second.virtualChip.commands, [])
  })
}

const command = async (name: string, panSequenceNumber?: string) => {
  const path = `/cards/${card.publicToken}/chip/commands`
  const body = { command: name, panSequenceNumber }
  const { status, text } = await service.call('POST', path, { body })
  assert.ok(status < 300, text)
}

for (const profile of chipProfileNames) {
  test(`the application of a ${profile} chip is blocked, and unblocked online`, async () => {
    await chooseProfile(profile)
    await activate()
    const buyWith = async () => {
      const { responseCode, virtualChip } = await simulate()
      const results = virtualChip.commands.map(({ result }: { result: string }) => result)
      return [responseCode, virtualChip.answerVerified, virtualChip.approved, ...results]
    }
    await command('block_application')
    assert.deepEqual(await buyWith(), ['00', true, false, 'done'])
    assert.deepEqual(await buyWith(), ['57', true, false])
    await command('unblock_application')
    assert.deepEqual(await buyWith(), ['57', true, false, 'done'])
    assert.equal((await chip('GET')).json.isApplicationBlocked, false)
    assert.deepEqual(await buyWith(), ['00', true, true])
    const path = `/cards/${card.publicToken}/chip`
    const { json } = await service.call('GET', path)
    assert.deepEqual(
      json.commands.map((sent: { command: string; state: string }) => [sent.command, sent.state]),
      [
        ['unblock_application', 'done'],
        ['block_application', 'done'],
      ],
    )
  })
}

test('a repeat of a simulation counts nothing in the chip', async () => {
  await activate()
  const body = {
    publicToken: card.publicToken,
    chip: true,
    offlinePin: otherDigits(card.pin),
    amount: 1000,
    currency: 'EUR',
  }
  const headers = { 'idempotency-key': randomUUID() }
  const send = () => service.call('POST', '/simulator/authorizations', { body, headers })
  await send()
  const before = (await chip('GET')).json
  for (const _ of [1, 2, 3]) {
    assert.equal((await send()).headers['idempotency-replayed'], 'true')
  }
  assert.deepEqual((await chip('GET')).json, before)
})

test('simulations at the same time answer what was recorded', async () => {
  await activate()
  await chip('POST')
  const body = { publicToken: card.publicToken, chip: true, amount: 100, currency: 'EUR' }
  const answers = await Promise.all(
    Array.from({ length: 6 }, () => service.call('POST', '/simulator/authorizations', { body })),
  )
  for (const { json, status } of answers) {
    assert.equal(status, 200, JSON.stringify(json))
    assert.equal(typeof json.authorizationId, 'string')
  }
})

test('a virtual chip keeps its keys when the product gives its index another version', async () => {
  await activate()
  await chip('POST')
  await sql(
    service.database,
    `update product set chip = jsonb_set(chip, '{keyVersions}', '{"01": 2}') where product_id = 1001`,
  )
  assert.equal((await simulate()).responseCode, '88')
  await sql(
    service.database,
    `update product set chip = jsonb_set(chip, '{keyVersions}', '{}') where product_id = 1001`,
  )
  assert.equal((await simulate()).responseCode, '00')
})

test('a virtual chip is in the country of the merchant', async () => {
  await activate()
  await sql(
    service.database,
    `update product set chip = jsonb_set(chip, '{disagreement}', '"decline"')
     where product_id = 1001`,
  )
  for (const merchant of [undefined, { country: 'ESP' }, { country: 'PRT' }]) {
    const { responseCode } = await simulate({ ...(merchant && { merchant }) })
    assert.equal(responseCode, '00')
  }
  await sql(
    service.database,
    `update product set chip = jsonb_set(chip, '{disagreement}', '"record"')
     where product_id = 1001`,
  )
})

test('a chip whose application or card is blocked approves nothing', async () => {
  await activate()
  const refuse = async (path: string, body: object) => {
    const { json, status } = await service.call('POST', path, { body })
    assert.deepEqual([status, json.code], [409, 'virtual_chip_unusable'])
  }
  const simulation = { publicToken: card.publicToken, chip: true }
  await command('block_application')
  // The command comes before the decision of the chip.
  const { virtualChip } = await simulate()
  assert.deepEqual([virtualChip.commands.length, virtualChip.approved], [1, false])
  assert.equal((await chip('GET')).json.isApplicationBlocked, true)
  assert.equal((await buy()).decision, 'declined')
  assert.equal((await simulate()).responseCode, '57')
  const { panSequenceNumber } = (await chip('POST')).json
  await simulate()
  await command('block_card', panSequenceNumber)
  await simulate()
  assert.equal((await chip('GET')).json.isCardBlocked, true)
  await refuse('/simulator/authorizations', simulation)
  await refuse(`/simulator/cards/${card.publicToken}/chip/transactions`, {})
})

test('an issuer changes the data objects that the chip has, and no others', async () => {
  await activate()
  const put = (tag: string) =>
    service.call('POST', `/cards/${card.publicToken}/chip/commands`, {
      body: { command: 'put_data', tag, value: '05' },
    })
  await put('9F58')
  await put('9F7F')
  const { virtualChip: first } = await simulate()
  const { virtualChip: second } = await simulate()
  assert.deepEqual(
    [...first.commands, ...second.commands].map(({ result }: { result: string }) => result),
    ['done', 'failed'],
  )
  assert.deepEqual((await chip('GET')).json.dataObjects, { '9F58': '05' })
})
