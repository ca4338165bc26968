import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type ClientRequest, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { setImmediate as settle } from 'node:timers/promises'
import { readConfig } from '../../../src/service/config/config.ts'
import { computePoolSizes, openDatabases } from '../../../src/service/database.ts'
import { createLog } from '../../../src/service/log.ts'
import type { Database, Statement } from '../../../src/storage/engine/database.ts'
import { ask, issueCard, pinTry } from '../../support/network.ts'
import { openPostgres } from '../../support/postgres.ts'
import { openEmbedded, openServerDatabase, openTestService, sql } from '../../support/service.ts'

const postgres = await openPostgres()
const skip = postgres.leftOut

/** A database that keeps statements of one name waiting until they are let go. */
const holding = (database: Database, name: string) => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  let held = 0
  const wait = async (statement: Statement): Promise<void> => {
    if (statement.name !== name) return
    held += 1
    await released
  }
  const slowDatabase: Database = {
    ...database,
    async query(statement, values) {
      await wait(statement)
      return database.query(statement, values)
    },
    async readRow(read, key) {
      await wait(read.one)
      return database.readRow(read, key)
    },
    async change(change, subject, values) {
      await wait(change.one)
      return database.change(change, subject, values)
    },
  }
  return { database: slowDatabase, held: () => held, release }
}

/** Fails where it does not come about in ten minutes, which is longer than any machine takes. */
const until = async (isSo: () => boolean): Promise<void> => {
  const giveUpMs = performance.now() + 600_000
  while (!isSo()) {
    assert.ok(performance.now() < giveUpMs, `Never: ${isSo}`)
    await settle()
  }
}

test('a card network has no limit a second: each of its questions is answered', async () => {
  const service = await openTestService({ env: { RATE_PER_SECOND: '1', RATE_BURST: '1' } })
  const asked = Array.from({ length: 100 }, () => ask(service, { publicToken: '9999999999' }))
  for (const { headers, json, status } of await Promise.all(asked)) {
    assert.equal(status, 200)
    assert.equal(json.responseCode, '14')
    assert.equal(headers.ratelimit, undefined)
  }
})

test('a client has so many calls in flight; the next one waits, and no other client for it', async () => {
  const { database, held, release } = holding(await openEmbedded(), 'list_granted_products')
  const env = { CALLS_IN_FLIGHT: '2' }
  const service = await openTestService({ database, env })
  await service.token()
  await service.token(undefined, 'otherClient')
  // A list weighs as much as a client may have at once.
  const first = service.call('GET', '/products')
  await until(() => held() === 1)
  let isAnswered = false
  const second = service.call('GET', '/cards/9999999999').then((answer) => {
    isAnswered = true
    return answer
  })
  const other = await service.call('GET', '/cards/9999999999', { as: 'otherClient' })
  assert.equal(other.status, 404)
  assert.equal(isAnswered, false)
  release()
  assert.equal((await first).status, 200)
  assert.equal((await second).status, 404)
})

test('answers to decisions wait for no other call of their client, and spend no rate', async () => {
  const { database, held, release } = holding(await openEmbedded(), 'list_granted_products')
  const env = { CALLS_IN_FLIGHT: '1', RATE_PER_SECOND: '1', RATE_BURST: '1' }
  const service = await openTestService({ database, env })
  const list = service.call('GET', '/products')
  await until(() => held() === 1)
  const path = `/decisions/${randomUUID()}/answer`
  const answers = Array.from({ length: 50 }, () =>
    service.call('POST', path, { body: { decision: 'approve' } }),
  )
  for (const { headers, status } of await Promise.all(answers)) {
    assert.equal(status, 404)
    assert.equal(headers.ratelimit, undefined)
  }
  const other = await service.call('GET', '/cards/9999999999')
  assert.equal(other.status, 429, 'the rate of the other calls')
  release()
  assert.equal((await list).status, 200)
})

test('answers of one client to decisions are in work at once up to its bound', async () => {
  const { database, held, release } = holding(await openEmbedded(), 'find_decision_card')
  const service = await openTestService({ database, env: { CALLS_IN_FLIGHT: '2' } })
  const path = `/decisions/${randomUUID()}/answer`
  const answers = Array.from({ length: 5 }, () =>
    service.call('POST', path, { body: { decision: 'approve' } }),
  )
  await until(() => held() === 2)
  assert.equal((await service.call('GET', '/cards/9999999999')).status, 404)
  const { text } = await service.call('GET', '//metrics', { listener: 'private', token: null })
  assert.ok(text.includes('pinfold_calls_in_flight{caller="answer",state="waiting"} 3\n'))
  assert.equal(held(), 2)
  release()
  for (const { status } of await Promise.all(answers)) assert.equal(status, 404)
})

test('a call that is refused before it begins frees its place', async () => {
  const service = await openTestService({ env: { CALLS_IN_FLIGHT: '1' } })
  const refusals: readonly (readonly [string, string, object])[] = [
    ['GET', '/cards?limit=x', {}],
    ['POST', '/cards', { payload: '{' }],
    ['POST', '/cards', { payload: '{', headers: { 'content-type': 'application/json' } }],
    ['GET', '/cards/9999999999', {}],
    ['HEAD', '/products', {}],
  ]
  for (const [method, path, options] of refusals) {
    for (const _ of [1, 2]) {
      const { status } = await service.call(method, path, options)
      assert.ok(status !== 429 && status < 500, `${path}: ${status}`)
    }
  }
})

/** A call by a socket of its own, which can be cut. */
const callBySocket = (port: number, path: string, headers: Record<string, string>) =>
  request({ port, path, agent: false, headers: { host: '127.0.0.1:8080', ...headers } })

test('an open stream keeps no call of its client waiting', async () => {
  const service = await openTestService({ env: { CALLS_IN_FLIGHT: '1' } })
  await service.publicServer.listen({ port: 0, host: '127.0.0.1' })
  const { port } = service.publicServer.server.address() as AddressInfo
  const authorization = `Bearer ${await service.token()}`
  const path = '/thr/processor/events'
  const stream = callBySocket(port, path, { authorization, accept: 'text/event-stream' }).end()
  const [answer] = await once(stream, 'response')
  assert.equal(answer.statusCode, 200)
  await once(answer, 'data')
  assert.equal((await service.call('GET', '/products')).status, 200)
  stream.on('error', () => undefined)
  stream.destroy()
})

test('calls with bodies that are still on their way delay no other calls, whatever their sender', async () => {
  // Of all clients together four calls are in work at once.
  const service = await openTestService({ env: { CALLS_IN_FLIGHT: '2' } })
  await service.publicServer.listen({ port: 0, host: '127.0.0.1' })
  const { port } = service.publicServer.server.address() as AddressInfo
  const halfSent: ClientRequest[] = []
  for (const as of ['client', 'otherClient'] as const) {
    const headers = {
      authorization: `Bearer ${await service.token(undefined, as)}`,
      'content-type': 'application/json',
      'content-length': '1000',
      expect: '100-continue',
    }
    for (const _ of [1, 2]) {
      const path = '/thr/processor/cards'
      const host = '127.0.0.1:8080'
      const begun = request({
        port,
        path,
        method: 'POST',
        agent: false,
        headers: { host, ...headers },
      })
      begun.on('error', () => undefined)
      begun.flushHeaders()
      await once(begun, 'continue')
      begun.write('{')
      halfSent.push(begun)
    }
  }
  for (const as of ['client', 'otherClient'] as const) {
    assert.equal((await service.call('GET', '/cards/9999999999', { as })).status, 404)
  }
  for (const each of halfSent) each.destroy()
})

test('a question that is not begun in time is told so, and has spent nothing', async () => {
  const { database, held, release } = holding(await openEmbedded(), 'begin_authorization')
  const service = await openTestService({ database, env: { CALL_WAIT_MS: '1' } })
  const card = await issueCard(service)
  const inFlight = Array.from({ length: 64 }, () => ask(service, { publicToken: '9999999999' }))
  await until(() => held() === 64)
  const late = await ask(service, pinTry(service, card))
  assert.deepEqual([late.status, late.json.code], [503, 'unavailable'])
  assert.equal(late.headers['retry-after'], '1')
  release()
  for (const { status } of await Promise.all(inFlight)) assert.equal(status, 200)
  const attempts = await sql(database, 'select try_number from attempt')
  assert.deepEqual(attempts, [])
  const { json } = await ask(service, pinTry(service, card))
  assert.deepEqual([json.responseCode, json.pin.remainingTries], ['00', 3])
})

test('a question whose network has gone while it waited is never begun', async () => {
  const { database, held, release } = holding(await openEmbedded(), 'begin_authorization')
  const service = await openTestService({ database })
  await service.privateServer.listen({ port: 0, host: '127.0.0.1' })
  const { port } = service.privateServer.server.address() as AddressInfo
  const authorization = `Bearer ${await service.token(undefined, 'network')}`
  const body = JSON.stringify({
    publicToken: '9999999999',
    entryMode: 'chip',
    reference: 'R-1',
  })
  const question = () => {
    const asked = request({
      port,
      path: '/network/authorizations',
      method: 'POST',
      agent: false,
      headers: {
        host: '127.0.0.1:8080',
        authorization,
        'content-type': 'application/json',
        'content-length': body.length,
      },
    })
    asked.on('error', () => undefined)
    return asked.end(body)
  }
  const inFlight = Array.from({ length: 64 }, question)
  const answers = inFlight.map((each) => once(each, 'response'))
  await until(() => held() === 64)
  const waits = async (count: number) => {
    const { text } = await service.call('GET', '//metrics', { listener: 'private', token: null })
    return text.includes(`pinfold_calls_in_flight{caller="network",state="waiting"} ${count}\n`)
  }
  const late = question()
  while (!(await waits(1))) await settle()
  late.destroy()
  while (!(await waits(0))) await settle()
  release()
  for (const [answer] of await Promise.all(answers)) {
    assert.equal(answer.statusCode, 200)
    answer.resume()
  }
  assert.equal(held(), 64)
})

test('with every connection of clients taken, card networks are answered and sweeps go on', {
  skip,
}, async () => {
  const { url } = await openServerDatabase(postgres)
  const config = readConfig({ DATABASE_URL: url, DATABASE_POOL_SIZE: '6', SANDBOX: 'true' })
  const databases = await openDatabases(config, createLog('silent'))
  const service = await openTestService({ databases })
  await service.token(undefined, 'network')
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const { clients = 0 } = computePoolSizes(6) ?? {}
  const taken = Array.from({ length: clients }, () => databases.clients.transaction(() => released))
  await until(() => databases.clients.load?.().busy === clients)
  assert.equal((await ask(service, { publicToken: '9999999999' })).status, 200)
  const readiness = await service.call('GET', '//readyz', { listener: 'private', token: null })
  assert.equal(readiness.status, 200)
  assert.deepEqual(await sql(databases.background, 'select 1 as one'), [{ one: 1 }])
  assert.equal(databases.clients.load?.().busy, clients)
  release()
  await Promise.all(taken)
  await service.close()
  await databases.close()
})

test('a process has as many connections as it was given, and each pool has some', () => {
  for (let total = 1; total <= 500; total += 1) {
    const sizes = computePoolSizes(total)
    if (sizes === null) {
      assert.ok(total < 5)
      continue
    }
    const { background, clients, networks } = sizes
    assert.equal(background + clients + networks, total)
    assert.ok(Math.min(background, clients, networks) >= 1)
    assert.ok(clients >= networks)
  }
})
