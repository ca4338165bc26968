/**
 * Rule 9: two signing secrets are valid for 24 h after a rotation; both signatures are sent, with
 * key ids.
 */
import assert from 'node:assert/strict'
import { createPublicKey, randomUUID, verify } from 'node:crypto'
import { suite, test } from 'node:test'
import { WebhookSecret } from '../../../../src/domain/webhook-secret.ts'
import { createDecisionSigner } from '../../../../src/operations/decisions/signing.ts'
import { expireOneTimeRecords } from '../../../../src/service/background.ts'
import {
  isDecisionSigned,
  openDecisionEndpoint,
  type ReceivedDecision,
} from '../../../support/decision-endpoint.ts'
import { databaseEngines } from '../../../support/engines.ts'
import { openTestService, sql, type TestService } from '../../../support/service.ts'
import { activate, answerPing, findEndpoint, setEndpoint } from '../endpoint-service.ts'

type Key = { keyId: string; publicKey: string; signsUntil: string | null }

/** Reads an Ed25519 key in the form of Standard Webhooks. */
const parsePublicKey = (text: string) => {
  const x = Buffer.from(text.replace(/^whpk_/, ''), 'base64').toString('base64url')
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
}

/** Each signature of a message, with the id of its key. */
const signaturesOf = ({ headers }: ReceivedDecision): { keyId: string; signature: string }[] => {
  const keyIds = String(headers['webhook-key-id']).split(' ')
  const signatures = String(headers['webhook-signature']).split(' ')
  assert.equal(keyIds.length, signatures.length)
  return signatures.map((signature, at) => ({ keyId: keyIds[at] ?? '', signature }))
}

/** The exact text that a message's signatures are of. */
const signedText = ({ bytes, headers }: ReceivedDecision): string =>
  `${headers['webhook-id']}.${headers['webhook-timestamp']}.${bytes}`

const isSignedBy = (received: ReceivedDecision, { keyId, publicKey }: Key): boolean =>
  signaturesOf(received)
    .filter((each) => each.keyId === keyId && each.signature.startsWith('v1a,'))
    .some(({ signature }) =>
      verify(
        null,
        Buffer.from(signedText(received)),
        parsePublicKey(publicKey),
        Buffer.from(signature.slice(4), 'base64'),
      ),
    )

/** Registers changed settings and activates them: the ping is a signed request. */
const requestSigned = async (service: TestService, timeoutMs: number) => {
  const endpoint = await openDecisionEndpoint(answerPing)
  await setEndpoint(service, { url: endpoint.url, timeoutMs })
  assert.equal((await activate(service)).status, 200)
  const [received] = endpoint.received
  assert(received)
  return received
}

const rotate = (service: TestService, headers = {}) =>
  service.call('POST', '/decision-endpoint/rotate-secret', { headers })

const keysOf = async (service: TestService): Promise<Key[]> =>
  (await findEndpoint(service)).json.signingKeys

for (const engine of databaseEngines) {
  suite(engine.name, { skip: engine.skip }, () => {
    test('each request has an HMAC and an Ed25519 signature, with the id of their key', async () => {
      const service = await openTestService({ database: await engine.open() })
      const { secret } = (await setEndpoint(service, {})).json
      const received = await requestSigned(service, 900)
      const [key, ...others] = await keysOf(service)
      assert(key)
      assert.deepEqual(others, [])
      assert.deepEqual(
        signaturesOf(received).map(({ keyId, signature }) => [keyId, signature.split(',')[0]]),
        [
          [key.keyId, 'v1'],
          [key.keyId, 'v1a'],
        ],
      )
      assert(isDecisionSigned(secret, received))
      assert(isSignedBy(received, key))
      const changed = { ...received, bytes: Buffer.concat([received.bytes, Buffer.from(' ')]) }
      assert(!isDecisionSigned(secret, changed))
      assert(!isSignedBy(changed, key))
    })

    test('after a rotation both keys sign for 24 hours, and then the new one alone', async () => {
      const service = await openTestService({ database: await engine.open() })
      const { secret: former } = (await setEndpoint(service, {})).json
      const rotated = await rotate(service)
      assert.equal(rotated.status, 200, rotated.text)
      const { secret } = rotated.json
      assert.notEqual(secret, former)
      const keys = await keysOf(service)
      assert.deepEqual(rotated.json.signingKeys, keys)
      const [present, past] = keys
      assert(present && past)
      assert.equal(present.signsUntil, null)
      const hours = (Date.parse(past.signsUntil ?? '') - Date.now()) / 3_600_000
      assert(hours > 23.9 && hours < 24.1)

      const received = await requestSigned(service, 900)
      assert.equal(signaturesOf(received).length, 4)
      assert.equal(signaturesOf(received)[0]?.keyId, present.keyId)
      for (const each of [secret, former]) assert(isDecisionSigned(each, received))
      for (const key of [present, past]) assert(isSignedBy(received, key))

      await sql(
        service.database,
        `update decision_signing_key set signs_until = now() where signs_until is not null`,
      )
      // Another process, which knows nothing of the time before.
      const later = createDecisionSigner({ database: service.database, hsm: service.issuing.hsm })
      const headers = await later.signDecision('demo-client', randomUUID(), new Date(), '{}')
      assert.equal(headers['webhook-key-id'], `${present.keyId} ${present.keyId}`)
      await expireOneTimeRecords(service.database, new Date())
      const rows = await sql(service.database, 'select key_id from decision_signing_key')
      assert.deepEqual(rows, [{ key_id: present.keyId }])
    })

    test('the secret of a rotation is shown once, and five rotations are possible in 24 hours', async () => {
      const service = await openTestService({ database: await engine.open() })
      assert.equal((await rotate(service)).status, 404)
      await setEndpoint(service, {})
      const headers = { 'idempotency-key': randomUUID() }
      const first = await rotate(service, headers)
      const again = await rotate(service, headers)
      assert.match(first.json.secret, /^whsec_/)
      assert.equal(again.json.secret, undefined)
      assert.deepEqual(again.json.signingKeys, first.json.signingKeys)
      for (let count = 2; count <= 5; count += 1) {
        assert.equal((await rotate(service)).status, 200)
      }
      const refused = await rotate(service)
      assert.deepEqual([refused.status, refused.json.code], [429, 'rate_limited'])
      assert(Number(refused.headers['retry-after']) > 86_000)
      assert.equal((await keysOf(service)).length, 6)
    })

    test('two rotations at once leave one present key', async () => {
      const service = await openTestService({ database: await engine.open() })
      await setEndpoint(service, {})
      const answers = await Promise.all([rotate(service), rotate(service)])
      assert.deepEqual(
        answers.map(({ status }) => status),
        [200, 200],
      )
      const keys = await keysOf(service)
      assert.equal(keys.filter(({ signsUntil }) => signsUntil === null).length, 1)
      assert.equal(keys.length, 3)
    })

    test('a key is opened for its client and key id only', async () => {
      const service = await openTestService({ database: await engine.open() })
      await setEndpoint(service, {})
      await sql(service.database, `update decision_signing_key set client_id = 'demo-other-client'`)
      const signer = createDecisionSigner({ database: service.database, hsm: service.issuing.hsm })
      await assert.rejects(signer.signDecision('demo-other-client', randomUUID(), new Date(), '{}'))
    })
  })
}

test('the HMAC signature is that of Standard Webhooks', () => {
  const secret = new WebhookSecret('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')
  // The example of the specification (Standard Webhooks 1.0.0).
  const signature = secret.sign(
    'msg_p5jXN8AQM9LWM0D4loKWxJek',
    '1614265330',
    '{"test": 2432232314}',
  )
  assert.equal(signature, 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
})
