import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { before, test } from 'node:test'
import { unwrapKeyBlock, wrapKeyBlock } from '../../../src/crypto/key-block.ts'
import { xor } from '../../../src/crypto/refusal.ts'
import { setOddParity } from '../../../src/crypto/tdes-keys.ts'
import { chipKeyNames } from '../../../src/hsm/contract/catalogue.ts'
import { computeKeyCheckValue } from '../../../src/hsm/keys/key-check.ts'
import { composeHeader } from '../../../src/hsm/keys/key-purposes.ts'
import { computeKeyHash } from '../../support/identifiers.ts'
import { ask, issueCard, pinBlock } from '../../support/network.ts'
import { openTestService, sql, type TestService } from '../../support/service.ts'
import { type Administer, subjectOf } from './rotating.ts'

let service: TestService
let administer: Administer

before(async () => {
  service = await openTestService({ env: { RATE_LIMIT: 'off' } })
  administer = subjectOf(service).administer
})

const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex').toUpperCase()
const check = (algorithm: 'A' | 'T', key: Uint8Array) => computeKeyCheckValue(algorithm, key)

const drawChipKey = () => setOddParity(randomBytes(16))

type Parts = { first: Uint8Array; second: Uint8Array; key: Uint8Array }

const split = (algorithm: 'A' | 'T', lengthBytes: number): Parts => {
  const [first, second] = [randomBytes(lengthBytes), randomBytes(lengthBytes)]
  const whole = xor(first, second)
  return { first, second, key: algorithm === 'T' ? setOddParity(whole) : whole }
}

const open = async (key: string, algorithm: 'A' | 'T', parts: Parts, members: object = {}) => {
  const { json, status, text } = await administer('POST', '//component-entries', {
    family: 'zone-master',
    key,
    algorithm: algorithm === 'A' ? 'AES' : 'TDES',
    lengthBytes: parts.key.length,
    componentCount: 2,
    keyCheckValue: check(algorithm, parts.key),
    ...members,
  })
  assert.equal(status, 201, text)
  return json.entryId as string
}

const enter = (entryId: string, person: string, algorithm: 'A' | 'T', component: Uint8Array) =>
  administer('POST', `//component-entries/${entryId}/components`, {
    person,
    component: hexOf(component),
    keyCheckValue: check(algorithm, component),
  })

/** A zone master key that two people brought. @returns it in clear. */
const bring = async (key: string, algorithm: 'A' | 'T', lengthBytes: number) => {
  const parts = split(algorithm, lengthBytes)
  const entryId = await open(key, algorithm, parts)
  await enter(entryId, 'Ana Lim', algorithm, parts.first)
  const last = await enter(entryId, 'Bo Ek', algorithm, parts.second)
  assert.equal(last.json.key.keyCheckValue, check(algorithm, parts.key), last.text)
  return parts.key
}

const zone = { family: 'zone', clientId: 'demo-network', zoneMasterKey: 'zmk' }

test('two people make a zone master key, and a network’s key under it deciphers its PIN blocks', async () => {
  const zoneMasterKey = await bring('zmk', 'A', 32)
  const value = setOddParity(randomBytes(16))
  const header = composeHeader({ keyUsage: 'P0', algorithm: 'T', modeOfUse: 'D' }, 'N')
  const keyBlock = wrapKeyBlock(zoneMasterKey, header, value)
  const kept = await administer('POST', '//keys/import', {
    ...zone,
    key: 'zone-c',
    pinBlockFormats: ['ISO_FORMAT_0'],
    keyBlock,
    keyCheckValue: check('T', value),
  })
  assert.equal(kept.status, 201, kept.text)
  const card = await issueCard(service)
  const block = pinBlock(service, card, 'ISO_FORMAT_0', { name: 'zone-c', value })
  const answer = await ask(service, { pan: card.pan, pinBlock: block })
  assert.equal(answer.json.responseCode, '00')
  const retired = await administer('POST', '//keys/zones/retire', {
    key: 'zone-c',
    clientId: 'demo-network',
  })
  assert.equal(retired.status, 204)
  const after = await ask(service, { pan: card.pan, pinBlock: block })
  assert.equal(after.json.responseCode, '86')
})

test('one person brings one component, and a component that is not what its sender told is refused', async () => {
  const parts = split('A', 32)
  const entryId = await open('zmk-2', 'A', parts)
  const wrong = await administer('POST', `//component-entries/${entryId}/components`, {
    person: 'Ana Lim',
    component: hexOf(parts.first),
    keyCheckValue: '000000',
  })
  assert.deepEqual([wrong.status, wrong.json.code], [422, 'key_refused'])
  assert.equal((await enter(entryId, 'Ana Lim', 'A', parts.first)).json.entered.length, 1)
  const again = await enter(entryId, ' ana LIM', 'A', parts.second)
  assert.deepEqual([again.status, again.json.code], [422, 'key_refused'])
  assert.match(again.json.detail, /^Another person must enter/)
  assert.equal((await enter(entryId, 'Bo Ek', 'A', Buffer.alloc(32))).json.code, 'key_refused')
  assert.equal((await enter(entryId, 'Bo Ek', 'A', parts.second)).status, 200)
  assert.equal((await enter(entryId, 'Cy Oh', 'A', parts.second)).status, 404)
})

test('a combined key with another check value is refused, and its components are forgotten', async () => {
  const parts = split('A', 32)
  const entryId = await open('zmk-3', 'A', parts, { keyCheckValue: 'ABCDEF' })
  await enter(entryId, 'Ana Lim', 'A', parts.first)
  const last = await enter(entryId, 'Bo Ek', 'A', parts.second)
  assert.deepEqual([last.status, last.json.code], [422, 'key_refused'])
  const left = await sql(service.database, 'select person from key_component')
  assert.deepEqual(left, [])
})

test('nothing of a component is in any table, not even while its entry is open', async () => {
  const parts = split('A', 32)
  const entryId = await open('zmk-4', 'A', parts)
  const headers = { 'idempotency-key': 'component-1' }
  await service.call('POST', `//component-entries/${entryId}/components`, {
    as: 'admin',
    listener: 'private',
    headers,
    body: { person: 'Ana', component: hexOf(parts.first), keyCheckValue: check('A', parts.first) },
  })
  const tables = await sql<{ name: string }>(
    service.database,
    `select tablename as name from pg_tables where schemaname = 'public'`,
  )
  for (const { name } of tables) {
    const [row] = await sql<{ text: string }>(
      service.database,
      `select coalesce(string_agg(t::text, ' '), '') as text from ${name} t`,
    )
    assert.ok(!row?.text.toUpperCase().includes(hexOf(parts.first)), name)
  }
  const remembered = await sql(
    service.database,
    `select client_id from idempotency_record where key_hash = $1`,
    [await computeKeyHash(service, 'component-1', 'demo-admin')],
  )
  assert.deepEqual(remembered, [])
})

test('a key travels only under one that is as strong, for the use that it names, and whole', async () => {
  const zoneMasterKey = await bring('zmk-weak', 'A', 16)
  const aes256 = randomBytes(32)
  const of = (keyUsage: string, key: Uint8Array, algorithm = 'A', modeOfUse = 'B') =>
    wrapKeyBlock(zoneMasterKey, composeHeader({ keyUsage, algorithm, modeOfUse }, 'E'), key)
  const half = setOddParity(randomBytes(8))
  const whole = of('P0', randomBytes(16))
  const refused: readonly (readonly [string, string])[] = [
    [of('P0', aes256), 'weaker'],
    [of('D0', randomBytes(16)), 'another use'],
    [of('P0', Buffer.concat([half, half]), 'T'), 'weak'],
    [
      of(
        'P0',
        setOddParity(randomBytes(16)).map((byte) => byte ^ 1),
        'T',
      ),
      'parity',
    ],
    [`${whole.slice(0, -1)}${whole.endsWith('0') ? '1' : '0'}`, 'damaged'],
  ]
  for (const [keyBlock, why] of refused) {
    const answer = await administer('POST', '//keys/import', {
      ...zone,
      zoneMasterKey: 'zmk-weak',
      key: 'zone-x',
      pinBlockFormats: ['ISO_FORMAT_4'],
      keyBlock,
    })
    assert.deepEqual([answer.status, answer.json.code], [422, 'key_refused'], why)
    assert.match(answer.json.detail, new RegExp(why))
  }
})

test('the four keys of chips come as key blocks, each for its own usage only', async () => {
  const zoneMasterKey = await bring('zmk-chips', 'A', 32)
  const usages = { 'chip-ac': 'E0', 'chip-smc': 'E1', 'chip-smi': 'E2', 'chip-dynamic': 'E4' }
  const bringIn = (key: string, keyUsage: string, modeOfUse: string, value = drawChipKey()) =>
    administer('POST', '//keys/import', {
      family: 'installation',
      key,
      zoneMasterKey: 'zmk-chips',
      keyBlock: wrapKeyBlock(
        zoneMasterKey,
        composeHeader({ keyUsage, algorithm: 'T', modeOfUse }, 'N'),
        value,
      ),
      keyCheckValue: check('T', value),
    })
  for (const [key, usage] of Object.entries(usages)) {
    for (const [otherUsage, mode] of [
      [usage, 'C'],
      [usage === 'E0' ? 'E1' : 'E0', 'X'],
      ['E6', 'X'],
    ] as const) {
      const refused = await bringIn(key, otherUsage, mode)
      assert.deepEqual([refused.status, refused.json.code], [422, 'key_refused'], refused.text)
    }
    // Without a restriction of its mode, a key is still kept for derivation only.
    const kept = await bringIn(key, usage, key === 'chip-smi' ? 'N' : 'X')
    assert.deepEqual([kept.status, kept.json.version], [201, 2], kept.text)
  }
  const { json } = await administer('GET', '//keys')
  const listed = json
    .filter((row: { key: string; version: number }) => row.key in usages && row.version === 2)
    .map((row: { key: string; keyUsage: string; modeOfUse: string; state: string }) => [
      row.key,
      row.keyUsage,
      row.modeOfUse,
      row.state,
    ])
  const pending = Object.entries(usages).map(([key, usage]) => [key, usage, 'X', 'pending'])
  assert.deepEqual(listed.sort(), pending.sort())
  const pendingYet = await bringIn('chip-ac', 'E0', 'X')
  assert.match(pendingYet.json.detail, /chip-ac\/2 is still pending\. Rotate to it, or delete it/)
})

test('a key has one version, unless it is a key of chips that is behind the others', async () => {
  const zoneMasterKey = await bring('zmk-chips-again', 'A', 32)
  const header = composeHeader({ keyUsage: 'E0', algorithm: 'T', modeOfUse: 'X' }, 'N')
  const value = drawChipKey()
  const bringIn = async (key: string, keyUsage: string) => {
    await sql(
      service.database,
      `update hsm_key set state = 'active', activated_at = now()
      where key_name like 'chip-%' and state = 'pending'`,
    )
    return administer('POST', '//keys/import', {
      family: 'installation',
      key,
      zoneMasterKey: 'zmk-chips-again',
      keyBlock: wrapKeyBlock(zoneMasterKey, { ...header, keyUsage }, value),
      keyCheckValue: check('T', value),
    })
  }
  const first = await bringIn('chip-ac', 'E0')
  assert.equal(first.status, 201, first.text)
  const again = await bringIn('chip-ac', 'E0')
  assert.deepEqual([again.status, again.json.code], [422, 'key_refused'], again.text)
  const reference = `chip-ac/${first.json.version}`
  assert.match(again.json.detail, new RegExp(`^${reference} is this key already`))
  // Its number is not used up, so the numbers of the four keys stay equal.
  const behind = await bringIn('chip-smc', 'E1')
  assert.deepEqual([behind.status, behind.json.version], [201, first.json.version])
  await administer('POST', '//keys', { family: 'installation', key: 'chip-ac', exportable: false })
  const aligned = await bringIn('chip-smc', 'E1')
  assert.deepEqual([aligned.status, aligned.json.version], [201, first.json.version + 1])
})

test('keys of chips whose numbers differ are brought to one number again, as keys.md says', async () => {
  const other = await openTestService({ env: { RATE_LIMIT: 'off' } })
  const ask = subjectOf(other).administer
  const zmk = { family: 'zone-master', key: 'zmk-a', algorithm: 'AES', lengthBytes: 32 }
  assert.equal((await ask('POST', '//keys', { ...zmk, exportable: false })).status, 201)
  const blocks = new Map<string, string>()
  const make = async (key: string, exportable: boolean) => {
    const { json, text } = await ask('POST', '//keys', { family: 'installation', key, exportable })
    assert.ok(json.version, text)
    return json.version as number
  }
  const drop = async (key: string, version: number) =>
    assert.equal((await ask('POST', `//keys/${key}/versions/${version}/delete`)).status, 204)
  // The blocks of a producer.
  for (const key of chipKeyNames) {
    const version = await make(key, true)
    const exported = await ask('POST', '//keys/export', { key, version, zoneMasterKey: 'zmk-a' })
    assert.ok(exported.json.keyBlock, exported.text)
    blocks.set(key, exported.json.keyBlock)
    await drop(key, version)
  }
  const bringIn = async (key: string) => {
    const { json } = await ask('POST', '//keys/import', {
      family: 'installation',
      key,
      zoneMasterKey: 'zmk-a',
      keyBlock: blocks.get(key),
    })
    if (json.version === undefined) return json.code
    await sql(
      other.database,
      `update hsm_key set state = 'active', activated_at = now() where key_name = $1`,
      [key],
    )
    return json.version
  }
  const bringAll = async () => {
    const versions = []
    for (const key of chipKeyNames) versions.push(await bringIn(key))
    return versions
  }
  // By mistake, one number of chip-smc was used up before the import.
  await drop('chip-smc', await make('chip-smc', false))
  assert.deepEqual(await bringAll(), [3, 4, 3, 3])
  // The keys that are behind come again.
  for (const key of ['chip-ac', 'chip-smi', 'chip-dynamic']) assert.equal(await bringIn(key), 4)
  assert.deepEqual(
    await bringAll(),
    chipKeyNames.map(() => 'key_refused'),
    'the four keys have one number',
  )
  // Two numbers of chip-smi are used up after a rotation to other keys.
  for (const key of chipKeyNames) blocks.delete(key)
  for (const key of chipKeyNames) {
    if (key === 'chip-smi') await drop(key, await make(key, false))
    const version = await make(key, true)
    const exported = await ask('POST', '//keys/export', { key, version, zoneMasterKey: 'zmk-a' })
    blocks.set(key, exported.json.keyBlock)
    await drop(key, version)
  }
  assert.deepEqual(await bringAll(), [6, 6, 7, 6])
  // All numbers are used up to 8: no key is behind, but version 6 lacks a key for good.
  for (const key of ['chip-ac', 'chip-smc', 'chip-dynamic']) {
    for (const version of [7, 8]) {
      assert.equal(await make(key, false), version)
      await drop(key, version)
    }
  }
  await drop('chip-smi', await make('chip-smi', false))
  assert.deepEqual(await bringAll(), [9, 9, 9, 9])
})

test('a key leaves only if it is exportable, and only as a key block under a zone master key', async () => {
  const zoneMasterKey = await bring('zmk-out', 'T', 24)
  const generate = (key: string, exportable: boolean) =>
    administer('POST', '//keys', {
      family: 'zone',
      clientId: 'demo-network',
      key,
      pinBlockFormats: ['ISO_FORMAT_0'],
      algorithm: 'TDES',
      lengthBytes: 16,
      exportable,
    })
  assert.equal((await generate('zone-out', true)).status, 201)
  assert.equal((await generate('zone-stays', false)).status, 201)
  const out = (key: string, zoneMasterKeyName: string, members: object = {}) =>
    administer('POST', '//keys/export', {
      key,
      zoneMasterKey: zoneMasterKeyName,
      clientId: 'demo-network',
      ...members,
    })
  const { json, text } = await out('zone-out', 'zmk-out')
  assert.match(json.keyBlock, /^B/, text)
  const { header, key } = unwrapKeyBlock(zoneMasterKey, json.keyBlock)
  assert.deepEqual(
    [header.keyUsage, header.algorithm, check('T', key)],
    ['P0', 'T', json.keyCheckValue],
  )
  assert.match((await out('zone-stays', 'zmk-out')).json.detail, /not exportable/)
  const pan = await administer('POST', '//keys/export', { key: 'pan', zoneMasterKey: 'zmk' })
  assert.match(pan.json.detail, /not exportable/)
  assert.equal((await out('zone-out', 'nobody')).json.code, 'validation_failed')
})

test('a CVK of another processor comes in as a pending version', async () => {
  const value = setOddParity(randomBytes(16))
  const first = randomBytes(16)
  const parts = { first, second: xor(first, value), key: value }
  const entryId = await open('cvk', 'T', parts, { family: 'installation' })
  await enter(entryId, 'Ana Lim', 'T', parts.first)
  const { json } = await enter(entryId, 'Bo Ek', 'T', parts.second)
  assert.deepEqual(json.key, {
    family: 'installation',
    key: 'cvk',
    version: 2,
    keyCheckValue: check('T', value),
  })
  const listed = (await administer('GET', '//keys')).json.find(
    (row: { key: string; version: number }) => row.key === 'cvk' && row.version === 2,
  )
  assert.equal(listed.state, 'pending')
})
