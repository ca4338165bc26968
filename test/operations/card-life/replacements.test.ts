import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { product } from '../../support/builders.ts'
import {
  ask,
  chooseNewPin,
  cvvTry,
  type IssuedCard,
  issueCard,
  otherDigits,
  pinTry,
  recoverCard,
} from '../../support/network.ts'
import { openTestService, sql, type TestService } from '../../support/service.ts'

let service: TestService

before(async () => {
  service = await openTestService()
  await product(service.database, { productId: 2200, bin: '40000222' })
  await product(service.database, {
    productId: 2201,
    bin: '40000221',
    pinRevealable: false,
  })
  await product(service.database, { productId: 2202, bin: '40000223', refuseWeakPins: false })
})

const replace = (publicToken: string, body: object = {}, headers = {}) =>
  service.call('POST', `/cards/${publicToken}/replace`, { body, headers })

const statusOf = async (publicToken: string): Promise<string> =>
  (await service.call('GET', `/cards/${publicToken}/status`)).json.cardStatusCode

const setStatus = (publicToken: string, cardStatusCode: string) =>
  service.call('PUT', `/cards/${publicToken}/status`, { body: { cardStatusCode } })

const setPin = async (publicToken: string, pin: string) => {
  const answer = await service.call('POST', `/card-pin/${publicToken}/pin`, { body: { pin } })
  assert.equal(answer.status, 204, answer.text)
}

const pinOf = async (publicToken: string): Promise<string> =>
  (await service.call('GET', `/card-pin/${publicToken}/pin`)).json.pin

const triesOf = async (publicToken: string): Promise<number> =>
  (await service.call('GET', `/card-pin/${publicToken}/pin/status`)).json.remainingTries

const complete = (publicToken: string, method = 'PUT') =>
  service.call(method, `/cards/${publicToken}/complete-replacement`)

const eventsOf = async (publicToken: string) =>
  sql<{ type: string; details: string; sequence: number }>(
    service.database,
    'select type, details, sequence from event where public_token = $1 order by sequence',
    [publicToken],
  )

/** An active physical card without a chip. */
const physicalCard = (cardProduct = 2200): Promise<IssuedCard> =>
  issueCard(service, { cardProduct, cardType: 'Physical', activateNow: true })

const asHeld = (publicToken: string): Promise<IssuedCard> => recoverCard(service, publicToken)

test('a damaged card works until its successor is activated, and is retired in the same act', async () => {
  const card = await physicalCard()
  const answer = await replace(card.publicToken, { reason: 'Damaged' })
  assert.equal(answer.status, 200, answer.text)
  const successor = answer.json
  assert.equal(answer.headers.location?.endsWith(`/cards/${successor.publicToken}`), true)
  assert.deepEqual(
    [successor.replacementFor, successor.pinMoved, successor.cardStatusCode],
    [card.publicToken, true, '02'],
  )
  assert.notEqual(successor.publicToken, card.publicToken)
  assert.equal((await ask(service, pinTry(service, card))).json.approved, true)
  assert.equal((await setStatus(successor.publicToken, '00')).status, 204)
  assert.deepEqual(
    [await statusOf(card.publicToken), await statusOf(successor.publicToken)],
    ['62', '00'],
  )
  const refused = await setStatus(card.publicToken, '00')
  assert.deepEqual([refused.status, refused.json.code], [409, 'card_status_conflict'])
  assert.equal((await ask(service, pinTry(service, card))).json.responseCode, '62')
  const held = await asHeld(successor.publicToken)
  assert.equal((await ask(service, pinTry(service, held, card.pin))).json.approved, true)
  const types = (await eventsOf(card.publicToken)).map(({ type }) => type)
  assert.deepEqual(
    types.filter((type) => type.startsWith('card.')),
    [
      'card.created',
      'card.replaced',
      'card.status_changed',
      'card.retired',
      // Its plastic was not produced yet.
      'card.delivery_changed',
    ],
  )
})

test('a second replacement is refused, and names the successor', async () => {
  const card = await physicalCard()
  const first = await replace(card.publicToken)
  const second = await replace(card.publicToken)
  assert.deepEqual(
    [second.status, second.json.code, second.json.replacedBy],
    [409, 'card_already_replaced', first.json.publicToken],
  )
})

for (const [reason, status] of [
  ['Lost', '41'],
  ['Stolen', '43'],
  ['Compromised', '62'],
  ['Damaged', '00'],
  ['Upgrade', '00'],
] as const) {
  test(`the reason ${reason} leaves the replaced card in ${status} at once`, async () => {
    const card = await physicalCard()
    const { json } = await replace(card.publicToken, { reason })
    assert.equal(await statusOf(card.publicToken), status)
    assert.equal(json.pinMoved, reason !== 'Stolen' && reason !== 'Compromised')
    const hasSamePin = (await pinOf(json.publicToken)) === card.pin
    if (json.pinMoved) assert.ok(hasSamePin)
    if (reason === 'Compromised') {
      assert.equal((await setStatus(card.publicToken, '00')).status, 409)
    }
  })
}

test('the PIN of a stolen card moves for no reason, unless it is asked for', async () => {
  for (const reason of ['Damaged', 'Upgrade', 'Lost']) {
    const card = await physicalCard()
    assert.equal((await setStatus(card.publicToken, '43')).status, 204)
    const { json } = await replace(card.publicToken, { reason })
    assert.equal(json.pinMoved, false, reason)
  }
  const asked = await physicalCard()
  assert.equal((await setStatus(asked.publicToken, '43')).status, 204)
  assert.equal((await replace(asked.publicToken, { movePin: true })).json.pinMoved, true)
  const passed = await physicalCard()
  const unused = (await replace(passed.publicToken)).json
  assert.equal((await setStatus(passed.publicToken, '43')).status, 204)
  assert.equal((await replace(unused.publicToken)).json.pinMoved, false)
})

test('a successor that was closed unused frees the card for another replacement', async () => {
  const card = await physicalCard()
  const first = (await replace(card.publicToken)).json
  assert.equal((await setStatus(first.publicToken, '83')).status, 204)
  const second = await replace(card.publicToken)
  assert.equal(second.status, 200, second.text)
  assert.notEqual(second.json.publicToken, first.publicToken)
  const again = await replace(first.publicToken)
  assert.deepEqual([again.status, again.json.replacedBy], [409, second.json.publicToken])
})

test('a retired card whose successor was closed unused is replaced again, and stays retired', async () => {
  const compromised = await physicalCard()
  const completed = await physicalCard()
  const reasons = ['Compromised', 'Damaged'] as const
  for (const [at, card] of [compromised, completed].entries()) {
    const { publicToken } = card
    const first = (await replace(publicToken, { reason: reasons[at] })).json
    assert.equal((await complete(publicToken)).status, 204)
    const refused = await replace(publicToken)
    assert.deepEqual([refused.status, refused.json.code], [409, 'card_already_replaced'])
    assert.equal((await setStatus(first.publicToken, '46')).status, 204)
    const second = await replace(publicToken)
    assert.equal(second.status, 200, second.text)
    assert.equal(second.json.pinMoved, false, 'a retired card may have been compromised')
    assert.equal((await setStatus(second.json.publicToken, '00')).status, 204)
    assert.equal(await statusOf(publicToken), '62')
    assert.equal((await setStatus(publicToken, '00')).status, 409)
    const again = await replace(publicToken)
    assert.deepEqual([again.status, again.json.replacedBy], [409, second.json.publicToken])
  }
})

test('the PIN of a retired card moves if it is asked for, with the tries that are left', async () => {
  const card = await physicalCard()
  await ask(service, pinTry(service, card, otherDigits(card.pin)))
  const first = (await replace(card.publicToken, { reason: 'Compromised' })).json
  assert.equal((await setStatus(first.publicToken, '46')).status, 204)
  const { pinMoved, publicToken } = (await replace(card.publicToken, { movePin: true })).json
  assert.equal(pinMoved, true)
  assert.equal((await setStatus(publicToken, '00')).status, 204)
  assert.deepEqual([await pinOf(publicToken), await triesOf(publicToken)], [card.pin, 2])
})

test('a PIN that is changed after the replacement is the PIN of the successor once it is active', async () => {
  const card = await physicalCard()
  const { publicToken } = (await replace(card.publicToken)).json
  const pin = chooseNewPin(card)
  await setPin(card.publicToken, pin)
  assert.equal(await pinOf(publicToken), card.pin)
  await setStatus(publicToken, '00')
  assert.equal(await pinOf(publicToken), pin)
})

test('a PIN that the successor was given itself stays', async () => {
  const card = await physicalCard()
  const { publicToken } = (await replace(card.publicToken)).json
  const pin = chooseNewPin(card)
  await setPin(publicToken, pin)
  await ask(service, pinTry(service, card, otherDigits(card.pin)))
  await setStatus(publicToken, '00')
  assert.deepEqual([await pinOf(publicToken), await triesOf(publicToken)], [pin, 3])
})

test('a carried PIN carries its tries, and a right PIN restores them', async () => {
  const card = await physicalCard()
  const { publicToken } = (await replace(card.publicToken)).json
  await ask(service, pinTry(service, card, otherDigits(card.pin)))
  await ask(service, pinTry(service, card, otherDigits(card.pin, 2)))
  await setStatus(publicToken, '00')
  assert.deepEqual([await triesOf(publicToken), await triesOf(card.publicToken)], [1, 0])
  const held = await asHeld(publicToken)
  assert.equal((await ask(service, pinTry(service, held, card.pin))).json.approved, true)
  assert.equal(await triesOf(publicToken), 3)
})

test('the PIN of the replaced card is blocked because it moved, and the CVV is not', async () => {
  const card = await physicalCard()
  await setStatus((await replace(card.publicToken)).json.publicToken, '00')
  const { cvvStatus, pinStatus } = (await service.call('GET', `/cards/${card.publicToken}`)).json
  assert.deepEqual(pinStatus, {
    status: 'Blocked',
    description: 'The PIN is blocked: it moved to the card that took the place of this one.',
    remainingTries: 0,
  })
  assert.equal(cvvStatus.status, 'Unblocked')
})

test('a lost card leaves its PIN, and not its spent tries', async () => {
  const card = await physicalCard()
  await ask(service, pinTry(service, card, otherDigits(card.pin)))
  const { publicToken } = (await replace(card.publicToken, { reason: 'Lost' })).json
  await setStatus(publicToken, '00')
  assert.deepEqual([await pinOf(publicToken), await triesOf(publicToken)], [card.pin, 3])
})

test('a card that is replaced on its way has the PIN and the tries of the card that is in use', async () => {
  const card = await physicalCard()
  const first = (await replace(card.publicToken)).json
  await ask(service, pinTry(service, card, otherDigits(card.pin)))
  const { publicToken } = (await replace(first.publicToken, { reason: 'Lost' })).json
  assert.equal(await statusOf(card.publicToken), '00')
  await setStatus(publicToken, '00')
  assert.deepEqual([await pinOf(publicToken), await triesOf(publicToken)], [card.pin, 2])
  assert.equal(await statusOf(card.publicToken), '62')
})

test('a successor has the PIN and the tries of the card that was activated after its replacement', async () => {
  const card = await physicalCard()
  const first = (await replace(card.publicToken)).json
  const second = (await replace(first.publicToken)).json
  assert.equal((await setStatus(first.publicToken, '00')).status, 204)
  const pin = chooseNewPin(card)
  await setPin(first.publicToken, pin)
  const held = { ...(await asHeld(first.publicToken)), pin }
  await ask(service, pinTry(service, held, otherDigits(pin)))
  assert.equal((await setStatus(second.publicToken, '00')).status, 204)
  assert.deepEqual([await pinOf(second.publicToken), await triesOf(second.publicToken)], [pin, 2])
  assert.deepEqual([await statusOf(first.publicToken), await triesOf(first.publicToken)], ['62', 0])
})

test('a product that stores a PVV says that its PIN does not move', async () => {
  const card = await service.createCard({ cardProduct: 2201, cardType: 'Physical' })
  const refused = await replace(card.publicToken, { movePin: true })
  assert.deepEqual([refused.status, refused.json.code], [422, 'pin_not_transferable'])
  const answer = await replace(card.publicToken)
  assert.deepEqual([answer.status, answer.json.pinMoved], [200, false])
})

test('a virtual card is replaced and retired at once', async () => {
  const card = await issueCard(service)
  const { json } = await replace(card.publicToken)
  assert.deepEqual(
    [json.cardStatusCode, await statusOf(card.publicToken), await pinOf(json.publicToken)],
    ['00', '62', card.pin],
  )
  const held = await asHeld(json.publicToken)
  assert.equal((await ask(service, cvvTry(held))).json.approved, true)
})

for (const method of ['PUT', 'PATCH']) {
  test(`${method} complete-replacement retires a replaced card, and needs a successor`, async () => {
    const card = await physicalCard()
    const refused = await complete(card.publicToken, method)
    assert.deepEqual([refused.status, refused.json.code], [409, 'not_replaced'])
    assert.match(refused.json.detail, /successor can be retired\. Replace the card first\.$/)
    const { publicToken } = (await replace(card.publicToken)).json
    assert.equal((await complete(card.publicToken, method)).status, 204)
    assert.equal((await complete(card.publicToken, method)).status, 204)
    assert.deepEqual([await statusOf(card.publicToken), await statusOf(publicToken)], ['62', '02'])
  })
}

test('a repeat of a replacement under its key is the same card', async () => {
  const card = await physicalCard()
  const headers = { 'idempotency-key': 'replace-once' }
  const first = await replace(card.publicToken, {}, headers)
  const again = await replace(card.publicToken, {}, headers)
  assert.deepEqual([again.status, again.json], [200, first.json])
  assert.equal(again.headers['idempotency-replayed'], 'true')
})

test('the unblocks of all cards of a line count together', async () => {
  const card = await physicalCard()
  const unblock = (publicToken: string) =>
    service.call('POST', `/card-pin/${publicToken}/pin/unblock`)
  const successor = (await replace(card.publicToken)).json.publicToken
  const statuses: number[] = []
  for (let uses = 0; uses < 40; uses += 1) {
    statuses.push((await unblock(uses % 2 === 0 ? card.publicToken : successor)).status)
  }
  const done = statuses.filter((status) => status === 204).length
  assert.ok(done > 0 && done < 40)
  for (const each of [card.publicToken, successor]) assert.equal((await unblock(each)).status, 429)
})

test('a lost card gives no further guesses at its PIN once the unblocks of its line are used up', async () => {
  const countUnblocks = async (publicToken: string): Promise<number> => {
    for (let uses = 0; uses < 40; uses += 1) {
      const { status } = await service.call('POST', `/card-pin/${publicToken}/pin/unblock`)
      if (status === 429) return uses
    }
    throw new Error('The unblocks have no limit.')
  }
  const most = await countUnblocks((await physicalCard()).publicToken)
  const card = await physicalCard()
  await ask(service, pinTry(service, card, otherDigits(card.pin)))
  const lost = { reason: 'Lost', activateNow: true }
  const second = await asHeld((await replace(card.publicToken, lost)).json.publicToken)
  assert.deepEqual([second.pin, await triesOf(second.publicToken)], [card.pin, 3])
  // No try was spent, so that none is restored.
  const third = await asHeld((await replace(second.publicToken, lost)).json.publicToken)
  assert.equal(await countUnblocks(third.publicToken), most - 1)
  await ask(service, pinTry(service, third, otherDigits(third.pin)))
  await ask(service, pinTry(service, third, otherDigits(third.pin, 2)))
  const fourth = (await replace(third.publicToken, { reason: 'Lost' })).json.publicToken
  assert.equal((await setStatus(fourth, '00')).status, 204)
  assert.deepEqual([await pinOf(fourth), await triesOf(fourth)], [card.pin, 1])
})

test('the PIN of a card that is stolen before the activation does not move, unless it was asked for', async () => {
  // A weak PIN is never drawn, so the successor cannot have it by chance.
  const card = { ...(await physicalCard(2202)), pin: '1111' }
  await setPin(card.publicToken, card.pin)
  await ask(service, pinTry(service, card, otherDigits(card.pin)))
  const { publicToken } = (await replace(card.publicToken, { reason: 'Damaged' })).json
  assert.equal((await setStatus(card.publicToken, '43')).status, 204)
  assert.equal((await setStatus(publicToken, '00')).status, 204)
  const held = await asHeld(publicToken)
  assert.notEqual(held.pin, card.pin)
  assert.equal(await triesOf(publicToken), 3)
  assert.equal((await ask(service, pinTry(service, held))).json.approved, true)
  const types = (await eventsOf(publicToken)).map(({ type }) => type)
  assert.deepEqual(types.slice(0, 4), [
    'card.created',
    'pin.set',
    'card.status_changed',
    'card.activated',
  ])

  const asked = await physicalCard()
  const successor = (await replace(asked.publicToken, { movePin: true })).json.publicToken
  assert.equal((await setStatus(asked.publicToken, '43')).status, 204)
  assert.equal((await setStatus(successor, '00')).status, 204)
  assert.equal(await pinOf(successor), asked.pin)
})

test('the PIN that is set on the card in use is that of a card replaced before, with its tries', async () => {
  const card = await physicalCard()
  const first = (await replace(card.publicToken)).json.publicToken
  const second = (await replace(first)).json.publicToken
  assert.equal((await setStatus(first, '00')).status, 204)
  const pin = chooseNewPin(card)
  await setPin(first, pin)
  assert.equal((await setStatus(second, '00')).status, 204)
  assert.deepEqual([await pinOf(second), await triesOf(second)], [pin, 3])
})

const putControls = async (publicToken: string, version: number, blocked: readonly string[]) => {
  const body = { version, channels: { blocked } }
  const answer = await service.call('PUT', `/cards/${publicToken}/controls`, { body })
  assert.equal(answer.status, 200, answer.text)
}

const blockedOf = async (publicToken: string) =>
  (await service.call('GET', `/cards/${publicToken}/controls`)).json.channels?.blocked

test('controls that are tightened after the replacement hold on the successor, too', async () => {
  const card = await physicalCard()
  const first = (await replace(card.publicToken)).json.publicToken
  const second = (await replace(first)).json.publicToken
  await putControls(card.publicToken, 0, ['ecommerce'])
  assert.equal((await setStatus(first, '00')).status, 204)
  assert.deepEqual(await blockedOf(first), ['ecommerce'])
  await putControls(first, 1, ['ecommerce', 'cash'])
  assert.equal((await setStatus(second, '00')).status, 204)
  assert.deepEqual(await blockedOf(second), ['ecommerce', 'cash'])
  const events = await eventsOf(second)
  assert.deepEqual(
    events.map(({ sequence }) => sequence),
    events.map((_, at) => at + 1),
  )
  const change = events.find(({ type }) => type === 'card.controls_changed')
  assert.deepEqual(JSON.parse(change?.details ?? ''), { version: 1 })
})

test('a successor that is created active has the controls of the card in use', async () => {
  const card = await physicalCard()
  const first = (await replace(card.publicToken)).json.publicToken
  await putControls(card.publicToken, 0, ['ecommerce'])
  const second = await replace(first, { activateNow: true })
  assert.ok(second.status < 300, second.text)
  assert.equal(await statusOf(second.json.publicToken), '00')
  assert.deepEqual(await blockedOf(second.json.publicToken), ['ecommerce'])
})

test('a retired card has no plastic that waits, even if it was produced', async () => {
  const { publicToken } = await physicalCard()
  const body = { renewStep: 'RenewWithSameExpiry' }
  const renewed = await service.call('POST', `/cards/${publicToken}/renew`, { body })
  assert.equal(renewed.status, 204, renewed.text)
  const delivered = `/sandbox/plastics/${publicToken}/1/deliver`
  assert.equal((await service.call('POST', delivered)).status, 204)
  assert.equal((await setStatus((await replace(publicToken)).json.publicToken, '00')).status, 204)
  const found = await sql(
    service.database,
    `select plastic.state, plastic.delivery_status as delivery,
       card.waiting_expiry_date is not null as waits
     from plastic
     join card on card.public_token = plastic.public_token
     where card.public_token = $1 and plastic.plastic_number = 1`,
    [publicToken],
  )
  assert.deepEqual(found, [{ state: 'Cancelled', delivery: 'Delivered', waits: false }])
})

test('controls that the successor was given itself stay', async () => {
  const card = await physicalCard()
  await putControls(card.publicToken, 0, ['cash'])
  const first = (await replace(card.publicToken)).json.publicToken
  await putControls(first, 1, ['moto'])
  const second = (await replace(first)).json.publicToken
  await putControls(card.publicToken, 1, ['ecommerce'])
  assert.equal((await setStatus(second, '00')).status, 204)
  assert.deepEqual(await blockedOf(second), ['moto'])
})

test('a replaced card is not renewed or converted, and the refusal names the successor', async () => {
  const card = await issueCard(service, { cardProduct: 2200 })
  const body = { activateNow: false }
  const { publicToken } = (await replace(card.publicToken, body)).json
  for (const [method, path, members] of [
    ['POST', 'renew', { renewStep: 'RenewWithSameExpiry' }],
    ['PUT', 'card-type', { cardType: 'Physical' }],
  ] as const) {
    const answer = await service.call(method, `/cards/${card.publicToken}/${path}`, {
      body: members,
    })
    assert.deepEqual(
      [answer.status, answer.json.code, answer.json.replacedBy],
      [409, 'card_already_replaced', publicToken],
    )
  }
  assert.equal((await setStatus(publicToken, '46')).status, 204)
  const again = await service.call('POST', `/cards/${card.publicToken}/renew`, {
    body: { renewStep: 'RenewWithSameExpiry' },
  })
  assert.equal(again.status, 204, again.text)
})

test('a refused act on the plastics of a lost card names its successor, once it has one', async () => {
  const card = await issueCard(service, { cardProduct: 2200 })
  const acts = async () => {
    const path = `/cards/${card.publicToken}`
    const answers = [
      await service.call('DELETE', `${path}/renewal`),
      await service.call('POST', `${path}/renew`, { body: { renewStep: 'Migrate' } }),
      await service.call('PUT', `${path}/card-type`, { body: { cardType: 'Physical' } }),
    ]
    return answers.map(({ json }) => [json.code, json.replacedBy])
  }
  assert.equal((await setStatus(card.publicToken, '41')).status, 204)
  const closed = ['card_closed', undefined]
  assert.deepEqual(await acts(), [closed, closed, closed])
  const { publicToken } = (await replace(card.publicToken)).json
  const replaced = ['card_already_replaced', publicToken]
  assert.deepEqual(await acts(), [replaced, replaced, replaced])
})

test('the returned plastic of a converted card is not activated: another is ordered', async () => {
  const card = await issueCard(service, { cardProduct: 2200 })
  const path = `/cards/${card.publicToken}`
  const body = { cardType: 'Physical' }
  assert.equal((await service.call('PUT', `${path}/card-type`, { body })).status, 200)
  const returned = `/sandbox/plastics/${card.publicToken}/1/return`
  assert.equal((await service.call('POST', returned)).status, 204)
  const renew = (renewStep: string) =>
    service.call('POST', `${path}/renew`, { body: { renewStep } })
  for (const answer of [await setStatus(card.publicToken, '00'), await renew('Migrate')]) {
    assert.deepEqual([answer.status, answer.json.code], [409, 'nothing_to_migrate'])
    assert.match(answer.json.detail, /Order another: RenewWithSameExpiry/)
  }
  assert.equal((await renew('RenewWithSameExpiry')).status, 204)
  assert.equal((await renew('Migrate')).status, 204)
})

test('a successor whose plastic was returned does not take the place of a card that works', async () => {
  const card = await physicalCard()
  const successor = (await replace(card.publicToken, { reason: 'Upgrade' })).json.publicToken
  const returned = await service.call('POST', `/sandbox/plastics/${successor}/0/return`)
  assert.equal(returned.status, 204, returned.text)
  const refused = await setStatus(successor, '00')
  assert.deepEqual([refused.status, refused.json.code], [409, 'nothing_to_migrate'])
  assert.match(refused.json.detail, /Plastic 0 was returned\. Order another/)
  assert.deepEqual([await statusOf(card.publicToken), await statusOf(successor)], ['00', '02'])
  for (const renewStep of ['RenewWithSameExpiry', 'Migrate']) {
    const renewed = await service.call('POST', `/cards/${successor}/renew`, { body: { renewStep } })
    assert.equal(renewed.status, 204, renewed.text)
  }
  assert.equal((await setStatus(successor, '00')).status, 204)
  assert.deepEqual([await statusOf(card.publicToken), await statusOf(successor)], ['62', '00'])
})
