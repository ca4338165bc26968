import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { countAnswered } from '../../../src/operations/authorizations/figures.ts'
import { searchAllAuthorizations } from '../../../src/operations/authorizations/search-all.ts'
import { expireRecords } from '../../../src/operations/events/expire.ts'
import { enterPublished } from '../../support/audit.ts'
import { ageAuthorizations, ageUnansweredKeys } from '../../support/builders.ts'
import { holdStatement } from '../../support/held-statement.ts'
import {
  ask,
  cvvTry,
  type IssuedCard,
  issueCard,
  otherDigits,
  pinBlock,
  pinTry,
} from '../../support/network.ts'
import { type Answer, sql, type TestService } from '../../support/service.ts'
import {
  cardNotPresent,
  connectSwitch,
  openLink,
  purchase,
  type Switch,
} from '../../support/switch.ts'
import { onEachEngine } from './engines.ts'

interface ReadCheck {
  check: string
  result: string
  afterMs: number
  responseCode?: string
  remainingTries?: number
  tryNumber?: number
}

interface ReadRecord {
  approved: boolean
  responseCode: string
  reference: string
  networkId: string
  durationMs: number
  checks: ReadCheck[]
}

onEachEngine((engine) => {
  let service: TestService
  let wire: Switch
  before(async () => {
    service = await engine.openOne()
    wire = await connectSwitch(await openLink(service))
    assert.equal(await wire.signOn(), '00')
  })

  const read = async (path: string) => {
    const answer = await service.call('GET', `/${path}`, { as: 'admin', listener: 'private' })
    assert.equal(answer.status, 200, answer.text)
    return answer.json
  }
  const recordsOf = ({ publicToken }: Pick<IssuedCard, 'publicToken'>) =>
    read(`/cards/${publicToken}/authorizations`)

  /** Each check in a word, and what it declined with. */
  const said = (checks: readonly ReadCheck[]): string =>
    checks
      .map(({ check, responseCode, result }) =>
        [check, result, ...(responseCode ? [responseCode] : [])].join(' '),
      )
      .join(', ')

  const newest = async (card: Pick<IssuedCard, 'publicToken'>): Promise<string> =>
    said((await recordsOf(card))[0].checks)

  const passed = 'card passed, status passed, expiry not_given, pin_block'

  test('each answer leaves what every check came to, in the order in which they were made', async () => {
    const card = await issueCard(service)
    const wrongPin = otherDigits(card.pin)
    const { publicToken } = card
    const questions: readonly (readonly [object, string])[] = [
      [{ publicToken }, `${passed} not_given`],
      [{ publicToken, entryMode: 'atm' }, `${passed} not_given 86`],
      [{ publicToken, expiryDate: '2099-01' }, 'card passed, status passed, expiry failed 54'],
      [
        { publicToken, pinBlock: { ...pinBlock(service, card), data: 'AB' } },
        `${passed} failed 86`,
      ],
      [
        { ...pinTry(service, card), expiryDate: card.expiry },
        'card passed, status passed, expiry passed, pin_block passed, pin passed',
      ],
      [pinTry(service, card, wrongPin), `${passed} passed, pin failed 55`],
      [{ ...pinTry(service, card), ...cvvTry(card) }, `${passed} passed, pin passed, cvv2 passed`],
      [
        { ...pinTry(service, card), ...cvvTry(card, otherDigits(card.cvv2)) },
        `${passed} passed, pin passed, cvv2 failed N7`,
      ],
      [cvvTry(card, otherDigits(card.cvv2)), `${passed} not_given, cvv2 failed N7`],
      [pinTry(service, card, wrongPin), `${passed} passed, pin failed 55`],
      [pinTry(service, card, wrongPin), `${passed} passed, pin failed 55`],
      [pinTry(service, card, wrongPin), `${passed} passed, pin failed 55`],
      [pinTry(service, card), `${passed} passed, pin blocked 75`],
    ]
    for (const [question, expected] of questions) {
      // A try is spent once, not once with a key and once without.
      const isOnce = /failed (55|N7)/.test(expected)
      for (const headers of [{}, ...(isOnce ? [] : [{ 'idempotency-key': randomUUID() }])]) {
        const answer = await ask(service, question, { headers })
        const [record] = await recordsOf(card)
        assert.equal(said(record.checks), expected)
        assertAnswered(record, answer)
      }
    }
  })

  const assertAnswered = (record: ReadRecord, { json }: Answer): void => {
    const { approved, checks, durationMs, reference, responseCode } = record
    assert.deepEqual(
      { approved, responseCode, reference },
      { approved: json.approved, responseCode: json.responseCode, reference: json.reference },
    )
    assert.equal(record.networkId, 'demo-network')
    const last = checks.at(-1)
    const kind = { pin: 'pin', cvv2: 'cvv' }[last?.check ?? '']
    if (kind) assert.equal(last?.remainingTries, json[kind].remainingTries)
    assert.ok(durationMs >= (last?.afterMs ?? 0))
  }

  test('a card that is frozen, and one that never was active, say so by their status', async () => {
    const card = await issueCard(service)
    const path = `/cards/${card.publicToken}/status`
    await service.call('PUT', path, { body: { cardStatusCode: '62' } })
    await ask(service, pinTry(service, card))
    const [record] = await recordsOf(card)
    assert.equal(said(record.checks), 'card passed, status failed 62')
    assert.equal(record.checks[1].cardStatusCode, '62')
    const inactive = await issueCard(service, { cardType: 'Physical', activateNow: false })
    await ask(service, pinTry(service, inactive))
    assert.equal(await newest(inactive), 'card passed, status failed 78')
  })

  test('a repeat leaves no record of its own, and a question about no card none at all', async () => {
    const card = await issueCard(service)
    const headers = { 'idempotency-key': randomUUID() }
    for (const question of [pinTry(service, card), { publicToken: card.publicToken }]) {
      const count = (await recordsOf(card)).length
      const own = { ...question, reference: 'R-repeated' }
      const keyed = { headers: { 'idempotency-key': randomUUID() } }
      await ask(service, own, keyed)
      await ask(service, own, keyed)
      assert.equal((await recordsOf(card)).length, count + 1)
    }
    const before = await countAll()
    await ask(service, { publicToken: '9999999999' })
    await ask(service, { publicToken: '9999999999' }, { headers })
    assert.equal(await countAll(), before)
  })

  const countAll = async (): Promise<number> => {
    const text = 'select count(*)::integer as count from authorization_request'
    return (await sql<{ count: number }>(service.database, text))[0]?.count ?? 0
  }

  test('an HSM that gives no answer is told from a wrong PIN', async () => {
    const card = await issueCard(service)
    const { hsm } = service.issuing
    const { verifyPin } = hsm
    Object.assign(hsm, { verifyPin: () => Promise.reject(new Error('away')) })
    try {
      await ask(service, pinTry(service, card))
    } finally {
      Object.assign(hsm, { verifyPin })
    }
    assert.equal(await newest(card), `${passed} passed, pin unresolved 96`)
  })

  test('a question that was lost with its process is on record as that, once, when its repeat is answered', async () => {
    const card = await issueCard(service)
    const { hsm } = service.issuing
    const { sealRecord } = hsm
    const keyed = { headers: { 'idempotency-key': randomUUID() } }
    const question = { ...pinTry(service, card), reference: 'R-lost' }
    Object.assign(hsm, { sealRecord: () => Promise.reject(new Error('away')) })
    try {
      assert.ok((await ask(service, question, keyed)).status >= 500)
    } finally {
      Object.assign(hsm, { sealRecord })
    }
    assert.deepEqual(await recordsOf(card), [])
    await ageUnansweredKeys(service.database)
    for (let repeat = 0; repeat < 2; repeat += 1) {
      assert.equal((await ask(service, question, keyed)).json.responseCode, '96')
    }
    const records = await recordsOf(card)
    assert.deepEqual(
      records.map(({ checks }: ReadRecord) => said(checks)),
      ['answer unresolved 96'],
    )
  })

  test('of many at once each leaves one record, and as many as were answered so', async () => {
    const card = await issueCard(service)
    const wrong = pinTry(service, card, otherDigits(card.pin))
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, at) =>
        ask(service, wrong, at % 2 === 0 ? {} : { headers: { 'idempotency-key': randomUUID() } }),
      ),
    )
    const codesOf = (of: { responseCode: string }[]) => of.map((each) => each.responseCode).sort()
    const records = await recordsOf(card)
    assert.deepEqual(codesOf(records), codesOf(answers.map(({ json }) => json)))
    assert.equal(codesOf(records).filter((code) => code === '55').length, 3)
    const blocked = records.find((each: { responseCode: string }) => each.responseCode === '75')
    assert.equal(said(blocked.checks), `${passed} passed, pin blocked 75`)
  })

  test('what comes on a network’s own wire is on record by the same checks', async () => {
    const card = await issueCard(service)
    const asked = purchase(service, card, { pin: otherDigits(card.pin) })
    assert.equal((await wire.ask('0100', asked)).fields['39'], '55')
    const [record] = await recordsOf(card)
    assert.match(said(record.checks), /pin_block passed, pin failed 55$/)
    assert.equal(record.reference, asked['37'])
    await service.call('PUT', `/cards/${card.publicToken}/status`, {
      body: { cardStatusCode: '62' },
    })
    await wire.ask('0100', cardNotPresent(service, card, card.cvv2))
    assert.equal(await newest(card), 'card passed, status failed 62')
  })

  test('one is read by its id on its own card, and in pages, newest first', async () => {
    const card = await issueCard(service)
    const { publicToken } = card
    for (let at = 0; at < 5; at += 1) {
      await ask(service, { publicToken, reference: `P-${at}` })
      // Which of two of one millisecond is the newer, nobody can tell.
      await wait(2)
    }
    const all = await recordsOf(card)
    const references = (of: { reference: string }[]) => of.map(({ reference }) => reference)
    assert.deepEqual(references(all), ['P-4', 'P-3', 'P-2', 'P-1', 'P-0'])
    const one = await read(`/cards/${publicToken}/authorizations/${all[2].authorizationId}`)
    assert.deepEqual(one, all[2])
    const other = await issueCard(service)
    const onOther = await service.call(
      'GET',
      `//cards/${other.publicToken}/authorizations/${all[2].authorizationId}`,
      { as: 'admin', listener: 'private' },
    )
    assert.equal(onOther.status, 404)
    const seen: string[] = []
    for (let next = `//cards/${publicToken}/authorizations?limit=2`; next !== ''; ) {
      const page = await service.call('GET', next, { as: 'admin', listener: 'private' })
      seen.push(...references(page.json))
      const link = /<([^>]+)>; rel="next"/.exec(String(page.headers.link ?? ''))?.[1]
      next = link ? `/${link}` : ''
    }
    assert.deepEqual(seen, references(all))
  })

  test('a record is forgotten when it is as old as tries may be', async () => {
    const card = await issueCard(service)
    await ask(service, { publicToken: card.publicToken, reference: 'old' })
    await ask(service, { publicToken: card.publicToken, reference: 'young' })
    await ageAuthorizations(service.database, card.publicToken, '401 days', 'old')
    await enterPublished(service.database)
    await expireRecords(service.database, { eventDays: 30, attemptDays: 400, paymentDays: 400 })
    const left = await recordsOf(card)
    assert.deepEqual(
      left.map(({ reference }: { reference: string }) => reference),
      ['young'],
    )
  })

  test('the authorizations of all cards are searched by outcome, reason, client and time', async () => {
    await sql(service.database, 'delete from authorization_request where true')
    const cards = [await issueCard(service), await issueCard(service)] as const
    for (const [at, card] of cards.entries()) {
      await ask(service, { publicToken: card.publicToken, reference: `A-${at}` })
      await wait(2)
      const wrong = pinTry(service, card, otherDigits(card.pin))
      await ask(service, { ...wrong, reference: `D-${at}` })
      await wait(2)
    }
    const search = async (query: string): Promise<string[]> =>
      (await read(`/authorizations${query}`)).map((each: ReadRecord) => each.reference)
    assert.deepEqual(await search(''), ['D-1', 'A-1', 'D-0', 'A-0'])
    assert.deepEqual(await search('?outcome=approved'), ['A-1', 'A-0'])
    for (const wrongPins of [
      'responseCode=55',
      'declineReason=wrong_pin',
      'outcome=declined&clientId=demo-client',
      'declineReason=wrong_pin&clientId=demo-client&from=2026-01-01T00:00:00Z',
    ]) {
      assert.deepEqual(await search(`?${wrongPins}`), ['D-1', 'D-0'], wrongPins)
    }
    for (const nothing of [
      'clientId=other',
      'declineReason=pin_blocked',
      'to=2026-01-01T00:00:00Z',
      'from=2099-01-01T00:00:00Z&clientId=demo-client',
    ]) {
      assert.deepEqual(await search(`?${nothing}`), [], nothing)
    }
    const [newestOne] = await read('/authorizations?limit=1')
    assert.deepEqual(
      [newestOne.clientId, newestOne.publicToken, newestOne.declineReason],
      ['demo-client', cards[1].publicToken, 'wrong_pin'],
    )
    for (const refused of [
      'from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z',
      'declineReason=wrong_pin&responseCode=75',
      'responseCode=77',
    ]) {
      const { status } = await service.call('GET', `//authorizations?${refused}`, {
        as: 'admin',
        listener: 'private',
      })
      assert.equal(status, 422, refused)
    }
  })

  test('a rare authorization is found behind thousands of others, in pages that may be short', async () => {
    await sql(service.database, 'delete from authorization_request where true')
    const card = await issueCard(service)
    await ask(service, pinTry(service, card, otherDigits(card.pin)))
    await sql(
      service.database,
      `insert into authorization_request (public_token, authorization_id, client_id, network_id,
         request_id, reference, entry_mode, response_code, checks, duration_ms, decided_at)
       select '9999999999', ('e0' || lpad(to_hex(n), 30, '0'))::uuid, 'demo-client',
         'demo-network', 'r', 'F-' || n, 'chip', '00', '[]', 1, now()
       from generate_series(1, 20500) n`,
    )
    for (const ofClient of ['', '&clientId=demo-client']) {
      const pages: number[] = []
      for (let next = `//authorizations?responseCode=55${ofClient}`; next !== ''; ) {
        const page = await service.call('GET', next, { as: 'admin', listener: 'private' })
        assert.equal(page.status, 200, page.text)
        pages.push(page.json.length)
        const link = /<([^>]+)>; rel="next"/.exec(String(page.headers.link ?? ''))?.[1]
        next = link ? `/${link}` : ''
      }
      assert.deepEqual(pages, [0, 1])
    }
    await sql(
      service.database,
      `delete from authorization_request where public_token = '9999999999'`,
    )
  })

  test('an authorization that is deleted while a page is read hides no other', async () => {
    await sql(service.database, 'delete from authorization_request where true')
    const { publicToken } = await issueCard(service)
    for (const reference of ['1', '2', '3', '4']) {
      await ask(service, { publicToken, reference })
      await wait(2)
    }
    const slow = holdStatement(service.database, 'find_authorizations')
    const searching = searchAllAuthorizations(slow, {}, { after: null, limit: 2 })
    await slow.reached
    await sql(service.database, `delete from authorization_request where reference = '4'`)
    slow.release()
    const { found, next } = await searching
    assert.deepEqual(
      found.map(({ reference }) => reference),
      ['3', '2'],
    )
    const rest = await searchAllAuthorizations(service, {}, { after: next, limit: 2 })
    assert.deepEqual(
      rest.found.map(({ reference }) => reference),
      ['1'],
    )
  })

  test('approvals and declines are counted by reason, from full minutes on, within bounds', async () => {
    await sql(service.database, 'delete from authorization_request where true')
    const card = await issueCard(service)
    const money = { amount: 1234, currency: 'EUR' }
    await ask(service, { publicToken: card.publicToken, ...money })
    await ask(service, pinTry(service, card))
    await ask(service, { ...pinTry(service, card, otherDigits(card.pin)), ...money })
    await sql(
      service.database,
      `update authorization_request set
         requested_at = case
           when response_code = '55' then '2026-03-01T10:01:59.999Z'::timestamptz
           else '2026-03-01T10:00:00Z'
         end,
         decided_at = case
           when response_code = '55' then '2026-03-01T10:01:59.999Z'::timestamptz
           else '2026-03-01T10:00:00Z'
         end`,
    )
    const figures = (query: string) =>
      service.call('GET', `//figures/authorizations?${query}`, { as: 'admin', listener: 'private' })
    const minutes = 'from=2026-03-01T10:00:30Z&to=2026-03-01T10:02:00Z&bucket=minute'
    assert.deepEqual((await figures(minutes)).json, [
      {
        from: '2026-03-01T10:00:00.000Z',
        approved: 2,
        declined: 0,
        declinedBy: {},
        approvedAmounts: { EUR: 1234 },
      },
      {
        from: '2026-03-01T10:01:00.000Z',
        approved: 0,
        declined: 1,
        declinedBy: { 55: 1 },
        approvedAmounts: {},
      },
    ])
    const days = 'from=2026-02-28T00:00:00Z&to=2026-03-03T00:00:00Z&bucket=day'
    assert.deepEqual((await figures(days)).json, [
      {
        from: '2026-03-01T00:00:00.000Z',
        approved: 2,
        declined: 1,
        declinedBy: { 55: 1 },
        approvedAmounts: { EUR: 1234 },
      },
    ])
    // Counted behind them, as often as one likes, the figures are the same, also of records that
    // are gone; and what came since is counted beside.
    const june = 'from=2026-06-01T00:00:00Z&to=2026-06-02T00:00:00Z&bucket=hour'
    for (let count = 0; count < 2; count += 1) {
      await countAnswered(service)
      const counted = await figures(days)
      assert.deepEqual(counted.json[0].declinedBy, { 55: 1 })
      assert.equal(counted.json[0].approved, 2)
      assert.deepEqual(counted.json[0].approvedAmounts, { EUR: 1234 })
      await sql(
        service.database,
        `update authorization_request
         set requested_at = '2026-06-01T12:00:00Z', decided_at = '2026-06-01T12:00:00Z'
         where response_code = '55'`,
      )
      assert.deepEqual((await figures(june)).json, [
        {
          from: '2026-06-01T12:00:00.000Z',
          approved: 0,
          declined: 1,
          declinedBy: { 55: 1 },
          approvedAmounts: {},
        },
      ])
    }
    const quarters = 'from=2026-06-01T00:00:00Z&to=2026-06-02T00:00:00Z&bucket=sixHours'
    const [quarter] = (await figures(quarters)).json
    assert.deepEqual([quarter.from, quarter.declined], ['2026-06-01T12:00:00.000Z', 1])
    for (const [clientId, approvals] of [
      ['demo-client', [2]],
      ['other', []],
    ] as const) {
      const own = (await figures(`${days}&clientId=${clientId}`)).json
      assert.deepEqual(
        own.map(({ approved }: { approved: number }) => approved),
        approvals,
      )
    }
    const byClient = (from: string, to: string) =>
      service.call('GET', `//figures/authorizations/clients?from=${from}&to=${to}`, {
        as: 'admin',
        listener: 'private',
      })
    assert.deepEqual((await byClient('2026-03-01T10:00:00Z', '2026-03-03T00:00:00Z')).json, [
      { clientId: 'demo-client', approved: 2, declined: 1, declinedBy: { 55: 1 } },
    ])
    assert.equal((await byClient('2026-03-01T00:00:00Z', '2026-04-03T00:00:00Z')).status, 422)
    const over = 'from=2026-03-01T00:00:00Z&to=2026-06-02T00:00:00Z&bucket=day'
    assert.deepEqual(
      (await figures(over)).json.map(({ approved, declined }: Record<string, number>) => [
        approved,
        declined,
      ]),
      [
        [2, 1],
        [0, 1],
      ],
    )
    for (const refused of [
      'from=2026-03-01T00:00:00Z&to=2026-03-01T00:00:00Z&bucket=day',
      'from=2026-03-01T00:00:00Z&to=2026-03-03T00:00:00Z&bucket=minute',
      'from=2026-03-01&to=2026-03-03T00:00:00Z&bucket=day',
      'from=2026-03-01T00:00:00Z&to=2026-03-03T00:00:00Z&bucket=second',
    ]) {
      assert.equal((await figures(refused)).status, 422, refused)
    }
  })
})
