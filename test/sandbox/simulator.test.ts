import assert from 'node:assert/strict'
import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, beforeEach, test } from 'node:test'
import { ask, type IssuedCard, issueCard, otherDigits, pinTry } from '../support/network.ts'
import { makeFolder } from '../support/process.ts'
import { type CallOptions, openTestService, type TestService } from '../support/service.ts'

const path = '/simulator/authorizations'

let service: TestService
let card: IssuedCard
before(async () => {
  service = await openTestService({ env: { RATE_LIMIT: 'off' } })
})
beforeEach(async () => {
  card = await issueCard(service)
})

const simulate = (members: object, options: CallOptions = {}) =>
  service.call('POST', path, { body: { publicToken: card.publicToken, ...members }, ...options })

test('the simulator answers what the network is answered', async () => {
  const right = await simulate({ pin: card.pin, cvv: card.cvv2, expiryDate: card.expiry })
  assert.equal(right.status, 200)
  const { authorizationId: id, ...approval } = right.json
  const read = await service.call('GET', `/authorizations/${id}`)
  assert.equal(read.json.approved, true)
  assert.deepEqual(approval, {
    approved: true,
    responseCode: '00',
    publicToken: card.publicToken,
    reference: 'SIMULATOR',
    pin: { result: 'match', remainingTries: 3 },
    cvv: { result: 'match', remainingTries: 3 },
  })
  const wrong = otherDigits(card.pin)
  const simulated = await simulate({ pin: wrong })
  await service.call('POST', `/card-pin/${card.publicToken}/pin/unblock`)
  const asked = await ask(service, { ...pinTry(service, card, wrong), reference: 'SIMULATOR' })
  const { authorizationId, ...answer } = simulated.json
  assert.deepEqual(answer, asked.json)
  const path = `/authorizations/${authorizationId}`
  assert.equal((await service.call('GET', path)).json.declineReason, 'wrong_pin')
})

test('a PIN and a CVV are driven until they block, and unblocked again', async () => {
  for (const responseCode of ['55', '55', '55', '75']) {
    const { json } = await simulate({ pin: otherDigits(card.pin) })
    assert.equal(json.responseCode, responseCode)
  }
  for (const result of ['mismatch', 'mismatch', 'mismatch', 'blocked']) {
    const { json } = await simulate({ cvv: otherDigits(card.cvv2) })
    assert.deepEqual([json.responseCode, json.cvv.result], ['N7', result])
  }
  await service.call('POST', `/card-pin/${card.publicToken}/pin/unblock`)
  const body = { status: 'Unblocked' }
  await service.call('PUT', `/card-cvv/${card.publicToken}/cvv/status`, { body })
  assert.equal((await simulate({ pin: card.pin, cvv: card.cvv2 })).json.approved, true)
})

test('without an entry mode a PIN is tried as from a chip, and a CVV as from a shop on the web', async () => {
  await simulate({ pin: card.pin })
  await simulate({ cvv: card.cvv2 })
  await simulate({ pin: card.pin, entryMode: 'atm' })
  const { json } = await service.call('GET', `/cards/${card.publicToken}/attempts`)
  assert.deepEqual(
    json.map(({ entryMode }: { entryMode: string }) => entryMode),
    ['atm', 'ecommerce', 'chip'],
  )
  assert.equal((await simulate({ entryMode: 'atm' })).json.responseCode, '86')
  assert.equal((await simulate({ expiryDate: '2039-01' })).json.responseCode, '54')
})

test('a PIN of another length than the product’s is a wrong one', async () => {
  for (const pin of [`${card.pin}0`, `${card.pin}12345678`]) {
    assert.equal((await simulate({ pin })).json.responseCode, '55')
  }
  for (const pin of ['123', '1234567890123', 1234]) {
    assert.equal((await simulate({ pin })).status, 422)
  }
})

test('only one’s own cards can be tried: another client’s is like one that is not there', async () => {
  const other = await service.createCard({ cardProduct: 2001 }, { as: 'otherClient' })
  const texts = await Promise.all(
    [other.publicToken, '9999999999', 'x', ''].map(async (publicToken) => {
      const { json, status } = await simulate({ publicToken, pin: '1357', cvv: '123' })
      assert.equal(status, 404)
      return JSON.stringify({ ...json, requestId: '' })
    }),
  )
  assert.equal(new Set(texts).size, 1)
  const asOther = await simulate({ pin: otherDigits(card.pin) }, { as: 'otherClient' })
  assert.equal(asOther.json.code, 'card_not_found')
  const { json } = await service.call('GET', `/card-pin/${card.publicToken}/pin/status`)
  assert.equal(json.remainingTries, 3)
})

test('the simulator needs its own scope', async () => {
  const { scope } = service.sandbox ?? { scope: '' }
  const others = scope.split(' ').filter((each) => each !== 'simulator.write')
  const token = await service.token(others.join(' '))
  const answer = await simulate({ pin: card.pin }, { token })
  assert.deepEqual([answer.status, answer.json.code], [403, 'insufficient_scope'])
})

test('a simulation under an idempotency key spends once, and another PIN retires the key', async () => {
  const headers = { 'idempotency-key': randomUUID() }
  const pin = otherDigits(card.pin)
  const first = await simulate({ pin }, { headers })
  const second = await simulate({ pin }, { headers })
  assert.equal(second.text, first.text)
  assert.equal(second.headers['idempotency-replayed'], 'true')
  assert.equal((await simulate({ pin: card.pin }, { headers })).json.code, 'idempotency_key_reused')
  assert.equal((await simulate({ pin }, { headers })).json.code, 'idempotency_key_reused')
  assert.deepEqual((await simulate({ pin })).json.pin, { result: 'mismatch', remainingTries: 1 })
})

test('no client can become the simulator’s network, and no token names it', async () => {
  const answer = await service.call('POST', '//oauth/token', {
    token: null,
    payload: 'grant_type=client_credentials&client_id=sandbox-simulator&client_secret=x',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })
  assert.deepEqual([answer.status, answer.json.error], [401, 'invalid_client'])
})

test('in production there is no simulator and no movable clock', async () => {
  const folder = await makeFolder()
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  await writeFile(join(folder, 'admin.jwk'), JSON.stringify(publicKey.export({ format: 'jwk' })))
  await writeFile(join(folder, 'master.key'), randomBytes(32).toString('hex'), {
    mode: 0o600,
  })
  const production = await openTestService({
    env: {
      SANDBOX: 'false',
      DATABASE_URL: 'postgres://cards.test/cards?sslmode=verify-full',
      MASTER_KEY_FILE: join(folder, 'master.key'),
      ADMIN_JWK_FILE: join(folder, 'admin.jwk'),
      BASE_URL: 'https://cards.test',
      ACCEPT_SOFTWARE_HSM: 'yes',
    },
  })
  assert.equal(production.sandbox, null)
  for (const [method, where, listener] of [
    ['POST', path, 'public'],
    ['POST', '//sandbox/clock', 'private'],
    ['GET', '//sandbox/clock', 'private'],
  ] as const) {
    const { json, status } = await production.call(method, where, {
      token: null,
      listener,
      body: {},
    })
    assert.deepEqual([status, json.code], [404, 'not_found'], where)
  }
})
