import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import {
  type PinfoldEvent,
  type PinfoldMessage,
  signTestWebhook,
  verifyWebhook,
  WebhookError,
  type WebhookErrorCode,
} from '../../../packages/sdk/webhooks/webhooks.ts'
import type { Message } from '../../../src/listeners/public/schemas/events.ts'

const secret = `whsec_${randomBytes(32).toString('base64')}`
const message: PinfoldMessage = {
  type: 'pin.blocked',
  timestamp: '2026-11-20T08:00:00.000Z',
  data: { publicToken: '4820117360', sequence: 7, blockedBy: 'tries' },
}

const refuses = (code: WebhookErrorCode) => (error: unknown) =>
  error instanceof WebhookError && error.code === code

// Each may stand for the other: a member that one lacks or has otherwise fails the check of types.
export const typesAgree: [
  Message extends PinfoldEvent ? true : false,
  PinfoldEvent extends Message ? true : false,
] = [true, true]

test('what the published package signs is taken in, and what this one signs the published one takes', async () => {
  const body = JSON.stringify(message)
  const at = new Date()
  const headers = {
    'webhook-id': 'one',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': new Webhook(secret).sign('one', at, body),
  }
  assert.deepEqual(await verifyWebhook(headers, body, secret), message)
  const signed = await signTestWebhook(message, secret)
  assert.deepEqual(new Webhook(secret).verify(signed.body, signed.headers), message)
})

test('headers are read as fetch and as Node.js have them', async () => {
  const { body, headers } = await signTestWebhook(message, secret)
  const upper = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]),
  )
  for (const each of [headers, upper, new Headers(headers)]) {
    assert.deepEqual(await verifyWebhook(each, body, secret), message)
  }
})

test('a message signed with several secrets is taken by each of them', async () => {
  const other = `whsec_${randomBytes(32).toString('base64')}`
  const at = new Date()
  const [one, two] = await Promise.all(
    [secret, other].map((each) => signTestWebhook(message, each, { id: 'one', at })),
  )
  assert.ok(one && two)
  const signature = `v1a,ignored ${one.headers['webhook-signature']} ${two.headers['webhook-signature']}`
  const headers = { ...one.headers, 'webhook-signature': signature }
  for (const each of [secret, other]) {
    assert.deepEqual(await verifyWebhook(headers, one.body, each), message)
  }
})

test('what is changed, old, from the future, unsigned or signed by another is refused', async () => {
  const { body, headers } = await signTestWebhook(message, secret)
  const with_ = (changed: Record<string, string>) => ({ ...headers, ...changed })
  const other = `whsec_${randomBytes(32).toString('base64')}`
  const refusals: readonly (readonly [WebhookErrorCode, Record<string, string>, string, string])[] =
    [
      ['invalid_signature', headers, body.replace('7', '8'), secret],
      ['invalid_signature', headers, body, other],
      ['invalid_signature', with_({ 'webhook-id': 'another' }), body, secret],
      ['invalid_signature', with_({ 'webhook-signature': 'v1,' }), body, secret],
      ['invalid_signature', with_({ 'webhook-signature': `v1,${'A'.repeat(43)}=` }), body, secret],
      ['missing_header', with_({ 'webhook-signature': '' }), body, secret],
      ['wrong_time', with_({ 'webhook-timestamp': 'NaN' }), body, secret],
      ['invalid_secret', headers, body, 'whsec_'],
      ['invalid_secret', headers, body, secret.slice(6)],
    ]
  for (const [code, given, text, key] of refusals) {
    await assert.rejects(verifyWebhook(given, text, key), refuses(code), code)
  }
  // Well beyond the 300: a second is cut off, and the next may begin meanwhile.
  for (const seconds of [-310, 310]) {
    const at = new Date(Date.now() + seconds * 1_000)
    const signed = await signTestWebhook(message, secret, { at })
    await assert.rejects(verifyWebhook(signed.headers, signed.body, secret), refuses('wrong_time'))
  }
})

test('a runtime without Web Cryptography is named, and the secret is not blamed', async (t) => {
  const { body, headers } = await signTestWebhook(message, secret)
  t.mock.getter(globalThis, 'crypto', () => ({}))
  await assert.rejects(verifyWebhook(headers, body, secret), refuses('no_web_crypto'))
})
