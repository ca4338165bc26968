import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { wrapKeyBlock } from '../../../src/crypto/key-block.ts'
import { setOddParity } from '../../../src/crypto/tdes-keys.ts'
import { type KeyKind, keyCatalogue, keyNames } from '../../../src/hsm/contract/catalogue.ts'
import type { KeyState, StoredKey } from '../../../src/hsm/contract/stored-keys.ts'
import { composeHeader, purposeIn } from '../../../src/hsm/keys/key-purposes.ts'
import { openKeyRing } from '../../../src/hsm/keys/key-ring.ts'
import { refuseWeakerProtection, refuseWeakKey } from '../../../src/hsm/keys/key-strength.ts'
import { openSoftwareKeyEngine } from '../../../src/hsm/software/key-engine.ts'
import {
  type MasterKeys,
  openMasterKeys,
  readMasterKeys,
  SecretKey,
  toMasterKeys,
} from '../../../src/hsm/software/master-keys.ts'
import { findMasterKeyCheckValue } from '../../../src/storage/engine/installation.ts'
import { openTestService, sql, type TestService } from '../../support/service.ts'
import { subjectOf } from './rotating.ts'

let service: TestService

before(async () => {
  service = await openTestService()
})

const openMasterKeysOf = ({ database, dataDir }: TestService): Promise<MasterKeys> =>
  openMasterKeys({
    read: () => readMasterKeys(join(dataDir, 'master.key')),
    current: () => findMasterKeyCheckValue(database),
  })

const keptBlock = async (keyName: string): Promise<string> => {
  const [row] = await sql<{ block: string }>(
    service.database,
    'select key_block as block from hsm_key where key_name = $1',
    [keyName],
  )
  return row?.block ?? ''
}

const put = (keyName: string, keyBlock: string) =>
  sql(service.database, 'update hsm_key set key_block = $2 where key_name = $1', [
    keyName,
    keyBlock,
  ])

/** Rotates the master key to a new one. */
const rotate = async () => {
  const { administer, dataDir } = subjectOf(service)
  await appendFile(join(dataDir, 'master.key'), `${randomBytes(32).toString('hex')}\n`)
  const { keyCheckValue } = await newest(dataDir)
  return administer('POST', '//keys/master-key/rotate', { keyCheckValue })
}

const newest = async (dataDir: string) => {
  const key = (await readMasterKeys(join(dataDir, 'master.key'))).at(-1)
  assert.ok(key)
  return { keyCheckValue: toMasterKeys(key).currentCheckValue() }
}

test('a key opens for its purpose and for none of the others, also of the same use', async () => {
  const masterKey = new SecretKey(randomBytes(32))
  const engine = openSoftwareKeyEngine(masterKey)
  const zone: KeyKind = { ...keyCatalogue['pin-storage'].kind, purpose: 'zone' }
  const kinds = [...keyNames.map((name): KeyKind => keyCatalogue[name].kind), zone]
  for (const kind of kinds.filter(({ algorithm }) => algorithm !== 'R')) {
    const { keyBlock } = await engine.generate(kind)
    await engine.open(kind, keyBlock)
    for (const other of kinds.filter(({ purpose }) => purpose !== kind.purpose)) {
      await assert.rejects(
        engine.open(other, keyBlock),
        /another use/,
        `${kind.purpose} as ${other.purpose}`,
      )
    }
  }
})

test('a purpose that is changed in a key block breaks it', async () => {
  const masterKey = new SecretKey(randomBytes(32))
  const engine = openSoftwareKeyEngine(masterKey)
  const { keyBlock } = await engine.generate(keyCatalogue['token-signing'].kind)
  const changed = keyBlock.replace('token-signing', 'token-singing')
  assert.notEqual(changed, keyBlock)
  assert.throws(() => toMasterKeys(masterKey).unwrap(changed), { code: 'key_block_refused' })
})

test('key blocks that change rows are refused, and nothing is signed under the wrong one', async () => {
  const names = ['token-signing', 'card-data-sign-ec'] as const
  const [first, second] = [await keptBlock(names[0]), await keptBlock(names[1])]
  await put(names[0], second)
  await put(names[1], first)
  await assert.rejects(service.keys.hsm.refreshKeys(), /another use/)
  await put(names[0], first)
  await put(names[1], second)
  await service.keys.hsm.refreshKeys()
})

test('a block from before there were purposes still opens, and gets its own with the next master key', async () => {
  const masterKeys = await openMasterKeysOf(service)
  const { purpose, ...use } = keyCatalogue['token-signing'].kind
  const { key } = masterKeys.unwrap(await keptBlock(purpose))
  await put(purpose, masterKeys.wrap(composeHeader(use, 'N'), key))
  await service.keys.hsm.refreshKeys()
  const [before] = await service.issuing.hsm.tokenSigningKeys()
  const answer = await rotate()
  assert.equal(answer.status, 200, answer.text)
  const rewrapped = (await openMasterKeysOf(service)).unwrap(await keptBlock(purpose))
  assert.equal(purposeIn(rewrapped.header), purpose)
  assert.deepEqual(rewrapped.key, key)
  const [after] = await service.issuing.hsm.tokenSigningKeys()
  assert.deepEqual(after?.publicJwk, before?.publicJwk)
})

test('the master key does not rotate over a key block that is in the row of another', async () => {
  const block = await keptBlock('pan')
  await put('pan', await keptBlock('personal-data'))
  const refused = await rotate()
  assert.deepEqual([refused.status, refused.json.code], [422, 'key_refused'])
  assert.match(refused.json.detail, /key block of pan has another purpose in its label/)
  await put('pan', block)
  assert.equal((await rotate()).status, 200)
})

test('a whole key block of another use is refused for the use that its row asks for', async () => {
  const masterKey = new SecretKey(randomBytes(32))
  const header = composeHeader({ ...keyCatalogue.pvk.kind, purpose: 'cvk' }, 'N')
  const block = wrapKeyBlock(
    masterKey.reveal(),
    header,
    Buffer.from('0123456789ABCDEFFEDCBA9876543210', 'hex'),
  )
  await assert.rejects(
    openSoftwareKeyEngine(masterKey).open(keyCatalogue.cvk.kind, block),
    /another use/,
  )
})

const hex = (text: string) => Buffer.from(text, 'hex')
const tdes = (lengthBytes: number) => setOddParity(randomBytes(lengthBytes))
const half = tdes(8)

/** Keys that nobody may use, by what is wrong with them. */
const badKeys: readonly (readonly [string, string, Uint8Array])[] = [
  ['weak', 'T', Buffer.concat([hex('0101010101010101'), half])],
  ['semi-weak', 'T', Buffer.concat([half, hex('01fe01fe01fe01fe')])],
  ['with equal parts', 'T', Buffer.concat([half, half])],
  ['of three parts, the first again the last', 'T', Buffer.concat([half, tdes(8), half])],
  ['of wrong parity', 'T', tdes(16).map((byte) => byte ^ 1)],
  ['of one DES key', 'T', half],
  ['short', 'A', randomBytes(8)],
  ['with equal parts', 'A', Buffer.concat([Buffer.alloc(16, 7), Buffer.alloc(16, 7)])],
  ['short', 'H', randomBytes(16)],
]

test('a key that is weak, semi-weak, short, of wrong parity or of equal parts is refused', () => {
  for (const [what, algorithm, key] of badKeys) {
    assert.throws(() => refuseWeakKey(algorithm, key), { name: 'KeyRefusal' }, what)
  }
  for (const lengthBytes of [16, 24]) refuseWeakKey('T', tdes(lengthBytes))
  for (const lengthBytes of [16, 24, 32]) refuseWeakKey('A', randomBytes(lengthBytes))
})

test('and it is refused where it is used, although its key block is whole', async () => {
  const masterKey = new SecretKey(randomBytes(32))
  const engine = openSoftwareKeyEngine(masterKey)
  const weak = Buffer.concat([half, half])
  const block = wrapKeyBlock(masterKey.reveal(), composeHeader(keyCatalogue.cvk.kind, 'N'), weak)
  await assert.rejects(engine.open(keyCatalogue.cvk.kind, block), { name: 'KeyRefusal' })
  await assert.rejects(engine.import(keyCatalogue.cvk.kind, weak), /weak|equal/)
})

test('a key is never protected by a weaker one', () => {
  const aes256 = { algorithm: 'A', lengthBytes: 32 }
  const aes128 = { algorithm: 'A', lengthBytes: 16 }
  const tripleTdes = { algorithm: 'T', lengthBytes: 24 }
  const doubleTdes = { algorithm: 'T', lengthBytes: 16 }
  for (const [weaker, stronger] of [
    [doubleTdes, tripleTdes],
    [tripleTdes, aes128],
    [aes128, aes256],
    [doubleTdes, { algorithm: 'H', lengthBytes: 32 }],
  ] as const) {
    assert.throws(() => refuseWeakerProtection(weaker, stronger), { name: 'KeyRefusal' })
    refuseWeakerProtection(stronger, weaker)
  }
})

test('a key block opens for the use that it names and for no other', async () => {
  const engine = openSoftwareKeyEngine(new SecretKey(randomBytes(32)))
  const { keyBlock } = await engine.generate(keyCatalogue['personal-data'].kind)
  await engine.open(keyCatalogue['personal-data'].kind, keyBlock)
  for (const kind of [
    keyCatalogue['pin-storage'].kind,
    keyCatalogue.cvk.kind,
    keyCatalogue['pan-fingerprint'].kind,
  ]) {
    await assert.rejects(engine.open(kind, keyBlock), /another use/)
  }
})

const memoryStore = (keys: StoredKey[] = []) => ({
  keys,
  list: async (): Promise<readonly StoredKey[]> => keys,
  add: async (key: StoredKey) => {
    keys.push(key)
  },
})

test('a process that could not read the keys for too long answers nothing', async () => {
  const engine = openSoftwareKeyEngine(new SecretKey(randomBytes(32)))
  const store = memoryStore()
  const patient = await openKeyRing(engine, store, { staleAfterMs: 3_600_000 })
  // Every reading is too old as soon as it is there.
  const strict = await openKeyRing(engine, store, { staleAfterMs: -1 })
  store.list = async () => {
    throw new Error('away')
  }
  assert.equal((await patient.active('pan')).version, 1)
  await assert.rejects(strict.active('pan'), { code: 'unavailable' })
  await assert.rejects(strict.versions('pan-fingerprint'), { code: 'unavailable' })
  store.list = async () => store.keys
  assert.equal((await strict.active('pan')).version, 1)
})

test('a pending version makes nothing, a retired one still opens, an unknown one is looked up', async () => {
  const engine = openSoftwareKeyEngine(new SecretKey(randomBytes(32)))
  const store = memoryStore()
  const ring = await openKeyRing(engine, store)
  assert.ok(keyNames.length > 0)
  const add = async (keyVersion: number, state: KeyState) =>
    store.add({
      keyName: 'pan',
      keyVersion,
      state,
      ...(await engine.generate(keyCatalogue.pan.kind)),
    })
  await add(2, 'pending')
  assert.equal((await ring.version('pan', 2)).state, 'pending')
  assert.equal((await ring.active('pan')).version, 1)
  store.keys.splice(
    0,
    store.keys.length,
    ...store.keys.map((key) =>
      key.keyName === 'pan'
        ? ({ ...key, state: key.keyVersion === 1 ? 'retired' : 'active' } as const)
        : key,
    ),
  )
  await ring.refresh()
  assert.equal((await ring.active('pan')).version, 2)
  assert.equal((await ring.version('pan', 1)).state, 'retired')
  assert.deepEqual(
    (await ring.versions('pan')).map(({ version }) => version),
    [2],
  )
  await assert.rejects(ring.version('pan', 9), /not in the HSM/)
})
