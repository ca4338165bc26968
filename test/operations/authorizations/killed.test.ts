import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { recordLostBlocks } from '../../../src/operations/authorizations/settle.ts'
import type { Connection, Database } from '../../../src/storage/engine/database.ts'
import { openPglite } from '../../../src/storage/engine/pglite.ts'
import { isNightly } from '../../support/cases.ts'
import { addProduct } from '../../support/network.ts'
import { openPostgres } from '../../support/postgres.ts'
import { type Program, startProgram } from '../../support/process.ts'
import {
  newCard,
  openServerDatabase,
  openTestService,
  sql,
  type TestService,
} from '../../support/service.ts'
import { keepRsaKeys } from '../card-data/service.ts'
import {
  type Answered,
  type Asked,
  ageWhatWasLost,
  assertRepeated,
  burstAndKill,
  planBurst,
  send,
  withToken,
} from './killed.ts'
import { assertExplained, attemptsOf, counterOf, typesOf } from './tried.ts'

const postgres = await openPostgres()
const leastKills = isNightly ? 20 : 8
/** So many where none of the first falls between a spend and its result. */
const mostKills = 40
const burst = 40
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

test('kill -9 of one process of two, again and again, buys no try, and approves nothing twice', {
  skip: postgres.leftOut,
}, async (t) => {
  const { database, url } = await openServerDatabase(postgres)
  const service = await openTestService({ database, env: { RATE_LIMIT: 'off' } })
  await keepRsaKeys(service)
  await addProduct(service, { productId: 3101, pinTryLimit: 15 })
  const env = { ...common, DATABASE_URL: url, SANDBOX: 'true' }
  const start = (PGAPPNAME: string) =>
    startProgram({ dataDir: service.dataDir, env: { ...env, PGAPPNAME } }).then(withToken)
  const survivor = await start('survivor')
  let next = start('victim 0')
  let kills = 0
  let lost = 0
  while (kills < leastKills || (lost === 0 && kills < mostKills)) {
    const victim = await next
    if (kills + 1 < leastKills) next = start(`victim ${kills + 1}`)
    const card = await cardOf(service)
    const plan = planBurst(survivor, card, burst)
    const asked = await burstAndKill([survivor, victim], plan, 1 + ((3 * kills) % 10))
    await untilForgotten(database, `victim ${kills}`)
    await ageWhatWasLost(database)
    const repeats = await Promise.all(asked.map((each) => send(survivor, each)))
    for (const [index, each] of asked.entries()) assertRepeated(each, repeats[index] ?? null)
    lost += repeats.filter((repeat) => repeat?.responseCode === '96').length
    await assertSpentOnce(database, card.publicToken, asked, repeats)
    await assertReportedOnce(database, card.publicToken)
    kills += 1
    if (kills >= leastKills && lost === 0) next = start(`victim ${kills}`)
  }
  t.diagnostic(`${kills} kills, ${lost} tries lost`)
  assert.ok(lost > 0, 'some process was killed between a spend and its result')
  assert.doesNotMatch(survivor.program.stdout(), /40P01|internal_error/)
})

/** What a killed process had sent already its sessions at the server still do. */
const untilForgotten = async (database: Connection, name: string): Promise<void> => {
  const sessions = 'select from pg_stat_activity where application_name = $1'
  while ((await sql(database, sessions, [name])).length > 0);
}

const cardOf = async (service: TestService) => {
  const { publicToken } = await service.createCard({ cardProduct: 3101 })
  const { json } = await service.call('GET', `/card-pin/${publicToken}/pin`)
  return { publicToken, pin: json.pin as string }
}

test('kill -9 of the only process, on the embedded database, buys no try either', async () => {
  let program = await startProgram({ env: common })
  const { dataDir } = program
  const rounds: { asked: Asked[]; repeats: (Answered | null)[]; publicToken: string }[] = []
  for (const killAfter of isNightly ? [1, 7, 20] : [7]) {
    const card = await cardOfProgram(program)
    const victim = await withToken(program)
    const asked = await burstAndKill([victim], planBurst(victim, card, burst), killAfter)
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
  const database = await openPglite(join(dataDir, 'pgdata'))
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
