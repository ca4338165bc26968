import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { suite, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { openPostgres } from '../../support/postgres.ts'
import { type Program, startProgram } from '../../support/process.ts'
import { newCard, openServerDatabase } from '../../support/service.ts'
import { type Victim, withToken } from '../authorizations/killed.ts'
import { nextId } from './network.ts'

/** Payments whose process is killed while it records their messages. */

const postgres = await openPostgres()
const env = { SANDBOX: 'true', RATE_LIMIT: 'off', LOG_LEVEL: 'warn' }
const paymentCount = 60
const callers = 6

interface Message {
  readonly path: string
  readonly body: object
  /** Of an authorization; the body of each other message has an id of its own. */
  readonly key: string | null
}

/** A message, and its answer: null if the process ended first. */
type Sent = Message & { readonly answer: object | null }

/** Sends a message. @returns null if the process ended before it answered. */
async function send({ program, token }: Victim, { body, key, path }: Message) {
  try {
    const response = await fetch(`${program.privateUrl}/network/${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        ...(key !== null && { 'idempotency-key': key }),
      },
      body: JSON.stringify(body),
    })
    const answer = await response.json()
    assert.equal(response.status, 200, JSON.stringify(answer))
    return answer as object
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error
    return null
  }
}

/** A purchase, then the reversal of a part of it, and then the clearing of a part of the rest. */
function planPayment(publicToken: string, amount: number): readonly Message[] {
  const named = { publicToken, networkTransactionId: nextId() }
  const currency = 'EUR'
  const purchase = { ...named, entryMode: 'ecommerce', reference: 'R-1', amount, currency }
  const reversal = { ...named, reversalId: nextId(), amount: 10, currency }
  const clearing = { ...named, clearingId: nextId(), amount: 20, currency, isFinal: false }
  return [
    { path: 'authorizations', body: purchase, key: randomUUID() },
    { path: 'reversals', body: reversal, key: null },
    { path: 'clearings', body: { clearings: [clearing] }, key: null },
  ]
}

/** Sends the messages of all payments, and kills the process amid them. */
async function sendAndKill(
  victim: Victim,
  plans: readonly (readonly Message[])[],
): Promise<readonly Sent[]> {
  const sent: Sent[] = []
  const queue = [...plans]
  const isAnswered = ({ answer }: Sent): boolean => answer !== null
  const work = async () => {
    for (let plan = queue.shift(); plan; plan = queue.shift()) {
      for (const message of plan) sent.push({ ...message, answer: await send(victim, message) })
    }
  }
  const all = Promise.all(Array.from({ length: callers }, work))
  while (sent.filter(isAnswered).length < paymentCount) await wait(1)
  await victim.program.kill('SIGKILL')
  await all
  return sent
}

/** A card with a limit that no payment reaches, whose sums are read afterwards. */
async function openCard(program: Program): Promise<string> {
  const token = await program.token()
  const created = await program.call('POST', '/cards', { token, body: newCard() })
  const { publicToken } = created.json
  const limits = [{ period: 'lifetime', maximumAmount: 1_000_000, maximumCount: 1_000 }]
  const body = { version: 0, limits }
  const changed = await program.call('PUT', `/cards/${publicToken}/controls`, { token, body })
  assert.equal(changed.status, 200, changed.text)
  return publicToken
}

/** Every message is sent again to a process that was not killed, and counts once. */
async function assertCountedOnce(
  survivor: Victim,
  publicToken: string,
  plans: readonly (readonly Message[])[],
  sent: readonly Sent[],
): Promise<void> {
  assert.ok(sent.some(({ answer }) => answer === null))
  for (const plan of plans) {
    for (const message of plan) {
      const first = sent.find(({ body }) => body === message.body)?.answer
      const repeated = await send(survivor, message)
      if (first) assert.deepEqual(repeated, first)
    }
  }
  const { program } = survivor
  const token = await program.token()
  const page = await program.call('GET', `/cards/${publicToken}/payments?limit=100`, { token })
  const sums = page.json.map(({ approved, reversed, cleared, open }: Record<string, number>) => ({
    approved,
    reversed,
    cleared,
    open,
  }))
  const expected = plans.map((_, index) => ({
    approved: 100 + index,
    reversed: 10,
    cleared: 20,
    open: 70 + index,
  }))
  const byAmount = (one: { approved: number }, other: { approved: number }) =>
    one.approved - other.approved
  assert.deepEqual(sums.toSorted(byAmount), expected)
  const asked = { entryMode: 'ecommerce', amount: 1_000_000, currency: 'EUR' }
  const path = `/cards/${publicToken}/controls/explain`
  const spent = expected.reduce((sum, { approved, reversed }) => sum + approved - reversed, 0)
  for (const [amount, approved] of [
    [1_000_000 - spent, true],
    [1_000_001 - spent, false],
  ]) {
    const explained = await program.call('POST', path, { token, body: { ...asked, amount } })
    assert.equal(explained.json.approved, approved, explained.text)
  }
}

const amounts = Array.from({ length: paymentCount }, (_, index) => 100 + index)

suite('kill -9 amid the messages of payments', () => {
  test('of one process of two: what was acknowledged stays, and every message counts once', {
    skip: postgres.leftOut,
  }, async () => {
    const { url } = await openServerDatabase(postgres)
    const survivor = await startProgram({ env: { ...env, DATABASE_URL: url } })
    const { dataDir } = survivor
    const victim = await startProgram({ dataDir, env: { ...env, DATABASE_URL: url } })
    const publicToken = await openCard(survivor)
    const plans = amounts.map((amount) => planPayment(publicToken, amount))
    const sent = await sendAndKill(await withToken(victim), plans)
    await assertCountedOnce(await withToken(survivor), publicToken, plans, sent)
  })

  test('of the only process, on the embedded database: the same after a new start', async () => {
    const victim = await startProgram({ env })
    const publicToken = await openCard(victim)
    const plans = amounts.map((amount) => planPayment(publicToken, amount))
    const sent = await sendAndKill(await withToken(victim), plans)
    const survivor = await startProgram({ dataDir: victim.dataDir, env })
    await assertCountedOnce(await withToken(survivor), publicToken, plans, sent)
  })
})
