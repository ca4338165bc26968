import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { enterAll } from '../../support/audit.ts'
import { blockedCard } from '../../support/builders.ts'
import { ask, issueCard, pinTry } from '../../support/network.ts'
import {
  type Answer,
  type CallOptions,
  openTestService,
  sql,
  type TestService,
} from '../../support/service.ts'

let service: TestService

before(async () => {
  service = await openTestService()
})

const support = (path: string, body?: object, options: CallOptions = {}): Promise<Answer> =>
  service.call('POST', `/${path}`, {
    as: 'admin',
    listener: 'private',
    ...(body && { body }),
    ...options,
  })

const reason = 'The holder rang: <b>lost</b> & found'

interface Entry {
  entry: string
  act: string
  client: string
  card: string
  sequence?: number
  outcome: string
  reason?: string
  details?: Record<string, unknown>
}

/** What the audit log says of a card, in its order. */
const listEntries = async (publicToken: string): Promise<Entry[]> => {
  await enterAll(service.database)
  const rows = await sql<{ text: string }>(
    service.database,
    'select text from audit_entry where public_token = $1 order by log, entry_index',
    [publicToken],
  )
  return rows.map(({ text }) => JSON.parse(text))
}

const eventsOf = async (publicToken: string) => {
  await enterAll(service.database)
  const { json } = await service.call('GET', '/events?limit=100')
  return json.filter(
    ({ data }: { data: { publicToken: string } }) => data.publicToken === publicToken,
  )
}

const readCard = async (publicToken: string) =>
  (await service.call('GET', `//cards/${publicToken}`, { as: 'admin', listener: 'private' })).json

test('a card is frozen and unfrozen by an operator, who is on record as who did it, with the reason', async () => {
  const card = await issueCard(service)
  const { publicToken } = card
  assert.equal((await support(`/cards/${publicToken}/freeze`, { reason })).status, 204)
  assert.equal((await ask(service, pinTry(service, card))).json.responseCode, '62')
  const frozen = await readCard(publicToken)
  assert.deepEqual(
    [frozen.cardStatusCode, frozen.statusReason.by, frozen.statusReason.reason],
    ['62', { kind: 'operator', id: 'demo-admin', name: 'Demo operator' }, reason],
  )
  // To freeze what is frozen changes nothing, and leaves nothing.
  assert.equal((await support(`/cards/${publicToken}/freeze`, { reason })).status, 204)
  assert.equal((await support(`/cards/${publicToken}/unfreeze`, { reason })).status, 204)
  assert.equal((await ask(service, pinTry(service, card))).json.responseCode, '00')

  const changes = (await listEntries(publicToken)).filter(
    ({ act }) => act === 'card.status_changed',
  )
  assert.deepEqual(
    changes.map(({ client, details, outcome }) => [client, details, outcome]),
    [
      ['demo-admin', { from: '00', to: '62', cardClient: 'demo-client' }, 'done'],
      ['demo-admin', { from: '62', to: '00', cardClient: 'demo-client' }, 'done'],
    ],
  )
  const events = (await eventsOf(publicToken)).filter(
    ({ type }: { type: string }) => type === 'card.status_changed',
  )
  assert.deepEqual(
    events.map(({ data }: { data: object }) => data),
    changes.map(({ sequence }, at) => ({
      publicToken,
      sequence,
      ...(at === 0 ? { from: '00', to: '62' } : { from: '62', to: '00' }),
    })),
  )
  assert.ok(!JSON.stringify(events).includes('demo-admin'), 'its client is not told who')
  const receipt = await service.call('GET', `/receipts/${changes[0]?.entry}`)
  assert.equal(receipt.status, 404, 'the receipt is the operator’s')
  const [row] = await sql<{ text: string }>(
    service.database,
    `select string_agg(event::text, ' ') as text from event where public_token = $1`,
    [publicToken],
  )
  assert.ok(!row?.text.includes('rang'), 'the reason is kept sealed')
})

test('a card that was never active, or is closed, is neither frozen nor unfrozen', async () => {
  const inactive = await service.createCard({ cardType: 'Physical', activateNow: false })
  const closed = await service.createCard()
  const path = `/cards/${closed.publicToken}/status`
  await service.call('PUT', path, { body: { cardStatusCode: '46' } })
  for (const { publicToken } of [inactive, closed]) {
    for (const act of ['freeze', 'unfreeze']) {
      const refused = await support(`/cards/${publicToken}/${act}`, { reason })
      assert.deepEqual([refused.status, refused.json.code], [409, 'card_status_conflict'], act)
    }
  }
  assert.equal((await readCard(inactive.publicToken)).cardStatusCode, '02')
})

test('an operator unblocks a PIN and a CVV of any client’s card, and the client has its event', async () => {
  const card = await blockedCard(service)
  const path = `/cards/${card.publicToken}`
  assert.equal((await support(`${path}/pin/unblock`, { reason })).status, 204)
  assert.equal((await support(`${path}/cvv/unblock`, { reason })).status, 204)
  assert.equal((await readCard(card.publicToken)).pinStatus.remainingTries, 3)
  const unblocks = (await listEntries(card.publicToken)).filter(({ act }) => /unblocked$/.test(act))
  assert.deepEqual(
    unblocks.map(({ act, client }) => [act, client]),
    [
      ['pin.unblocked', 'demo-admin'],
      ['cvv.unblocked', 'demo-admin'],
    ],
  )
  const timeline = await service.call('GET', `//cards/${card.publicToken}/timeline?limit=2`, {
    as: 'admin',
    listener: 'private',
  })
  assert.deepEqual(
    timeline.json.map(({ act }: { act: { reason: string; by: object } }) => [act.reason, act.by]),
    [
      [reason, { kind: 'operator', id: 'demo-admin', name: 'Demo operator' }],
      [reason, { kind: 'operator', id: 'demo-admin', name: 'Demo operator' }],
    ],
  )
  const types = (await eventsOf(card.publicToken)).map(({ type }: { type: string }) => type)
  assert.ok(types.includes('pin.unblocked') && types.includes('cvv.unblocked'))
  const other = await service.createCard({ cardProduct: 2001 }, { as: 'otherClient' })
  const others = await support(`/cards/${other.publicToken}/pin/unblock`, { reason })
  assert.equal(others.status, 204)
})

test('each act needs a reason that is text, and a card that is there', async () => {
  const { publicToken } = await service.createCard()
  for (const act of ['freeze', 'unfreeze', 'pin/unblock', 'cvv/unblock']) {
    for (const body of [
      {},
      { reason: '' },
      { reason: '  ' },
      { reason: 'x'.repeat(201) },
      { reason: 7 },
      { reason: 'card 4000 0012 3456 7899' },
      { reason: 'a\u202eb' },
      { reason, clientId: 'demo-client' },
    ]) {
      const refused = await support(`/cards/${publicToken}/${act}`, body)
      assert.equal(refused.status, 422, `${act} ${JSON.stringify(body)}`)
    }
    assert.equal((await support(`/cards/${publicToken}/${act}`)).status, 400)
    const none = await support(`/cards/9999999999/${act}`, { reason })
    assert.deepEqual([none.status, none.json.code], [404, 'card_not_found'])
  }
  assert.equal((await readCard(publicToken)).cardStatusCode, '00')
})

test('many cards are unblocked under one key, each once; a repeat goes on where the first stopped', async () => {
  const cards = [await blockedCard(service), await blockedCard(service)]
  for (let at = 2; at < 20; at += 1) cards.push(await issueCard(service))
  const [first, second] = cards
  assert.ok(first && second)
  const closed = await service.createCard()
  await service.call('PUT', `/cards/${closed.publicToken}/status`, {
    body: { cardStatusCode: '46' },
  })
  const publicTokens = [...cards, closed].map(({ publicToken }) => publicToken)
  const body = { publicTokens: [...publicTokens, '9999999999'], kind: 'pin', reason }
  const keyed = { headers: { 'idempotency-key': randomUUID() } }

  // The HSM goes away among the first: what was done until then stays done.
  const { hsm } = service.issuing
  const { sealRecord } = hsm
  let sealed = 0
  Object.assign(hsm, {
    sealRecord: (...given: Parameters<typeof sealRecord>) => {
      sealed += 1
      if (sealed > 20) return Promise.reject(new Error('away'))
      return sealRecord(...given)
    },
  })
  const stopped = await support('/cards/unblock', body, keyed).finally(() =>
    Object.assign(hsm, { sealRecord }),
  )
  assert.ok(stopped.status >= 500, stopped.text)
  const countUnblocks = async (): Promise<number> => {
    const [row] = await sql<{ count: number }>(
      service.database,
      `select count(*)::integer as count from event
       where type = 'pin.unblocked' and public_token = any($1::text[])`,
      [publicTokens],
    )
    return row?.count ?? 0
  }
  const done = await countUnblocks()
  assert.ok(done > 0 && done < 20, `${done} were unblocked`)

  const answer = await support('/cards/unblock', body, keyed)
  assert.equal(answer.status, 200, answer.text)
  assert.deepEqual(answer.json, [
    ...cards.map(({ publicToken }) => ({ publicToken, unblocked: true })),
    {
      publicToken: closed.publicToken,
      unblocked: false,
      code: 'card_closed',
      detail: 'The card is 46 (Closed). Create another card.',
    },
    { publicToken: '9999999999', unblocked: false, code: 'card_not_found' },
  ])
  assert.equal(await countUnblocks(), 20)
  const again = await support('/cards/unblock', body, keyed)
  assert.deepEqual([again.json, again.headers['idempotency-replayed']], [answer.json, 'true'])
  assert.equal(await countUnblocks(), 20)
  const otherList = { ...body, publicTokens: publicTokens.slice(1) }
  const reused = await support('/cards/unblock', otherList, keyed)
  assert.deepEqual([reused.status, reused.json.code], [422, 'idempotency_key_reused'])
})

test('a list to unblock has one to a thousand tokens, none twice', async () => {
  const tokens = Array.from({ length: 1_001 }, (_, at) => String(1_000_000_000 + at))
  for (const publicTokens of [[], ['1', '2'], ['1234567890', '1234567890'], tokens, 'x']) {
    const refused = await support('/cards/unblock', { publicTokens, kind: 'pin', reason })
    assert.equal(refused.status, 422)
  }
  const most = { publicTokens: tokens.slice(1), kind: 'cvv', reason }
  const answer = await support('/cards/unblock', most)
  assert.equal(answer.json.length, 1_000)
  const wrongKind = { publicTokens: ['1234567890'], kind: 'pan', reason }
  assert.equal((await support('/cards/unblock', wrongKind)).status, 422)
})

test('a holder’s names are shown with the entry that says to whom, and nothing else of the holder', async () => {
  const holder = {
    title: 'Dr',
    firstName: 'Zoë',
    middleName: "O'Neill",
    lastName: 'Müller-Lüdenscheidt',
    dateOfBirth: '1971-12-31',
    email: 'zoe@example.com',
    mobile: '+34600123456',
  }
  const { publicToken } = await service.createCard({ cardHolder: holder })
  const shown = await support(`/cards/${publicToken}/cardholder`)
  assert.equal(shown.status, 200, shown.text)
  assert.deepEqual(shown.json, {
    embossName: 'ZOE MULLER-LUDENSCHEIDT',
    title: 'Dr',
    firstName: 'Zoë',
    middleName: "O'Neill",
    lastName: 'Müller-Lüdenscheidt',
  })
  const entry = (await listEntries(publicToken)).find(({ act }) => act === 'cardholder.revealed')
  assert.equal(shown.headers['audit-entry'], entry?.entry)
  assert.deepEqual(
    [entry?.client, entry?.card, entry?.outcome, entry?.details],
    ['demo-admin', publicToken, 'done', { cardClient: 'demo-client' }],
  )
  const again = await support(`/cards/${publicToken}/cardholder`)
  assert.notEqual(again.headers['audit-entry'], shown.headers['audit-entry'])
  const timeline = await service.call('GET', `//cards/${publicToken}/timeline`, {
    as: 'admin',
    listener: 'private',
  })
  const disclosures = timeline.json.filter(({ kind }: { kind: string }) => kind === 'disclosure')
  assert.deepEqual(
    disclosures.map(({ act }: { act: Entry & { entryId: string } }) => act.entryId),
    [again.headers['audit-entry'], shown.headers['audit-entry']],
  )
  assert.ok(!timeline.text.includes('Zo'), 'nothing else shows a name')
  const events = await eventsOf(publicToken)
  assert.equal(events.length, 1, 'it is no event of the client')
})

test('a repeated disclosure of names is the same one for a minute', async () => {
  const { publicToken } = await service.createCard()
  const options = { headers: { 'idempotency-key': randomUUID() } }
  const reveal = () => support(`/cards/${publicToken}/cardholder`, undefined, options)
  const first = await reveal()
  const soon = await reveal()
  assert.deepEqual([first.status, soon.status], [200, 200])
  assert.deepEqual(soon.json, first.json)
  assert.equal(soon.headers['audit-entry'], first.headers['audit-entry'])
  assert.equal(soon.headers['idempotency-replayed'], 'true')
  const clock = { as: 'admin', listener: 'private' } as const
  const { json } = await service.call('GET', '//sandbox/clock', clock)
  const now = new Date(Date.parse(json.now) + 61_000).toISOString()
  assert.equal(
    (await service.call('POST', '//sandbox/clock', { ...clock, body: { now } })).status,
    200,
  )
  const later = await reveal()
  assert.equal(later.status, 200)
  assert.notEqual(later.headers['audit-entry'], first.headers['audit-entry'])
  const disclosed = (await listEntries(publicToken)).filter(
    ({ act }) => act === 'cardholder.revealed',
  )
  assert.equal(disclosed.length, 2)
})

test('names that may not be shown, or cannot be put on record, are not shown, and that is entered', async () => {
  const { publicToken } = await service.createCard()
  const token = await service.token('support.read', 'admin')
  const refused = await support(`/cards/${publicToken}/cardholder`, undefined, { token })
  assert.equal(refused.status, 403)
  await sql(
    service.database,
    `alter table audit_act add constraint away check (act <> 'cardholder.revealed') not valid`,
  )
  const failed = await support(`/cards/${publicToken}/cardholder`)
  await sql(service.database, 'alter table audit_act drop constraint away')
  assert.ok(failed.status >= 500 && !failed.text.includes('Lim'), failed.text)
  await sql(service.database, `update refused_disclosure set minute = minute - interval '1 hour'`)
  const entries = (await listEntries(publicToken)).filter(
    ({ act }) => act === 'cardholder.revealed',
  )
  assert.deepEqual(entries.map(({ client, outcome }) => [client, outcome]).sort(), [
    ['demo-admin', 'failed'],
    ['demo-admin', 'refused'],
  ])
})

test('an operator is shown so many names an hour, and no more', async () => {
  const limited = await openTestService({ env: { REVEALS_PER_CLIENT_HOUR: '2' } })
  const { publicToken } = await limited.createCard()
  const statuses = []
  for (let at = 0; at < 3; at += 1) {
    const given = { as: 'admin', listener: 'private' } as const
    const answer = await limited.call('POST', `//cards/${publicToken}/cardholder`, given)
    statuses.push(answer.status)
  }
  assert.deepEqual(statuses, [200, 200, 429])
  const [row] = await sql<{ count: number }>(
    limited.database,
    `select count(*)::integer as count from audit_act where act = 'cardholder.revealed'`,
  )
  assert.equal(row?.count, 2)
})
