import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readOnce } from '../../web/site/read-once.ts'

test('a value is read at its first use, once for all callers, and again only after a failure', async () => {
  let reads = 0
  const read = readOnce(async () => {
    reads += 1
    if (reads === 1) throw new Error('too many open files')
    return reads
  })
  await assert.rejects(read(), /too many open files/)
  assert.deepEqual(await Promise.all([read(), read()]), [2, 2])
  assert.equal(await read(), 2)
})
