import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { listChipTags } from '../../../src/domain/chip-data.ts'
import type { Database } from '../../../src/storage/engine/database.ts'
import { ageUnansweredKeys } from '../../support/builders.ts'
import { chipMoney, issueChipCard, type PlayedChip, playChip } from '../../support/chip.ts'
import { atEndOfFile } from '../../support/end-of-file.ts'
import type { IssuedCard } from '../../support/network.ts'
import { openPostgres } from '../../support/postgres.ts'
import {
  openServerDatabase,
  openTestService,
  sql,
  type TestService,
} from '../../support/service.ts'
import { authorizePurchase, type SentPurchase } from '../decisions/authorizing-process.ts'
import { letClientDecide, passDeadlines } from '../decisions/deciding.ts'

const postgres = await openPostgres()
const skip = postgres.leftOut
// On a cluster, the node of the card waits.
const sessions = postgres.isCluster
  ? 'select global_pid as pid from citus_stat_activity'
  : 'select pid from pg_stat_activity'

const children = new Set<ChildProcess>()
atEndOfFile(() => {
  for (const child of children) child.kill('SIGKILL')
})

let database: Database
let service: TestService
let url: string
before(async () => {
  if (skip) return
  ;({ database, url } = await openServerDatabase(postgres, 20))
  service = await openTestService({ database, env: { RATE_LIMIT: 'off' } })
})

/** Another process of the service, which authorizes what it is sent. */
async function startProcess(): Promise<ChildProcess> {
  const file = fileURLToPath(new URL('../decisions/authorizing-process.ts', import.meta.url))
  const child = fork(file, {
    env: { ...process.env, DATA_DIR: service.dataDir, DATABASE_URL: url },
    execArgv: ['--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  children.add(child)
  const [message] = await once(child, 'message')
  assert.equal(message, 'ready')
  return child
}

async function killProcess(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
  children.delete(child)
}

const purchaseWith = async (
  { publicToken }: IssuedCard,
  chip: PlayedChip,
  atc: number,
): Promise<SentPurchase> => ({
  key: randomUUID(),
  reference: `R${atc}`,
  networkId: service.sandbox?.network.clientId ?? '',
  publicToken,
  amount: chipMoney.amount,
  cvv2: null,
  chip: (await chip.present({ atc })).data,
})

const authorizeHere = async (purchase: SentPurchase) =>
  (await authorizePurchase(service.authorizing, purchase)).result

const underAnotherKey = (purchase: SentPurchase): SentPurchase => ({
  ...purchase,
  key: randomUUID(),
})

/** The tags of an answer to a chip, in their order. */
const tagsOf = (chip: { readonly data: string } | undefined): readonly string[] => {
  const read = listChipTags(Buffer.from(chip?.data ?? '', 'hex'))
  return 'list' in read ? read.list.map(([tag]) => tag) : []
}

test('a process killed between its answer and the news of commands loses neither', {
  skip,
}, async () => {
  const card = await issueChipCard(service)
  const chip = await playChip(service, card)
  const { publicToken } = card
  const stateOf = async () => {
    const text = 'select state, sent_count from chip_command where public_token = $1'
    return sql(database, text, [publicToken])
  }
  const unblocked = await service.call('POST', `/card-pin/${publicToken}/pin/unblock`)
  assert.equal(unblocked.status, 204, unblocked.text)
  const child = await startProcess()
  const purchase = await purchaseWith(card, chip, 1)
  await database.transaction(async (connection) => {
    // The news wait for this lock, so the answer is committed and not sent.
    const locked = 'select from chip_command where public_token = $1 for update'
    await sql(connection, locked, [publicToken])
    child.send(purchase)
    const waiting = `${sessions}
      where datname = current_database() and wait_event_type = 'Lock'`
    while ((await sql(database, waiting)).length === 0) await sleep(5)
    await killProcess(child)
    // A server carries out what a killed process has sent.
    await sql(database, `select pg_terminate_backend(pid) from (${waiting}) as waiting`)
    while ((await sql(database, waiting)).length > 0) await sleep(5)
  })
  assert.deepEqual(await stateOf(), [{ state: 'pending', sent_count: 0 }], 'the news are lost')

  const repeated = await authorizeHere(purchase)
  assert.deepEqual([repeated.responseCode, tagsOf(repeated.chip)], ['00', ['91', '72']])
  const copied = await authorizeHere(underAnotherKey(purchase))
  assert.deepEqual([copied.responseCode, copied.chip], ['88', undefined], 'a replay')
  const next = await authorizeHere(await purchaseWith(card, chip, 2))
  assert.deepEqual([next.responseCode, tagsOf(next.chip)], ['00', ['91', '72']], 'sent again')
  assert.deepEqual(await stateOf(), [{ state: 'sent', sent_count: 1 }])
})

test('a process killed before its answer has used the cryptogram', { skip }, async () => {
  const card = await issueChipCard(service)
  const chip = await playChip(service, card)
  const deciding = await letClientDecide(service, { timeoutMs: 1_000 })
  deciding.answerBy(() => undefined)
  const child = await startProcess()
  const purchase = await purchaseWith(card, chip, 1)
  const before = deciding.asked.length
  child.send(purchase)
  await deciding.askedAfter(before)
  await killProcess(child)
  await passDeadlines(database)
  await ageUnansweredKeys(database)

  const copied = await authorizeHere(underAnotherKey(purchase))
  assert.deepEqual([copied.responseCode, copied.chip], ['88', undefined], 'a replay')
  const repeated = await authorizeHere(purchase)
  assert.equal(repeated.approved, false)
  assert.ok(['91', '96'].includes(repeated.responseCode), repeated.responseCode)
  assert.equal(repeated.chip, undefined)
  assert.deepEqual((await authorizeHere(purchase)).responseCode, repeated.responseCode)
  deciding.answerBy(() => ({ decision: 'approve' }))
  const next = await authorizeHere(await purchaseWith(card, chip, 2))
  assert.deepEqual([next.responseCode, tagsOf(next.chip)], ['00', ['91']])
})
