import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { product } from '../../support/builders.ts'
import { openPostgres } from '../../support/postgres.ts'
import { type Program, startProgram } from '../../support/process.ts'
import {
  openServerDatabase,
  openTestService,
  sql,
  type TestService,
} from '../../support/service.ts'

/** A program that is killed amid acts on the life of cards: nothing is torn, and repeats are equal. */

const postgres = await openPostgres()
const kills = Number(process.env.LIFE_KILLS ?? 2)
const productId = 2600
const cardsEach = 12

/** An act under a key of its own, and its answer; null if the program ended before. */
interface Sent {
  readonly method: string
  readonly path: string
  readonly body: object
  readonly key: string
  readonly answer: { readonly status: number; readonly text: string } | null
}

type Planned = Omit<Sent, 'answer' | 'key'>

/** Plans an act on each of some new cards. */
async function planActs(service: TestService): Promise<Planned[]> {
  const create = async (expiryDate: string | undefined): Promise<string> => {
    const members = { cardProduct: productId, cardType: 'Physical', activateNow: true, expiryDate }
    return (await service.createCard(members)).publicToken
  }
  const soon = new Date(Date.now() + 40 * 86_400_000).toISOString().slice(0, 7)
  const plan = async (at: number): Promise<Planned> => {
    const card = await create(at % 4 === 0 ? soon : undefined)
    if (at % 4 === 0) return { method: 'POST', path: `/cards/${card}/renew`, body: {} }
    const path = `/cards/${card}/replace`
    if (at % 4 === 1) return { method: 'POST', path, body: { reason: 'Lost' } }
    if (at % 4 === 2) return { method: 'POST', path, body: { activateNow: true } }
    const { json } = await service.call('POST', path)
    const status = `/cards/${json.publicToken}/status`
    return { method: 'PUT', path: status, body: { cardStatusCode: '00' } }
  }
  return Promise.all(Array.from({ length: cardsEach }, (_, at) => plan(at)))
}

/** Sends all acts at once, and kills the program after some answers. */
async function sendAndKill(
  program: Program,
  planned: readonly Planned[],
  answersBefore: number,
): Promise<Sent[]> {
  const token = await program.token()
  let answered = 0
  const sent = planned.map(async (act): Promise<Sent> => {
    const key = randomUUID()
    const headers = { 'idempotency-key': key }
    const { body } = act
    try {
      const answer = await program.call(act.method, act.path, { token, headers, body })
      return { ...act, key, answer }
    } catch {
      return { ...act, key, answer: null }
    } finally {
      answered += 1
    }
  })
  while (answered < answersBefore) await delay(1)
  await program.kill('SIGKILL')
  return Promise.all(sent)
}

/** What is wrong with the stored cards: half of an act, or a number without a card. */
const listFaults = (service: TestService) =>
  sql<{ fault: string }>(
    service.database,
    `select 'events of ' || public_token as "fault" from card
     where last_sequence <> (
       select count(*) from event where event.public_token = card.public_token
     )
     union all
     select 'plastics of ' || public_token from card
     where not exists (
       select from plastic
       where plastic.public_token = card.public_token and state = 'Current'
         and plastic.plastic_number = card.plastic_number
     ) or (waiting_expiry_date is not null) <> exists (
       select from plastic
       where plastic.public_token = card.public_token and state = 'Waiting'
     )
     union all
     select 'counters of ' || public_token from card
     where 2 <> (
       select count(*) from try_counter where try_counter.public_token = card.public_token
     )
     union all
     select 'number of ' || public_token from pan_fingerprint
     where public_token not in (select public_token from card)
     union all
     select 'number for ' || public_token from card
     where public_token not in (select public_token from pan_fingerprint)
     union all
     select 'line of ' || public_token from card
     where generation > 0 and public_token not in (select successor_token from card_line)
     union all
     select 'active cards of ' || line_token from card
     where status_code = '00'
     group by line_token
     having count(*) > 1`,
  )

test(`a program that is killed ${kills} times amid acts tears no card, and repeats are equal`, {
  skip: postgres.leftOut,
}, async () => {
  const { database, url } = await openServerDatabase(postgres)
  const env = { RATE_LIMIT: 'off' }
  const service = await openTestService({ database, env })
  await product(database, { productId, bin: '40000226' })
  const start = () =>
    startProgram({
      dataDir: service.dataDir,
      env: { ...env, DATABASE_URL: url, SANDBOX: 'true' },
    })
  let lost = 0
  for (let kill = 0; kill < kills; kill += 1) {
    const program = await start()
    const planned = await planActs(service)
    const sent = await sendAndKill(program, planned, 1 + (kill % 6))
    for (const { answer, body, key, method, path } of sent) {
      const headers = { 'idempotency-key': key }
      const repeated = await service.call(method, path, { body, headers })
      assert.ok([200, 204].includes(repeated.status), repeated.text)
      if (answer === null) lost += 1
      else assert.deepEqual([repeated.status, repeated.text], [answer.status, answer.text])
      const again = await service.call(method, path, { body, headers })
      assert.deepEqual([again.status, again.text], [repeated.status, repeated.text])
    }
    assert.deepEqual(await listFaults(service), [])
  }
  assert.ok(lost > 0, 'some acts were under way when the program was killed')
})
