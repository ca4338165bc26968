import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { createPost } from '../../../src/operations/webhooks/post.ts'
import { addressPolicy } from '../../../src/outbound/address-policy.ts'

test('an endpoint that answers with an upgrade nobody asked for is a failed try, and no more', async (t) => {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('data', () => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n')
    })
  }).listen(0, '127.0.0.1')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  await once(server, 'listening')
  const address = server.address()
  assert.ok(address !== null && typeof address === 'object')
  const post = createPost({
    verdictOf: addressPolicy({ allowCidrs: ['127.0.0.0/8'], ownPorts: [], ports: null }),
    resolve: async () => [],
    timeoutMs: 60_000,
    httpsOnly: false,
  })
  const stop = new AbortController()
  const outcome = await post(`http://127.0.0.1:${address.port}/`, {}, '{}', stop.signal)
  assert.deepEqual(outcome, { outcome: 'connection_failed' })
})
