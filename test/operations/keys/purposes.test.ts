import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { wrapKeyBlock } from '../../../src/crypto/key-block.ts'
import { type KeyKind, keyCatalogue, keyNames } from '../../../src/hsm/contract/catalogue.ts'
import { headerOf, purposeIn } from '../../../src/hsm/keys/key-purposes.ts'
import { openSoftwareKeyEngine } from '../../../src/hsm/software/key-engine.ts'
import {
  type MasterKeys,
  masterKeysOf,
  openMasterKeys,
  readMasterKeys,
  SecretKey,
} from '../../../src/hsm/software/master-keys.ts'
import { findMasterKeyCheckValue } from '../../../src/storage/engine/installation.ts'
import { openTestService, sql, type TestService } from '../../support/service.ts'
import { subjectOf } from './in-process.ts'

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
  return { keyCheckValue: masterKeysOf(key).currentCheckValue() }
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
  assert.throws(() => masterKeysOf(masterKey).unwrap(changed), { code: 'key_block_refused' })
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
  await put(purpose, masterKeys.wrap(headerOf(use, 'N'), key))
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
  assert.match(refused.json.detail, /pan says that its key is for another purpose/)
  await put('pan', block)
  assert.equal((await rotate()).status, 200)
})

test('a whole key block of another use is refused for the use that its row asks for', async () => {
  const masterKey = new SecretKey(randomBytes(32))
  const header = headerOf({ ...keyCatalogue.pvk.kind, purpose: 'cvk' }, 'N')
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
