import assert from 'node:assert/strict'
import { readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { readMasterKeys, readOrMakeMasterKeys } from '../../src/hsm/master-key-file.ts'
import { makeFolder } from '../support/process.ts'

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
