/**
 * The audit log as it is published: tiles, checkpoints and keys (C2SP tlog-tiles, tlog-checkpoint,
 * signed-note).
 */
import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { parseCheckpoint } from '../../../packages/audit/checkpoints.ts'
import { openNote, parseVerifierKey } from '../../../packages/audit/notes.ts'
import { readRoot, tilePath } from '../../../packages/audit/tiles.ts'
import { leafHash } from '../../../packages/audit/tree.ts'
import { appendMany, signAll } from '../../support/audit.ts'
import { openTestService, type TestService } from '../../support/service.ts'

const headers = { host: '127.0.0.1:8080' }

const ask = (service: TestService, path: string) =>
  service.privateServer.inject({
    method: 'GET',
    url: `/audit/${path}`,
    headers,
  })

const keysOf = async ({ publicServer }: TestService) => {
  const url = '/.well-known/audit-log-keys'
  const answer = await publicServer.inject({ method: 'GET', url, headers })
  assert.equal(answer.statusCode, 200)
  return { answer, keys: answer.payload.trimEnd().split('\n').map(parseVerifierKey) }
}

const signedCheckpoint = async (service: TestService) => {
  const { keys } = await keysOf(service)
  const answer = await ask(service, 'checkpoint')
  assert.equal(answer.statusCode, 200)
  const { text } = await openNote(answer.payload, keys)
  return { answer, checkpoint: parseCheckpoint(text) }
}

/** As many entries as fill a tile, and some. */
const size = 300

suite('an audit log that is signed', () => {
  let service: TestService
  before(async () => {
    service = await openTestService()
    await appendMany(service.audit, size)
    await signAll(service.audit)
    // Entered, and under no checkpoint yet.
    await appendMany(service.audit, 300)
  })

  test('shows its newest signed checkpoint to all, to be cached only with revalidation', async () => {
    const { answer, checkpoint } = await signedCheckpoint(service)
    assert.equal(checkpoint.size, size)
    assert.equal(checkpoint.origin, service.audit.origin)
    assert.equal(answer.headers['content-type'], 'text/plain; charset=utf-8')
    assert.equal(answer.headers['cache-control'], 'no-cache')
    // Whoever asks again while it is the same is told so, and gets it once it is another.
    const etag = String(answer.headers.etag)
    const again = await service.privateServer.inject({
      method: 'GET',
      url: '/audit/checkpoint',
      headers: { ...headers, 'if-none-match': etag },
    })
    assert.deepEqual([again.statusCode, again.payload], [304, ''])
    const { answer: keys } = await keysOf(service)
    assert.equal(keys.headers['content-type'], 'text/plain; charset=utf-8')
    assert.equal(keys.headers['access-control-allow-origin'], '*')
  })

  test('shows tiles from which every reader computes the signed root', async () => {
    const { checkpoint } = await signedCheckpoint(service)
    const read = async (level: number, index: number) => {
      const hashes = Math.floor(size / 256 ** level)
      const width = Math.min(256, hashes - index * 256)
      const answer = await ask(service, `logs/1/${tilePath(level, index, width)}`)
      assert.equal(answer.statusCode, 200)
      assert.equal(answer.headers['content-type'], 'application/octet-stream')
      assert.equal(answer.headers['cache-control'], 'public, max-age=31536000, immutable')
      assert.equal(answer.rawPayload.length, width * 32)
      return new Uint8Array(answer.rawPayload)
    }
    assert.deepEqual(await readRoot(size, read), checkpoint.root)
  })

  test('shows the entries of each tile, with their lengths, of partial tiles too', async () => {
    for (const [index, width] of [
      [0, 256],
      [0, 7],
      [1, 44],
    ] as const) {
      const bundle = await ask(service, `logs/1/${tilePath('entries', index, width)}`)
      const tile = await ask(service, tilePath(0, index, width))
      assert.equal(bundle.statusCode, 200)
      assert.equal(bundle.headers['cache-control'], 'public, max-age=31536000, immutable')
      const bytes = bundle.rawPayload
      assert.equal(bytes.length, width * 35)
      for (let at = 0; at < width; at++) {
        assert.equal(bytes.readUInt16BE(at * 35), 33)
        const leaf = leafHash(bytes.subarray(at * 35 + 2, (at + 1) * 35))
        assert.deepEqual(leaf, new Uint8Array(tile.rawPayload.subarray(at * 32, (at + 1) * 32)))
      }
    }
  })

  test('lets no cache keep a tile of the log in use without asking again: a successor has other tiles', async () => {
    for (const level of [0, 'entries'] as const) {
      const tile = await ask(service, tilePath(level, 0))
      const numbered = await ask(service, `logs/1/${tilePath(level, 0)}`)
      assert.equal(tile.headers['content-type'], 'application/octet-stream')
      assert.deepEqual(tile.rawPayload, numbered.rawPayload)
      assert.equal(tile.headers['cache-control'], 'no-cache')
      const again = await service.privateServer.inject({
        method: 'GET',
        url: `/audit/${tilePath(level, 0)}`,
        headers: { ...headers, 'if-none-match': String(tile.headers.etag) },
      })
      assert.deepEqual([again.statusCode, again.payload], [304, ''])
    }
  })

  test('shows nothing of what is entered beyond the size that is signed', async () => {
    const beyond = [
      tilePath(0, 1),
      tilePath(0, 1, 45),
      tilePath(0, 2, 1),
      tilePath(1, 0, 2),
      tilePath(2, 0, 1),
      tilePath('entries', 1),
      tilePath('entries', 1, 45),
    ]
    for (const path of beyond) {
      const answer = await ask(service, path)
      assert.equal(answer.statusCode, 404, path)
      assert.doesNotMatch(String(answer.headers['cache-control']), /immutable/)
    }
    assert.equal((await ask(service, tilePath(1, 0, 1))).statusCode, 200)
    const openings = await service.call('GET', '//audit/logs/1/openings/2', {
      as: 'admin',
      listener: 'private',
    })
    assert.equal(openings.status, 404)
  })

  test('has one path for each tile, and refuses every other way to write it', async () => {
    const others = [
      'tile/0/0',
      'tile/0/00',
      'tile/0/0000',
      'tile/00/000',
      'tile/-1/000',
      'tile/0/x000/000',
      'tile/0/x000',
      'tile/0/000/',
      'tile/0/000.p',
      'tile/0/000.p/0',
      'tile/0/000.p/007',
      'tile/0/000.p/256',
      'tile/0/000.p/300',
      'tile/0/000.p/-1',
      'tile/0/000.p/1e1',
      'tile/data/000',
      'tile/Entries/000',
      'tile/0/x999/x999/x999/x999/x999/999',
      'tile/99/000.p/1',
      'tile/0/%30%30%30%00',
      'logs/0/checkpoint',
      'logs/2/checkpoint',
      'logs/01/checkpoint',
      'logs/x/tile/0/000',
    ]
    for (const path of others) {
      const answer = await ask(service, path)
      assert.equal(answer.statusCode, 404, path)
    }
  })

  test('has an address for each log, so that what is said of a former one stays there', async () => {
    const own = await ask(service, 'logs/1/checkpoint')
    assert.equal(own.payload, (await ask(service, 'checkpoint')).payload)
    const tile = await ask(service, `logs/1/${tilePath(0, 0)}`)
    assert.deepEqual(tile.rawPayload, (await ask(service, tilePath(0, 0))).rawPayload)
  })

  test('tells an administrator alone what entries say', async () => {
    const path = '//audit/logs/1/openings/1'
    const given = { listener: 'private' } as const
    assert.equal((await service.call('GET', path, { ...given, token: null })).status, 401)
    assert.equal((await service.call('GET', path, { ...given, as: 'network' })).status, 403)
    const answer = await service.call('GET', path, { ...given, as: 'admin' })
    assert.equal(answer.status, 200)
    const lines = answer.text.trimEnd().split('\n')
    assert.equal(lines.length, size - 256)
    const first = JSON.parse(lines[0] ?? '')
    assert.equal(first.index, 256)
    assert.equal(Buffer.from(first.salt, 'base64').length, 32)
    assert.equal(JSON.parse(first.text).act, 'test.done')
    for (const path of ['//audit/logs/1/openings/x', '//audit/logs/9/openings/0']) {
      assert.equal((await service.call('GET', path, { ...given, as: 'admin' })).status, 404, path)
    }
    const logs = await service.call('GET', '//audit/logs', { ...given, as: 'admin' })
    assert.equal(logs.json.length, 1)
    const { log, refusal, signedSize } = logs.json[0]
    assert.deepEqual({ log, refusal, signedSize }, { log: 1, refusal: null, signedSize: size })
  })
})

test('a log that was never signed shows nothing, and no checkpoint', async () => {
  const service = await openTestService()
  assert.equal((await ask(service, 'checkpoint')).statusCode, 404)
  await appendMany(service.audit, 3)
  for (const path of ['checkpoint', tilePath(0, 0, 1), tilePath('entries', 0, 1)]) {
    assert.equal((await ask(service, path)).statusCode, 404, path)
  }
  await signAll(service.audit)
  assert.equal((await ask(service, 'checkpoint')).statusCode, 200)
})

test('a checkpoint is asked for without a token, and a token that is wrong changes nothing', async () => {
  const service = await openTestService()
  await appendMany(service.audit, 1)
  await signAll(service.audit)
  const answer = await service.call('GET', '//audit/checkpoint', {
    listener: 'private',
    token: 'not-a-token',
  })
  assert.equal(answer.status, 200)
})
