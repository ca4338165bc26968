import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { PublicToken } from '../../../src/domain/identifiers.ts'
import { Problem } from '../../../src/domain/problem.ts'
import {
  answerByCall,
  type CalledAnswers,
  createCalledAnswers,
} from '../../../src/operations/decisions/calls.ts'
import type { Database } from '../../../src/storage/engine/database.ts'
import { databaseEngines } from '../../support/engines.ts'
import { openTestService, sql } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { beginWaiting, registerStreamEndpoint, type WaitingOptions } from './trials.ts'

const fail = (error: unknown) => {
  throw error
}
const requester = { clientId: 'demo-client', requestId: 'request-1' }

for (const { name, open, skip } of databaseEngines) {
  suite(`answers by calls on ${name}`, { skip }, () => {
    let database: Database
    let publicToken: PublicToken
    let answers: CalledAnswers
    before(async () => {
      database = await open()
      const service = await openTestService({ database })
      publicToken = (await service.createCard()).publicToken
      await registerStreamEndpoint(database)
      answers = createCalledAnswers(database, fail)
    })

    const begin = (options: Omit<WaitingOptions, 'publicToken'> = {}) =>
      beginWaiting(database, { publicToken, ...options })
    const answer = (decisionId: string, body: object, clientId = 'demo-client') =>
      answerByCall(
        { database, answers, now: () => new Date() },
        { ...requester, clientId },
        decisionId,
        {
          body,
          bytes: Buffer.from(JSON.stringify(body)),
          shapeFaults: [],
        },
      )

    test('an answer by a call reaches who waits for it in this process at once', async () => {
      const { decisionId } = await begin()
      const waiting = answers.wait(decisionId, AbortSignal.timeout(60_000))
      await answer(decisionId, { decision: 'approve', amount: 1_000, metadata: { order: 7 } })
      const answered = await waiting
      assert.equal(answered?.answer.amount, 1_000)
      assert.equal(answered?.answer.metadata, '{"order":7}')
      assert.equal(answered?.answerHash.length, 32)
    })

    test('an answer is not lost that comes before the wait for it', async () => {
      const { decisionId } = await begin()
      await answer(decisionId, { decision: 'decline', reason: 'suspected_fraud' })
      const answered = await answers.wait(decisionId, AbortSignal.timeout(60_000))
      assert.equal(answered?.answer.reason, 'suspected_fraud')
    })

    test('the first of many answers at once counts, and every other one is told which', async () => {
      const { decisionId } = await begin()
      const amounts = Array.from({ length: 10 }, (_, at) => 100 + at)
      const all = await Promise.allSettled(
        amounts.map((amount) => answer(decisionId, { decision: 'approve', amount })),
      )
      const accepted = all.filter((one) => one.status === 'fulfilled')
      assert.equal(accepted.length, 1)
      const [first] = accepted
      const refused = all.filter((one) => one.status === 'rejected').map(({ reason }) => reason)
      assert.ok(
        refused.every(({ code, detail }) => {
          const isNamed = detail === `The first answer was approve ${first?.value.amount}.`
          return code === 'decision_answered' && isNamed
        }),
      )
    })

    test('an answer may be repeated: the same bytes are accepted again, and change nothing', async () => {
      const { decisionId } = await begin()
      const body = { decision: 'approve', amount: 1_000, metadata: { order: 7 } }
      const first = await answer(decisionId, body)
      await sql(database, 'update decision set deadline = asked_at where decision_id = $1::uuid', [
        decisionId,
      ])
      assert.deepEqual(await answer(decisionId, body), first)
      const other = answer(decisionId, { ...body, amount: 999 })
      await assert.rejects(other, { code: 'decision_answered' })
    })

    test('an answer after the deadline changes nothing and is kept as late', async () => {
      const { decisionId } = await begin({ timeoutMs: 1 })
      await sleep(5)
      await assert.rejects(answer(decisionId, { decision: 'approve' }), { code: 'decision_over' })
      await assert.rejects(answer(decisionId, { decision: 'decline' }), { code: 'decision_over' })
      const [row] = await sql<{ called: string | null; late: string }>(
        database,
        `select called_answer as called, late_answer as late from decision
         where decision_id = $1::uuid`,
        [decisionId],
      )
      assert.equal(row?.called, null)
      assert.equal(JSON.parse(row?.late ?? '').decision, 'approve')
    })

    test("another client's decision does not exist", async () => {
      const { decisionId } = await begin()
      const refused = answer(decisionId, { decision: 'approve' }, 'demo-other-client')
      await assert.rejects(refused, { code: 'not_found' })
      for (const id of [randomUUID(), 'x', `${decisionId} `]) {
        await assert.rejects(answer(id, { decision: 'approve' }), {
          code: 'not_found',
          detail: /^[^ ]{36}$/.test(id)
            ? `Your client has no decision ${id}.`
            : 'The decisionId must be a UUID.',
        })
      }
    })

    test('an amount outside of the hold, or a part where none is allowed, is refused', async () => {
      const whole = await begin({ facts: { partialAllowed: false } })
      const part = await begin()
      for (const amount of [0, -1, 1_251, 1.5, '1250', 2 ** 53]) {
        const refused = answer(part.decisionId, { decision: 'approve', amount })
        await assert.rejects(refused, { code: 'validation_failed' }, String(amount))
      }
      const refused = answer(whole.decisionId, { decision: 'approve', amount: 1_249 })
      await assert.rejects(refused, { code: 'validation_failed' })
      await answer(whole.decisionId, { decision: 'approve', amount: 1_250 })
      const nothing = await begin({ hold: null })
      await assert.rejects(answer(nothing.decisionId, { decision: 'approve', amount: 1 }))
      await answer(nothing.decisionId, { decision: 'approve' })
    })

    test('a refused answer is told which member is wrong, and what it must be', async () => {
      const { decisionId } = await begin()
      const inPast = '2020-01-01T00:00:00Z'
      const card = { card: '4242 4242 4242 4242' }
      const wrong: readonly (readonly [member: string, body: object, detail: RegExp])[] = [
        ['decision', { decision: 'perhaps' }, /approve, decline or challenge/],
        ['decisionId', { decision: 'approve', decisionId: randomUUID() }, /of the path/],
        ['amount', { decision: 'approve', amount: 0 }, /the hold/],
        ['reason', { decision: 'decline', reason: 'mood' }, /reasons/],
        ['responseCode', { decision: 'decline', responseCode: '00' }, /response codes/],
        ['holdExpiresAt', { decision: 'approve', holdExpiresAt: inPast }, /within 31 days/],
        ['metadata', { decision: 'approve', metadata: card }, /no card number/],
      ]
      for (const [member, body, detail] of wrong) {
        await assert.rejects(answer(decisionId, body), ({ code, errors: [fault] }) => {
          assert.deepEqual([code, fault.pointer], ['validation_failed', `/${member}`])
          assert.match(fault.detail, detail)
          return true
        })
      }
    })

    test('a wait ends with its signal, and with the process', async () => {
      const { decisionId } = await begin()
      assert.equal(await answers.wait(decisionId, AbortSignal.timeout(10)), null)
      const others = createCalledAnswers(database, fail)
      const waiting = others.wait(decisionId, AbortSignal.timeout(60_000))
      await others.close()
      assert.equal(await waiting, null)
    })

    test('during an outage of the database, answers are looked for once a second', async () => {
      const faults: unknown[] = []
      const query = async () => {
        throw new Problem('unavailable')
      }
      const down = { ...database, isShared: true, query }
      const others = createCalledAnswers(down, (error) => faults.push(error))
      const { decisionId } = await begin()
      const waiting = others.wait(decisionId, AbortSignal.timeout(400))
      await until(() => faults.length === 1)
      await waiting
      assert.equal(faults.length, 1)
      await others.close()
    })

    test('an answer reaches who waits for it in another process', {
      skip: name === 'PGlite' && 'PGlite has one connection',
    }, async () => {
      const { decisionId } = await begin()
      const others = createCalledAnswers(database, fail)
      const waiting = others.wait(decisionId, AbortSignal.timeout(60_000))
      await answer(decisionId, { decision: 'challenge' })
      assert.equal((await waiting)?.answer.decision, 'challenge')
      await others.close()
    })
  })
}
