import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { publishBatch } from '../../../src/operations/events/publish.ts'
import { withoutIds } from '../../support/identifiers.ts'
import { ask, type IssuedCard, issueCard, otherDigits, pinTry } from '../../support/network.ts'
import {
  type Answer,
  type CallOptions,
  openTestService,
  sql,
  strongPins,
  type TestService,
} from '../../support/service.ts'

let service: TestService
let card: IssuedCard
const lines: string[] = []

before(async () => {
  service = await openTestService({
    env: { RATE_LIMIT: 'off', LOG_LEVEL: 'trace' },
    onLogLine: (line) => lines.push(line),
  })
  card = await issueCard(service, { customerReference: 'Ref-1' })
})

const support = (
  method: 'GET' | 'POST',
  path: string,
  options: CallOptions = {},
): Promise<Answer> =>
  service.call(method, `/${path}`, { as: 'admin', listener: 'private', ...options })

const search = (body: object, query = ''): Promise<Answer> =>
  support('POST', `/cards/search${query}`, { body })

const tokensOf = ({ json, status, text }: Answer): string[] => {
  assert.equal(status, 200, text)
  return json.map(({ publicToken }: { publicToken: string }) => publicToken)
}

const ofOtherClient = { cardProduct: 2001, customerReference: 'REF-1' }

test('a card of any client is found by its token, its PAN, its last four and its reference in either case', async () => {
  const other = await service.createCard(ofOtherClient, { as: 'otherClient' })
  assert.deepEqual(tokensOf(await search({ publicToken: card.publicToken })), [card.publicToken])
  assert.deepEqual(tokensOf(await search({ publicToken: other.publicToken })), [other.publicToken])
  assert.deepEqual(tokensOf(await search({ pan: card.pan })), [card.publicToken])
  assert.ok(tokensOf(await search({ panLastFour: card.pan.slice(-4) })).includes(card.publicToken))
  const both = [other.publicToken, card.publicToken]
  assert.deepEqual(tokensOf(await search({ customerReference: 'rEF-1' })), both)
  assert.deepEqual(tokensOf(await search({ customerReference: 'Ref' })), [])
})

test('what can be no card’s is found nowhere, and what is no search is refused', async () => {
  for (const body of [
    { publicToken: '9999999999' },
    { publicToken: "' or 1=1 --" },
    { pan: '4000001234567899' },
    { pan: '4000001234567890' },
    { customerReference: '%' },
    { customerReference: '<script>alert(1)</script>' },
    { authorizationReference: 'nobody' },
    { authorizationReference: card.pan },
  ]) {
    const found = await search(body)
    assert.deepEqual(tokensOf(found), [])
    assert.ok(!found.text.includes(card.pan))
  }
  for (const body of [
    {},
    { publicToken: '1', pan: card.pan },
    { panLastFour: '12345' },
    { panLastFour: '١٢٣٤' },
    { pan: 4 },
    { customerReference: 'a\u0000' },
    { clientId: 'demo-client' },
  ]) {
    const refused = await search(body)
    assert.equal(refused.status, 422, JSON.stringify(body))
    assert.ok(!refused.text.includes(card.pan))
  }
})

test('a card number that was looked for stands in no log and no table', async () => {
  await search({ pan: card.pan })
  await search({ pan: `${card.pan}1` })
  assert.ok(lines.some((line) => line.includes('/cards/search')))
  assert.ok(!lines.some((line) => line.includes(card.pan)))
  const tables = await sql<{ name: string }>(
    service.database,
    `select tablename as name from pg_tables where schemaname = 'public'`,
  )
  for (const { name } of tables) {
    const rows = await sql<{ row: string }>(
      service.database,
      `select t::text as row from ${name} t`,
    )
    assert.ok(!rows.some(({ row }) => row.includes(card.pan)), name)
  }
})

test('what many cards have in common is read in pages, newest first, each card once', async () => {
  const made: string[] = []
  for (let at = 0; at < 5; at += 1) {
    made.unshift((await service.createCard({ customerReference: 'many' })).publicToken)
  }
  const seen: string[] = []
  for (let query = '?limit=2'; query !== ''; ) {
    const page = await search({ customerReference: 'many' }, query)
    seen.push(...tokensOf(page))
    const next = /<\/cards\/search(\?[^>]+)>/.exec(String(page.headers.link ?? ''))
    query = next?.[1] ?? ''
  }
  assert.deepEqual(seen, made)
  for (const cursor of ['WyJhIl0', 'W10', 'bm8']) {
    const refused = await search({ customerReference: 'many' }, `?cursor=${cursor}`)
    assert.equal(refused.status, 422)
  }
})

test('a card is found by the reference of an authorization, with that authorization', async () => {
  const reference = '512345670001'
  await ask(service, { ...pinTry(service, card, otherDigits(card.pin)), reference })
  const other = await issueCard(service)
  await ask(service, { publicToken: other.publicToken, reference })
  const found = await search({ authorizationReference: reference })
  assert.deepEqual(tokensOf(found), [other.publicToken, card.publicToken])
  const [newest, declined] = found.json
  assert.deepEqual(
    [newest.authorization.responseCode, declined.authorization.responseCode],
    ['00', '55'],
  )
  const { advice, declinedBy, declineReason, retry } = declined.authorization
  assert.deepEqual([declineReason, declinedBy, retry], ['wrong_pin', 'pin', 'with_other_data'])
  assert.match(advice, /^Enter your PIN again/)
  assert.equal('declineReason' in newest.authorization, false)
  const path = `/cards/${card.publicToken}/authorizations/${declined.authorization.authorizationId}`
  const read = (await support('GET', path)).json
  assert.deepEqual(
    [read.reference, read.declineReason, read.advice],
    [reference, declineReason, advice],
  )
})

test('a card is read with why it has its status, its tries and its limits, and without a name', async () => {
  const fresh = await issueCard(service)
  await ask(service, pinTry(service, fresh, otherDigits(fresh.pin)))
  await service.call('PUT', `/cards/${fresh.publicToken}/status`, {
    body: { cardStatusCode: '62', description: 'Not for operators' },
  })
  for (const isPublished of [false, true]) {
    if (isPublished) while ((await publishBatch(service.database)) > 0);
    const { json, status, text } = await support('GET', `/cards/${fresh.publicToken}`)
    assert.equal(status, 200, text)
    assert.deepEqual(
      [json.clientId, json.productName, json.cardStatusCode, json.pinStatus.remainingTries],
      ['demo-client', 'Everyday Debit', '62', 2],
    )
    assert.deepEqual(json.statusReason.by, {
      kind: 'client',
      id: 'demo-client',
      name: 'Demo client system',
    })
    assert.equal(json.statusReason.reason, null)
    for (const word of ['ANA', 'Lim', 'Calle', 'embossName', 'Not for operators', fresh.pin]) {
      assert.ok(!withoutIds(text).includes(word), word)
    }
  }
})

test('limits that are used stand beside what they allow, and when they are free again', async () => {
  const limited = await openTestService({ env: { UNBLOCKS_PER_CARD_DAY: '2' } })
  const { publicToken } = await limited.createCard()
  for (let at = 0; at < 3; at += 1) {
    await limited.call('POST', `/card-pin/${publicToken}/pin/unblock`)
  }
  const { json } = await limited.call('GET', `//cards/${publicToken}`, {
    as: 'admin',
    listener: 'private',
  })
  const [limit, ...others] = json.limits
  assert.deepEqual(others, [])
  const { freeInSeconds, ...fixed } = limit
  assert.deepEqual(fixed, {
    limitName: 'unblock-pin',
    used: 2,
    allowed: 2,
    windowSeconds: 86_400,
  })
  assert.ok(freeInSeconds > 86_000 && freeInSeconds <= 86_400)
})

interface Entry {
  at: string
  kind: string
  act?: {
    entryId: string
    type: string
    sequence: number
    by: { kind: string; id: string | null }
    deliveries: { status: string; tries: number }[]
  }
  attempt?: { result: string; tryNumber: number }
  authorization?: { responseCode: string }
}

const wordOf = ({ act, attempt, authorization, kind }: Entry): string =>
  `${kind} ${act?.type ?? attempt?.result ?? authorization?.responseCode}`

const timelineOf = async (publicToken: string, limit: number, kind = ''): Promise<Entry[]> => {
  const entries: Entry[] = []
  const query = `limit=${limit}${kind && `&kind=${kind}`}`
  for (let next = `/cards/${publicToken}/timeline?${query}`; next !== ''; ) {
    const page = await support('GET', next)
    assert.equal(page.status, 200, page.text)
    assert.ok(page.json.length <= limit)
    entries.push(...page.json)
    next = /<([^>]+)>; rel="next"/.exec(String(page.headers.link ?? ''))?.[1] ?? ''
  }
  return entries
}

test('the timeline has each entry once on its pages, newest first', async () => {
  const fresh = await issueCard(service)
  const { publicToken } = fresh
  await ask(service, pinTry(service, fresh, otherDigits(fresh.pin)))
  while ((await publishBatch(service.database)) > 0);
  await ask(service, pinTry(service, fresh))
  const [pin] = strongPins({ maskedPan: fresh.pan })
  await service.call('POST', `/card-pin/${publicToken}/pin`, { body: { pin } })
  const whole = await timelineOf(publicToken, 100)
  // What has the time of an authorization was committed with it.
  assert.deepEqual(whole.map(wordOf).sort(), [
    ...['attempt match', 'attempt mismatch', 'authorization 00', 'authorization 55'],
    ...['change authorization.approved', 'change authorization.declined'],
    ...['change card.created', 'change pin.attempt_failed', 'change pin.set'],
    'disclosure pin.revealed',
  ])
  assert.deepEqual(wordOf(whole[0] as Entry), 'change pin.set')
  assert.deepEqual(wordOf(whole.at(-1) as Entry), 'change card.created')
  assert.deepEqual(
    whole.map(({ at }) => at),
    whole.map(({ at }) => at).toSorted((one, other) => (one < other ? 1 : -1)),
  )
  for (const limit of [1, 2, 3]) assert.deepEqual(await timelineOf(publicToken, limit), whole)
  for (const kind of ['change', 'disclosure', 'attempt', 'authorization']) {
    const expected = whole.filter((entry) => entry.kind === kind)
    for (const limit of [1, 100]) {
      assert.deepEqual(await timelineOf(publicToken, limit, kind), expected, kind)
    }
  }
  assert.equal((await support('GET', `/cards/${publicToken}/timeline?kind=x`)).status, 422)
  const failed = whole.find(({ act }) => act?.type === 'pin.attempt_failed')
  assert.deepEqual(failed?.act?.by, { kind: 'network', id: null, name: null })
  assert.equal((await support('GET', '/cards/9999999999/timeline')).status, 404)
  assert.equal(
    (await support('GET', `/cards/${publicToken}/timeline?cursor=WzEsMSwxXQ`)).status,
    422,
  )
})

test('the one disclosure before hundreds of other changes is found among the disclosures', async () => {
  const { publicToken } = await service.createCard()
  await service.call('GET', `/card-pin/${publicToken}/pin`)
  for (const cardStatusCode of Array.from({ length: 70 }, () => ['62', '00']).flat()) {
    await service.call('PUT', `/cards/${publicToken}/status`, { body: { cardStatusCode } })
  }
  const found = await timelineOf(publicToken, 5, 'disclosure')
  assert.deepEqual(found.map(wordOf), ['disclosure pin.revealed'])
})

test('a change says what each webhook got of it', async () => {
  const webhook = { url: 'https://hooks.example.com/a', events: ['card.status_changed'] }
  const { json } = await service.call('POST', '/webhooks', { body: webhook })
  const { publicToken } = await service.createCard()
  await service.call('PUT', `/cards/${publicToken}/status`, { body: { cardStatusCode: '62' } })
  while ((await publishBatch(service.database)) > 0);
  const [change, creation] = await timelineOf(publicToken, 10)
  assert.deepEqual(creation?.act?.deliveries, [])
  assert.equal(change?.act?.deliveries.length, 1)
  const [delivery] = change?.act?.deliveries ?? []
  assert.deepEqual(
    { ...delivery, deliveryId: undefined },
    {
      webhookId: json.webhookId,
      deliveryId: undefined,
      status: 'Pending',
      tries: 0,
      lastTry: null,
    },
  )
  await service.call('DELETE', `/webhooks/${json.webhookId}`)
})

test('without the scope nothing of this is done, by whichever caller', async () => {
  const reads = [
    `/cards/${card.publicToken}`,
    `/cards/${card.publicToken}/timeline`,
    `/cards/${card.publicToken}/authorizations`,
    '/authorizations',
    '/figures/authorizations?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z&bucket=hour',
    '/figures/authorizations/clients?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z',
  ]
  const acts = ['freeze', 'unfreeze', 'pin/unblock', 'cvv/unblock', 'cardholder'].map(
    (act) => `/cards/${card.publicToken}/${act}`,
  )
  const calls = [
    ...reads.map((path) => ({ method: 'GET', path, scope: 'support.read' }) as const),
    { method: 'POST', path: '/cards/search', scope: 'support.read' } as const,
    ...[...acts, '/cards/unblock'].map(
      (path) => ({ method: 'POST', path, scope: 'support.write' }) as const,
    ),
  ]
  const others = { 'support.read': 'support.write', 'support.write': 'support.read' } as const
  for (const { method, path, scope } of calls) {
    const given = method === 'POST' ? { body: {} } : {}
    for (const lacking of ['admin', others[scope]]) {
      const token = await service.token(lacking, 'admin')
      const refused = await support(method, path, { ...given, token })
      assert.deepEqual([refused.status, refused.json.code], [403, 'insufficient_scope'], path)
      assert.match(refused.json.detail, new RegExp(scope))
    }
    const network = await support(method, path, { ...given, as: 'network' })
    assert.equal(network.status, 403, path)
    const client = await support(method, path, { ...given, as: 'client' })
    assert.equal(client.status, 401, path)
    assert.equal((await support(method, path, { ...given, token: null })).status, 401, path)
    const token = await service.token(scope, 'admin')
    assert.notEqual((await support(method, path, { ...given, token })).status, 403, path)
  }
})
