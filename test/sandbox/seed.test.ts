import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Database } from '../../src/storage/engine/database.ts'
import { issueCard } from '../support/network.ts'
import { openPostgres } from '../support/postgres.ts'
import { openServerDatabase, openTestService, sql, type TestService } from '../support/service.ts'

const postgres = await openPostgres()

/** One on the embedded database, as most sandboxes are. */
const open = (seed?: string, database?: Database): Promise<TestService> =>
  openTestService({
    env: { RATE_LIMIT: 'off', ...(seed && { SANDBOX_SEED: seed }) },
    ...(database && { database }),
  })

/** One on a server, where there is one. */
const openOnServer = async (seed: string): Promise<TestService> =>
  open(seed, postgres.leftOut ? undefined : (await openServerDatabase(postgres)).database)

/** What a person reads on three cards that are made one after the other. */
const threeCards = async (service: TestService): Promise<string[][]> => {
  const cards: string[][] = []
  for (const cardProduct of [1001, 1003, 1001]) {
    const { cvv2: _, pan, pin, publicToken } = await issueCard(service, { cardProduct })
    cards.push([publicToken, pan, pin])
  }
  return cards
}

const secretsOf = ({ sandbox }: TestService): string[] => {
  if (!sandbox) throw new Error('There is no sandbox.')
  const { admin, clientSecret, network, otherClient } = sandbox
  return [
    ...[clientSecret, admin.clientSecret, network.clientSecret, otherClient.clientSecret],
    ...network.zoneKeys.map(({ value }) => value),
  ]
}

const keysOf = async ({ database }: TestService): Promise<string[]> => {
  const rows = await sql<{ checkValue: string }>(
    database,
    `select key_check_value as "checkValue" from hsm_key
     union all select key_check_value from zone_key`,
  )
  return rows.map(({ checkValue }) => checkValue)
}

let seeded: TestService
let threeOfSeeded: string[][]
before(async () => {
  seeded = await open('a seed')
  threeOfSeeded = await threeCards(seeded)
})

test('one seed gives the same cards and PINs on each engine, and other keys each time', async () => {
  const other = await openOnServer('a seed')
  assert.deepEqual(await threeCards(other), threeOfSeeded)
  for (const [ours, theirs] of [
    [secretsOf(seeded), secretsOf(other)],
    [await keysOf(seeded), await keysOf(other)],
  ]) {
    assert.ok(ours && theirs && ours.length > 0)
    for (const secret of ours) assert.ok(!theirs.includes(secret))
  }
})

test('another seed gives others, and without a seed no two sandboxes are alike', async () => {
  const others = [await open('another'), await open(), await open()]
  const cards = [threeOfSeeded, ...(await Promise.all(others.map(threeCards)))]
  for (const place of [0, 1]) {
    const all = cards.flatMap((three) => three.map((card) => card[place]))
    assert.equal(new Set(all).size, 12)
  }
})

test('a service that starts again under its seed goes on making new cards', async () => {
  const again = await openTestService({
    database: seeded.database,
    dataDir: seeded.dataDir,
    env: { SANDBOX_SEED: 'a seed', RATE_LIMIT: 'off' },
  })
  const tokens = [...threeOfSeeded, ...(await threeCards(again))].map(([token]) => token)
  assert.equal(new Set(tokens).size, 6)
})
