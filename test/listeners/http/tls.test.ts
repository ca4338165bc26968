import assert from 'node:assert/strict'
import { createPrivateKey } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, rename, rm, symlink } from 'node:fs/promises'
import { connect as connectPlain } from 'node:net'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import {
  type Authority,
  fetchWith,
  type Identity,
  makeAuthority,
  writeIdentity,
  writeWhole,
} from '../../support/certificates.ts'
import { findPorts, openTlsService, type TlsTestService } from '../../support/served-service.ts'
import { exponentOnePrivateJwk } from '../../support/weak-rsa-keys.ts'

let authority: Authority
let service: TlsTestService

before(async () => {
  authority = await makeAuthority()
  service = await openTlsService(authority, { TLS_CLIENT_CERT: 'optional' })
})

/** A handshake with the public listener. Rejects where there is none. */
const shakeHands = async (options: ConnectionOptions = {}): Promise<TLSSocket> => {
  const socket = connect({
    host: '127.0.0.1',
    port: findPorts(service).public,
    servername: 'cards.test',
    ca: authority.pem,
    ...options,
  })
  await once(socket, 'secureConnect')
  return socket
}

/** The serial number of the certificate that a new connection sees. */
const serialNumberSeen = async (): Promise<string> => {
  const socket = await shakeHands()
  const { serialNumber } = socket.getPeerCertificate()
  socket.destroy()
  return serialNumber
}

const metric = async (line: RegExp): Promise<string | undefined> => {
  const { text } = await service.call('GET', '//metrics', { listener: 'private', token: null })
  return line.exec(text)?.[1]
}

const refreshFailures = async (): Promise<number> =>
  Number((await metric(/^pinfold_tls_refresh_failures_total\{listener="public"\} (\d+)$/m)) ?? 0)

const refresh = (): void => {
  for (const listener of service.tls) listener.refresh()
}

const replaceServer = async (identity: Identity): Promise<void> => {
  await writeIdentity(service.folder, 'server', identity)
  refresh()
}

test('a connection is TLS 1.2 or 1.3 with forward secrecy, or there is none', async () => {
  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    const socket = await shakeHands({ minVersion: version, maxVersion: version })
    assert.equal(socket.getProtocol(), version)
    socket.destroy()
  }
  const ciphers = 'ALL:@SECLEVEL=0'
  for (const refused of [
    { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers },
    { maxVersion: 'TLSv1.2', ciphers: 'AES256-GCM-SHA384' },
    { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-SHA' },
  ] as const) {
    await assert.rejects(shakeHands(refused), { code: /^(?:ERR_SSL_.*|ECONNRESET)$/ })
  }
})

test('plain HTTP gets no answer from a listener that speaks TLS', async () => {
  const socket = connectPlain(findPorts(service).public, '127.0.0.1')
  socket.end('GET /thr/processor/products HTTP/1.1\r\nHost: cards.test\r\n\r\n')
  const heard: Buffer[] = []
  await assert.doesNotReject(
    (async () => {
      for await (const chunk of socket) heard.push(chunk)
    })().catch((error: NodeJS.ErrnoException) => assert.equal(error.code, 'ECONNRESET')),
  )
  assert.ok(!Buffer.concat(heard).toString('latin1').includes('HTTP/1.1'))
  assert.ok(
    Number(await metric(/^pinfold_tls_handshake_failures_total\{listener="public"\} (\d+)$/m)) > 0,
  )
})

test('where a certificate is required, nothing answers a caller without a good one, health neither', async () => {
  const { private: port } = findPorts(service)
  const url = 'https://cards.test/livez'
  const own = await authority.issue('probe.test')
  const ca = authority.pem
  assert.equal((await fetchWith({ ca, ...own }, port)(url)).status, 200)
  const expired = await authority.issue('probe.test', { to: new Date(Date.now() - 60_000) })
  const strangers = await (await makeAuthority()).issue('probe.test')
  // Whoever has this certificate can seem to have its key.
  const key = createPrivateKey({ key: exponentOnePrivateJwk, format: 'jwk' })
  const weak = await authority.issue('probe.test', { key })
  for (const identity of [{}, expired, strangers, weak]) {
    await assert.rejects(fetchWith({ ca, ...identity }, port)(url))
  }
})

test('a new certificate is seen by new connections, while established ones live on', async () => {
  const keptAlive = fetchWith({ ca: authority.pem, maxSockets: 1 }, findPorts(service).public)
  const url = 'https://cards.test/.well-known/jwks.json'
  await keptAlive(url)
  const established = await shakeHands()
  const first = established.getPeerCertificate().serialNumber
  const to = new Date(Date.now() + 7 * 86_400_000)
  await replaceServer(await authority.issue('cards.test', { to }))
  assert.notEqual(await serialNumberSeen(), first)
  assert.ok(!established.destroyed)
  assert.ok((await keptAlive(url)).status < 600)
  established.destroy()
  const notAfter = await metric(
    /^pinfold_tls_certificate_not_after_seconds\{listener="public"\} (\d+)$/m,
  )
  assert.equal(Number(notAfter), Math.floor(to.getTime() / 1_000))
})

test('a new certificate that is broken, of another key or expired is not taken; the next good one is', async () => {
  const good = await authority.issue('cards.test')
  await replaceServer(good)
  const seen = await serialNumberSeen()
  const failures = await refreshFailures()
  const other = await authority.issue('cards.test')
  const expired = await authority.issue('cards.test', { to: new Date(Date.now() - 60_000) })
  const broken: readonly Identity[] = [
    { ...good, cert: 'not a certificate' },
    { ...good, key: other.key },
    expired,
  ]
  for (const identity of broken) {
    await replaceServer(identity)
    // What stays wrong is told once.
    refresh()
    assert.equal(await serialNumberSeen(), seen)
  }
  await rm(join(service.folder, 'server.key'))
  refresh()
  assert.equal(await serialNumberSeen(), seen)
  assert.equal(await refreshFailures(), failures + broken.length + 1)
  await replaceServer(other)
  assert.notEqual(await serialNumberSeen(), seen)
})

test('a new authority of clients is taken too, and a session from before is of no use', async () => {
  const own = await authority.issue('client.test')
  const { private: port } = findPorts(service)
  const call = fetchWith({ ca: authority.pem, ...own, keepAlive: false }, port)
  assert.equal((await call('https://cards.test/livez')).status, 200)
  const successor = await makeAuthority()
  await writeWhole(service.folder, 'authority.crt', successor.pem)
  refresh()
  await assert.rejects(call('https://cards.test/livez'))
  await writeWhole(service.folder, 'authority.crt', authority.pem + successor.pem)
  refresh()
  assert.equal((await call('https://cards.test/livez')).status, 200)
})

test('files behind a link that is moved, as Kubernetes mounts secrets, are seen', async () => {
  const folder = join(service.folder, 'mounted')
  const put = async (version: string, identity: Identity): Promise<void> => {
    await mkdir(join(folder, version), { recursive: true })
    await writeIdentity(join(folder, version), 'tls', identity)
    await symlink(version, join(folder, 'next'))
    await rename(join(folder, 'next'), join(folder, '..data'))
  }
  await put('one', await authority.issue('cards.test'))
  for (const end of ['crt', 'key']) {
    await rm(join(service.folder, `server.${end}`), { force: true })
    await symlink(join(folder, '..data', `tls.${end}`), join(service.folder, `server.${end}`))
  }
  refresh()
  const first = await serialNumberSeen()
  await put('two', await authority.issue('cards.test'))
  refresh()
  assert.notEqual(await serialNumberSeen(), first)
})
