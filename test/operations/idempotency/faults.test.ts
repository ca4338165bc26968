import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { suite, test } from 'node:test'
import type { Database } from '../../../src/storage/engine/database.ts'
import { databaseEngines } from '../../support/engines.ts'
import {
  newCard,
  openTestService,
  sql,
  strongPins,
  type TestService,
} from '../../support/service.ts'

/**
 * When a statement is lost: before the database has it, or after it was done and before it is
 * answered.
 */
const moments = ['before', 'after'] as const

/** A database that loses one statement of those to come. */
interface Faulty {
  readonly database: Database
  /** @returns how many statements there were since. */
  lose(statement: number, moment: (typeof moments)[number]): () => number
}

const lost = new Error('The answer was lost.')

function makeFaulty(database: Database): Faulty {
  let isLost: (count: number, moment: (typeof moments)[number]) => boolean = () => false
  let count = 0
  const faultily =
    <Values extends readonly unknown[], Result>(work: (...values: Values) => Promise<Result>) =>
    async (...values: Values): Promise<Result> => {
      count += 1
      const number = count
      if (isLost(number, 'before')) throw lost
      const result = await work(...values)
      if (isLost(number, 'after')) throw lost
      return result
    }
  return {
    database: {
      ...database,
      query: faultily(database.query) as Database['query'],
      readRow: faultily(database.readRow) as Database['readRow'],
      change: faultily(database.change) as Database['change'],
      transaction: faultily(database.transaction) as Database['transaction'],
    },
    lose(statement, moment) {
      count = 0
      isLost = (number, at) => number === statement && at === moment
      return () => count
    },
  }
}

const countsOf = async (service: TestService) => {
  const [row] = await sql<{ claims: number; events: number }>(
    service.database,
    `select (select count(*)::int from idempotency_record) as claims,
       (select count(*)::int from event) as events`,
  )
  if (!row) throw new Error('Nothing was counted.')
  return row
}

const acts = {
  'Create Card': () => ({ method: 'POST', path: '/cards', body: newCard() }),
  'Set PIN': (token: string, pin: string) => ({
    method: 'POST',
    path: `/card-pin/${token}/pin`,
    body: { pin },
  }),
  'Unblock PIN': (token: string) => ({ method: 'POST', path: `/card-pin/${token}/pin/unblock` }),
  'Change a card’s status': (token: string) => ({
    method: 'PUT',
    path: `/cards/${token}/status`,
    body: { cardStatusCode: '62' },
  }),
} as const

for (const { name, open, skip } of databaseEngines) {
  suite(`whichever statement is lost, on ${name}`, { skip }, () => {
    for (const [act, requestOf] of Object.entries(acts)) {
      test(`${act}: a key is never claimed without its act, and its repeat does it once`, async () => {
        const faulty = makeFaulty(await open())
        const service = await openTestService({
          database: faulty.database,
          env: { UNBLOCKS_PER_CARD_DAY: '1000' },
        })
        let statements = 1
        for (let statement = 1; statement <= statements; statement += 1) {
          for (const moment of moments) {
            const card = await service.createCard()
            const { method, path, ...rest } = requestOf(card.publicToken, strongPins(card)[0])
            const headers = { 'idempotency-key': randomUUID() }
            const send = () => service.call(method, path, { ...rest, headers })
            const before = await countsOf(service)
            const countOf = faulty.lose(statement, moment)
            const first = await send()
            statements = Math.max(statements, countOf())
            faulty.lose(0, 'before')
            assert.ok(first.status >= 500, `${statement} ${moment}: ${first.text}`)
            const { claims, events } = await countsOf(service)
            assert.equal(claims - before.claims, events - before.events)
            const again = await send()
            assert.ok(again.status < 300, again.text)
            const after = await countsOf(service)
            assert.deepEqual([after.claims - before.claims, after.events - before.events], [1, 1])
            assert.equal(
              again.headers['idempotency-replayed'],
              claims > before.claims ? 'true' : undefined,
            )
          }
        }
        assert.ok(statements <= 2)
      })
    }
  })
}
