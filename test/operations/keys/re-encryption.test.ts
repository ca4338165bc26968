import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { computeRoundProgress } from '../../../src/operations/keys/re-encryption.ts'
import { advanceKeys, followKeys } from '../../../src/operations/keys/rotate.ts'
import type { ReEncryptionRow } from '../../../src/storage/keys/re-encryption.ts'
import { openTestService, sql } from '../../support/service.ts'
import { callAs, makePerson, newJwks } from '../approvals/people.ts'
import { countUnder, keyStates, subjectOf } from './rotating.ts'

const cardCount = 25
const rowsPerSecond = 10

test('a re-encryption keeps its rate, reports its progress, and resumes', async () => {
  const env = {
    KEY_REFRESH_MS: '50',
    RATE_LIMIT: 'off',
    REENCRYPTION_ROWS_PER_SECOND: String(rowsPerSecond),
  }
  const service = await openTestService({ env })
  const { administer } = subjectOf(service)
  for (let card = 0; card < cardCount; card += 1) await service.createCard()
  const answer = await administer('POST', '//keys/pan/rotate')
  assert.ok(answer.status < 300, answer.text)
  const newest = async () => {
    const { json } = await administer('GET', '//keys')
    const isIt = (each: { key: string; version: number }) =>
      each.key === 'pan' && each.version === 2
    return json.find(isIt)
  }
  while ((await newest()).state !== 'active') {
    await wait(20)
    await followKeys(service.keys)
  }
  const fromMs = performance.now()
  let isStopped = false
  const first = advanceKeys(service.keys, () => isStopped)
  const shares: number[] = []
  for (let moved = 0; moved < rowsPerSecond; ) {
    await wait(10)
    const { reEncryption } = await newest()
    moved = reEncryption?.reEncrypted ?? 0
    if (reEncryption) shares.push(reEncryption.shareOfCards)
  }
  isStopped = true
  await first
  const [row] = await sql<{ examined: number }>(
    service.database,
    'select examined::integer as examined from re_encryption where round = 1',
  )
  assert.ok(row && row.examined < cardCount, `${row?.examined}`)
  assert.ok(shares.some((share) => share > 0 && share < 1) && shares.every((share) => share < 1))
  const { text: metrics } = await service.call('GET', '//metrics', {
    listener: 'private',
    token: null,
  })
  assert.match(metrics, /pinfold_reencryption_share\{key="pan"\} 0\.\d+/)
  assert.match(metrics, /pinfold_reencryption_left_seconds\{key="pan"\} \d+/)

  // Another process takes it up where it stands, once the lease of this one is over.
  await sql(service.database, `update re_encryption set leased_until = '-infinity'`)
  const other = { ...service.keys, processId: 'another' }
  await advanceKeys(other)
  assert.equal((await countUnder(service.database, 1))[0], 0)
  const [after] = await sql<{ examined: number }>(
    service.database,
    'select examined::integer as examined from re_encryption',
  )
  assert.equal(after?.examined, cardCount, 'no row was read twice')
  assert.ok(performance.now() - fromMs >= (1_000 * (cardCount - rowsPerSecond)) / rowsPerSecond)
  while ((await newest()).reEncryption.finishedAt === null) {
    await wait(50)
    await advanceKeys(other)
  }
  const { reEncryption } = await newest()
  assert.deepEqual([reEncryption.shareOfCards, reEncryption.secondsLeft], [1, 0])
})

test('how far a round is follows from the token that it has come to, and how long it takes from that', () => {
  const roundStartedAt = new Date('2030-01-01T00:00:00Z')
  const now = new Date('2030-01-01T00:10:00Z')
  const at = (columnName: string, position: string, more: Partial<ReEncryptionRow> = {}) => {
    const row = { columnName, position, roundStartedAt, finishedAt: null, ...more }
    return computeRoundProgress(row as ReEncryptionRow, now)
  }
  const quarter = at('card.encrypted_pan', '3250000000')
  assert.ok(Math.abs(quarter.shareOfCards - 0.25) < 1e-9)
  assert.equal(quarter.secondsLeft, 1_800)
  assert.deepEqual(at('', ''), { shareOfCards: 0, secondsLeft: null })
  assert.deepEqual(at('pan_fingerprint', ''), { shareOfCards: 0, secondsLeft: null })
  assert.deepEqual(at('event.note', '3250000000/2'), { shareOfCards: 1, secondsLeft: 0 })
  assert.deepEqual(at('card.pin_block', '3250000000', { finishedAt: now }), {
    shareOfCards: 1,
    secondsLeft: 0,
  })
  // A round that rests until everything has settled.
  const resting = at('card.pin_block', '3250000000', { roundStartedAt: new Date('2030-01-02') })
  assert.equal(resting.secondsLeft, null)
})

test('a re-encryption moves the reason of an approval that has ended', async () => {
  const service = await openTestService({
    env: { APPROVALS: 'all', KEY_REFRESH_MS: '50', REENCRYPTION_ROWS_PER_SECOND: '100000' },
  })
  const reason = 'Ticket of a withdrawn request'
  const ann = makePerson('ann', 'security-officer')
  const asked = await callAs(service, ann, 'POST', '/clients', {
    body: {
      clientId: 'desk',
      clientName: 'Desk',
      kind: 'admin',
      scopes: ['support.read'],
      jwks: newJwks(),
      reason,
    },
  })
  const path = `/approvals/${asked.body.approvalId}`
  assert.equal((await callAs(service, ann, 'POST', `${path}/withdraw`)).status, 200)
  const { administer } = subjectOf(service)
  const rotated = await administer('POST', '//keys/personal-data/rotate')
  assert.ok(rotated.status < 300, rotated.text)
  const findVersion = async () => {
    const [row] = await sql<{ version: number }>(
      service.database,
      'select get_byte(reason, 1) * 256 + get_byte(reason, 2) as version from approval',
    )
    return row?.version
  }
  assert.equal(await findVersion(), 1)
  const isRetired = async () =>
    (await keyStates(administer)).some(
      ({ key, state, version }) => key === 'personal-data' && version === 1 && state === 'retired',
    )
  while (!(await isRetired())) {
    await wait(50)
    await followKeys(service.keys)
    await advanceKeys(service.keys)
  }
  assert.equal(await findVersion(), 2)
  assert.equal((await callAs(service, ann, 'GET', path)).body.reason, reason)
})
