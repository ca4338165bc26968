import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { after, before, suite, test } from 'node:test'
import pg from 'pg'
import { findAuthorizedCard } from '../../src/storage/cards/authorizations.ts'
import { findCard, findCardWithProduct } from '../../src/storage/cards/cards.ts'
import {
  expireCards,
  prunePinEnvelopes,
  restoreTries,
  spendAllTries,
  updateCardStatus,
  updatePin,
} from '../../src/storage/cards/changes.ts'
import { recordDisclosure } from '../../src/storage/cards/disclosures.ts'
import { forgetPanFingerprints } from '../../src/storage/cards/keys-of-cards.ts'
import { pruneLimits } from '../../src/storage/cards/limits.ts'
import { settleTry } from '../../src/storage/cards/settle-try.ts'
import { spendTry } from '../../src/storage/cards/spend-try.ts'
import { findTries } from '../../src/storage/cards/tries.ts'
import { pruneWrongExpiries } from '../../src/storage/cards/wrong-expiries.ts'
import { pruneAssertions } from '../../src/storage/clients/assertions.ts'
import type {
  Connection,
  Database,
  RowKey,
  RowRead,
  SqlValue,
  Statement,
} from '../../src/storage/engine/database.ts'
import { claimStream } from '../../src/storage/events/feed.ts'
import { markPublished, type UnpublishedEvent } from '../../src/storage/events/publish.ts'
import { pruneFeed, pruneOutbox } from '../../src/storage/events/retention.ts'
import { pruneIdempotencyRecords } from '../../src/storage/idempotency/idempotency.ts'
import { recordTries } from '../../src/storage/webhooks/attempts.ts'
import { queueUndelivered } from '../../src/storage/webhooks/deliveries.ts'
import { failPending, listDueDeliveries } from '../../src/storage/webhooks/delivery-groups.ts'
import { pruneDeliveries, removeDeliveries } from '../../src/storage/webhooks/retention.ts'
import { publicTokenOf } from '../support/identifiers.ts'
import { openPostgres } from '../support/postgres.ts'
import { openServerDatabase } from '../support/service.ts'
import { beliefs, clientId, rowsEach, today, webhookId } from './old-rows.ts'

const postgres = await openPostgres()
/**
 * Few rows of many, whatever is planned; and, as the service has its statements planned, so many that the planner may
 * think of reading all: a step of the service is 100 to 500, of thousands of rows or of millions.
 */
const examinations = [
  [5, 'force_custom_plan'],
  [5, 'force_generic_plan'],
  [200, 'force_generic_plan'],
] as const
/** A statement finds its rows, locks and changes them, and what hangs on them: so many times its limit. */
const rowsEachMost = 12
const reference = { clientId, webhookId }
const holder = '00000000-0000-4000-8000-000000000002'

const publishedUpTo = (limit: number) =>
  Array.from({ length: limit }, (_, at) => ({
    publicToken: String(1_000_000_001 + at),
    sequence: 1,
  })) as unknown as UnpublishedEvent[]

const triedUpTo = (limit: number) =>
  Array.from({ length: limit }, (_, at) => ({
    position: String(rowsEach + 1 + at),
    groupKey: String(1_000_000_000 + rowsEach + 1 + at),
    round: 1,
    failures: 0,
    status: 'Delivered' as const,
    dueInSeconds: 0,
    try: { at: '2026-01-01T00:00:00Z', durationMs: 1, outcome: 'delivered' },
  }))

const token = publicTokenOf('1000007900')
const fingerprint = createHash('sha256').update('7900').digest()
const event = {
  publicToken: token,
  type: 'pin.set',
  requestId: null,
  details: {},
  note: null,
} as const
const act = { clientId, event, claim: null }
const newPin = { pinBlock: null, pvv: '1234', pinKey: 'pvk/1', envelope: null }
const unblocks = { limitName: 'unblock-pin', purpose: 'unblocks', uses: 10, windowSeconds: 86_400 }
const origin = { entryMode: 'chip', reference: 'R-1' }
const spent = { publicToken: token, kind: 'pin', tryNumber: 1, epoch: 1, remaining: 2 } as const
const zoneKey = { networkId: 'client-1', keyName: 'zpk' }

/** Every statement that changes a bounded number of rows, and those that read some together, by how the service calls it. */
const calls: readonly ((database: Database, limit: number) => Promise<unknown>)[] = [
  (database, limit) => expireCards(database, today, limit),
  (database, limit) => pruneIdempotencyRecords(database, limit),
  (database, limit) => pruneAssertions(database, new Date(), limit),
  (database, limit) => prunePinEnvelopes(database, new Date(), limit),
  (database, limit) => pruneLimits(database, 'card', new Date(), limit),
  (database, limit) => pruneLimits(database, 'client', new Date(), limit),
  (database, limit) => pruneWrongExpiries(database, new Date(), limit),
  (database, limit) => pruneOutbox(database, 30, limit),
  (database, limit) => pruneFeed(database, clientId, { days: 30, limit, after: '0' }),
  (database, limit) => pruneDeliveries(database, reference, 30, limit),
  (database, limit) => removeDeliveries(database, reference, limit),
  (database, limit) => failPending(database, reference, null, limit),
  (database, limit) => queueUndelivered(database, reference, limit),
  (database, limit) => listDueDeliveries(database, reference, [], limit),
  (database, limit) => recordTries(database, reference, triedUpTo(limit)),
  (database) => claimStream(database, 'client-7', holder, { slots: 10, seconds: 60 }),
  (database, limit) => forgetPanFingerprints(database, 1, 0, limit),
  (database, limit) => markPublished(database, publishedUpTo(limit)),
  // What changes a single card.
  (database) => updateCardStatus(database, act, { from: '00', to: '62' }),
  (database) => updatePin(database, act, today, newPin),
  (database) => restoreTries(database, act, { kind: 'pin', limit: null, today }),
  (database) => restoreTries(database, act, { kind: 'pin', limit: unblocks, today }),
  (database) => spendAllTries(database, act, 'cvv', today),
  (database) =>
    recordDisclosure(database, act.event, { clientId, today, includesPin: true, limits: null }),
  (database) => spendTry(database, { publicToken: token, kind: 'pin' }, origin),
  ...(['match', 'mismatch', 'unresolved'] as const).map(
    (comparison) => (database: Database) =>
      // It misses the row that nobody answers here.
      settleTry(database, { spent, comparison }, { ...origin, requestId: 'r' }, null).catch(
        () => null,
      ),
  ),
  // What many ask for in one turn.
  (database) => findTries(database, token, 'pin', clientId),
  (database) => findCard(database, token, clientId),
  (database) => findCardWithProduct(database, token, clientId),
  (database) => findAuthorizedCard(database, { publicToken: token }, zoneKey),
  (database) => findAuthorizedCard(database, { panFingerprints: [fingerprint] }, zoneKey),
]

type Recorded = Statement & { values: readonly SqlValue[] }

/** What a call sends, without anything being done. */
const record = async (call: (typeof calls)[number], limit: number): Promise<Recorded[]> => {
  const recorded: Recorded[] = []
  const connection: Connection = {
    query: async ({ name, text }, values = []) => {
      recorded.push({ name, text, values })
      return []
    },
    script: async () => undefined,
  }
  const database: Database = {
    ...connection,
    async readRow({ several }: RowRead, key: RowKey) {
      recorded.push({ ...several, values: key.map((part) => Array(limit).fill(part)) })
      return null
    },
    transaction: (work) => work(connection),
    load: null,
    close: async () => undefined,
  }
  await call(database, limit)
  return recorded
}

const recordAll = async (limit: number): Promise<Recorded[]> =>
  (await Promise.all(calls.map((call) => record(call, limit)))).flat()

interface Plan {
  'Node Type': string
  'Actual Rows': number
  'Actual Loops': number
  Plans?: Plan[]
  [detail: string]: unknown
}

/** Rows of tables that a plan came by, those that it threw away among them. */
const rowsRead = (plan: Plan): number => {
  const details = Object.entries(plan)
  const ofTable = 'Relation Name' in plan || 'Index Name' in plan
  const rows = details
    .filter(([detail]) => detail === 'Actual Rows' || detail.startsWith('Rows Removed by'))
    .reduce((sum, [, count]) => sum + Number(count), 0)
  const own = ofTable ? rows * plan['Actual Loops'] : 0
  return own + (plan.Plans ?? []).reduce((sum, child) => sum + rowsRead(child), 0)
}

const literal = (value: SqlValue): string => {
  if (value === null) return 'null'
  if (Array.isArray(value)) return pg.escapeLiteral(`{${value.map((each) => `"${each}"`)}}`)
  return pg.escapeLiteral(value instanceof Date ? value.toISOString() : String(value))
}

const explain = async (client: pg.Client, { text, values }: Recorded, mode: string) => {
  await client.query('begin')
  try {
    await client.query(`set local plan_cache_mode = ${mode}`)
    await client.query(`prepare examined as ${text}`)
    const given = values.length > 0 ? `(${values.map(literal).join(', ')})` : ''
    const { rows } = await client.query(
      `explain (analyze, timing off, format json) execute examined${given}`,
    )
    return rows[0]['QUERY PLAN'][0].Plan as Plan
  } finally {
    await client.query('rollback')
    await client.query('deallocate all')
  }
}

/** Names of the statements of `src/storage` that change rows which a `limit` bounds; `.+` where one is put together. */
const boundedNames = async (): Promise<string[]> => {
  const folder = new URL('../../src/storage/', import.meta.url)
  const names: string[] = []
  for (const file of await readdir(folder, { recursive: true })) {
    if (!file.endsWith('.ts')) continue
    const source = await readFile(new URL(file, folder), 'utf8')
    for (const [, name = '', text = ''] of source.matchAll(
      /statement\(\s*['`]([^'`]+)['`],\s*(`[^`]*`)/g,
    )) {
      const isChange = /\b(insert into|update|delete from)\b/.test(text)
      if (isChange && /\blimit \$?\d/.test(text)) names.push(name.replace(/\$\{[^}]*\}/g, '.+'))
    }
  }
  return names
}

test('every statement that changes rows up to a limit is among those examined', async () => {
  const examined = (await recordAll(1)).map(({ name }) => name)
  const names = await boundedNames()
  assert.ok(names.length >= 12, `${names}`)
  for (const name of names) {
    assert.ok(
      examined.some((each) => new RegExp(`^${name}$`).test(each)),
      name,
    )
  }
})

/**
 * Until version 17 an array behind other columns of an index is a filter to a planner that takes what they name for
 * nearly nothing. Then at most the rows of one endpoint, or of one client's feed, are read.
 */
const isExamined = ({ name }: Recorded, belief: string, version: number): boolean =>
  version >= 170_000 || !/ empty$| one row$/.test(belief) || !/feed|deliver/.test(name)

for (const [belief, bring] of Object.entries(beliefs)) {
  suite(`over a table ${belief}`, { skip: postgres.leftOut }, () => {
    let client: pg.Client
    let version: number
    before(async () => {
      const { url } = await openServerDatabase(postgres, 1)
      client = new pg.Client({ connectionString: url })
      await client.connect()
      await client.query('set session_replication_role = replica')
      await bring(client)
      const { rows } = await client.query('show server_version_num')
      version = Number(rows[0].server_version_num)
    })
    after(() => client.end())

    const readTooMuch = async (limit: number, mode: string): Promise<string[]> => {
      const tooMany: string[] = []
      for (const statement of await recordAll(limit)) {
        if (!isExamined(statement, belief, version)) continue
        const rows = rowsRead(await explain(client, statement, mode))
        if (rows > rowsEachMost * limit) tooMany.push(`${statement.name}: ${rows} rows`)
      }
      return tooMany
    }

    for (const [limit, mode] of examinations) {
      test(`a statement up to ${limit} rows reads no more than that asks for (${mode})`, async () => {
        assert.deepEqual(await readTooMuch(limit, mode), [])
      })
    }
  })
}
