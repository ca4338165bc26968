/** Renewals, replacements and activations by operators, for a card of any client. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { enterAll } from '../../support/audit.ts'
import { ask, cvvTry, issueCard } from '../../support/network.ts'
import { type Answer, openTestService, sql, type TestService } from '../../support/service.ts'

let service: TestService

before(async () => {
  service = await openTestService({
    env: { RATE_LIMIT: 'off', SANDBOX_CLOCK: '2031-03-15T10:00:00Z' },
  })
})

const operator = { as: 'admin', listener: 'private' } as const
const reason = 'The holder rang, and was identified'

const act = (publicToken: string, name: string, body: object = { reason }): Promise<Answer> =>
  service.call('POST', `//cards/${publicToken}/${name}`, { ...operator, body })

const done = async (publicToken: string, name: string, body?: object) => {
  const answer = await act(publicToken, name, body)
  assert.ok(answer.status < 300, answer.text)
  return answer.json
}

const readCard = async (publicToken: string) =>
  (await service.call('GET', `/cards/${publicToken}`)).json

const physicalCard = async (members: object = {}): Promise<string> => {
  const card = { cardType: 'Physical', activateNow: true, ...members }
  return (await service.createCard(card)).publicToken
}

interface TimelineAct {
  readonly type: string
  readonly reason: string | null
  readonly by: { readonly kind: string; readonly id: string | null }
}

/** Lists the changes of a card, newest first. */
const listChanges = async (publicToken: string): Promise<readonly TimelineAct[]> => {
  const path = `//cards/${publicToken}/timeline?kind=change`
  const { json } = await service.call('GET', path, operator)
  return json.map((entry: { act: TimelineAct }) => entry.act)
}

/** Lists who acted on a card by the audit log, in its order. */
const listEntries = async (publicToken: string) => {
  await enterAll(service.database)
  const rows = await sql<{ text: string }>(
    service.database,
    'select text from audit_entry where public_token = $1 order by log, entry_index',
    [publicToken],
  )
  return rows.map(({ text }): { act: string; client: string } => JSON.parse(text))
}

test('a card that an operator replaces is on record with the reason, and its holder is not named', async () => {
  const { publicToken } = await service.createCard({ cardProduct: 2001 }, { as: 'otherClient' })
  const answer = await act(publicToken, 'replace', { reason, replacementReason: 'Lost' })
  assert.equal(answer.status, 200, answer.text)
  const { cardType, pinMoved, replacementFor } = answer.json
  assert.deepEqual([replacementFor, pinMoved, cardType], [publicToken, true, 'Virtual'])
  assert.doesNotMatch(answer.text, /emboss|lim/i)
  const successor = answer.json.publicToken
  assert.equal(answer.headers.location, `/cards/${successor}`)
  const { json: replaced } = await service.call('GET', `//cards/${publicToken}`, operator)
  assert.deepEqual(
    [replaced.cardStatusCode, replaced.statusReason.by.id, replaced.statusReason.reason],
    ['41', 'demo-admin', reason],
  )
  const changes = await listChanges(publicToken)
  assert.deepEqual(
    changes.slice(0, 2).map(({ by, reason: told, type }) => [type, by.id, told]),
    [
      ['card.replaced', 'demo-admin', reason],
      ['card.status_changed', 'demo-admin', reason],
    ],
  )
  const entries = await listEntries(publicToken)
  assert.deepEqual(
    entries.slice(-2).map(({ act: name, client }) => [name, client]),
    [
      ['card.status_changed', 'demo-admin'],
      ['card.replaced', 'demo-admin'],
    ],
  )
  const [created] = await listEntries(successor)
  assert.deepEqual([created?.act, created?.client], ['card.created', 'demo-admin'])
  const [creation] = await listChanges(successor)
  assert.deepEqual([creation?.type, creation?.reason], ['card.created', reason])
  const [row] = await sql<{ text: string }>(
    service.database,
    `select string_agg(event::text, ' ') as text from event where public_token = $1`,
    [publicToken],
  )
  assert.ok(!row?.text.includes('identified'), 'the reason is stored sealed')
  const { json: events } = await service.call('GET', '/events?limit=100', { as: 'otherClient' })
  assert.ok(events.some(({ type }: { type: string }) => type === 'card.replaced'))
  assert.ok(!JSON.stringify(events).includes('demo-admin'), 'the client is not told who')
})

test('an operator activates a successor, which retires the card before it in the same act', async () => {
  const first = await physicalCard()
  const { publicToken: second } = await done(first, 'replace', {
    reason,
    replacementReason: 'Damaged',
  })
  assert.equal((await readCard(first)).cardStatusCode, '00', 'it works until then')
  await done(second, 'activate')
  assert.equal((await readCard(second)).cardStatusCode, '00')
  assert.equal((await readCard(first)).retired, true)
  const changes = await listChanges(second)
  assert.deepEqual(
    changes.map(({ by, reason: told, type }) => [type, by.kind, told]),
    [
      ['card.activated', 'operator', null],
      ['card.status_changed', 'operator', reason],
      ['card.created', 'operator', reason],
    ],
  )
})

test('an operator activates a card that was never active, and no frozen or closed one', async () => {
  const card = await physicalCard({ activateNow: false })
  await done(card, 'activate')
  assert.equal((await readCard(card)).cardStatusCode, '00')
  await done(card, 'activate')
  await done(card, 'freeze')
  const frozen = await act(card, 'activate')
  assert.deepEqual([frozen.status, frozen.json.code], [409, 'card_status_conflict'])
  assert.match(frozen.json.detail, /only from 02 \(Inactive\)/)
  await service.call('PUT', `/cards/${card}/status`, { body: { cardStatusCode: '46' } })
  assert.equal((await act(card, 'activate')).status, 409)
})

test('an operator activates the plastic of a converted card, which unfreezing does not', async () => {
  const { publicToken } = await service.createCard({ cardType: 'Virtual' })
  const body = { cardType: 'Physical' }
  await service.call('PUT', `/cards/${publicToken}/card-type`, { body })
  const isInactive = async (): Promise<boolean> => {
    const { json } = await service.call('GET', `/cards/${publicToken}/history`)
    return json[0].plastics.at(-1).inactive === true
  }
  await done(publicToken, 'freeze')
  await done(publicToken, 'unfreeze')
  await done(publicToken, 'unfreeze')
  assert.equal(await isInactive(), true)
  await done(publicToken, 'activate')
  assert.equal(await isInactive(), false)
  const [activated] = await listChanges(publicToken)
  assert.deepEqual(
    [activated?.type, activated?.by.id, activated?.reason],
    ['card.activated', 'demo-admin', reason],
  )
})

test('an operator converts a virtual card once, on record with the reason, for the address on record', async () => {
  const { publicToken } = await service.createCard({ cardProduct: 2001 }, { as: 'otherClient' })
  const { convert } = await foresee(publicToken)
  assert.deepEqual(
    [convert.possible, convert.plasticNumber, convert.expiryDate],
    [true, 1, '2035-03-31'],
  )
  const given = { ...operator, body: { reason }, headers: { 'idempotency-key': randomUUID() } }
  for (const replayed of [undefined, 'true']) {
    const answer = await service.call('POST', `//cards/${publicToken}/convert`, given)
    assert.deepEqual([answer.status, answer.text], [204, ''])
    assert.equal(answer.headers['idempotency-replayed'], replayed)
  }
  const [converted, ...others] = await listChanges(publicToken)
  assert.deepEqual(
    [converted?.type, converted?.by.id, converted?.reason],
    ['card.converted', 'demo-admin', reason],
  )
  assert.deepEqual(
    others.map(({ type }) => type),
    ['card.created'],
  )
  const entries = await listEntries(publicToken)
  assert.deepEqual(
    entries.slice(-1).map(({ act: name, client }) => [name, client]),
    [['card.converted', 'demo-admin']],
  )
  const { activate, convert: again, deliveredTo } = await foresee(publicToken)
  assert.deepEqual(
    [activate.possible, again.code, deliveredTo],
    [true, 'conversion_not_supported', 'address'],
  )
  const refused = await act(publicToken, 'convert')
  assert.deepEqual([refused.status, refused.json.code], [422, 'conversion_not_supported'])
})

test('an operator renews a card, cancels the plastic and migrates another, each with its reason', async () => {
  const card = await physicalCard({ expiryDate: '2031-05' })
  await done(card, 'renew')
  assert.equal((await readCard(card)).renewal.plasticNumber, 1)
  await done(card, 'cancel-renewal', { reason: 'It was not wanted' })
  assert.equal((await readCard(card)).renewal, undefined)
  await done(card, 'renew', { reason, renewStep: 'RenewWithSameExpiry' })
  await done(card, 'renew', { reason: 'It has arrived', renewStep: 'Migrate' })
  assert.equal((await readCard(card)).renewal, undefined)
  const changes = await listChanges(card)
  const ofOperator = changes.filter(({ by }) => by.kind === 'operator')
  assert.deepEqual(
    ofOperator.map(({ reason: told, type }) => [type, told]),
    [
      ['card.delivery_changed', null],
      ['card.renewed', 'It has arrived'],
      ['card.renewal_ordered', reason],
      ['card.renewal_cancelled', 'It was not wanted'],
      ['card.renewal_ordered', reason],
    ],
  )
  const { publicToken: virtual } = await service.createCard({ expiryDate: '2031-05' })
  await done(virtual, 'renew')
  const [renewed] = await listChanges(virtual)
  assert.deepEqual([renewed?.type, renewed?.reason], ['card.renewed', reason])
})

test('an operator cancels a plastic that was lost on its way', async () => {
  const card = await physicalCard()
  await done(card, 'renew', { reason, renewStep: 'RenewWithSameExpiry' })
  await service.call('POST', `/sandbox/plastics/${card}/1/ship`, { body: {} })
  const produced = await act(card, 'cancel-renewal')
  assert.deepEqual([produced.status, produced.json.code], [409, 'renewal_produced'])
  await done(card, 'cancel-renewal', { reason, notReceived: true })
  assert.equal((await readCard(card)).renewal, undefined)
})

test('the rules of a client hold for an operator', async () => {
  const card = await physicalCard()
  const early = await act(card, 'renew')
  assert.deepEqual([early.status, early.json.code], [409, 'renewal_not_due'])
  const migrated = await act(card, 'renew', { reason, renewStep: 'Migrate' })
  assert.equal(migrated.json.code, 'nothing_to_migrate')
  const { publicToken: successor } = await done(card, 'replace', {
    reason,
    replacementReason: 'Stolen',
  })
  const again = await act(card, 'replace', { reason, replacementReason: 'Stolen' })
  assert.deepEqual(
    [again.status, again.json.code, again.json.replacedBy],
    [409, 'card_already_replaced', successor],
  )
  assert.equal((await act(card, 'renew')).json.code, 'card_already_replaced')
  const closed = await physicalCard()
  await service.call('PUT', `/cards/${closed}/status`, { body: { cardStatusCode: '46' } })
  const refused = await act(closed, 'replace', { reason, replacementReason: 'Damaged' })
  assert.deepEqual([refused.status, refused.json.code], [409, 'card_closed'])
})

test('a replacement under one key makes one card', async () => {
  const card = await physicalCard()
  const given = {
    ...operator,
    body: { reason, replacementReason: 'Lost' },
    headers: { 'idempotency-key': randomUUID() },
  }
  const first = await service.call('POST', `//cards/${card}/replace`, given)
  const second = await service.call('POST', `//cards/${card}/replace`, given)
  assert.deepEqual([first.status, second.status], [200, 200])
  assert.deepEqual(second.json, first.json)
  assert.equal(second.headers['idempotency-replayed'], 'true')
})

test('an act on a card sends it to no other address, and chooses neither PIN nor product', async () => {
  const card = await physicalCard()
  const address = { addressLine1: 'Elsewhere 1', postCode: '28013', country: 'ESP' }
  for (const members of [
    { fulfilment: address },
    { movePin: true },
    { cardProduct: 1002 },
    { activateNow: true },
    { replacementReason: 'Upgrade' },
    { reason: undefined },
    { replacementReason: undefined },
  ]) {
    const body = { reason, replacementReason: 'Damaged', ...members }
    const refused = await act(card, 'replace', body)
    assert.equal(refused.status, 422, JSON.stringify(members))
  }
  const { publicToken: virtual } = await service.createCard({ cardType: 'Virtual' })
  assert.equal((await act(virtual, 'convert', { reason, fulfilment: address })).status, 422)
  for (const members of [{ activateNow: true }, { expiryDate: '2033-01' }, { freetext1: 'x' }]) {
    assert.equal((await act(card, 'renew', { reason, ...members })).status, 422)
  }
  assert.equal((await readCard(card)).replacedBy, undefined)
})

/** The addresses of the plastics in the next batch, by card. */
const readBatch = async () => {
  const { json: batch } = await service.call('POST', '//bureau/batches', {
    ...operator,
    body: { limit: 500 },
  })
  const { json } = await service.call('GET', `//bureau/batches/${batch.batchId}/plastics`, operator)
  return new Map<string, { addressLine1: string }>(
    json.map((each: { publicToken: string; address: object }) => [each.publicToken, each.address]),
  )
}

test('an operator sends the plastic to another address, on record without the address', async () => {
  const moved = await physicalCard()
  const stays = await physicalCard()
  const fulfilment = { addressLine1: 'Diagonal 477', postCode: '08036', country: 'ESP' }
  for (const card of [moved, stays]) await done(card, 'delivery-address', { reason, fulfilment })
  assert.equal((await foresee(moved)).deliveredTo, 'fulfilment')
  await done(stays, 'delivery-address', { reason, fulfilment: null })
  assert.equal((await foresee(stays)).deliveredTo, 'address')
  const addresses = await readBatch()
  assert.equal(addresses.get(moved)?.addressLine1, 'Diagonal 477')
  assert.notEqual(addresses.get(stays)?.addressLine1, 'Diagonal 477')
  const [changed] = await listChanges(moved)
  assert.deepEqual(
    [changed?.type, changed?.by.id, changed?.reason],
    ['card.changed', 'demo-admin', reason],
  )
  const entries = await listEntries(moved)
  assert.deepEqual(
    entries.slice(-1).map(({ act: name, client }) => [name, client]),
    [['card.changed', 'demo-admin']],
  )
  assert.ok(!JSON.stringify(entries).includes('Diagonal'))
})

test('an address of a virtual card, and one without its postal code, is refused', async () => {
  const fulfilment = { addressLine1: 'Diagonal 477', postCode: '08036', country: 'ESP' }
  const { publicToken } = await service.createCard({ cardType: 'Virtual' })
  const virtual = await act(publicToken, 'delivery-address', { reason, fulfilment })
  const card = await physicalCard()
  const body = { reason, fulfilment: { ...fulfilment, postCode: '' } }
  const incomplete = await act(card, 'delivery-address', body)
  assert.deepEqual(
    [virtual, incomplete].map(({ json, status }) => [status, json.errors[0].pointer]),
    [
      [422, '/fulfilment'],
      [422, '/fulfilment/postCode'],
    ],
  )
})

test('each act needs a reason without a card number, and a card that exists', async () => {
  const card = await physicalCard()
  const members: Readonly<Record<string, object>> = {
    activate: {},
    renew: {},
    'cancel-renewal': {},
    convert: {},
    'delivery-address': { fulfilment: null },
    replace: { replacementReason: 'Lost' },
  }
  for (const [name, given] of Object.entries(members)) {
    for (const text of ['', 'x'.repeat(201), 'card 4000 0012 3456 7899', 'a\u202eb']) {
      const body = { ...given, reason: text }
      assert.equal((await act(card, name, body)).status, 422, `${name} ${text}`)
    }
    const body = { ...given, reason }
    const none = await act('9999999999', name, body)
    assert.deepEqual([none.status, none.json.code], [404, 'card_not_found'])
  }
})

test('a virtual card that an operator replaces is retired at once by its successor', async () => {
  const card = await issueCard(service, { cardType: 'Virtual' })
  const successor = await done(card.publicToken, 'replace', {
    reason,
    replacementReason: 'Damaged',
  })
  // A virtual successor is active at once.
  assert.equal(successor.cardStatusCode, '00')
  assert.equal((await ask(service, cvvTry(card))).json.responseCode, '62')
})

const foresee = async (publicToken: string) => {
  const answer = await service.call('GET', `//cards/${publicToken}/possible-acts`, operator)
  assert.equal(answer.status, 200, answer.text)
  return answer.json
}

const codes = (acts: Record<string, { possible?: boolean; code?: string } | string | null>) =>
  ['activate', 'renew', 'reprint', 'migrate', 'cancelRenewal', 'replace'].map((name) => {
    const foreseen = acts[name]
    assert.ok(typeof foreseen === 'object' && foreseen !== null)
    return foreseen.possible ? 'yes' : foreseen.code
  })

const setStatus = (publicToken: string, cardStatusCode: string) =>
  service.call('PUT', `/cards/${publicToken}/status`, { body: { cardStatusCode } })

test('the possible acts of a card have the effects that are foreseen', async () => {
  const card = await physicalCard()
  const acts = await foresee(card)
  const none = 'nothing_to_migrate'
  assert.deepEqual(codes(acts), [
    'card_status_conflict',
    'renewal_not_due',
    'yes',
    none,
    none,
    'yes',
  ])
  assert.deepEqual([acts.recommended, acts.deliveredTo], [null, 'address'])
  assert.match(acts.activate.detail, /^The card is 00 \(Active\) already\. It may become 62 /)
  assert.match(acts.renew.detail, /It can be renewed from \d{4}-\d\d-\d\d on/)
  assert.deepEqual(acts.reprint, {
    possible: true,
    plasticNumber: 1,
    expiryDate: '2035-03-31',
    current: false,
  })
  const effects = acts.replace.successors.map(
    (each: Record<string, unknown>) =>
      `${each.replacementReason} ${each.cardStatusCode} ${each.retired} ${each.pinMoved}`,
  )
  assert.deepEqual(effects, [
    'Lost 41 false true',
    'Stolen 43 false false',
    'Damaged 00 false true',
    'Compromised 62 true false',
  ])
  for (const { replacementReason, cardStatusCode, expiryDate, pinMoved, retired } of acts.replace
    .successors) {
    const other = await physicalCard()
    const successor = await done(other, 'replace', { reason, replacementReason })
    const replaced = await readCard(other)
    assert.deepEqual(
      [successor.pinMoved, successor.expiryDate, replaced.cardStatusCode, replaced.retired],
      [pinMoved, expiryDate, cardStatusCode, retired],
    )
  }
})

test('a virtual card is foreseen to be retired by its successor at once, without a delivery', async () => {
  const { publicToken } = await service.createCard({ cardType: 'Virtual' })
  const acts = await foresee(publicToken)
  assert.equal(acts.deliveredTo, null)
  const damaged = acts.replace.successors.find(
    (each: { replacementReason: string }) => each.replacementReason === 'Damaged',
  )
  assert.deepEqual([damaged.cardStatusCode, damaged.retired, damaged.active], ['62', true, true])
  await done(publicToken, 'replace', { reason, replacementReason: 'Damaged' })
  const { cardStatusCode, retired } = await readCard(publicToken)
  assert.deepEqual([cardStatusCode, retired], ['62', true])
  assert.deepEqual(
    new Set(codes(await foresee(publicToken))),
    new Set(['card_status_conflict', 'card_already_replaced']),
  )
})

test('a replacement is recommended for a lost card until it has a successor', async () => {
  const card = await physicalCard({
    fulfilment: { addressLine1: 'A 1', postCode: '28013', country: 'ESP' },
  })
  await setStatus(card, '41')
  const acts = await foresee(card)
  assert.deepEqual([acts.recommended, acts.deliveredTo], ['replace', 'fulfilment'])
  assert.deepEqual(
    acts.replace.successors.map((each: { replacementReason: string }) => each.replacementReason),
    ['Lost'],
  )
  await done(card, 'replace', { reason, replacementReason: 'Lost' })
  const after = await foresee(card)
  assert.deepEqual([after.recommended, after.replace.code], [null, 'card_already_replaced'])
})

test('a renewal is recommended within 60 days of the expiry until a plastic waits', async () => {
  const card = await physicalCard({ expiryDate: '2031-05' })
  assert.equal((await foresee(card)).recommended, null, '77 days are left')
  const soon = await physicalCard({ expiryDate: '2031-04' })
  const acts = await foresee(soon)
  assert.equal(acts.recommended, 'renew')
  assert.deepEqual(
    [acts.renew.possible, acts.renew.plasticNumber, acts.renew.current],
    [true, 1, false],
  )
  await done(soon, 'renew')
  const after = await foresee(soon)
  assert.deepEqual([after.recommended, after.renew.code], [null, 'renewal_in_progress'])
  assert.deepEqual(after.migrate, { possible: true, plasticNumber: 1 })
  assert.deepEqual(after.cancelRenewal, { possible: true, plasticNumber: 1, notReceived: false })
  await service.call('POST', `/sandbox/plastics/${soon}/1/ship`, { body: {} })
  assert.equal((await foresee(soon)).cancelRenewal.notReceived, true)
  const automatic = await physicalCard({ expiryDate: '2031-04' })
  await service.call('PATCH', `/cards/${automatic}`, { body: { renewalType: 'Automatic' } })
  assert.equal((await foresee(automatic)).recommended, null, 'the service renews it')
})

test('a renewal is recommended for a card whose automatic renewal was returned', async () => {
  const card = await physicalCard({ expiryDate: '2031-04' })
  await service.call('PATCH', `/cards/${card}`, { body: { renewalType: 'Automatic' } })
  await done(card, 'renew')
  assert.equal((await foresee(card)).recommended, null, 'the plastic is on its way')
  await service.call('POST', `/sandbox/plastics/${card}/1/return`, { body: {} })
  const acts = await foresee(card)
  assert.deepEqual([acts.recommended, acts.renew.possible], ['renew', true])
})

test('an inactive card can be activated, unless the plastic of a successor was returned', async () => {
  const card = await physicalCard({ activateNow: false })
  assert.equal((await foresee(card)).activate.possible, true)
  const used = await physicalCard()
  const { publicToken: successor } = await done(used, 'replace', {
    reason,
    replacementReason: 'Damaged',
  })
  assert.equal((await foresee(successor)).activate.possible, true)
  await service.call('POST', `/sandbox/plastics/${successor}/0/return`, { body: {} })
  const { activate } = await foresee(successor)
  assert.deepEqual([activate.possible, activate.code], [false, 'nothing_to_migrate'])
  assert.equal((await act(successor, 'activate')).json.code, 'nothing_to_migrate')
})

test('the possible acts name no holder and no address', async () => {
  const { publicToken } = await service.createCard()
  const { text } = await service.call('GET', `//cards/${publicToken}/possible-acts`, operator)
  assert.doesNotMatch(text, /Lim|Calle|ESP|emboss/)
  const none = await service.call('GET', '//cards/9999999999/possible-acts', operator)
  assert.deepEqual([none.status, none.json.code], [404, 'card_not_found'])
})
