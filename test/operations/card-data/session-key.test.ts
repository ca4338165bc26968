import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { constants, createPublicKey, publicEncrypt, randomBytes, webcrypto } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, mock, test } from 'node:test'
import { setImmediate as turnOfEventLoop } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Answer, CreatedCard } from '../../support/service.ts'
import { type CardDataService, openCardDataService, rsaTestKey } from './service.ts'

const run = promisify(execFile)

let service: CardDataService
let card: CreatedCard
let folder: string

before(async () => {
  service = await openCardDataService({ env: { RATE_LIMIT: 'off' } })
  card = await service.createCard()
  folder = await mkdtemp(join(tmpdir(), 'pinfold-openssl-'))
})
after(() => rm(folder, { recursive: true, force: true }))

const inFolder = (name: string): string => join(folder, name)
const openssl = (...values: string[]) => run('openssl', values, { cwd: folder })

/** What the service publishes in PEM, without a token. */
const fetchPem = async (kid: string): Promise<void> => {
  const { text } = await service.call('GET', `/keys/${kid}.pem`, { token: null })
  await writeFile(inFolder(`${kid}.pem`), text)
}

test('OpenSSL alone wraps a session key, verifies the answer and opens it', async () => {
  await fetchPem('card-data-wrap-1')
  await fetchPem('card-data-sign-1')
  await openssl('rand', '-out', 'session.key', '32')
  const oaep = ['rsa_padding_mode:oaep', 'rsa_oaep_md:sha256', 'rsa_mgf1_md:sha256']
  await openssl(
    ...['pkeyutl', '-encrypt', '-pubin', '-inkey', 'card-data-wrap-1.pem', '-in', 'session.key'],
    ...[...oaep.flatMap((option) => ['-pkeyopt', option]), '-out', 'wrapped.key'],
  )
  const key = (await readFile(inFolder('wrapped.key'))).toString('base64')
  const calledAt = Math.floor(Date.now() / 1000)
  const { json, status } = await service.getCardData(card.publicToken, { key, includePin: true })
  assert.equal(status, 200)
  const [iv, payload, signature] = [
    json.iv,
    json.encryptedPayload,
    json.signatureOfPayloadAndIv,
  ].map((text) => Buffer.from(text, 'base64'))
  assert.ok(iv && payload && signature)
  await writeFile(inFolder('signed'), Buffer.concat([payload, iv]))
  await writeFile(inFolder('signature'), signature)
  await writeFile(inFolder('payload'), payload)
  const verified = await openssl(
    ...['dgst', '-sha256', '-verify', 'card-data-sign-1.pem', '-signature', 'signature'],
    ...['-sigopt', 'rsa_padding_mode:pss', '-sigopt', 'rsa_pss_saltlen:32', 'signed'],
  )
  assert.equal(verified.stdout.trim(), 'Verified OK')
  const session = (await readFile(inFolder('session.key'))).toString('hex')
  const opened = await openssl(
    ...['enc', '-d', '-aes-256-cbc', '-K', session, '-iv', iv.toString('hex'), '-in', 'payload'],
  )
  const { CVV, expiryDate, iat, PAN, PIN, publicToken, ...others } = JSON.parse(opened.stdout)
  assert.deepEqual(others, {})
  assert.match(PAN, /^[0-9]{16}$/)
  assert.match(CVV, /^[0-9]{3}$/)
  assert.match(PIN, /^[0-9]{4}$/)
  assert.deepEqual([publicToken, expiryDate], [card.publicToken, card.expiryDate.slice(0, 7)])
  assert.ok(iat >= calledAt && iat <= calledAt + 60)
})

const wrapKey = createPublicKey(rsaTestKey('card-data-wrap'))
const oaepPadding = constants.RSA_PKCS1_OAEP_PADDING
const wrap = (bytes: Buffer, key = wrapKey, oaepHash = 'sha256', oaepLabel?: Buffer) =>
  publicEncrypt({ key, oaepHash, padding: oaepPadding, ...(oaepLabel && { oaepLabel }) }, bytes)

const sessionKey = randomBytes(32)
const good = () => wrap(sessionKey).toString('base64')
const changed = (at: number) => {
  const bytes = wrap(sessionKey)
  bytes[at] = (bytes[at] ?? 0) ^ 1
  return bytes.toString('base64')
}
const pkcs1 = () =>
  publicEncrypt({ key: wrapKey, padding: constants.RSA_PKCS1_PADDING }, sessionKey)
const raw = () => {
  const padded = Buffer.concat([Buffer.alloc(480), sessionKey])
  return publicEncrypt({ key: wrapKey, padding: constants.RSA_NO_PADDING }, padded)
}

/** Everything that can be wrong with a session key, each in a way of its own. */
const bad: Readonly<Record<string, () => string>> = {
  'nothing at all': () => '',
  'no base64': () => '!!!',
  base64url: () => good().replaceAll('+', '-').replaceAll('/', '_').replace(/=*$/, ''),
  'base64 with a line break': () => `${good().slice(0, 64)}\n${good().slice(64)}`,
  'a short ciphertext': () => wrap(sessionKey).subarray(1).toString('base64'),
  'a long ciphertext': () => Buffer.concat([Buffer.alloc(1), wrap(sessionKey)]).toString('base64'),
  'a number above the modulus': () => Buffer.alloc(512, 0xff).toString('base64'),
  zero: () => Buffer.alloc(512).toString('base64'),
  'random bytes': () => Buffer.concat([Buffer.alloc(1), randomBytes(511)]).toString('base64'),
  'its first byte changed': () => changed(1),
  'its last byte changed': () => changed(511),
  'PKCS#1 v1.5': () => pkcs1().toString('base64'),
  'no padding': () => raw().toString('base64'),
  'OAEP with SHA-1': () => wrap(sessionKey, wrapKey, 'sha1').toString('base64'),
  'OAEP with SHA-512': () => wrap(sessionKey, wrapKey, 'sha512').toString('base64'),
  'OAEP with a label': () =>
    wrap(sessionKey, wrapKey, 'sha256', Buffer.from('label')).toString('base64'),
  'the sign key used to wrap': () =>
    wrap(sessionKey, createPublicKey(rsaTestKey('card-data-sign'))).toString('base64'),
  'a key of somebody else': () =>
    wrap(sessionKey, createPublicKey(rsaTestKey('other'))).toString('base64'),
  'no key': () => wrap(Buffer.alloc(0)).toString('base64'),
  'an AES key of 16 bytes': () => wrap(randomBytes(16)).toString('base64'),
  'an AES key of 31 bytes': () => wrap(randomBytes(31)).toString('base64'),
  'an AES key of 33 bytes': () => wrap(randomBytes(33)).toString('base64'),
  'an AES key in hexadecimal': () =>
    wrap(Buffer.from(sessionKey.toString('hex'))).toString('base64'),
  '60 KiB': () => Buffer.alloc(45_000, 1).toString('base64'),
}

const withoutId = ({ headers, text, status }: Answer): unknown[] => {
  const { requestId, ...rest } = JSON.parse(text)
  assert.ok(requestId)
  const names = Object.keys(headers).filter((name) => name !== 'content-length')
  return [status, rest, names.sort(), headers['content-type']]
}

test('every bad session key has the same answer, which says nothing more', async () => {
  const answers = new Set<string>()
  for (const [what, key] of Object.entries(bad)) {
    const answer = await service.getCardData(card.publicToken, { key: key() })
    assert.deepEqual([answer.status, answer.json.code], [422, 'invalid_session_key'], what)
    assert.equal(answer.json.detail, undefined, what)
    answers.add(JSON.stringify(withoutId(answer)))
  }
  assert.equal(answers.size, 1)
  assert.equal((await service.getCardData(card.publicToken, { key: good() })).status, 200)
})

test('whatever is wrong with a session key, one private operation is done, on a number below the modulus', async () => {
  const { hsm } = service.issuing
  const modulus = Buffer.from(wrapKey.export({ format: 'jwk' }).n ?? '', 'base64url')
  const decrypt = mock.method(webcrypto.subtle, 'decrypt')
  for (const [what, key] of Object.entries(bad)) {
    assert.equal(await hsm.importSessionKey(key()), null, what)
    const [call, ...others] = decrypt.mock.calls
    assert.equal(others.length, 0, what)
    const operand = Buffer.from(call?.arguments[2] as Uint8Array)
    assert.equal(operand.length, modulus.length, what)
    assert.ok(Buffer.compare(operand, modulus) < 0, what)
    decrypt.mock.resetCalls()
  }
  decrypt.mock.restore()
})

test('every bad session key takes about the same processor time', async () => {
  const { hsm } = service.issuing
  const leastMs = new Map(Object.keys(bad).map((what) => [what, Number.POSITIVE_INFINITY]))
  // The least of several, taken in turns: whatever else the machine does only adds to it.
  for (let round = 0; round < 10; round += 1) {
    for (const [what, key] of Object.entries(bad)) {
      const made = key()
      const before = process.cpuUsage()
      await hsm.importSessionKey(made)
      const { system, user } = process.cpuUsage(before)
      leastMs.set(what, Math.min((system + user) / 1_000, leastMs.get(what) ?? 0))
    }
  }
  const all = [...leastMs.values()].sort((a, b) => a - b)
  const middle = all[Math.floor(all.length / 2)] ?? 0
  for (const [what, spentMs] of leastMs) {
    assert.ok(spentMs > middle / 3 && spentMs < middle * 3, `${what}: ${spentMs} of ${middle} ms`)
  }
})

test('RSA work is done beside the event loop, which turns meanwhile', async () => {
  const { hsm } = service.issuing
  const key = good()
  let isDone = false
  let turns = 0
  // Work in the loop itself would all be done before its first turn.
  const countTurns = async () => {
    for (; !isDone; turns += 1) await turnOfEventLoop()
  }
  const counted = countTurns()
  await Promise.all(Array.from({ length: 24 }, () => hsm.importSessionKey(key)))
  isDone = true
  await counted
  assert.ok(turns > 1, `${turns} turns`)
})
