/**
 * The decision endpoint of a client, in its own process. It answers pings, and approves everything
 * else: at once, or after the milliseconds that its URL names (`?after=2300`).
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const server = createServer(async (request, response) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const body = JSON.parse(Buffer.concat(chunks).toString())
  const isPing = body.type === 'decision.ping'
  const text = JSON.stringify(isPing ? { challenge: body.challenge } : { decision: 'approve' })
  const answer = () => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(text)
  }
  const afterMs = Number(/after=([0-9]+)/.exec(request.url ?? '')?.[1] ?? 0)
  if (isPing || afterMs === 0) answer()
  else setTimeout(answer, afterMs)
})
// The asking side closes idle connections first.
server.keepAliveTimeout = 60_000
await once(server.listen(0, '127.0.0.1', 4_096), 'listening')
console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
