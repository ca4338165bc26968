import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openTestService } from '../../support/service.ts'
import { subjectOf } from './rotating.ts'

test('an error of an act on keys says what to do next', async () => {
  const { administer } = subjectOf(await openTestService({ env: { RATE_LIMIT: 'off' } }))
  const entry = '//component-entries/00000000-0000-4000-8000-000000000000'
  const zoneMaster = { family: 'zone-master', key: 'zmk-a', algorithm: 'AES', lengthBytes: 32 }
  assert.equal(
    (await administer('POST', '//keys', { ...zoneMaster, exportable: false })).status,
    201,
  )
  const pvk = { family: 'installation', key: 'pvk', exportable: false }
  assert.equal((await administer('POST', '//keys', pvk)).status, 201)
  const cvk = { key: 'cvk', zoneMasterKey: 'zmk-a' }
  for (const [method, path, body, next] of [
    ['POST', '//keys/nobody/rotate', undefined, /List the keys\.$/],
    ['POST', '//keys/cvk/versions/9/retire', undefined, /List the keys\.$/],
    ['POST', '//keys/cvk/versions/9/delete', undefined, /List the keys\.$/],
    ['POST', '//keys/cvk/versions/1/retire', undefined, /Rotate the key or wait, then retry\.$/],
    ['POST', '//keys/cvk/versions/1/delete', undefined, /Retire it or wait, then retry\.$/],
    ['POST', '//keys/pvk/versions/2/retire', undefined, /pending .* Delete it, or rotate to it\.$/],
    ['POST', '//keys/zones/retire', { key: 'nobody' }, /List the keys, and retry/],
    ['POST', '//keys/export', { ...cvk, version: 9 }, /List the keys, and retry/],
    ['POST', '//keys/export', cvk, /^cvk\/1 is not exportable\. Generate a key with exportable/],
    ['GET', entry, undefined, /Open another one\.$/],
  ] as const) {
    const { json, text } = await administer(method, path, body)
    assert.match(json.detail ?? '', next, `${method} ${path}: ${text}`)
  }
})
