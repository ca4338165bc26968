import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import fc from 'fast-check'
import {
  expireLimits,
  findUsedUpLimit,
  type Limit,
  spendLimit,
} from '../../../src/storage/cards/limits.ts'
import { type Database, statement } from '../../../src/storage/engine/database.ts'
import { cases } from '../../support/cases.ts'
import { type DatabaseClock, ownClock } from '../../support/database-clock.ts'
import { openEmbedded, sql } from '../../support/service.ts'

let database: Database
let clock: DatabaseClock
before(async () => {
  database = await openEmbedded()
  clock = await ownClock(database)
})

const windowSeconds = 3_600

const limitOf = (uses: number): Limit => ({
  limitName: 'test',
  purpose: 'tests',
  uses,
  windowSeconds,
})

let subjects = 0

/** Asks for as many uses as a run says, and holds each answer against every use that was had. */
const compare = async (
  limit: Limit,
  run: readonly { seconds: number; uses: number }[],
  fewest: number,
): Promise<void> => {
  subjects += 1
  const subject = `client-${subjects}`
  const had: number[] = []
  let now = 0
  for (const { seconds, uses } of run) {
    now += seconds
    await clock.pass(seconds)
    for (let use = 0; use < uses; use += 1) {
      const within = had.filter((at) => now - at < windowSeconds)
      const usedUp = await findUsedUpLimit(database, [{ kind: 'client', subject, limit }])
      if (!(await spendLimit(database, 'client', subject, limit))) {
        assert.ok(within.length >= fewest, `refused after ${within.length} uses`)
        assertWait(usedUp?.seconds ?? 0, within, limit, fewest, now)
        // At the same instant all others are refused, too.
        break
      }
      assert.ok(within.length < limit.uses, `${within.length} uses, and one more`)
      assert.equal(usedUp, null)
      had.push(now)
    }
  }
}

/**
 * Until a use comes back: of an exact limit the oldest that counts, of another the last of the few
 * beside it.
 */
const assertWait = (
  waitSeconds: number,
  within: readonly number[],
  { uses }: Limit,
  fewest: number,
  now: number,
): void => {
  const untilBack = (at = now) => at + windowSeconds - now
  const least = untilBack(within.at(-uses) ?? within[0])
  const most = untilBack(within[uses - fewest])
  if (fewest === uses) assert.equal(waitSeconds, least)
  assert.ok(waitSeconds >= least && waitSeconds <= most, `${waitSeconds}, not ${least} to ${most}`)
}

const runs = (usesMost: number) =>
  fc.array(
    fc.record({
      // Often to the second at which a use comes back.
      seconds: fc.oneof(
        fc.constantFrom(0, 1, windowSeconds - 1, windowSeconds),
        fc.integer({ min: 0, max: windowSeconds + 600 }),
      ),
      uses: fc.integer({ min: 0, max: usesMost }),
    }),
    { maxLength: 10 },
  )

test('a limit of up to twenty uses is exact in every window, to the second', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 20 }), runs(12), (uses, run) =>
      compare(limitOf(uses), run, uses),
    ),
    cases(50, 1_000),
  )
})

test('above twenty a limit never gives too many in any window, and never fewer than 95 in 100 of its uses', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 21, max: 130 }), runs(60), (uses, run) =>
      compare(
        limitOf(uses),
        run,
        Math.max(Math.floor(uses * 0.95), uses - Math.ceil(uses / 20) + 1),
      ),
    ),
    cases(15, 300),
  )
})

const useTogether = statement(
  'test_use_together',
  `select count(*) filter (where is_used)::integer as "used"
   from (
     select use_client_limit($1, $2, $3, $4) as is_used from generate_series(1, $5::integer)
   ) as used`,
)

test('concurrent uses exceed the limit in no window, and are refused only where they would exceed it', async () => {
  const some = fc.record({
    seconds: fc.constantFrom(0, 0, 0, 1, 60, windowSeconds - 1, windowSeconds),
    uses: fc.integer({ min: 1, max: 12 }),
  })
  const property = fc.asyncProperty(
    fc.integer({ min: 1, max: 130 }),
    fc.array(some, { maxLength: 40 }),
    async (uses, run) => {
      const { limitName } = limitOf(uses)
      const usesEach = Math.ceil(uses / 20)
      subjects += 1
      const had: number[] = []
      let now = 0
      for (const { seconds, uses: wanted } of run) {
        now += seconds
        await clock.pass(seconds)
        const within = had.filter((at) => now - at < windowSeconds).length
        const values = [`client-${subjects}`, limitName, uses, windowSeconds, wanted]
        const [row] = await database.query<{ used: number }>(useTogether, values)
        const used = row?.used ?? 0
        assert.ok(within + used <= uses, `${within} and ${used}`)
        const isLeft = within + used <= uses - usesEach
        if (used < wanted) assert.ok(!isLeft, `${within} and ${used} of ${wanted}`)
        had.push(...Array.from({ length: used }, () => now))
      }
    },
  )
  await fc.assert(property, cases(40, 1_000))
})

test('a limit that is lowered counts the uses that were had, where each had an instant', async () => {
  const spend = (uses: number) => spendLimit(database, 'client', 'lowered', limitOf(uses))
  for (let use = 1; use <= 8; use += 1) assert.equal(await spend(20), true)
  assert.equal(await spend(5), false)
  assert.equal(await spend(9), true)
  assert.equal(await spend(9), false)
})

test('rows are forgotten, a few at a time, when none of their uses counts any more, and not before', async () => {
  await sql(database, 'delete from client_limit')
  const day = { ...limitOf(3), windowSeconds: 86_400 }
  for (let each = 0; each < 25; each += 1) await spendLimit(database, 'client', `old-${each}`, day)
  const passDay = () =>
    sql(database, 'update client_limit set forget_on_day = forget_on_day - 1 returning client_id')
  assert.equal(await expireLimits(database, 'client', 100), 0)
  await passDay()
  assert.equal(await expireLimits(database, 'client', 100), 0)
  await passDay()
  const forgotten: number[] = []
  for (let step = 0; step < 4; step += 1) {
    forgotten.push(await expireLimits(database, 'client', 10))
  }
  assert.deepEqual(forgotten, [10, 10, 5, 0])
})
