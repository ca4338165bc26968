import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { before, test } from 'node:test'
import { unwrapKeyBlock, wrapKeyBlock } from '../../../src/crypto/key-block.ts'
import { tdesKeyCheckValue } from '../../../src/crypto/key-check-value.ts'
import { xor } from '../../../src/crypto/refusal.ts'
import { setOddParity } from '../../../src/crypto/tdes-keys.ts'
import { computeKeyCheckValue } from '../../../src/hsm/keys/key-check.ts'
import { composeHeader } from '../../../src/hsm/keys/key-purposes.ts'
import { advanceKeys } from '../../../src/operations/keys/rotate.ts'
import { openTestService, sql, type TestService } from '../../support/service.ts'
import { type Administer, subjectOf } from './rotating.ts'

let service: TestService
let administer: Administer

before(async () => {
  service = await openTestService({ env: { RATE_LIMIT: 'off' } })
  administer = subjectOf(service).administer
})

const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex').toUpperCase()
const checkValueOf = computeKeyCheckValue

const open = (members: object) =>
  administer('POST', '//component-entries', {
    family: 'zone-master',
    key: 'zmk',
    algorithm: 'AES',
    lengthBytes: 32,
    componentCount: 2,
    keyCheckValue: 'ABCDEF',
    ...members,
  })

const enter = (entryId: string, person: string, algorithm: 'A' | 'T', component: Uint8Array) =>
  administer('POST', `//component-entries/${entryId}/components`, {
    person,
    component: hexOf(component),
    keyCheckValue: checkValueOf(algorithm, component),
  })

/** A zone master key that two people brought. @returns it in clear. */
const bring = async (key: string, algorithm: 'A' | 'T', lengthBytes: number) => {
  const parts = [randomBytes(lengthBytes), randomBytes(lengthBytes)] as const
  const whole = xor(...parts)
  const value = algorithm === 'T' ? setOddParity(whole) : whole
  const { json } = await open({
    key,
    algorithm: algorithm === 'T' ? 'TDES' : 'AES',
    lengthBytes,
    keyCheckValue: checkValueOf(algorithm, value),
  })
  await enter(json.entryId, 'Ana Lim', algorithm, parts[0])
  const last = await enter(json.entryId, 'Bo Ek', algorithm, parts[1])
  assert.equal(last.status, 200, last.text)
  return value
}

const importZone = (zoneMasterKey: string, keyBlock: string, members: object = {}) =>
  administer('POST', '//keys/import', {
    family: 'zone',
    clientId: 'demo-network',
    key: 'zone-in',
    pinBlockFormats: ['ISO_FORMAT_0'],
    zoneMasterKey,
    keyBlock,
    ...members,
  })

test('components that cancel out are refused, because one person would know the key', async () => {
  for (const [algorithm, flip] of [
    ['A', 0],
    ['T', 1],
  ] as const) {
    const [twice, key] = [randomBytes(16), setOddParity(randomBytes(16))]
    const { json } = await open({
      key: `zmk-same-${algorithm.toLowerCase()}`,
      algorithm: algorithm === 'T' ? 'TDES' : 'AES',
      lengthBytes: 16,
      componentCount: 3,
      keyCheckValue: checkValueOf(algorithm, key),
    })
    await enter(json.entryId, 'Ana Lim', algorithm, twice)
    // The parity bits of a TDES key are no part of it.
    const same = twice.map((byte) => byte ^ flip)
    await enter(json.entryId, 'Bo Ek', algorithm, same)
    const last = await enter(json.entryId, 'Cy Oh', algorithm, key)
    assert.deepEqual([last.status, last.json.code], [422, 'key_refused'])
    assert.match(last.json.detail, /components are equal/)
  }
  assert.deepEqual(await sql(service.database, 'select person from key_component'), [])
})

test('an entry for an impossible key is refused before its first component', async () => {
  const zone = { family: 'zone', clientId: 'demo-network', pinBlockFormats: ['ISO_FORMAT_0'] }
  for (const [members, why] of [
    [{ algorithm: 'TDES', lengthBytes: 32 }, /length/],
    [{ family: 'installation', key: 'cvk' }, /algorithm or length does not match/],
    [{ family: 'installation', key: 'nobody' }, /no key of this name/],
    [{ ...zone, key: 'zone-x' }, /these PIN block formats or MACs must be a TDES key/],
  ] as const) {
    const refused = await open(members)
    assert.deepEqual([refused.status, refused.json.code], [422, 'key_refused'], refused.text)
    assert.match(refused.json.detail, why)
  }
})

test('components whose others never came are forgotten when their time is over', async () => {
  const { json } = await open({ key: 'zmk-late' })
  await enter(json.entryId, 'Ana Lim', 'A', randomBytes(32))
  await sql(service.database, `update component_entry set expires_at = now() - interval '1 second'`)
  assert.equal((await enter(json.entryId, 'Bo Ek', 'A', randomBytes(32))).status, 404)
  await advanceKeys(service.keys)
  assert.deepEqual(await sql(service.database, 'select person from key_component'), [])
  assert.deepEqual(await sql(service.database, 'select entry_id from component_entry'), [])
})

test('a key block is refused that holds a component, or is of a version for another algorithm', async () => {
  const aes = await bring('zmk-aes', 'A', 16)
  const tdes = await bring('zmk-tdes', 'T', 24)
  const value = setOddParity(randomBytes(16))
  const header = composeHeader({ keyUsage: 'P0', algorithm: 'T', modeOfUse: 'B' }, 'N')
  const component = wrapKeyBlock(aes, { ...header, keyVersion: 'c1' }, value)
  assert.match((await importZone('zmk-aes', component)).json.detail, /component/)
  const versionB = wrapKeyBlock(aes, { ...header, version: 'B' }, value)
  assert.match((await importZone('zmk-aes', versionB)).json.detail, /version/)
  const versionD = wrapKeyBlock(tdes, header, value)
  assert.match((await importZone('zmk-tdes', versionD)).json.detail, /version/)
  const right = wrapKeyBlock(tdes, { ...header, version: 'B' }, value)
  assert.equal((await importZone('zmk-tdes', right)).status, 201)
})

test('a zone key is of the cipher that its PIN block formats are for, brought or drawn', async () => {
  const zoneMasterKey = await bring('zmk-formats', 'A', 32)
  const header = composeHeader({ keyUsage: 'P0', algorithm: 'A', modeOfUse: 'B' }, 'N')
  const keyBlock = wrapKeyBlock(zoneMasterKey, header, randomBytes(32))
  const refused = await importZone('zmk-formats', keyBlock, { key: 'zone-aes' })
  assert.deepEqual([refused.status, refused.json.code], [422, 'key_refused'])
  const zone = { family: 'zone', clientId: 'demo-network' }
  const drawn = await administer('POST', '//keys', {
    ...zone,
    key: 'zone-drawn',
    pinBlockFormats: ['ISO_FORMAT_0', 'ISO_FORMAT_3'],
  })
  assert.equal(drawn.status, 201, drawn.text)
  const listed = (await administer('GET', '//keys')).json.find(
    ({ key }: { key: string }) => key === 'zone-drawn',
  )
  assert.equal(listed.algorithm, 'T')
  const wrong = await administer('POST', '//keys', {
    ...zone,
    key: 'zone-wrong',
    pinBlockFormats: ['ISO_FORMAT_4'],
    algorithm: 'TDES',
    lengthBytes: 16,
  })
  assert.equal(wrong.json.code, 'key_refused')
})

test('a check value counts with every digit that its sender told', async () => {
  const zoneMasterKey = await bring('zmk-check', 'A', 32)
  const value = setOddParity(randomBytes(16))
  const header = composeHeader({ keyUsage: 'P0', algorithm: 'T', modeOfUse: 'B' }, 'N')
  const keyBlock = wrapKeyBlock(zoneMasterKey, header, value)
  const whole = hexOf(tdesKeyCheckValue(value, 8))
  const wrongAtTheEnd = `${whole.slice(0, -1)}${whole.endsWith('0') ? '1' : '0'}`
  const told = (keyCheckValue: string) =>
    importZone('zmk-check', keyBlock, { key: 'zone-check', keyCheckValue })
  assert.match((await told(wrongAtTheEnd)).json.detail, /check value of the key differs/)
  assert.equal((await told(whole.toLowerCase())).status, 201)
})

test('a check value may have digits in a row as a card number has them, and may not be a card number', async () => {
  const zoneMasterKey = await bring('zmk-digits', 'A', 32)
  const header = composeHeader({ keyUsage: 'P0', algorithm: 'T', modeOfUse: 'B' }, 'N')
  const keyBlock = wrapKeyBlock(zoneMasterKey, header, setOddParity(randomBytes(16)))
  const told = (keyCheckValue: string) =>
    importZone('zmk-digits', keyBlock, { key: 'zone-digits', keyCheckValue })
  assert.match((await told('C378282246310005')).json.detail, /check value of the key differs/)
  assert.match((await told('4111111111111111')).text, /must not be a card number/)
})

test('a key that leaves says nothing of what it was for here', async () => {
  const zoneMasterKey = await bring('zmk-out', 'A', 32)
  const zone = { clientId: 'demo-network', key: 'zone-out' }
  const formats = { pinBlockFormats: ['ISO_FORMAT_4'], exportable: true }
  await administer('POST', '//keys', { family: 'zone', ...zone, ...formats })
  const { json } = await administer('POST', '//keys/export', { ...zone, zoneMasterKey: 'zmk-out' })
  assert.deepEqual(unwrapKeyBlock(zoneMasterKey, json.keyBlock).header.optionalBlocks, [])
})

test('what opens data at rest, or signs, never leaves, however it is asked for or came', async () => {
  const zoneMasterKey = await bring('zmk-leave', 'A', 32)
  for (const key of ['pan', 'pin-storage', 'personal-data', 'token-signing']) {
    const body = { family: 'installation', key, exportable: true }
    const refused = await administer('POST', '//keys', body)
    assert.deepEqual([refused.status, refused.json.code], [422, 'key_refused'], key)
  }
  const header = composeHeader({ keyUsage: 'D0', algorithm: 'A', modeOfUse: 'B' }, 'E')
  const keyBlock = wrapKeyBlock(zoneMasterKey, header, randomBytes(32))
  const target = { family: 'installation', key: 'pan', zoneMasterKey: 'zmk-leave', keyBlock }
  assert.equal((await administer('POST', '//keys/import', target)).status, 201)
  const leaving = { key: 'pan', version: 2, zoneMasterKey: 'zmk-leave' }
  assert.match((await administer('POST', '//keys/export', leaving)).json.detail, /not exportable/)
  const cvk = { family: 'installation', key: 'cvk', exportable: true }
  assert.equal((await administer('POST', '//keys', cvk)).status, 201)
})
