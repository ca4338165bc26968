/**
 * A reverse proxy on loopback, as small as one can be: it adds the address of its caller and hands
 * on.
 */
import { once } from 'node:events'
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { atEndOfFile } from './end-of-file.ts'

const proxies = new Set<Server>()

atEndOfFile(() => {
  for (const proxy of proxies) {
    proxy.closeAllConnections()
    proxy.close()
  }
  proxies.clear()
})

/**
 * @returns the port on which it listens, on 127.0.0.1. It connects to the service from there, too.
 */
export const startLoopbackProxy = async (servicePort: number): Promise<number> => {
  const proxy = createServer((incoming, outgoing) => {
    const before = incoming.headers['x-forwarded-for']
    const address = incoming.socket.remoteAddress ?? ''
    const forwarded = before === undefined ? address : `${before}, ${address}`
    const onward = request(
      {
        host: '127.0.0.1',
        port: servicePort,
        localAddress: '127.0.0.1',
        method: incoming.method,
        path: incoming.url,
        headers: { ...incoming.headers, 'x-forwarded-for': forwarded },
      },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(outgoing)
      },
    )
    onward.on('error', () => outgoing.destroy())
    incoming.pipe(onward)
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  proxies.add(proxy)
  return (proxy.address() as AddressInfo).port
}
