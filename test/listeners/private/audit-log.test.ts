import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { entryOf, leafHash } from '../../../src/domain/audit-tree.ts'
import { createSigner } from '../../../src/operations/audit/sign.ts'
import { enterAll, entriesOf } from '../../support/audit.ts'
import { issueCard } from '../../support/network.ts'
import { openTestService, type TestService } from '../../support/service.ts'

let service: TestService
let size: number
before(async () => {
  service = await openTestService({ env: { RATE_LIMIT: 'off' } })
  await issueCard(service)
  await enterAll(service.database)
  assert.equal(await createSigner(service.audit)(), 'signed')
  size = (await entriesOf(service.database)).length
})

const read = async (path: string) => {
  const answer = await service.privateServer.inject({
    method: 'GET',
    url: `/audit${path}`,
    headers: { host: '127.0.0.1:8081' },
  })
  return { ...answer, status: answer.statusCode, cache: answer.headers['cache-control'] }
}

test('anybody who reaches the listener reads the checkpoint, and asks again each time', async () => {
  const { cache, payload, status } = await read('/checkpoint')
  assert.deepEqual([status, cache], [200, 'no-cache'])
  assert.equal(payload.split('\n')[1], String(size))
  assert.equal((await read('/logs/1/checkpoint')).payload, payload)
  assert.equal((await read('/logs/2/checkpoint')).status, 404)
})

test('a tile is served as it will always be: hashes of the leaves, and the entries that they are of', async () => {
  const stored = await entriesOf(service.database)
  const tile = await read(`/tile/0/000.p/${size}`)
  assert.deepEqual([tile.status, tile.cache], [200, 'public, max-age=31536000, immutable'])
  const leaves = stored.map(({ commitment }) => leafHash(entryOf(commitment)))
  assert.deepEqual(tile.rawPayload, Buffer.concat(leaves))
  const narrower = await read('/tile/0/000.p/2')
  assert.deepEqual(narrower.rawPayload, Buffer.concat(leaves.slice(0, 2)))
  const bundle = await read(`/tile/entries/000.p/${size}`)
  const entries = stored.flatMap(({ commitment }) => [Buffer.of(0, 33), entryOf(commitment)])
  assert.deepEqual(bundle.rawPayload, Buffer.concat(entries))
})

test('nothing is served that is not signed, or that no tile is named', async () => {
  await issueCard(service)
  await enterAll(service.database)
  for (const path of [
    ...[`/tile/0/000.p/${size + 1}`, '/tile/0/000', '/tile/0/001.p/1', '/tile/1/000.p/1'],
    ...[`/tile/entries/000.p/${size + 1}`, '/tile/0/000.p/0', '/tile/0/000.p/256'],
    ...['/tile/0/0', '/tile/0/x000/000.p/1', '/tile/64/000', '/tile/-1/000', '/tile/entries'],
    ...['/tile/0/000.p/1/', '/logs/1/tile/0/001', '/logs/0/tile/0/000.p/1', '/logs/x/checkpoint'],
  ]) {
    assert.equal((await read(path)).status, 404, path)
  }
})

test('what entries say is an administrator’s to read, and of signed ones alone', async () => {
  const admin = { as: 'admin', listener: 'private' } as const
  const path = '//audit/logs/1/openings/0'
  assert.equal((await service.call('GET', path, { ...admin, token: null })).status, 401)
  const { status, text } = await service.call('GET', path, admin)
  assert.equal(status, 200)
  const lines = text.trimEnd().split('\n')
  assert.equal(lines.length, size)
  const stored = await entriesOf(service.database)
  for (const [at, line] of lines.entries()) {
    const { index, salt, text: said } = JSON.parse(line)
    assert.deepEqual([index, said], [at, stored[at]?.text])
    assert.deepEqual(Buffer.from(salt, 'base64'), Buffer.from(stored[at]?.salt ?? []))
  }
  assert.equal((await service.call('GET', '//audit/logs/1/openings/1', admin)).status, 404)
})
