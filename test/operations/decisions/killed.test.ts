import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { randomInt, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Authorization } from '../../../src/operations/authorizations/authorization.ts'
import { sweepDecisions } from '../../../src/operations/decisions/sweep.ts'
import { ageUnansweredKeys } from '../../support/builders.ts'
import { atEndOfFile } from '../../support/end-of-file.ts'
import { type IssuedCard, issueCard } from '../../support/network.ts'
import { openPostgres } from '../../support/postgres.ts'
import { openServerDatabase, openTestService, sql } from '../../support/service.ts'
import {
  authorizePurchase,
  type PurchaseAnswered,
  type SentPurchase,
} from './authorizing-process.ts'
import {
  countWaiting,
  letClientDecide,
  outcomesOf,
  passDeadlines,
  setControls,
  spendingOf,
} from './deciding.ts'

const postgres = await openPostgres()

/** `npm test -- --suite decisions` has 1,000. */
const kills = Number(process.env.DECISION_KILLS ?? 24)
const processesAtOnce = 3
const purchasesEach = 6
const cardCount = 12
/** How long a process lives after a request reached the client: some of them answer. */
const longestMs = postgres.isCluster ? 300 : 30

const children = new Set<ChildProcess>()
atEndOfFile(() => {
  for (const child of children) child.kill('SIGKILL')
})

const startProcess = async (dataDir: string, url: string): Promise<ChildProcess> => {
  const file = fileURLToPath(new URL('authorizing-process.ts', import.meta.url))
  const child = fork(file, {
    env: { ...process.env, DATA_DIR: dataDir, DATABASE_URL: url },
    execArgv: ['--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  children.add(child)
  const [message] = await once(child, 'message')
  assert.equal(message, 'ready')
  return child
}

const killProcess = async (child: ChildProcess): Promise<void> => {
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
  children.delete(child)
}

/** A purchase, and what its network was told before the process was killed. */
type Purchase = SentPurchase & { card: IssuedCard; told: Authorization | null }

const withoutReplay = ({ authorizationId: _, ...answer }: Authorization) => answer

test(`${kills} processes killed between reservation, request and conclusion reserve nothing twice`, {
  skip: postgres.leftOut,
}, async () => {
  const { database, url } = await openServerDatabase(postgres, 20)
  const service = await openTestService({ database, env: { RATE_LIMIT: 'off' } })
  const networkId = service.sandbox?.network.clientId ?? ''
  const deciding = await letClientDecide(service, { timeoutMs: 500 })
  deciding.answerBy(async () => {
    await sleep(randomInt(20))
    const decision = randomInt(3) === 0 ? 'decline' : 'approve'
    return randomInt(10) === 0 ? undefined : { decision }
  })
  const cards: IssuedCard[] = []
  for (let index = 0; index < cardCount; index += 1) {
    const card = await issueCard(service)
    const limits = [{ period: 'day', maximumAmount: 1_000_000_000, maximumCount: 1_000_000 }]
    await setControls(service, card, { limits })
    cards.push(card)
  }

  const purchases: Purchase[] = []
  const planPurchase = (): Purchase => {
    const key = randomUUID()
    const card = cards[randomInt(cards.length)] ?? assert.fail()
    const { cvv2, publicToken } = card
    const purchase = {
      key,
      reference: `R${purchases.length}`,
      networkId,
      publicToken,
      amount: 100 + randomInt(900),
      cvv2: randomInt(2) === 0 ? null : cvv2,
      card,
      told: null,
    }
    purchases.push(purchase)
    return purchase
  }

  const firstAnswer = Promise.withResolvers<void>()
  let left = kills
  const killOn = async (): Promise<void> => {
    while (left > 0) {
      left -= 1
      const child = await startProcess(service.dataDir, url)
      const sent = Array.from({ length: purchasesEach }, planPurchase)
      child.on('message', ({ answer, key }: PurchaseAnswered) => {
        const purchase = sent.find((each) => each.key === key)
        if (purchase) purchase.told = answer.result
        firstAnswer.resolve()
      })
      const before = deciding.asked.length
      for (const { card: _, told: __, ...purchase } of sent) child.send(purchase)
      // Before the first request reaches the client, or a moment after it.
      if (randomInt(4) > 0) await deciding.askedAfter(before)
      await sleep(randomInt(longestMs))
      // On a busy machine no process may have answered so far.
      if (left === 0) await firstAnswer.promise
      await killProcess(child)
    }
  }
  await Promise.all(Array.from({ length: processesAtOnce }, killOn))

  assert.ok((await countWaiting(database)) > 0, 'no process was killed while a client thought')
  assert.ok(
    purchases.some(({ told }) => told),
    'no process has answered',
  )
  // Half of what is left without an answer is concluded by repeats, the rest by a sweep.
  await passDeadlines(database)
  await ageUnansweredKeys(database)
  const half = purchases.filter((_, index) => index % 2 === 0)
  const repeat = async (each: Purchase) => authorizePurchase(service.authorizing, each)
  const repeats = new Map<string, Authorization>()
  const repeatAll = async (some: readonly Purchase[]) => {
    for (const each of some) repeats.set(each.key, (await repeat(each)).result)
  }
  deciding.answerBy(() => ({ decision: 'approve' }))
  await repeatAll(half)
  const faults: unknown[] = []
  await sweepDecisions(service.deciding.concluding, (fault) => faults.push(fault))
  assert.deepEqual(faults, [])
  await repeatAll(purchases)

  for (const each of purchases) {
    const answer = repeats.get(each.key) ?? assert.fail()
    if (each.told) assert.deepEqual(withoutReplay(answer), withoutReplay(each.told))
    assert.deepEqual((await repeat(each)).result, answer)
  }
  assert.equal(await countWaiting(database), 0)
  for (const card of cards) {
    const own = purchases.filter((each) => each.card === card)
    const approved = own.filter(({ key }) => repeats.get(key)?.approved)
    const { amount, count } = await spendingOf(service, card)
    const sum = approved.reduce((total, each) => total + each.amount, 0)
    assert.deepEqual([amount, count], [sum, approved.length])
    const outcomes = await outcomesOf(service, card)
    const ids = outcomes.map(({ details }) => details.authorizationId)
    assert.equal(new Set(ids).size, ids.length, 'an authorization is answered once')
    const held = await sql<{ approved: number }>(
      database,
      'select approved::integer from payment where public_token = $1',
      [card.publicToken],
    )
    assert.equal(held.length, approved.length)
    assert.equal(
      held.reduce((total, each) => total + each.approved, 0),
      sum,
    )
  }
})
