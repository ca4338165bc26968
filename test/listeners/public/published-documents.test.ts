import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { before, test } from 'node:test'
import {
  type CardDataService,
  keepKeyVersion,
  openCardDataService,
} from '../../operations/card-data/service.ts'

let service: CardDataService

before(async () => {
  service = await openCardDataService()
})

const paths = [
  '//openapi.json',
  '//docs/json',
  '//docs/yaml',
  '//problems',
  '//problems/weak_pin',
  '//.well-known/jwks.json',
  '/keys/card-data-sign-1.pem',
  '//oauth/jwks',
  '//.well-known/oauth-authorization-server',
]

const ask = (path: string, headers: Readonly<Record<string, string>> = {}, method = 'GET') =>
  service.call(method, path, { token: null, headers })

for (const path of paths) {
  test(`${path} is asked for each time, and sent only to who does not have it`, async () => {
    const { headers, status, text } = await ask(path)
    const etag = String(headers.etag)
    assert.deepEqual([status, headers['cache-control']], [200, 'no-cache'])
    assert.match(etag, /^"[A-Za-z0-9_-]{27}"$/)
    assert.equal((await ask(path)).text, text)
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const again = await ask(path, { 'if-none-match': known })
      assert.deepEqual([again.status, again.text, again.headers.etag], [304, '', etag], known)
    }
    const other = await ask(path, { 'if-none-match': '"other"' })
    assert.deepEqual([other.status, other.text], [200, text])
    const head = await ask(path, {}, 'HEAD')
    assert.deepEqual([head.status, head.text, head.headers.etag], [200, '', etag])
  })
}

test('the keys are exported once, and the set is another one as soon as there is another key', async () => {
  const { hsm } = service.issuing
  const [first, second] = [await hsm.cardDataKeys(), await hsm.cardDataKeys()]
  for (const [index, key] of first.entries()) assert.equal(key, second[index])
  const path = '//.well-known/jwks.json'
  const before = await ask(path)
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  await keepKeyVersion(service, 'card-data-pin', 2, privateKey)
  await service.keys.hsm.refreshKeys()
  const after = await ask(path, { 'if-none-match': String(before.headers.etag) })
  assert.equal(after.status, 200)
  assert.ok(after.json.keys.some(({ kid }: { kid: string }) => kid === 'card-data-pin-2'))
})

test('a path below the reference that no file can have is 404, and not a fault of the service', async () => {
  for (const path of [
    'index.html//',
    'index.html///',
    '/',
    '//',
    'a//b',
    '%00',
    '..%2f..%2fpackage.json',
  ]) {
    const { json, status } = await ask(`//docs/static/${path}`)
    assert.deepEqual([status, json?.code], [404, 'not_found'], path)
  }
})
