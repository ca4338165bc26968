import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { before, suite, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { wrapKeyBlock } from '../../../src/crypto/key-block.ts'
import { xor } from '../../../src/crypto/refusal.ts'
import { setOddParity } from '../../../src/crypto/tdes-keys.ts'
import { computeKeyCheckValue } from '../../../src/hsm/keys/key-check.ts'
import { composeHeader } from '../../../src/hsm/keys/key-purposes.ts'
import { attribute } from '../../../src/hsm/pkcs11/cryptoki.ts'
import { findObjects } from '../../../src/hsm/pkcs11/objects.ts'
import { openTokenSession, type TokenSettings } from '../../../src/hsm/pkcs11/session.ts'
import { type Administer, subjectOf } from '../../operations/keys/rotating.ts'
import { ask, issueCard, pinBlock } from '../../support/network.ts'
import { openTestService, sql, type TestService } from '../../support/service.ts'
import { openSoftHsm } from '../../support/softhsm.ts'

const softHsm = openSoftHsm()
const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex').toUpperCase()

type Code = 'A' | 'T'
const forms = {
  A: { algorithm: 'AES', lengthBytes: 32 },
  T: { algorithm: 'TDES', lengthBytes: 16 },
} as const

suite('keys that come into a PKCS#11 token', { skip: softHsm.leftOut }, () => {
  let settings: TokenSettings
  let service: TestService
  let administer: Administer

  before(async () => {
    settings = await softHsm.createToken()
    const { module, pinFile, tokenLabel } = settings
    const token = {
      PKCS11_MODULE: module,
      PKCS11_PIN_FILE: pinFile,
      PKCS11_TOKEN_LABEL: tokenLabel,
    }
    service = await openTestService({ env: { HSM: 'pkcs11', RATE_LIMIT: 'off', ...token } })
    administer = subjectOf(service).administer
  })

  const zone = { family: 'zone', clientId: 'demo-network' }

  /** Two people bring a key. @returns it in clear. */
  const bring = async (
    code: Code,
    target: object,
    lengthBytes: number = forms[code].lengthBytes,
  ) => {
    const parts = [randomBytes(lengthBytes), randomBytes(lengthBytes)] as const
    const whole = xor(...parts)
    const value = code === 'T' ? setOddParity(whole) : whole
    const keyCheckValue = computeKeyCheckValue(code, value)
    const entry = { ...forms[code], lengthBytes, componentCount: 2, keyCheckValue, ...target }
    const { json, text } = await administer('POST', '//component-entries', entry)
    const enter = (person: string, part: Uint8Array) =>
      administer('POST', `//component-entries/${json.entryId}/components`, {
        person,
        component: hexOf(part),
        keyCheckValue: computeKeyCheckValue(code, part),
      })
    assert.equal((await enter('Ana Lim', parts[0])).status, 200, text)
    const last = await enter('Bo Ek', parts[1])
    return { value, last, parts }
  }

  const importBlock = (zoneMasterKey: string, keyBlock: string, members: object = {}) =>
    administer('POST', '//keys/import', { ...zone, zoneMasterKey, keyBlock, ...members })

  const inSession = <Result>(work: (session: ReturnType<typeof openTokenSession>) => Result) => {
    const session = openTokenSession(settings)
    try {
      return work(session)
    } finally {
      session.end()
    }
  }

  /** A card's own PIN in a block under a key that came in, as its network would send it. */
  const approves = async (
    name: string,
    value: Uint8Array,
    format: 'ISO_FORMAT_0' | 'ISO_FORMAT_4',
  ) => {
    const card = await issueCard(service)
    const block = pinBlock(service, card, format, { name, value: Buffer.from(value) })
    const { json } = await ask(service, { pan: card.pan, pinBlock: block })
    return json.responseCode
  }

  test('a network’s key comes in components, and deciphers its PIN blocks from inside the token', async () => {
    for (const [code, format] of [
      ['T', 'ISO_FORMAT_0'],
      ['A', 'ISO_FORMAT_4'],
    ] as const) {
      const key = `zone-parts-${code.toLowerCase()}`
      const { last, value } = await bring(code, { ...zone, key, pinBlockFormats: [format] })
      assert.equal(last.json.key.keyCheckValue, computeKeyCheckValue(code, value), last.text)
      assert.equal(await approves(key, value, format), '00')
    }
  })

  test('a network’s key comes as a key block of version B or D, under a key that came in components', async () => {
    for (const [code, length, version] of [
      ['T', 16, 'B'],
      ['T', 24, 'B'],
      ['A', 16, 'D'],
      ['A', 32, 'D'],
    ] as const) {
      const name = `${code.toLowerCase()}${length}`
      const target = { family: 'zone-master', key: `zmk-${name}` }
      const { value: zoneMasterKey } = await bring(code, target, length)
      const value = setOddParity(randomBytes(16))
      const use = { keyUsage: 'P0', algorithm: 'T', modeOfUse: 'D' }
      const keyBlock = wrapKeyBlock(zoneMasterKey, { ...composeHeader(use, 'N'), version }, value)
      const key = `zone-${name}`
      const keyCheckValue = computeKeyCheckValue('T', value)
      const pinBlockFormats = ['ISO_FORMAT_0']
      const members = { key, keyCheckValue, pinBlockFormats }
      const kept = await importBlock(`zmk-${name}`, keyBlock, members)
      assert.equal(kept.status, 201, kept.text)
      assert.equal(kept.json.keyCheckValue, keyCheckValue)
      assert.equal(await approves(key, value, 'ISO_FORMAT_0'), '00')
    }
  })

  test('what is not what it should be is refused, and leaves no key in the token', async () => {
    const { value: zmk } = await bring('A', { family: 'zone-master', key: 'zmk-strict' }, 16)
    const count = () => inSession((session) => findObjects(session, []).length)
    const before = count()
    const of = (key: Uint8Array, use: object = {}) => {
      const header = composeHeader({ keyUsage: 'P0', algorithm: 'T', modeOfUse: 'B', ...use }, 'N')
      return wrapKeyBlock(zmk, header, key)
    }
    const sound = setOddParity(randomBytes(16))
    const half = sound.subarray(0, 8)
    const whole = of(sound)
    const changed = `${whole.slice(0, -1)}${whole.endsWith('0') ? '1' : '0'}`
    const refused: readonly (readonly [string, RegExp, object?])[] = [
      [changed, /damaged/],
      [of(Buffer.concat([half, half])), /weak/],
      [of(sound.map((byte) => byte ^ 1)), /parity/],
      [of(half), /length/],
      [of(sound, { keyUsage: 'K1' }), /another use/],
      [of(randomBytes(32), { algorithm: 'A' }), /weaker/],
      [whole, /check value of the key differs/, { keyCheckValue: '000000' }],
    ]
    for (const [keyBlock, why, members] of refused) {
      const pinBlockFormats = ['ISO_FORMAT_0']
      const given = { key: 'zone-no', pinBlockFormats, ...members }
      const answer = await importBlock('zmk-strict', keyBlock, given)
      assert.deepEqual([answer.status, answer.json.code], [422, 'key_refused'], answer.text)
      assert.match(answer.json.detail, why)
    }
    const wrong = { family: 'zone-master', key: 'zmk-wrong', keyCheckValue: 'ABCDEF' }
    const { last } = await bring('A', wrong)
    assert.deepEqual([last.status, last.json.code], [422, 'key_refused'])
    assert.deepEqual(await sql(service.database, 'select person from key_component'), [])
    assert.equal(count(), before)
  })

  test('an act that is refused at its commit, or was answered already, leaves no key in the token', async () => {
    const { value: zmk } = await bring('A', { family: 'zone-master', key: 'zmk-commit' })
    const count = () => inSession((session) => findObjects(session, []).length)
    const ask = (path: string, idempotencyKey: string, body?: object) =>
      service.call('POST', path, {
        as: 'admin',
        listener: 'private',
        headers: { 'idempotency-key': idempotencyKey },
        ...(body && { body }),
      })
    const before = count()
    const header = composeHeader({ keyUsage: 'P0', algorithm: 'A', modeOfUse: 'B' }, 'N')
    const keyBlock = wrapKeyBlock(zmk, header, randomBytes(16))
    const formats = { pinBlockFormats: ['ISO_FORMAT_4'] }
    const acts = [
      ['//keys', { ...zone, key: 'zone-commit', ...formats }],
      ['//keys/cvk/rotate'],
      [
        '//keys/import',
        { ...zone, key: 'zone-came', ...formats, zoneMasterKey: 'zmk-commit', keyBlock },
      ],
    ] as const
    const shut =
      'alter table idempotency_record add constraint shut check (answer is null) not valid'
    await sql(service.database, shut)
    for (const [path, body] of acts) assert.equal((await ask(path, path, body)).status, 500, path)
    await sql(service.database, 'alter table idempotency_record drop constraint shut')
    assert.equal(count(), before)
    for (const [path, body] of acts) {
      const first = await ask(path, path, body)
      assert.ok(first.status < 300, first.text)
      const kept = count()
      assert.ok(kept > before)
      assert.deepEqual((await ask(path, path, body)).json, first.json)
      assert.equal(count(), kept)
    }
  })

  const names = ['sensitive', 'extractable', 'modifiable', 'encrypt', 'decrypt', 'wrap'] as const
  /** What the token allows a key to do, and that its value cannot be read. */
  const flags = (label: string) =>
    inSession((session) => {
      const [object] = findObjects(session, [{ type: attribute.label, value: label }])
      assert.ok(object)
      const { cryptoki, handle } = session
      const types = names.map((name) => ({ type: attribute[name] }))
      assert.throws(() => cryptoki.C_GetAttributeValue(handle, object, [{ type: attribute.value }]))
      const found = cryptoki.C_GetAttributeValue(handle, object, types)
      return found.map(({ value }) => value[0])
    })

  test('a key that came in cannot leave the token, and does nothing but its own', async () => {
    await bring('A', { family: 'zone-master', key: 'zmk-inside' })
    await bring('T', { ...zone, key: 'zone-inside', pinBlockFormats: ['ISO_FORMAT_0'] })
    const rows = await sql<{ reference: string }>(
      service.database,
      `select key_block as reference from zone_key where key_name = 'zone-inside'
       union all select key_block from zone_master_key where key_name = 'zmk-inside'`,
    )
    const labels = rows.map(({ reference }) => /object=([^;]+)/.exec(reference)?.[1] ?? '').sort()
    assert.deepEqual(labels, ['pinfold-K1ABN-zone-master-32', 'pinfold-P0TBN-zone-16'])
    assert.deepEqual(flags('pinfold-K1ABN-zone-master-32'), [1, 0, 0, 1, 0, 0])
    assert.deepEqual(flags('pinfold-P0TBN-zone-16'), [1, 0, 0, 1, 1, 0])
  })

  test('a master key of chips comes as a key block, and can only encipher', async () => {
    const { value: zmk } = await bring('A', { family: 'zone-master', key: 'zmk-chips' })
    const value = setOddParity(randomBytes(16))
    const use = { keyUsage: 'E0', algorithm: 'T', modeOfUse: 'N' }
    const kept = await importBlock('zmk-chips', wrapKeyBlock(zmk, composeHeader(use, 'E'), value), {
      family: 'installation',
      key: 'chip-ac',
      clientId: undefined,
      keyCheckValue: computeKeyCheckValue('T', value),
    })
    assert.deepEqual([kept.status, kept.json.version], [201, 2], kept.text)
    assert.deepEqual(flags('pinfold-E0TXN-chip-ac-16'), [1, 0, 0, 1, 0, 0])
  })

  test('a component lies sealed until the others have come', async () => {
    const form = { ...forms.A, componentCount: 2, keyCheckValue: 'ABCDEF' }
    const target = { family: 'zone-master', key: 'zmk-waiting' }
    const { json } = await administer('POST', '//component-entries', { ...form, ...target })
    const component = randomBytes(32)
    await administer('POST', `//component-entries/${json.entryId}/components`, {
      person: 'Ana Lim',
      component: hexOf(component),
      keyCheckValue: computeKeyCheckValue('A', component),
    })
    const [row] = await sql<{ kept: string }>(
      service.database,
      'select key_block as kept from key_component',
    )
    assert.match(row?.kept ?? '', /^pkcs11:object=pinfold-10ABN-component-32;id=.*;sealed=/)
    const [, sealed = ''] = (row?.kept ?? '').split(';sealed=')
    assert.ok(!hexOf(Buffer.from(sealed, 'base64url')).includes(hexOf(component)))
  })

  test('while the token is away no component is taken, and none that waits is lost', async () => {
    const parts = [randomBytes(32), randomBytes(32)] as const
    const keyCheckValue = computeKeyCheckValue('A', xor(...parts))
    const target = { family: 'zone-master', key: 'zmk-away', keyCheckValue }
    const entry = { ...forms.A, componentCount: 2, ...target }
    const { json } = await administer('POST', '//component-entries', entry)
    const enter = (person: string, part: Uint8Array) =>
      administer('POST', `//component-entries/${json.entryId}/components`, {
        person,
        component: hexOf(part),
        keyCheckValue: computeKeyCheckValue('A', part),
      })
    assert.equal((await enter('Ana Lim', parts[0])).status, 200)
    await softHsm.hideTokens()
    try {
      assert.equal((await enter('Bo Ek', parts[1])).status, 503)
    } finally {
      await softHsm.showTokens()
    }
    const ready = () => service.call('GET', '//readyz', { token: null, listener: 'private' })
    while ((await ready()).status !== 200) await wait(50)
    const last = await enter('Bo Ek', parts[1])
    assert.equal(last.json.key?.keyCheckValue, keyCheckValue, last.text)
  })

  test('a key does not leave the token, and its own keys rotate with its own tools: both are told', async () => {
    await bring('A', { family: 'zone-master', key: 'zmk-out' })
    const inside = { key: 'zone-stays', pinBlockFormats: ['ISO_FORMAT_0'] }
    assert.equal((await administer('POST', '//keys', { ...zone, ...inside })).status, 201)
    const told = async (path: string, body: object) => {
      const { json, status } = await administer('POST', path, body)
      assert.deepEqual([status, json.code], [422, 'key_refused'])
      return json.detail
    }
    const exportable = { ...zone, ...inside, key: 'zone-leaves', exportable: true }
    assert.match(await told('//keys', exportable), /cannot be exported/)
    const leaving = { key: 'zone-stays', clientId: 'demo-network', zoneMasterKey: 'zmk-out' }
    assert.match(await told('//keys/export', leaving), /cannot be exported/)
    assert.match(await told('//keys/master-key/rotate', {}), /own tools/)
  })

  test('a reference in the row of another purpose is refused, also of the same use', async () => {
    const blockOf = async (name: string) => {
      const [row] = await sql<{ block: string }>(
        service.database,
        'select key_block as block from hsm_key where key_name = $1',
        [name],
      )
      return row?.block ?? ''
    }
    const put = (name: string, block: string) =>
      sql(service.database, 'update hsm_key set key_block = $2 where key_name = $1', [name, block])
    const own = await blockOf('token-signing')
    await put('token-signing', await blockOf('card-data-sign-ec'))
    await assert.rejects(service.keys.hsm.refreshKeys(), /another use/)
    await put('token-signing', own)
    await service.keys.hsm.refreshKeys()
  })

  test('a service that starts again puts none of its keys into the token once more', async () => {
    const count = () => inSession((session) => findObjects(session, []).length)
    const before = count()
    const { dataDir, database } = service
    const { module, pinFile, tokenLabel } = settings
    const env = {
      HSM: 'pkcs11',
      PKCS11_MODULE: module,
      PKCS11_PIN_FILE: pinFile,
      PKCS11_TOKEN_LABEL: tokenLabel,
    }
    await openTestService({ database, dataDir, env })
    assert.equal(count(), before)
  })
})
