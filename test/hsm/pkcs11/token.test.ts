import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { chmod, writeFile } from 'node:fs/promises'
import { suite, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { Problem } from '../../../src/domain/problem.ts'
import { keyCatalogue } from '../../../src/hsm/contract/catalogue.ts'
import { openToken } from '../../../src/hsm/pkcs11/client.ts'
import { attribute, keyType, objectClass } from '../../../src/hsm/pkcs11/cryptoki.ts'
import { openPkcs11Hsm, openPkcs11KeyEngine } from '../../../src/hsm/pkcs11/hsm.ts'
import { composeLabel, composeReference, findObjects } from '../../../src/hsm/pkcs11/objects.ts'
import { openTokenSession, type TokenSettings } from '../../../src/hsm/pkcs11/session.ts'
import { openSoftHsm } from '../../support/softhsm.ts'
import { until } from '../../support/until.ts'
import { drawTdesKey, memoryKeyStore } from '../implementation.ts'
import { tokenProcesses } from './token-processes.ts'

const softHsm = openSoftHsm()

const isUnavailable = (error: unknown): boolean =>
  error instanceof Problem && error.code === 'unavailable'

/** Ends the process of a token, as a crash of its module would. */
async function crash(pid: number | undefined): Promise<void> {
  assert.ok(pid)
  process.kill(pid, 'SIGKILL')
  while ((await tokenProcesses()).includes(pid)) await wait(5)
}

/** Works in a token by another way than the HSM's, in this process. */
function inSession<Result>(
  settings: TokenSettings,
  work: (session: ReturnType<typeof openTokenSession>) => Result,
): Result {
  const session = openTokenSession(settings)
  try {
    return work(session)
  } finally {
    session.end()
  }
}

suite('keys in a PKCS#11 token', { skip: softHsm.leftOut }, () => {
  test('every key is private, sensitive and fixed, cannot leave, and may do nothing but its own', async () => {
    const settings = await softHsm.createToken()
    const token = await openToken(settings)
    const hsm = await openPkcs11Hsm({ token, keyStore: memoryKeyStore() })
    await hsm.importClearZoneKey('TDES', drawTdesKey())
    await hsm.importClearZoneKey('AES', randomBytes(32))
    token.close()
    inSession(settings, (session) => {
      const { cryptoki, handle } = session
      const secret = findObjects(session, [{ type: attribute.class, value: objectClass.secretKey }])
      const isPrivateHalf = [{ type: attribute.class, value: objectClass.privateKey }]
      const keys = [...secret, ...findObjects(session, isPrivateHalf)]
      assert.ok(keys.length >= 12)
      const flags = ['private', 'sensitive', 'extractable', 'modifiable', 'derive'] as const
      for (const key of keys) {
        const [label, ...values] = cryptoki.C_GetAttributeValue(
          handle,
          key,
          [attribute.label, ...flags.map((flag) => attribute[flag])].map((type) => ({ type })),
        )
        const name = label?.value.toString() ?? ''
        assert.match(name, /^pinfold-/)
        const [isPrivate, isSensitive, isExtractable, isModifiable, mayDerive] = values.map(
          ({ value }) => value[0],
        )
        assert.deepEqual([isPrivate, isSensitive, isExtractable, isModifiable], [1, 1, 0, 0], name)
        assert.equal(mayDerive, name.includes('EX') ? 1 : 0, name)
        assert.throws(() => {
          cryptoki.C_GetAttributeValue(handle, key, [{ type: attribute.value }])
        })
      }
    })
  })

  test('a key that could leave the token is not used', async () => {
    const settings = await softHsm.createToken()
    const key = {
      label: composeLabel(keyCatalogue.pan.kind, 'N'),
      id: randomBytes(16).toString('hex'),
    }
    inSession(settings, ({ cryptoki, handle }) => {
      cryptoki.C_CreateObject(handle, [
        { type: attribute.class, value: objectClass.secretKey },
        { type: attribute.keyType, value: keyType.aes },
        { type: attribute.value, value: randomBytes(32) },
        { type: attribute.token, value: true },
        { type: attribute.label, value: key.label },
        { type: attribute.id, value: Buffer.from(key.id, 'hex') },
        { type: attribute.extractable, value: true },
        { type: attribute.encrypt, value: true },
      ])
    })
    const token = await openToken(settings)
    const engine = openPkcs11KeyEngine(token)
    await assert.rejects(
      engine.open(keyCatalogue.pan.kind, composeReference(key)),
      /is extractable/,
    )
    token.close()
  })

  test('a PIN file that others can read, that is empty or missing, is refused by its name', async () => {
    const settings = await softHsm.createToken()
    const refuses = (pinFile: string, reason: RegExp) =>
      assert.rejects(openToken({ ...settings, pinFile }), (error) => {
        assert.ok(error instanceof Error && error.message.includes(pinFile))
        assert.match(error.message, reason)
        return true
      })
    await chmod(settings.pinFile, 0o640)
    await refuses(settings.pinFile, /0600/)
    const empty = `${settings.pinFile}.empty`
    await writeFile(empty, '\n', { mode: 0o600 })
    await refuses(empty, /must contain only the PIN/)
    await refuses(`${settings.pinFile}.missing`, /ENOENT/)
  })

  test('a wrong PIN is tried once and never again, not even when it is mended', async () => {
    const settings = await softHsm.createToken()
    const ofOthers = await tokenProcesses()
    const ofThisToken = async () =>
      (await tokenProcesses()).filter((pid) => !ofOthers.includes(pid))
    const token = await openToken(settings)
    await writeFile(settings.pinFile, '11111111\n')
    await crash((await ofThisToken())[0])
    await assert.rejects(token.ask('random', 1), isUnavailable)
    const before = await ofThisToken()
    await wait(300)
    await assert.rejects(token.ask('random', 1), isUnavailable)
    await writeFile(settings.pinFile, '73910462\n')
    await assert.rejects(token.ask('random', 1), isUnavailable)
    // The one that was refused may take a while to end: what counts is that no other was started.
    const started = (await ofThisToken()).filter((pid) => !before.includes(pid))
    assert.deepEqual(started, [])
    await writeFile(settings.pinFile, '11111111\n')
    await assert.rejects(openToken(settings), /refused the PIN/)
  })

  test('a token is found by its label, and two of one label are refused', async () => {
    const settings = await softHsm.createToken()
    await softHsm.createToken()
    const token = await openToken(settings)
    token.close()
    await softHsm.createToken(settings.tokenLabel)
    await assert.rejects(openToken(settings), /2 tokens have the label/)
    await assert.rejects(openToken({ ...settings, tokenLabel: 'none' }), /0 tokens/)
  })

  test('a token with other keys under the same label is not used by a service that runs', async () => {
    const settings = await softHsm.createToken()
    const ofOthers = await tokenProcesses()
    const token = await openToken(settings)
    const [checkValue] = token.checkValues
    await softHsm.hideTokens()
    await softHsm.createToken(settings.tokenLabel)
    // Not the greatest of all ids: numbers of processes begin anew.
    await crash((await tokenProcesses()).find((pid) => !ofOthers.includes(pid)))
    await assert.rejects(token.ask('random', 1), isUnavailable)
    await softHsm.showTokens()
    const isAnswered = () =>
      token.ask('random', 16).then(
        (bytes) => bytes.length === 16,
        () => false,
      )
    await until(isAnswered)
    const again = await openToken(settings)
    assert.deepEqual(again.checkValues, [checkValue])
    token.close()
    again.close()
  })

  test('several first starts agree on what tells their token from others', async () => {
    const settings = await softHsm.createToken()
    const tokens = await Promise.all([1, 2, 3].map(() => openToken(settings)))
    const latest = await openToken(settings)
    for (const { checkValues, close } of tokens) {
      for (const value of checkValues) assert.ok(latest.checkValues.includes(value))
      close()
    }
    latest.close()
  })
})
