import assert from 'node:assert/strict'
import { before, mock, suite, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { calculateJwkThumbprint } from 'jose'
import { requestCardData } from '../../../packages/sdk/device/device.ts'
import { Problem } from '../../../src/domain/problem.ts'
import { recordRefusals } from '../../../src/operations/card-data/refused-disclosures.ts'
import type { RefusedDisclosure } from '../../../src/storage/card-data/refused-disclosures.ts'
import type { Connection } from '../../../src/storage/engine/database.ts'
import { enterPublished, listEntries } from '../../support/audit.ts'
import { type DatabaseClock, ownClock } from '../../support/database-clock.ts'
import { databaseEngines } from '../../support/engines.ts'
import { withoutIds } from '../../support/identifiers.ts'
import { type Answer, openEmbedded, sql } from '../../support/service.ts'
import { type CardDataService, openCardDataService } from './service.ts'

interface Row extends RefusedDisclosure {
  readonly count: number
  readonly requestId: string
}

/** Refusals on record, of one client or of all. */
const recorded = (database: Connection, clientId: string | null = null): Promise<Row[]> =>
  sql<Row>(
    database,
    `select client_id as "clientId", public_token as "publicToken", act, includes_pin as "includesPin", device,
       outcome, reason, count::float8 as "count", request_id as "requestId"
     from refused_disclosure where $1::text is null or client_id = $1 order by first_at, reason`,
    [clientId],
  )

suite('what a client that is known did not get', () => {
  let service: CardDataService
  let publicToken: string
  let clock: DatabaseClock

  before(async () => {
    // Its clock stands still: no minute ends between two refusals.
    const database = await openEmbedded()
    clock = await ownClock(database)
    // In the middle of a minute, since a refusal counts from before it was written.
    await clock.pass(90 - clock.now().getUTCSeconds())
    service = await openCardDataService({ database })
    publicToken = (await service.createCard()).publicToken
  })

  /** What comes to be on record of what is asked. */
  const newly = async (ask: () => Promise<Answer>): Promise<Partial<Row>[]> => {
    const known = new Map((await recorded(service.database)).map((row) => [keyOf(row), row.count]))
    const { json } = await ask()
    const changed = async () =>
      (await recorded(service.database)).flatMap((row) => {
        const count = row.count - (known.get(keyOf(row)) ?? 0)
        const { clientId: _, count: total, requestId, ...refusal } = row
        const whose = requestId === json.requestId ? 'its own' : requestId
        return count === 0 ? [] : [{ ...refusal, count, ...(total === 1 && { requestId: whose }) }]
      })
    // It is there by now, unless the machine is so busy that the answer did not wait for it.
    let rows = await changed()
    for (; rows.length === 0; rows = await changed()) await wait(20)
    return rows
  }
  const keyOf = ({ count: _, requestId: __, ...row }: Row): string => JSON.stringify(row)

  const pin = { act: 'pin.revealed', includesPin: true, device: null, outcome: 'refused' }
  const data = { ...pin, act: 'card_data.revealed', includesPin: false }
  const first = { count: 1, requestId: 'its own' }

  test('a PIN that the token does not allow to see is on record', async () => {
    const token = await service.token('pin.read cards.encrypted')
    const path = `/card-pin/${publicToken}/pin`
    assert.deepEqual(await newly(() => service.call('GET', path, { token })), [
      { ...pin, publicToken, reason: 'insufficient_scope', ...first },
    ])
    const body = { includePin: true, key: 'AAAA' }
    assert.deepEqual(await newly(() => service.getCardData(publicToken, body, { token })), [
      { ...data, publicToken, includesPin: true, reason: 'insufficient_scope', ...first },
    ])
  })

  test('a card of another client, and one that is not there, stand as they were asked for', async () => {
    const other = await service.createCard({ cardProduct: 2001 }, { as: 'otherClient' })
    for (const asked of [other.publicToken, '9999999999']) {
      const rows = await newly(() => service.call('GET', `/card-pin/${asked}/pin`))
      const expected = { ...pin, publicToken: asked, reason: 'card_not_found', ...first }
      assert.deepEqual(rows, [expected])
    }
  })

  test('a text that can be no token is counted, and stored nowhere', async () => {
    const number = '4000001234567899'
    const rows = await newly(() => service.call('GET', `/card-pin/${number}/pin`))
    assert.deepEqual(rows, [{ ...pin, publicToken: null, reason: 'card_not_found', ...first }])
    const [kept] = await sql<{ text: string }>(
      service.database,
      'select json_agg(r)::text as text from refused_disclosure r',
    )
    assert.doesNotMatch(withoutIds(kept?.text ?? number), /400000/)
  })

  test('card data that a session or a device may not have name the reason and the device', async () => {
    const sealed = await service.createCard({ cardProduct: 1002 })
    const form = { form: 'deviceKey', includePin: true } as const
    const { body } = await requestCardData(service.serviceKeys, sealed.publicToken, form)
    assert.ok('deviceKey' in body)
    const device = await calculateJwkThumbprint(body.deviceKey)
    assert.deepEqual(await newly(() => service.getCardData(sealed.publicToken, body)), [
      {
        ...data,
        publicToken: sealed.publicToken,
        includesPin: true,
        device,
        reason: 'pin_not_revealable',
        ...first,
      },
    ])
    assert.deepEqual(await newly(() => service.getCardData(publicToken, { key: 'AAAA' })), [
      { ...data, publicToken, reason: 'invalid_session_key', ...first },
    ])
    assert.deepEqual(
      await newly(() => service.getCardData(publicToken, { key: 'AAAA', also: 1 })),
      [{ ...data, publicToken, reason: 'validation_failed', ...first }],
    )
  })

  test('what fails after it was put on record as done is on record as failed, too', async () => {
    const failing = mock.method(service.issuing.hsm, 'revealPin', async () => {
      throw new Problem('unavailable')
    })
    const ask = () => service.call('GET', `/card-pin/${publicToken}/pin`)
    const rows = await newly(ask)
    failing.mock.restore()
    const expected = { ...pin, publicToken, outcome: 'failed', reason: 'unavailable', ...first }
    assert.deepEqual(rows, [expected])
  })

  test('the same within a minute is one row that counts', async () => {
    const ask = () => service.call('GET', '/card-pin/8888888888/pin')
    await ask()
    for (const count of [1, 1, 1]) {
      const [row, ...more] = await newly(ask)
      assert.deepEqual([row?.count, more.length], [count, 0])
    }
  })

  test('it is entered when its minute is over, as one entry that is the asking client’s', async () => {
    const other = await service.createCard({ cardProduct: 2001 }, { as: 'otherClient' })
    const path = `/card-pin/${other.publicToken}/pin`
    const headers = { 'x-request-id': 'asked-first' }
    await newly(() => service.call('GET', path, { headers }))
    await newly(() => service.call('GET', path))
    const entered = async () =>
      (await listEntries(service.database)).filter(
        (entry) => entry.publicToken === other.publicToken,
      )
    await enterPublished(service.database)
    assert.deepEqual(await entered(), [])
    await clock.pass(60)
    await enterPublished(service.database)
    const [entry, ...more] = await entered()
    assert.ok(entry && more.length === 0)
    const { at, details, entry: id, ...said } = JSON.parse(entry.text)
    assert.deepEqual([id, entry.clientId], [entry.entryId, service.sandbox?.clientId])
    assert.deepEqual(said, {
      act: 'pin.revealed',
      client: service.sandbox?.clientId,
      request: 'asked-first',
      card: other.publicToken,
      outcome: 'refused',
      reason: 'card_not_found',
      count: 2,
    })
    assert.equal(details.includesPin, true)
    assert.ok(details.lastAt >= at, `${details.lastAt} ${at}`)
    await clock.pass(60)
    await enterPublished(service.database)
    assert.equal((await entered()).length, 1)
  })

  test('what is disclosed, and what nobody known asks for, is not among them', async () => {
    const path = `/card-pin/${publicToken}/pin`
    const rows = await newly(async () => {
      assert.equal((await service.call('GET', path)).status, 200)
      for (const token of [null, 'nobody']) {
        assert.equal((await service.call('GET', path, { token })).status, 401)
      }
      // What comes after them is counted after them.
      return service.call('GET', '/card-pin/7777777777/pin')
    })
    assert.deepEqual(
      rows.map((row) => row.publicToken),
      ['7777777777'],
    )
  })
})

const refused = (members: Partial<RefusedDisclosure> = {}): RefusedDisclosure => ({
  clientId: 'flooding',
  publicToken: '1000000000',
  act: 'pin.revealed',
  includesPin: true,
  device: null,
  outcome: 'refused',
  reason: 'card_not_found',
  ...members,
})

/** Refusals of a client, once there are so many: an answer waits for a second at most. */
const counted = async (database: Connection, clientId: string, most: number): Promise<Row[]> => {
  let rows = await recorded(database, clientId)
  for (; sum(rows) < most; rows = await recorded(database, clientId)) await wait(20)
  return rows
}

const sum = (rows: readonly Row[]): number => rows.reduce((total, { count }) => total + count, 0)

for (const { name, open, skip } of databaseEngines) {
  suite(`a flood of refusals, on ${name}`, { skip }, () => {
    let database: Connection
    before(async () => {
      database = await open()
    })

    test('takes one statement at a time, and few of them', async () => {
      let [statements, running, most] = [0, 0, 0]
      const watched: Connection = {
        ...database,
        async query(statement, values) {
          statements += 1
          running += 1
          most = Math.max(most, running)
          return database.query<never>(statement, values).finally(() => {
            running -= 1
          })
        },
      }
      const { record } = recordRefusals(watched)
      const clientId = 'statements'
      await Promise.all(Array.from({ length: 500 }, () => record(refused({ clientId }), 'r')))
      assert.equal(most, 1)
      assert.ok(statements <= 3, `${statements}`)
      assert.equal(sum(await counted(database, clientId, 500)), 500)
    })

    test('is committed when it is answered, or the answer has waited for a second', async () => {
      let isCommitted = false
      const { record } = recordRefusals({
        ...database,
        async query(statement, values) {
          const rows = await database.query<never>(statement, values)
          isCommitted = true
          return rows
        },
      })
      const askedMs = performance.now()
      await record(refused({ clientId: 'committed' }), 'r')
      assert.ok(isCommitted || performance.now() - askedMs >= 999)
    })

    test('of ever other cards names a hundred a minute, and counts them all', async () => {
      const { record } = recordRefusals(database)
      const clientId = 'guessing'
      const tokens = Array.from({ length: 500 }, (_, at) => String(2_000_000_000 + at))
      await Promise.all(
        tokens.map((publicToken) => record(refused({ clientId, publicToken }), 'r')),
      )
      const rows = await counted(database, clientId, 500)
      assert.equal(sum(rows), 500)
      // A minute may have ended meanwhile, of this clock or of the database's.
      assert.ok(rows.length <= 204, `${rows.length}`)
      const unnamed = rows.filter(({ publicToken }) => publicToken === null)
      assert.ok(unnamed.length >= 1 && sum(unnamed) >= 300)
    })

    test('of two processes at once counts each', async () => {
      const both = [recordRefusals(database), recordRefusals(database)]
      const clientId = 'both'
      const tokens = Array.from({ length: 20 }, (_, at) => String(3_000_000_000 + at))
      const asked = [...tokens, ...tokens.toReversed()].flatMap((publicToken) =>
        both.map(({ record }) => record(refused({ clientId, publicToken }), 'r')),
      )
      await Promise.all(asked)
      assert.equal(sum(await counted(database, clientId, 80)), 80)
    })

    test('that cannot be written is answered within seconds, and written once it can', async () => {
      const clientId = 'away'
      let isAway = true
      const { record } = recordRefusals({
        ...database,
        async query(statement, values) {
          if (isAway) throw new Problem('unavailable')
          return database.query(statement, values)
        },
      })
      await Promise.all([record(refused({ clientId }), 'r1'), record(refused({ clientId }), 'r2')])
      assert.equal(sum(await recorded(database, clientId)), 0)
      isAway = false
      await record(refused({ clientId }), 'r3')
      const [row] = await counted(database, clientId, 3)
      assert.equal(row?.requestId, 'r1')
    })
  })
}
