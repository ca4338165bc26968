import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { before, suite, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { Cvv2 } from '../../../src/domain/cvv2.ts'
import { Problem } from '../../../src/domain/problem.ts'
import { Secret } from '../../../src/domain/secret.ts'
import type { Hsm } from '../../../src/hsm/contract/hsm.ts'
import { openToken, type Token } from '../../../src/hsm/pkcs11/client.ts'
import { openPkcs11Hsm } from '../../../src/hsm/pkcs11/hsm.ts'
import type { TokenSettings } from '../../../src/hsm/pkcs11/session.ts'
import { openSoftHsm } from '../../support/softhsm.ts'
import { memoryKeyStore, rules } from '../implementation.ts'
import { tokenProcesses } from './token-processes.ts'

const softHsm = openSoftHsm()

const isUnavailable = (error: unknown): boolean =>
  error instanceof Problem && error.code === 'unavailable'

/** Resolves with how long it took until the HSM answered again. */
async function healed(hsm: Hsm): Promise<number> {
  const since = performance.now()
  for (;;) {
    const answer = await hsm.ping().then(
      () => true,
      (error: unknown) => {
        assert.ok(isUnavailable(error))
        return false
      },
    )
    if (answer) return performance.now() - since
    assert.ok(performance.now() - since < 120_000, 'The HSM does not answer again.')
    await wait(20)
  }
}

suite('a PKCS#11 token that goes away', { skip: softHsm.leftOut }, () => {
  let settings: TokenSettings
  let token: Token
  let hsm: Hsm

  /** The token's own: other tests in this program may have theirs. */
  const processes = async () => {
    const found = await tokenProcesses()
    return found.filter((pid) => !others.includes(pid))
  }
  let others: readonly number[] = []

  /** One may just be starting. A signal to 0 would stop all tests. */
  const findProcess = async (): Promise<number> => {
    for (;;) {
      const [pid] = await processes()
      if (pid !== undefined) return pid
      await hsm.ping().catch(() => undefined)
      await wait(20)
    }
  }

  before(async () => {
    others = await tokenProcesses()
    settings = await softHsm.createToken()
    token = await openToken(settings)
    hsm = await openPkcs11Hsm({ token, keyStore: memoryKeyStore() })
  })

  /** Of every kind of verb one, each under another key. */
  const verbs = async (): Promise<(() => Promise<unknown>)[]> => {
    const card = await hsm.generateCardNumber('400000', 'cvk')
    const pin = await hsm.generatePin(card, rules())
    const sealed = await hsm.sealRecord('note', 'a', 'text')
    const [signing] = await hsm.tokenSigningKeys()
    return [
      () => hsm.generateCardNumber('400000', 'cvk'),
      () => hsm.generatePin(card, rules()),
      () => hsm.revealPin(card, pin),
      () => hsm.verifyCvv2(card, 'cvk/1', rules().expiry, new Cvv2('000')),
      () => hsm.sealRecord('note', 'a', 'text'),
      () => hsm.revealRecord('note', 'a', sealed),
      () =>
        hsm.fingerprintRequest({ clientId: 'a', idempotencyKey: 'b', request: new Secret('x') }),
      async () => signing?.sign(randomBytes(10)),
      () => hsm.importClearZoneKey('AES', randomBytes(32)),
      () => hsm.ping(),
    ]
  }

  test('each verb is unavailable while the token is hidden, and none once it is back', async () => {
    const asked = await verbs()
    await softHsm.hideTokens()
    try {
      for (const ask of asked) await assert.rejects(ask(), isUnavailable)
      await Promise.all(asked.map((ask) => assert.rejects(ask(), isUnavailable)))
    } finally {
      await softHsm.showTokens()
    }
    await healed(hsm)
    for (const ask of asked) await ask()
  })

  test('what is under way when the process of the token dies is unavailable, and the next is not', async () => {
    const asked = await verbs()
    const pid = await findProcess()
    // Stopped first, so that everything is under way.
    process.kill(pid, 'SIGSTOP')
    const underWay = asked.map((ask) => assert.rejects(ask(), isUnavailable))
    process.kill(pid, 'SIGKILL')
    await Promise.all(underWay)
    await Promise.all(asked.map((ask) => ask()))
    assert.ok(!(await processes()).includes(pid))
  })

  test('a module that hangs is given up after 5 s and replaced, and the wait for it blocks no other work', async () => {
    const pid = await findProcess()
    process.kill(pid, 'SIGSTOP')
    let turns = 0
    const timer = setInterval(() => {
      turns += 1
    }, 10)
    await assert.rejects(hsm.sealRecord('note', 'a', 'text'), isUnavailable)
    clearInterval(timer)
    assert.ok(turns > 5, 'the event loop stood still')
    await healed(hsm)
    assert.ok(!(await processes()).includes(pid))
  })

  test('beyond 1,000 questions that wait, the next is unavailable at once', async () => {
    const pid = await findProcess()
    process.kill(pid, 'SIGSTOP')
    let ended = 0
    const waiting = Array.from({ length: 1_000 }, () =>
      token.ask('random', 1).finally(() => {
        ended += 1
      }),
    )
    await assert.rejects(token.ask('random', 1), isUnavailable)
    assert.equal(ended, 0)
    process.kill(pid, 'SIGCONT')
    await Promise.all(waiting)
    await token.ask('random', 1)
  })

  test('a record that does not open is no outage: what else runs goes on', async () => {
    const sealed = await hsm.sealRecord('note', 'a', 'text')
    const mixed = Array.from({ length: 40 }, (_, at) =>
      at % 4 === 0
        ? assert.rejects(hsm.revealRecord('note', 'b', sealed), (error) => !isUnavailable(error))
        : hsm.revealRecord('note', 'a', sealed),
    )
    await Promise.all(mixed)
  })
})
