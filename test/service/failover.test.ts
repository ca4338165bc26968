/**
 * The primary is killed under load and its standby takes over, while two processes go on. Before
 * that the standby is cut off: what is acknowledged then is on the primary alone, and only a
 * primary whose commits wait for the standby acknowledges nothing. Once in the suite; `npm test --
 * --suite failover` does it ten times.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { readOrMakeMasterKeys } from '../../src/hsm/software/master-keys.ts'
import { migrate } from '../../src/storage/engine/migrate.ts'
import { withToken } from '../operations/authorizations/killed.ts'
import { keepRsaKeys } from '../operations/card-data/service.ts'
import { type FeedEvent, readFeed } from '../operations/webhooks/client-system.ts'
import { makeFolder, startProgram } from '../support/process.ts'
import { administer, openReplicated, type Replicated } from '../support/replicated-postgres.ts'
import { pool } from '../support/service.ts'
import {
  type Acknowledged,
  type CardHistory,
  type Load,
  publishAll,
  readUntilAnswered,
  type Served,
  sendUntilAnswered,
  startLoad,
} from './failover-load.ts'

const failovers = Number(process.env.FAILOVERS ?? 1)
/** Acknowledged before each kill, and after the standby has taken over. */
const actsLeast = failovers === 1 ? 60 : 300
const pair = await openReplicated()

const seconds = (ms: number): string => (ms / 1_000).toFixed(2)

/** Two processes on one database, which both servers may have. */
const startTwo = async ({ primary, composeUrl }: Replicated): Promise<Served[]> => {
  await administer(primary(), 'create database cards')
  const url = composeUrl('cards')
  const dataDir = await makeFolder()
  await readOrMakeMasterKeys(`${dataDir}/master.key`)
  const database = pool(url, 1)
  await migrate(database, new URL('../../database/migrations/', import.meta.url))
  await keepRsaKeys({ database, dataDir })
  await database.close()
  const env = { DATABASE_URL: url, SANDBOX: 'true', RATE_LIMIT: 'off', LOG_LEVEL: 'warn' }
  const served: Served[] = []
  for (const _ of [1, 2]) {
    const program = await startProgram({ dataDir, env })
    const { token: network } = await withToken(program)
    served.push({ program, client: await program.token(), network })
  }
  return served
}

const untilAcknowledged = async (load: Load, count: number): Promise<void> => {
  while (load.acknowledgedAtMs.length < count && !load.hasStopped()) await sleep(10)
}

/** The longest time in which nothing was acknowledged, from the moment before a kill on. */
const longestGapMs = ({ acknowledgedAtMs }: Load, killedAtMs: number): number => {
  const before = acknowledgedAtMs.findLastIndex((at) => at < killedAtMs)
  const gaps = acknowledgedAtMs
    .slice(Math.max(before, 0))
    .map((at, index, all) => at - (all[index - 1] ?? at))
  return Math.max(...gaps)
}

/** What is to be found of the acts, and what was found of them beyond that. */
const compare = async (served: readonly Served[], histories: readonly CardHistory[]) => {
  const [one, other] = served
  assert.ok(one && other)
  const sets = histories.flatMap(({ acknowledged }) => acknowledged)
  // Each card has one for its creation; of each act that was acknowledged but a match there is one.
  const events = sets.filter(({ kind, text }) => kind === 'pin' || /"55"/.test(text)).length
  // The feed also has events of authorizations, so that their number does not show its end.
  await publishAll(other)
  const feed = await readFeed(other.program, histories.length + events)
  const lost: string[] = []
  const doubled: string[] = []
  const expect = (what: string, found: number, count: number) => {
    if (found < count) lost.push(`${what}: ${found} of ${count}`)
    if (found > count) doubled.push(`${what}: ${found} in place of ${count}`)
  }
  for (const history of histories) await compareCard(one, history, feed, expect)
  lost.push(...(await listForgotten(served, sets)))
  for (const history of histories) await compareCard(other, history, feed, expect)
  return { lost, doubled }
}

/** Acts that are not answered as they were, when they are sent again. */
const listForgotten = async (
  served: readonly Served[],
  acts: readonly Acknowledged[],
): Promise<string[]> => {
  const forgotten: string[] = []
  for (const [index, act] of acts.entries()) {
    const at = served[index % served.length]
    const again = at && (await sendUntilAnswered(at, act))
    const isSame = again?.status === act.status && again.text === act.text && again.isReplayed
    if (!isSame)
      forgotten.push(`the answer of ${act.kind} ${act.key}: ${again?.status} ${again?.text}`)
  }
  return forgotten
}

type Expect = (what: string, found: number, count: number) => void

const compareCard = async (
  served: Served,
  { acknowledged, customerReference, pin, publicToken, references }: CardHistory,
  feed: readonly FeedEvent[],
  expect: Expect,
): Promise<void> => {
  const read = (path: string) => readUntilAnswered(served, path)
  const named = await read(`/cards?customerReference=${customerReference}`)
  expect(`card ${publicToken}`, named.length, 1)
  const sets = acknowledged.filter(({ kind }) => kind === 'pin').length
  if (sets > 0) {
    const { pin: current } = await read(`/card-pin/${publicToken}/pin`)
    expect(`the PIN of ${publicToken}`, current === pin ? 1 : 0, 1)
  }
  const attempts: { reference: string; result: string }[] = await read(
    `/cards/${publicToken}/attempts?limit=100`,
  )
  const events = feed.filter(({ data }) => data.publicToken === publicToken)
  const ofType = (wanted: string) => events.filter(({ type }) => type === wanted)
  expect(`card.created of ${publicToken}`, ofType('card.created').length, 1)
  expect(`pin.set of ${publicToken}`, ofType('pin.set').length, sets)
  const answers = new Map(
    acknowledged
      .filter(({ kind }) => kind === 'try')
      .map(({ body, text }) => [
        (body as { reference: string }).reference,
        JSON.parse(text).responseCode as string,
      ]),
  )
  for (const reference of references) {
    const spent = attempts.filter((attempt) => attempt.reference === reference)
    const results = spent.map(({ result }) => result)
    const failed = ofType('pin.attempt_failed').filter(
      ({ data }) => (data as { reference?: string }).reference === reference,
    )
    const answer = answers.get(reference)
    const wanted = answer === '00' ? 'match' : answer === '55' ? 'mismatch' : null
    if (wanted) expect(`the try ${reference}`, results.filter((each) => each === wanted).length, 1)
    if (answer === '55') expect(`pin.attempt_failed of ${reference}`, failed.length, 1)
    expect(`tries ${reference}`, spent.length, wanted ? 1 : Math.min(spent.length, 1))
    expect(`events of ${reference}`, failed.length, Math.min(failed.length, 1))
  }
}

/**
 * How long the primary may acknowledge what its standby does not get, and how much of it is enough.
 */
const cutOffMs = 2_000
const actsCutOff = 40

/** Cuts the standby off, lets the load go on, kills the primary, and has the standby take over. */
const killCutOff = async (
  { killPrimary, partStandby, promote }: Replicated,
  { acknowledgedAtMs, hasStopped }: Load,
): Promise<void> => {
  await partStandby()
  const [count, untilMs] = [acknowledgedAtMs.length, performance.now() + cutOffMs]
  while (performance.now() < untilMs && acknowledgedAtMs.length < count + actsCutOff) {
    if (hasStopped()) break
    await sleep(10)
  }
  killPrimary()
  await promote()
}

test(`a failover loses and repeats nothing that was acknowledged (${failovers})`, {
  skip: pair.leftOut,
  timeout: 120_000 * (1 + failovers),
}, async (t) => {
  const served = await startTwo(pair)
  const over = new AbortController()
  t.after(() => over.abort())
  for (let number = 1; number <= failovers; number += 1) {
    const load = startLoad(served, over.signal)
    await untilAcknowledged(load, actsLeast)
    const killedAtMs = performance.now()
    await killCutOff(pair, load)
    const promotedAtMs = performance.now()
    await untilAcknowledged(load, load.acknowledgedAtMs.length + actsLeast)
    const histories = await load.stop()
    const { doubled, lost } = await compare(served, histories)
    t.diagnostic(
      `failover ${number}: lost ${lost.length}, doubled ${doubled.length} of ${load.acknowledgedAtMs.length} acts on ${histories.length} cards; ` +
        `without service ${seconds(longestGapMs(load, killedAtMs))} s, the standby had taken over after ${seconds(promotedAtMs - killedAtMs)} s`,
    )
    assert.deepEqual({ lost, doubled }, { lost: [], doubled: [] })
    if (number < failovers) await pair.addStandby()
  }
  for (const { program } of served) {
    assert.doesNotMatch(program.stdout(), /internal_error/)
    assert.equal((await program.kill('SIGTERM')).code, 0)
  }
})

test('without a synchronous standby, the loss of commits that only the primary had is detected', {
  skip: pair.leftOut,
  timeout: 240_000,
}, async (t) => {
  const forgetful = await openReplicated()
  const served = await startTwo(forgetful)
  await forgetful.stopWaiting()
  const over = new AbortController()
  t.after(() => over.abort())
  const load = startLoad(served, over.signal)
  await untilAcknowledged(load, actsLeast)
  await killCutOff(forgetful, load)
  // A card that is gone ends the load by itself.
  const histories = await load.stop().catch(() => load.histories)
  const acts = histories.flatMap(({ acknowledged }) => acknowledged)
  const forgotten = await listForgotten(served, acts)
  t.diagnostic(`${forgotten.length} of ${acts.length} acts that were acknowledged are lost`)
  assert.ok(forgotten.length > 0)
  for (const { program } of served) await program.kill('SIGKILL')
})
