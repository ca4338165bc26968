import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recordLostBlocks } from '../../../src/operations/cards/tries.ts'
import type { Connection, Database } from '../../../src/storage/engine/database.ts'
import { openLeftDatabase, product } from '../../support/builders.ts'
import { isNightly } from '../../support/cases.ts'
import { openPostgres } from '../../support/postgres.ts'
import { type Program, startProgram } from '../../support/process.ts'
import {
  newCard,
  openServerDatabase,
  openTestService,
  type TestService,
} from '../../support/service.ts'
import { keepRsaKeys } from '../card-data/service.ts'
import {
  type Answered,
  type Asked,
  ageWhatWasLost,
  assertRepeated,
  burstAndKill,
  killAfter,
  killAmidTry,
  planBurst,
  send,
  untilForgotten,
  withToken,
} from './killed.ts'
import { assertExplained, attemptsOf, counterOf, typesOf } from './tried.ts'

const postgres = await openPostgres()
/** One amid a try, and one between answers; of a night, again and again. */
const kills = isNightly ? 20 : 2
const burst = 40
/** Odd, so that each card's questions go to both processes in turn. */
const cardsEach = 3
const common = { RATE_LIMIT: 'off', LOG_LEVEL: 'warn' }

/** Each question spent one try at most, whatever was repeated, and was approved once at most. */
async function assertSpentOnce(
  database: Connection,
  publicToken: string,
  asked: readonly Asked[],
  repeats: readonly (Answered | null)[],
): Promise<void> {
  const attempts = await attemptsOf(database, publicToken)
  for (const [index, { reference, answer }] of asked.entries()) {
    const own = attempts.filter((attempt) => attempt.reference === reference)
    const answers = [answer, repeats[index]].filter((each) => each?.status === 200)
    assert.ok(own.length <= 1, 'no repeat spends again')
    const approvals = answers.filter((each) => each?.responseCode === '00' && !each.replayed)
    assert.ok(approvals.length <= 1, 'nothing is approved twice')
    if (approvals.length > 0) assert.equal(own[0]?.result, 'match')
    if (repeats[index]?.responseCode === '96') assert.equal(repeats[index]?.replayed, true)
    if (own[0]?.result === 'unresolved') assert.equal(repeats[index]?.responseCode, '96')
  }
  assertExplained(attempts, await counterOf(database, publicToken))
}

/** A block is told once, when nobody can answer any more for the tries that were lost. */
async function assertReportedOnce(database: Database, publicToken: string): Promise<void> {
  await ageWhatWasLost(database)
  await recordLostBlocks({ database })
  await recordLostBlocks({ database })
  const { remaining } = await counterOf(database, publicToken)
  const reported = (await typesOf(database, publicToken)).filter((type) => type === 'pin.blocked')
  assert.equal(reported.length, remaining === 0 ? 1 : 0)
}

test(`kill -9 of one process of two, ${kills} times, buys no try, and approves nothing twice`, {
  skip: postgres.leftOut,
}, async (t) => {
  const { database, url } = await openServerDatabase(postgres)
  const lines: string[] = []
  const service = await openTestService({
    database,
    env: { RATE_LIMIT: 'off', LOG_LEVEL: 'warn' },
    onLogLine: (line) => lines.push(line),
  })
  await keepRsaKeys(service)
  await product(service.database, { productId: 3101, pinTryLimit: 15 })
  const env = { ...common, DATABASE_URL: url, SANDBOX: 'true' }
  const start = (PGAPPNAME: string) =>
    startProgram({ dataDir: service.dataDir, env: { ...env, PGAPPNAME } }).then(withToken)
  let next = start('victim 0')
  let lost = 0
  for (let kill = 0; kill < kills; kill += 1) {
    const victim = await next
    if (kill + 1 < kills) next = start(`victim ${kill + 1}`)
    // Questions at one card take turns in a process: of several, some are always between a spend
    // and its result.
    const cards = await Promise.all(Array.from({ length: cardsEach }, () => cardOf(service)))
    const plans = cards.map((card) => planBurst(service, card, burst))
    const plan = plans[0]?.flatMap((_, at) => plans.flatMap((each) => each[at] ?? [])) ?? []
    const isAmidTry = kill % 2 === 0
    const killer = isAmidTry
      ? killAmidTry(
          database,
          `victim ${kill}`,
          cards.map(({ publicToken }) => publicToken),
        )
      : killAfter(1 + ((3 * kill) % 10))
    const asked = await burstAndKill([service, victim], plan, killer)
    await untilForgotten(database, `victim ${kill}`)
    await ageWhatWasLost(database)
    const repeats = await Promise.all(asked.map((each) => send(service, each)))
    for (const [index, each] of asked.entries()) assertRepeated(each, repeats[index] ?? null)
    const lostNow = repeats.filter((repeat) => repeat?.responseCode === '96').length
    if (isAmidTry) assert.ok(lostNow > 0, 'it was killed between a spend and its result')
    lost += lostNow
    for (const [at, { publicToken }] of cards.entries()) {
      const isOwn = (_: unknown, index: number): boolean => index % cardsEach === at
      await assertSpentOnce(database, publicToken, asked.filter(isOwn), repeats.filter(isOwn))
      await assertReportedOnce(database, publicToken)
    }
  }
  t.diagnostic(`${kills} kills, ${lost} tries lost`)
  assert.doesNotMatch(lines.join(''), /40P01|internal_error/)
})

const cardOf = async (service: TestService) => {
  const { publicToken } = await service.createCard({ cardProduct: 3101 })
  const { json } = await service.call('GET', `/card-pin/${publicToken}/pin`)
  return { publicToken, pin: json.pin as string }
}

test('kill -9 of the only process, on the embedded database, buys no try either', async () => {
  let program = await startProgram({ env: common })
  const { dataDir } = program
  const rounds: { asked: Asked[]; repeats: (Answered | null)[]; publicToken: string }[] = []
  for (const answers of isNightly ? [1, 7, 20] : [7]) {
    const card = await cardOfProgram(program)
    const victim = await withToken(program)
    const asked = await burstAndKill([victim], planBurst(victim, card, burst), killAfter(answers))
    await onFolder(dataDir, ageWhatWasLost)
    program = await startProgram({ dataDir, env: common })
    const again = await withToken(program)
    const repeats = await Promise.all(asked.map((each) => send(again, each)))
    for (const [index, each] of asked.entries()) assertRepeated(each, repeats[index] ?? null)
    rounds.push({ asked, repeats, publicToken: card.publicToken })
  }
  await program.kill('SIGKILL')
  await onFolder(dataDir, async (database) => {
    for (const { asked, publicToken, repeats } of rounds) {
      await assertSpentOnce(database, publicToken, asked, repeats)
      await assertReportedOnce(database, publicToken)
    }
  })
})

/** Opens the embedded database of a program that has ended. */
const onFolder = async (
  dataDir: string,
  work: (database: Database) => Promise<void>,
): Promise<void> => {
  const database = await openLeftDatabase(dataDir)
  await work(database)
  await database.close()
}

const cardOfProgram = async (program: Program) => {
  const token = await program.token()
  const made = await program.call('POST', '/cards', { token, body: newCard() })
  const { publicToken } = made.json
  const { json } = await program.call('GET', `/card-pin/${publicToken}/pin`, { token })
  return { publicToken: publicToken as string, pin: json.pin as string }
}
