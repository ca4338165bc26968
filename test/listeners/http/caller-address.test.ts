import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { before, test } from 'node:test'
import {
  callerAddresses,
  plainAddress,
  toNetwork,
} from '../../../src/listeners/http/caller-address.ts'
import { ConfigError, readConfig } from '../../../src/service/config/config.ts'
import { startLoopbackProxy } from '../../support/loopback-proxy.ts'
import { findPorts } from '../../support/served-service.ts'
import { openTestService, type TestService } from '../../support/service.ts'

const callers = callerAddresses(['10.0.0.0/8', 'fd00::/8'])

/** What a request from a peer, with this `X-Forwarded-For`, is taken to come from. */
const addressOf = (peer: string, forwarded?: string): string => {
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
  return callers.findAddress({
    socket: { remoteAddress: peer } as IncomingMessage['socket'],
    headers,
  })
}

test('of a peer that is no trusted proxy no header is believed', () => {
  for (const forwarded of [undefined, '198.51.100.7', '10.0.0.1', '198.51.100.7, 10.0.0.1']) {
    assert.equal(addressOf('203.0.113.5', forwarded), '203.0.113.5')
    assert.equal(addressOf('2001:db8::5', forwarded), '2001:db8::5')
  }
})

test('behind trusted proxies the caller is the last address that is no proxy of them', () => {
  assert.equal(addressOf('10.0.0.1', '198.51.100.7'), '198.51.100.7')
  assert.equal(addressOf('10.0.0.1', '192.0.2.1, 198.51.100.7'), '198.51.100.7')
  assert.equal(addressOf('10.0.0.1', '192.0.2.1, 198.51.100.7 ,10.9.9.9'), '198.51.100.7')
  assert.equal(addressOf('::ffff:10.0.0.1', '198.51.100.7'), '198.51.100.7')
  assert.equal(addressOf('fd12::1', '2001:DB8:0:0::7, 10.1.2.3'), '2001:db8::7')
  assert.equal(addressOf('10.0.0.1', '10.0.0.3, 10.0.0.2'), '10.0.0.3')
  assert.equal(addressOf('10.0.0.1'), '10.0.0.1')
})

test('what is no address is not gone past: the proxy that handed it on answers for it', () => {
  for (const broken of [
    '',
    'unknown',
    '_hidden',
    '1.2.3',
    '198.51.100.7.1',
    '0x7f.1',
    '[::1',
    'a:b',
  ]) {
    assert.equal(addressOf('10.0.0.1', `198.51.100.7, ${broken}`), '10.0.0.1', broken)
    assert.equal(addressOf('10.0.0.1', `198.51.100.7, ${broken}, 10.0.0.2`), '10.0.0.2', broken)
  }
})

test('an address has one form, with a port, a zone, brackets or as IPv4 mapped into IPv6', () => {
  const forms: Readonly<Record<string, string>> = {
    '198.51.100.7:4711': '198.51.100.7',
    '::ffff:198.51.100.7': '198.51.100.7',
    '::FFFF:c633:6407': '198.51.100.7',
    '::ffff:0:1': '0.0.0.1',
    '[2001:db8::1]:443': '2001:db8::1',
    '[2001:db8::1]': '2001:db8::1',
    'fe80::1%eth0': 'fe80::1',
    '2001:0DB8:0000:0:0::1': '2001:db8::1',
  }
  for (const [given, plain] of Object.entries(forms))
    assert.equal(plainAddress(given), plain, given)
})

test('in IPv6 the /64 is charged, in IPv4 the address', () => {
  assert.equal(toNetwork('198.51.100.7'), '198.51.100.7')
  for (const address of ['2001:db8:1:2::', '2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff']) {
    assert.equal(toNetwork(address), '2001:db8:1:2::/64')
  }
  assert.equal(toNetwork('2001:db8::1'), '2001:db8:0:0::/64')
  assert.equal(toNetwork('::1'), '0:0:0:0::/64')
  assert.equal(toNetwork('2001::1:2:3:4:5'), '2001:0:0:1::/64')
})

test('trusted proxies are blocks of addresses, and never half of everybody', () => {
  const trusted = (text: string) => readConfig({ TRUSTED_PROXIES: text }).network.trustedProxies
  assert.deepEqual(trusted('10.0.0.0/8, fd00::/8,192.0.2.1'), [
    '10.0.0.0/8',
    'fd00::/8',
    '192.0.2.1',
  ])
  for (const wrong of [
    'proxy',
    '10.0.0.0/33',
    '10.0.0.0/8,',
    '0.0.0.0/0',
    '10.0.0.1,::/0',
    '0.0.0.0/1,128.0.0.0/1',
    '::ffff:0:0/96',
    '::/8',
    'true',
  ]) {
    assert.throws(
      () => trusted(wrong),
      (error) => error instanceof ConfigError && error.message.includes('TRUSTED_PROXIES must be'),
      wrong,
    )
  }
})

let service: TestService
/** The listener itself, and the proxy in front of it. */
let direct: number
let proxied: number

before(async () => {
  service = await openTestService({
    env: {
      TRUSTED_PROXIES: '127.0.0.1',
      // Refilled so slowly that no machine is slow enough to see it.
      TOKEN_RATE_PER_SECOND: '1',
      TOKEN_RATE_BURST: '10',
      OPEN_RATE_PER_SECOND: '1',
      OPEN_RATE_BURST: '10',
      CONNECTIONS_MAX: '12',
      CONNECTIONS_PER_ADDRESS_MAX: '3',
    },
  })
  await service.publicServer.listen({ host: '127.0.0.1', port: 0 })
  await service.privateServer.listen({ host: '127.0.0.1', port: 0 })
  direct = findPorts(service).public
  proxied = await startLoopbackProxy(direct)
})

/** Calls from an address of loopback; all of 127.0.0.0/8 is this machine. */
const call = async (
  port: number,
  localAddress: string,
  path: string,
  { form, headers = {} }: { form?: string; headers?: Readonly<Record<string, string>> } = {},
): Promise<number> => {
  const asked = request({
    port,
    host: '127.0.0.1',
    localAddress,
    path,
    agent: false,
    method: form === undefined ? 'GET' : 'POST',
    headers: { host: '127.0.0.1:8080', ...headers },
  })
  if (form !== undefined) asked.setHeader('content-type', 'application/x-www-form-urlencoded')
  asked.end(form)
  const [answer] = await once(asked, 'response')
  answer.resume()
  await once(answer, 'end')
  return answer.statusCode
}

const guess = (port: number, from: string, forwarded?: string): Promise<number> =>
  call(port, from, '/oauth/token', {
    form: 'grant_type=client_credentials&client_id=guessed&client_secret=wrong',
    ...(forwarded !== undefined && { headers: { 'x-forwarded-for': forwarded } }),
  })

const untilRefused = async (ask: (time: number) => Promise<number>): Promise<void> => {
  for (let time = 1; time <= 250; time += 1) if ((await ask(time)) === 429) return
  assert.fail('It was never refused.')
}

test('behind a trusted proxy each caller answers for itself, whatever it writes into X-Forwarded-For', async () => {
  await untilRefused((time) => guess(proxied, '127.0.0.11', `192.0.2.${time}`))
  assert.equal(await guess(proxied, '127.0.0.12'), 401)
  assert.equal(await guess(proxied, '127.0.0.12', '127.0.0.11'), 401)
})

test('a caller that is no trusted proxy speaks for itself only', async () => {
  await untilRefused((time) => guess(direct, '127.0.0.21', `192.0.2.${time}`))
  assert.equal(await guess(direct, '127.0.0.22', '127.0.0.21'), 401)
})

test('what needs no token is limited by the address of its caller, and nobody else’s', async () => {
  const paths = [
    '/openapi.json',
    '/.well-known/jwks.json',
    '/.well-known/oauth-authorization-server',
    '/oauth/jwks',
    '/thr/processor/keys/card-data-wrap-1.pem',
    '/problems',
    '/problems/not_found',
    '/docs',
    '/docs/search',
    '/docs/assets/documents.css',
    '/demo',
    '/nowhere',
  ]
  for (const [index, path] of paths.entries()) {
    await untilRefused(() => call(proxied, '127.0.0.31', path))
    assert.notEqual(await call(proxied, `127.0.1.${index + 1}`, path), 429, path)
  }
  const health = await Promise.all(
    Array.from({ length: 60 }, () =>
      service.call('GET', '//livez', { listener: 'private', token: null }),
    ),
  )
  assert.ok(health.every(({ status }) => status === 200))
})

test('a proxy’s word changes nothing of which Host is answered', async () => {
  const forwarded = { 'x-forwarded-host': '127.0.0.1:8080', 'x-forwarded-proto': 'https' }
  const ask = (headers: Readonly<Record<string, string>>) =>
    call(proxied, '127.0.0.41', '/problems', { headers })
  assert.equal(await ask({ host: 'evil.test', ...forwarded }), 421)
  assert.equal(await ask({ 'x-forwarded-host': 'evil.test' }), 200)
})

const open = async (localAddress: string): Promise<Socket> => {
  const socket = connect({ host: '127.0.0.1', port: direct, localAddress })
  socket.on('error', () => undefined).resume()
  await once(socket, 'connect')
  return socket
}

/** Whether the service keeps a connection: one that it does answers. */
const isKept = async (socket: Socket): Promise<boolean> => {
  socket.write('HEAD /problems HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n')
  const outcome = await Promise.race([
    once(socket, 'data').then(() => true),
    once(socket, 'close').then(() => false),
  ])
  return outcome
}

const refused = async (reason: string): Promise<number> => {
  const metrics = { listener: 'private', token: null } as const
  const { text } = await service.call('GET', '//metrics', metrics)
  const line = `pinfold_connections_refused_total{listener="public",reason="${reason}"} `
  return Number(text.split(line)[1]?.split('\n')[0] ?? 0)
}

test('connections beyond the limit of an address are closed at once, and counted', async () => {
  const fill = async (localAddress: string, count: number) => {
    const sockets = await Promise.all(Array.from({ length: count }, () => open(localAddress)))
    for (const socket of sockets) assert.ok(await isKept(socket), localAddress)
    return sockets
  }
  // What earlier tests asked by is gone before anything is counted.
  while (service.connections.public.count() > 0) await new Promise(setImmediate)
  const [first, ...others] = await fill('127.0.0.51', 3)
  assert.equal(await isKept(await open('127.0.0.51')), false)
  assert.equal(await refused('address'), 1)
  const proxies = await fill('127.0.0.1', 8)
  const last = await fill('127.0.0.52', 1)
  for (const address of ['127.0.0.1', '127.0.0.53']) {
    assert.equal(await isKept(await open(address)), false, address)
  }
  assert.equal(await refused('all'), 2)
  // The place of one that goes is another's.
  first?.destroy()
  while (service.connections.public.count() === 12) await new Promise(setImmediate)
  for (const socket of [...(await fill('127.0.0.51', 1)), ...others, ...proxies, ...last]) {
    socket.destroy()
  }
})

test('a connection without a byte counts as any other', async () => {
  while (service.connections.public.count() > 0) await new Promise(setImmediate)
  const silent = await Promise.all(Array.from({ length: 3 }, () => open('127.0.0.61')))
  while (service.connections.public.count() < 3) await new Promise(setImmediate)
  assert.equal(await isKept(await open('127.0.0.61')), false)
  for (const socket of silent) socket.destroy()
})
