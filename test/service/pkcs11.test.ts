import assert from 'node:assert/strict'
import {
  constants,
  createDecipheriv,
  createPublicKey,
  publicEncrypt,
  randomBytes,
  randomUUID,
  verify,
} from 'node:crypto'
import { existsSync } from 'node:fs'
import { before, suite, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { CompactEncrypt, type JWK } from 'jose'
import { StartRefusal } from '../../src/domain/problem.ts'
import type { TokenSettings } from '../../src/hsm/pkcs11/session.ts'
import { ConfigError, readConfig } from '../../src/service/config/config.ts'
import { tokenProcesses } from '../hsm/pkcs11/token-processes.ts'
import { createUsualCard, specified } from '../listeners/public/operations.ts'
import { ask, chooseNewPin, cvvTry, issueCard, otherDigits, pinTry } from '../support/network.ts'
import { makePreparedFolder, startProgram } from '../support/process.ts'
import { openEmbedded, openTestService, sql, type TestService } from '../support/service.ts'
import { openSoftHsm } from '../support/softhsm.ts'

const softHsm = openSoftHsm()

const envOf = ({ module, pinFile, tokenLabel }: TokenSettings) => ({
  HSM: 'pkcs11',
  PKCS11_MODULE: module,
  PKCS11_TOKEN_LABEL: tokenLabel,
  PKCS11_PIN_FILE: pinFile,
})

suite('a service whose keys lie in a PKCS#11 token', { skip: softHsm.leftOut }, () => {
  let service: TestService
  let env: Record<string, string>

  before(async () => {
    env = envOf(await softHsm.createToken())
    service = await openTestService({ env })
  })

  test('does the eight operations', async () => {
    const { publicToken } = await createUsualCard(service)
    for (const { body, method, name, path, status } of specified) {
      const answer = await service.call(method, path(publicToken), body && { body })
      assert.equal(answer.status, status, name)
    }
    const told = await service.call('GET', `/card-pin/${publicToken}/pin`)
    assert.deepEqual(told.json, { pin: '7193' })
  })

  test('approves the right PIN and CVV2 and refuses others', async () => {
    const card = await issueCard(service)
    for (const format of ['pin', 'cvv'] as const) {
      const right = format === 'pin' ? pinTry(service, card) : cvvTry(card)
      const wrong =
        format === 'pin'
          ? pinTry(service, card, otherDigits(card.pin))
          : cvvTry(card, otherDigits(card.cvv2))
      assert.equal((await ask(service, wrong)).json.approved, false)
      const { json } = await ask(service, right)
      assert.deepEqual([json.approved, json[format].result], [true, 'match'])
    }
  })

  test('seals card data to a session key and takes in a PIN that a device sealed', async () => {
    await service.issuing.hsm.generateCardDataKeys()
    const card = await issueCard(service)
    const published = await service.call('GET', '//.well-known/jwks.json', { token: null })
    const jwkOf = (name: string): JWK =>
      published.json.keys.find(({ kid }: JWK) => kid === `card-data-${name}-1`)
    const publicKey = (name: string) => createPublicKey({ key: { ...jwkOf(name) }, format: 'jwk' })
    const sessionKey = randomBytes(32)
    const key = publicEncrypt({ key: publicKey('wrap'), oaepHash: 'sha256' }, sessionKey)
    const { json } = await service.call('POST', `/cards/${card.publicToken}/encrypted`, {
      body: { key: key.toString('base64'), includePin: true },
    })
    const [iv, payload, signature] = (
      ['iv', 'encryptedPayload', 'signatureOfPayloadAndIv'] as const
    ).map((name) => Buffer.from(json[name], 'base64')) as [Buffer, Buffer, Buffer]
    const padding = constants.RSA_PKCS1_PSS_PADDING
    const signer = { key: publicKey('sign'), padding, saltLength: 32 }
    assert.ok(verify('sha256', Buffer.concat([payload, iv]), signer, signature))
    const decipher = createDecipheriv('aes-256-cbc', sessionKey, iv)
    const clear = JSON.parse(Buffer.concat([decipher.update(payload), decipher.final()]).toString())
    assert.deepEqual([clear.PAN, clear.CVV, clear.PIN], [card.pan, card.cvv2, card.pin])

    const pin = chooseNewPin(card)
    const iat = Math.floor(Date.now() / 1000)
    const envelope = { pin, publicToken: card.publicToken, jti: randomUUID(), iat }
    const encryptedPin = await new CompactEncrypt(Buffer.from(JSON.stringify(envelope)))
      .setProtectedHeader({ alg: 'ECDH-ES', enc: 'A256GCM', typ: 'set-pin+jwe' })
      .encrypt(publicKey('pin'))
    const path = `/card-pin/${card.publicToken}/pin`
    const set = await service.call('POST', path, { body: { encryptedPin } })
    assert.equal(set.status, 204, set.text)
    assert.deepEqual((await service.call('GET', path)).json, { pin })
  })

  test('keeps references to its keys in the database, and no key', async () => {
    const rows = await sql<{ keyBlock: string }>(
      service.database,
      'select key_block as "keyBlock" from hsm_key',
    )
    assert.ok(rows.length >= 8)
    for (const { keyBlock } of rows) assert.match(keyBlock, /^pkcs11:object=pinfold-/)
  })

  test('answers 96 and 503 while the token is away, spends no try, and heals by itself', async () => {
    const card = await issueCard(service)
    const ready = () => service.call('GET', '//readyz', { token: null, listener: 'private' })
    assert.equal((await ready()).status, 200)
    await softHsm.hideTokens()
    try {
      for (const question of [pinTry(service, card), cvvTry(card)]) {
        const { json, status } = await ask(service, question)
        assert.deepEqual([status, json.responseCode], [200, '96'])
      }
      const path = `/card-pin/${card.publicToken}/pin`
      assert.equal((await service.call('GET', path)).status, 503)
      assert.equal((await ready()).status, 503)
    } finally {
      await softHsm.showTokens()
    }
    while ((await ready()).status !== 200) await wait(50)
    const { json } = await service.call('GET', `/cards/${card.publicToken}`)
    assert.deepEqual([json.pinStatus.remainingTries, json.cvvStatus.remainingTries], [3, 3])
    assert.equal((await ask(service, pinTry(service, card))).json.approved, true)
  })

  test('finds its keys again at the next start, and with no other HSM', async () => {
    const database = await openEmbedded()
    const first = await openTestService({ database, env })
    const { publicToken } = await first.createCard()
    const told = await first.call('GET', `/card-pin/${publicToken}/pin`)
    const { dataDir } = first
    const second = await openTestService({ database, env, dataDir })
    const again = await second.call('GET', `/card-pin/${publicToken}/pin`)
    assert.deepEqual(again.json, told.json)
    const other = envOf(await softHsm.createToken())
    await assert.rejects(openTestService({ database, env: other, dataDir }), StartRefusal)
    await assert.rejects(openTestService({ database, env: {}, dataDir }), /check value/)
  })

  test('leaves no process behind, whether it is stopped in order, with its group, or killed', async () => {
    const dataDir = await makePreparedFolder(undefined, 'migrated')
    for (const [signal, code] of [
      ['SIGTERM', 0],
      ['SIGKILL', null],
    ] as const) {
      const program = await startProgram({ dataDir, env: { ...env, ...softHsm.env } })
      const [holder = 0] = await tokenProcesses(program.pid)
      // As from a terminal, where a signal goes to the whole group.
      process.kill(holder, 'SIGINT')
      assert.equal(
        (await program.call('GET', '/products', { token: await program.token() })).status,
        200,
      )
      const holders = await tokenProcesses(program.pid)
      assert.ok(holders.includes(holder))
      assert.equal((await program.kill(signal)).code, code)
      // One that makes an RSA key for a service that was killed ends with the key.
      const due = signal === 'SIGKILL' ? [holder] : holders
      while (due.some((pid) => existsSync(`/proc/${pid}`))) await wait(20)
    }
  })

  test('does not start, and says why, where the token cannot be used', async () => {
    for (const [wrong, message] of [
      [{ PKCS11_MODULE: '/nowhere/module.so' }, /token cannot be used/],
      [{ PKCS11_TOKEN_LABEL: 'of nobody' }, /0 tokens have the label of nobody/],
      [{ PKCS11_PIN_FILE: '/nowhere/pin' }, /\/nowhere\/pin/],
    ] as const) {
      const { database } = service
      await assert.rejects(openTestService({ database, env: { ...env, ...wrong } }), (error) => {
        assert.ok(error instanceof StartRefusal)
        assert.match(error.message, message)
        return true
      })
    }
  })
})

test('the PKCS#11 HSM says all that it lacks, and needs no master key and no acceptance', () => {
  const faultsOf = (environment: Record<string, string>): string => {
    try {
      readConfig(environment)
      return ''
    } catch (error) {
      assert.ok(error instanceof ConfigError)
      return error.faults.join('\n')
    }
  }
  const names = ['PKCS11_MODULE', 'PKCS11_TOKEN_LABEL', 'PKCS11_PIN_FILE']
  const lacking = faultsOf({ HSM: 'pkcs11' })
  for (const name of names) assert.ok(lacking.includes(name), name)
  const production = {
    SANDBOX: 'false',
    DATABASE_URL: 'postgres://127.0.0.1:1/none',
    BASE_URL: 'https://pinfold.test',
    ADMIN_JWK_FILE: 'admin.jwk',
  }
  const given = Object.fromEntries(names.map((name) => [name, 'x']))
  assert.equal(faultsOf({ ...production, ...given, HSM: 'pkcs11' }), '')
  assert.match(faultsOf(production), /HSM is software.*ACCEPT_SOFTWARE_HSM.*\n.*MASTER_KEY_FILE/)
  assert.match(faultsOf({ HSM: 'paper' }), /HSM must be one of software, pkcs11/)
})
