import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openTestService, sql } from '../../support/service.ts'
import { subjectOf } from './in-process.ts'

test('the number of a version, and so its key id, is never given to another key', async () => {
  const service = await openTestService({ env: { RATE_LIMIT: 'off' } })
  const { administer } = subjectOf(service)
  const generate = () =>
    administer('POST', '//keys', { family: 'installation', key: 'token-signing' })
  const published = async (): Promise<Record<string, string>> => {
    await service.keys.hsm.refreshKeys()
    const { json } = await service.call('GET', '//oauth/jwks', { token: null })
    return Object.fromEntries(json.keys.map(({ kid, x }: { kid: string; x: string }) => [kid, x]))
  }
  const first = await generate()
  assert.deepEqual([first.status, first.json.version], [201, 2], first.text)
  const seen = await published()
  assert.deepEqual(Object.keys(seen), ['token-signing-1', 'token-signing-2'])
  assert.equal((await administer('DELETE', '//keys/token-signing/versions/2')).status, 204)
  const second = await generate()
  assert.deepEqual([second.status, second.json.version], [201, 3])
  const now = await published()
  assert.deepEqual(Object.keys(now), ['token-signing-1', 'token-signing-3'])
  assert.equal(now['token-signing-1'], seen['token-signing-1'])
})

test('the only version of a key is not deleted: the next would have its number', async () => {
  const service = await openTestService({ env: { RATE_LIMIT: 'off' } })
  const { administer } = subjectOf(service)
  const path = '//keys/card-data-pin/versions/1'
  // Made by an operator before the installation has made its own.
  await sql(service.database, `delete from hsm_key where key_name = 'card-data-pin'`)
  const made = await administer('POST', '//keys', { family: 'installation', key: 'card-data-pin' })
  assert.deepEqual([made.status, made.json.version], [201, 1], made.text)
  const refused = await administer('DELETE', path)
  assert.deepEqual([refused.status, refused.json.code], [409, 'key_in_use'])
})

test('a rotation is begun once, however often it is asked for', async () => {
  const service = await openTestService({ env: { RATE_LIMIT: 'off' } })
  const { administer } = subjectOf(service)
  const first = await administer('POST', '//keys/pan/rotate')
  const again = await administer('POST', '//keys/pan/rotate')
  assert.deepEqual([again.status, again.json], [202, first.json])
  const { json } = await administer('GET', '//keys/acts')
  const begun = json.filter(({ act }: { act: string }) => act === 'rotation begun')
  assert.equal(begun.length, 1)
})
