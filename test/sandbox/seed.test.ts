import assert from 'node:assert/strict'
import { test } from 'node:test'
import { issueCard } from '../support/network.ts'
import { openTestService, sql, type TestService } from '../support/service.ts'

const open = (seed?: string): Promise<TestService> =>
  openTestService({ env: { RATE_LIMIT: 'off', ...(seed && { SANDBOX_SEED: seed }) } })

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

test('one seed gives the same tokens, PANs and PINs on a fresh database, and never the same keys or secrets', async () => {
  const [first, second] = [await open('a seed'), await open('a seed')]
  assert.deepEqual(await threeCards(first), await threeCards(second))
  for (const [ours, theirs] of [
    [secretsOf(first), secretsOf(second)],
    [await keysOf(first), await keysOf(second)],
  ]) {
    assert.ok(ours && theirs && ours.length > 0)
    for (const secret of ours) assert.ok(!theirs.includes(secret))
  }
})

test('another seed gives others, and without a seed no two sandboxes are alike', async () => {
  const services = [await open('a seed'), await open('another'), await open(), await open()]
  const cards = await Promise.all(services.map(threeCards))
  for (const place of [0, 1]) {
    const all = cards.flatMap((three) => three.map((card) => card[place]))
    assert.equal(new Set(all).size, 12)
  }
})

test('a service that starts again under its seed goes on making new cards', async () => {
  const first = await open('a seed')
  const before = await threeCards(first)
  const again = await openTestService({
    database: first.database,
    dataDir: first.dataDir,
    env: { SANDBOX_SEED: 'a seed', RATE_LIMIT: 'off' },
  })
  const tokens = [...before, ...(await threeCards(again))].map(([token]) => token)
  assert.equal(new Set(tokens).size, 6)
})
