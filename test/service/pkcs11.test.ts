import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { ConfigError, readConfig } from '../../src/config.ts'
import { StartRefusal } from '../../src/errors.ts'
import type { TokenSettings } from '../../src/hsm/pkcs11/token-session.ts'
import { specified } from '../api/operations.ts'
import { ask, cvvTry, issueCard, otherDigits, pinTry } from '../support/network.ts'
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
    const { publicToken } = await service.createCard()
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
  assert.match(faultsOf(production), /MASTER_KEY_FILE.*\n.*ACCEPT_SOFTWARE_HSM/)
  assert.match(faultsOf({ HSM: 'paper' }), /HSM must be one of software, pkcs11/)
})
