import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { StartRefusal } from '../../src/domain/problem.ts'
import { readMasterKeys, readOrMakeMasterKeys } from '../../src/hsm/software/master-keys.ts'
import { describeStartFailure } from '../../src/service/config/start-failure.ts'
import { makeFolder } from '../support/process.ts'
import { openEmbedded, openTestService, sql } from '../support/service.ts'

test('many that make a master key at once get one and the same', async () => {
  const folder = await makeFolder()
  const file = join(folder, 'master.key')
  const keys = await Promise.all(Array.from({ length: 20 }, () => readOrMakeMasterKeys(file)))
  const texts = keys.flat().map((key) => Buffer.from(key.reveal()).toString('hex'))
  assert.equal(new Set(texts).size, 1)
  assert.equal((await stat(file)).mode & 0o777, 0o600)
  assert.deepEqual(await readdir(folder), ['master.key'])
})

test('a file that holds no master key is refused and left as it is', async () => {
  const file = join(await makeFolder(), 'master.key')
  const content = 'abc123'.repeat(10)
  await writeFile(file, content)
  for (const read of [readMasterKeys, readOrMakeMasterKeys]) {
    await assert.rejects(read(file), (error: Error) => {
      assert.ok(error.message.includes(file))
      return !error.message.includes(content)
    })
  }
})

test('a master key that is another one, weak, no key at all or missing is one clear message', async () => {
  const database = await openEmbedded()
  const folder = await makeFolder()
  const own = join(folder, 'own.key')
  const env = { MASTER_KEY_FILE: own }
  await writeFile(own, randomBytes(32).toString('hex'))
  await openTestService({ database, env })
  const other = randomBytes(32).toString('hex')
  const wrong: readonly (readonly [string | null, RegExp])[] = [
    [other, /^MASTER_KEY_FILE: .* check value [0-9A-F]{10}; .* have [0-9A-F]{10}\.$/],
    ['00'.repeat(32), /^MASTER_KEY_FILE: The key has equal parts\.$/],
    ['no key', /own\.key must contain one to 4 master keys/],
    [null, /^MASTER_KEY_FILE: .*own\.key cannot be read: ENOENT\.$/],
  ]
  for (const [content, message] of wrong) {
    if (content === null) await rm(own)
    else await writeFile(own, content)
    await assert.rejects(openTestService({ database, env }), (error) => {
      assert.ok(error instanceof StartRefusal, String(error))
      const told = describeStartFailure(error)
      assert.ok(typeof told === 'string' && !told.includes('\n'))
      assert.match(told, message)
      return content === null || !told.includes(content)
    })
  }
})

test('a rotation from a file that lacks the key in use is refused, and the service goes on with that key', async () => {
  const service = await openTestService()
  const file = join(service.dataDir, 'master.key')
  const content = await readFile(file, 'utf8')
  const administer = (path: string) =>
    service.call('POST', path, { as: 'admin', listener: 'private', body: {} })
  for (const wrong of [randomBytes(32).toString('hex'), 'no key']) {
    await writeFile(file, wrong)
    const refused = await administer('//keys/master-key/rotate')
    assert.deepEqual([refused.status, refused.json.code], [422, 'key_refused'], refused.text)
    await service.keys.hsm.refreshKeys()
    await service.createCard()
    const zone = { family: 'zone', clientId: 'demo-network', key: `zone-${wrong.length}` }
    const body = { ...zone, pinBlockFormats: ['ISO_FORMAT_4'] }
    const made = await service.call('POST', '//keys', { as: 'admin', listener: 'private', body })
    assert.equal(made.status, 201, made.text)
  }
  await writeFile(file, `${content}${randomBytes(32).toString('hex')}\n`)
  assert.equal((await administer('//keys/master-key/rotate')).status, 200)
})

test('a kept key that does not open is named at the start', async () => {
  const { database, dataDir } = await openTestService()
  const [row] = await sql<{ block: string }>(
    database,
    `select key_block as block from hsm_key where key_name = 'personal-data'`,
  )
  const block = row?.block ?? ''
  const changed = `${block.slice(0, -1)}${block.endsWith('0') ? '1' : '0'}`
  for (const [wrong, why] of [
    [block, /^The key pan\/1 does not open\. The key block has another use\.$/],
    [changed, /^The key pan\/1 does not open\. The key block is not usable\.$/],
  ] as const) {
    await sql(database, `update hsm_key set key_block = $1 where key_name = 'pan'`, [wrong])
    await assert.rejects(openTestService({ database, dataDir }), (error) => {
      assert.ok(error instanceof StartRefusal)
      assert.match(String(describeStartFailure(error)), why)
      return true
    })
  }
})
