import assert from 'node:assert/strict'
import { after, before, beforeEach, suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { PublicToken } from '../../../src/domain/identifiers.ts'
import {
  answerByCall,
  type CalledAnswers,
  createCalledAnswers,
} from '../../../src/operations/decisions/calls.ts'
import {
  createDecisionStreams,
  type DecisionStream,
  type DecisionStreams,
  type StreamedRequest,
} from '../../../src/operations/decisions/streams.ts'
import { listWaitingRequests } from '../../../src/storage/decisions/streams.ts'
import type { Database } from '../../../src/storage/engine/database.ts'
import { setClientActive } from '../../support/builders.ts'
import { databaseEngines } from '../../support/engines.ts'
import { openTestService, sql } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { beginWaiting, registerStreamEndpoint, type WaitingOptions } from './trials.ts'

const fail = (error: unknown) => {
  throw error
}
const compose = async ({ decisionId, facts }: { decisionId: string; facts: string }) => ({
  decisionId,
  headers: { 'webhook-id': decisionId },
  body: facts,
})

for (const { name, open, skip } of databaseEngines) {
  suite(`streams of decisions on ${name}`, { skip }, () => {
    let database: Database
    let publicToken: PublicToken
    let answers: CalledAnswers
    let streams: DecisionStreams
    /** The time of a client that a stream still receives a request within. */
    let shortMs: number
    before(async () => {
      database = await open()
      shortMs = database.isCluster() ? 500 : 50
      const service = await openTestService({ database })
      publicToken = (await service.createCard()).publicToken
      await registerStreamEndpoint(database)
      await registerStreamEndpoint(database, 'demo-other-client')
    })
    beforeEach(async () => {
      await streams?.close()
      await answers?.close()
      await sql(database, 'update decision set deadline = asked_at where concluded_at is null')
      answers = createCalledAnswers(database, fail)
      streams = createDecisionStreams({ database, answers, compose, onError: fail })
    })
    after(async () => {
      await streams.close()
      await answers.close()
    })

    const begin = async (options: Omit<WaitingOptions, 'publicToken'> = {}) => {
      const begun = await beginWaiting(database, { publicToken, ...options })
      streams.offer('demo-client')
      return begun
    }
    const answer = (decisionId: string) => {
      const requester = { clientId: 'demo-client', requestId: 'request-1' }
      const body = { decision: 'approve' }
      const bytes = Buffer.from(JSON.stringify(body))
      const stated = { body, bytes, shapeFaults: [] }
      return answerByCall(
        { database, answers, now: () => new Date() },
        requester,
        decisionId,
        stated,
      )
    }

    test('a stream gets what waits already, and then what comes, each once', async () => {
      const first = await begin()
      const reader = await openReader(streams)
      await until(() => reader.ids.length === 1)
      const second = await begin()
      await until(() => reader.ids.length === 2)
      assert.deepEqual(reader.ids, [first.decisionId, second.decisionId])
      assert.equal(await streams.isTaken(second), true)
    })

    test('a thousand waiting requests go over one stream, each once', async () => {
      const many = await Promise.all(
        Array.from({ length: 1_000 }, () =>
          beginWaiting(database, { publicToken, timeoutMs: 60_000 }),
        ),
      )
      const reader = await openReader(streams)
      await until(() => reader.ids.length === 1_000)
      assert.deepEqual(reader.ids.toSorted(), many.map(({ decisionId }) => decisionId).toSorted())
    })

    test('two streams share the requests: each goes to one of them', async () => {
      const [one, other] = [await openReader(streams), await openReader(streams)]
      await until(() => one.waits() && other.waits())
      for (let at = 1; at <= 20; at += 1) {
        await begin()
        await until(() => one.ids.length + other.ids.length === at)
      }
      assert.ok(one.ids.length >= 5 && other.ids.length >= 5, `${one.ids.length} of 20`)
      assert.equal(new Set([...one.ids, ...other.ids]).size, 20)
    })

    test('a stream that went away leaves what it did not answer to another one', async () => {
      const gone = await openReader(streams)
      const [open, answered] = [await begin(), await begin()]
      await until(() => gone.ids.length === 2)
      await answer(answered.decisionId)
      gone.end()
      const next = await openReader(streams)
      await until(() => next.ids.length === 1)
      assert.deepEqual(next.ids, [open.decisionId])
    })

    test('a reader that does not read takes nothing that another one could answer', async () => {
      const slow = await streams.open('demo-client', inAnHour())
      const reader = await openReader(streams)
      const begun = [await begin(), await begin(), await begin()]
      await until(() => reader.ids.length === begun.length)
      slow.end()
    })

    test('a stream that does not answer takes only what no other stream takes', async () => {
      const silent = await openReader(streams)
      await begin({ timeoutMs: shortMs })
      await until(() => silent.ids.length === 1)
      await sleep(2 * shortMs)
      const reader = await openReader(streams)
      await until(() => reader.waits())
      for (let at = 1; at <= 5; at += 1) {
        const { decisionId } = await begin()
        await until(() => reader.ids.length === at)
        await answer(decisionId)
      }
      reader.end()
      await begin()
      await until(() => silent.ids.length === 2)
    })

    test('a stream that missed one request gets the next one', async () => {
      for (const timeoutMs of [4 * shortMs, 16 * shortMs, 60_000]) {
        const reader = await openReader(streams)
        const missed = await begin({ timeoutMs: shortMs })
        await until(() => reader.ids.includes(missed.decisionId))
        await sleep(2 * shortMs)
        const next = await begin({ timeoutMs })
        await until(() => reader.ids.includes(next.decisionId))
        await answer(next.decisionId).catch(() => null)
        reader.end()
      }
    })

    test('many waiting requests of one client keep out none of another client', async () => {
      await Promise.all(
        Array.from({ length: 300 }, () =>
          beginWaiting(database, { publicToken, timeoutMs: 10_000 }),
        ),
      )
      await sql(
        database,
        `update decision set client_id = 'demo-other-client'
         where concluded_at is null and deadline > now()`,
      )
      const own = await beginWaiting(database, { publicToken, timeoutMs: 60_000 })
      const rows = await listWaitingRequests(database, ['demo-other-client', 'demo-client'], 100)
      const ids = rows.map(({ decisionId }) => decisionId)
      assert.ok(ids.includes(own.decisionId))
      assert.equal(new Set(ids).size, 101)
    })

    test('a request is on no stream of another client', async () => {
      const reader = await openReader(streams, 'demo-other-client')
      const own = await openReader(streams)
      await begin()
      await until(() => own.ids.length === 1)
      assert.equal(reader.ids.length, 0)
    })

    test('a client has ten streams at most, and gets one back that it ends', async () => {
      const readers = await Promise.all(Array.from({ length: 10 }, () => openReader(streams)))
      await assert.rejects(streams.open('demo-client', inAnHour()), { code: 'rate_limited' })
      readers[0]?.end()
      await until(async () => (await sql(database, 'select 1 from client_stream')).length === 9)
      await openReader(streams)
    })

    test('a stream ends when its token expires, and when the process stops', async () => {
      const expiring = await openReader(streams, 'demo-client', new Date(Date.now() + 30))
      await until(() => expiring.hasEnded())
      const open = await openReader(streams)
      await streams.close()
      await until(() => open.hasEnded())
      await assert.rejects(streams.open('demo-client', inAnHour()), { code: 'unavailable' })
    })

    test('a client that loses the right to decide loses its streams', async () => {
      const strict = createDecisionStreams(
        { database, answers, compose, onError: fail },
        { renewMs: 20 },
      )
      const reader = await openReader(strict)
      await setClientActive(database, 'demo-client', false)
      await until(() => reader.hasEnded())
      await setClientActive(database, 'demo-client', true)
      await strict.close()
    })

    test('nothing of a stream reads or writes once the streams are closed', async () => {
      const reader = await openReader(streams)
      const { decisionId } = await begin()
      await until(() => reader.ids.includes(decisionId))
      await streams.close()
      assert.deepEqual(await sql(database, 'select holder from client_stream'), [])
      const [row] = await sql<{ taken: string | null }>(
        database,
        'select taken_by as taken from decision where decision_id = $1::uuid',
        [decisionId],
      )
      assert.equal(row?.taken, null)
    })

    test('what waits in one process goes over the stream of another one', async () => {
      const other = createDecisionStreams({ database, answers, compose, onError: fail })
      const [here, there] = [await openReader(streams), await openReader(other)]
      for (let at = 1; at <= 30; at += 1) await beginWaiting(database, { publicToken })
      other.offer('demo-client')
      await until(() => here.ids.length + there.ids.length === 30)
      assert.equal(new Set([...here.ids, ...there.ids]).size, 30)
      there.end()
      await other.close()
    })
  })
}

type Reader = {
  ids: string[]
  /** Whether it is ready for more. */
  waits: () => boolean
  hasEnded: () => boolean
  end: () => void
}

const inAnHour = () => new Date(Date.now() + 3_600_000)

const openReader = async (
  streams: DecisionStreams,
  clientId = 'demo-client',
  expiresAt = inAnHour(),
): Promise<Reader> => {
  const stream: DecisionStream = await streams.open(clientId, expiresAt)
  const read: StreamedRequest[] = []
  let [hasEnded, waits] = [false, false]
  const ids: string[] = []
  const follow = async () => {
    const iterator = stream.requests[Symbol.asyncIterator]()
    while (true) {
      const next = iterator.next()
      waits = true
      const { done, value } = await next
      if (done) break
      read.push(...value)
      ids.push(...value.map(({ decisionId }: StreamedRequest) => decisionId))
    }
    hasEnded = true
  }
  void follow()
  return { ids, waits: () => waits, hasEnded: () => hasEnded, end: stream.end }
}
