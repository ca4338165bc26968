import assert from 'node:assert/strict'
import { createHash, createPrivateKey, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  connect as connectTls,
  createServer as createTlsServer,
  TLSSocket,
  type TlsOptions,
} from 'node:tls'
import { Problem } from '../../../src/domain/problem.ts'
import { composeFrame, createFrameReader } from '../../../src/listeners/iso8583/codec/frame.ts'
import { decode, encode } from '../../../src/listeners/iso8583/codec/message.ts'
import { linkFindings } from '../../../src/service/doctor/installation.ts'
import type { Database } from '../../../src/storage/engine/database.ts'
import { type Identity, makeAuthority, writeIdentity } from '../../support/certificates.ts'
import { atEndOfFile } from '../../support/end-of-file.ts'
import { issueCard } from '../../support/network.ts'
import { makeFolder } from '../../support/process.ts'
import { tlsEnvironment } from '../../support/served-service.ts'
import { openTestDatabase, openTestService, type TestService } from '../../support/service.ts'
import {
  connectSwitch,
  findProfile,
  freePort,
  openLink,
  playSwitch,
  purchase,
} from '../../support/switch.ts'
import { until } from '../../support/until.ts'
import { exponentOnePrivateJwk } from '../../support/weak-rsa-keys.ts'

const admin = { as: 'admin', listener: 'private' } as const
const env = { RATE_LIMIT: 'off' }
const sandboxed = { allowsPlainLinks: true, sandbox: true }

/**
 * One for all tests that leave its clients and settings as they are, each with links of its own.
 */
const usual = (): Promise<TestService> => {
  usualService ??= openTestService({ env })
  return usualService
}
let usualService: Promise<TestService> | undefined

/** What a network begins with. */
const signOnFrame = composeFrame(
  findProfile('sandbox').framing,
  encode(findProfile('sandbox').layout, {
    mti: '0800',
    fields: { 7: '1122170000', 11: '000001', 70: '001' },
  }),
)

const linkOf = async (service: TestService, linkName: string) =>
  (await service.call('GET', `//links/${linkName}`, admin)).json

/** A network that is dialled: it answers sign-ons and echoes, and keeps its connections. */
const openNetwork = async (
  tls: TlsOptions | null = null,
): Promise<{ server: Server; port: number; sockets: Socket[]; codes: string[] }> => {
  const { framing, layout } = findProfile('sandbox')
  const sockets: Socket[] = []
  const codes: string[] = []
  const take = (socket: Socket) => {
    sockets.push(socket)
    socket.on('error', () => undefined)
    const reader = createFrameReader(framing)
    socket.on('data', (bytes) => {
      for (const { message } of reader.push(bytes)) {
        const { fields, mti } = decode(layout, message)
        if (mti !== '0800') continue
        codes.push(fields['70'] ?? '')
        socket.write(
          composeFrame(framing, encode(layout, { mti: '0810', fields: { ...fields, 39: '00' } })),
        )
      }
    })
  }
  const server = (tls ? createTlsServer(tls, take) : createServer(take)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEndOfFile(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const address = server.address()
  return { server, port: typeof address === 'object' && address ? address.port : 0, sockets, codes }
}

test('a link is registered, listed with its state, changed and disabled', async () => {
  const service = await usual()
  const link = await openLink(service)
  assert.equal((await linkOf(service, link.linkName)).state, 'listening')
  const wire = await connectSwitch(link)
  await until(async () => (await linkOf(service, link.linkName)).state === 'connected')
  assert.equal(await wire.signOn(), '00')
  const metrics = await service.call('GET', '//metrics', { listener: 'private', token: null })
  assert.match(metrics.text, new RegExp(`pinfold_link_signed_on{link="${link.linkName}"} 1`))
  assert.match(
    metrics.text,
    new RegExp(`pinfold_link_messages_total{link="${link.linkName}",type="0800",outcome="00"} 1`),
  )
  const changed = await service.call('PATCH', `//links/${link.linkName}`, {
    ...admin,
    body: { active: false },
  })
  assert.equal(changed.json.state, 'disabled')
  await service.links.refresh()
  await wire.closed
  // Asked to sign off before it was closed.
  assert.deepEqual(
    wire.received.map(({ fields, mti }) => [mti, fields['70']]),
    [['0800', '002']],
  )
  const acts = await service.call('GET', '//acts', admin)
  assert.deepEqual(
    acts.json.slice(0, 2).map(({ act }: { act: string }) => act),
    ['link disabled', 'link created'],
  )
})

test('the doctor says which links are signed on, and which are missed', async () => {
  const service = await openTestService({ env })
  const link = await openLink(service)
  const found = async () => {
    const [finding] = await linkFindings(service.database, sandboxed)
    return [finding?.verdict, finding?.found.replace(/^.*: /, '')]
  }
  assert.deepEqual(await found(), ['good', 'waits for its network.'])
  const wire = await connectSwitch(link)
  assert.equal(await wire.signOn(), '00')
  await until(async () => (await found())[1] === 'signed on.')
  assert.equal((await wire.ask('0800', { 70: '002' })).fields['39'], '00')
  await until(async () => (await found())[1] === 'connected, but not signed on.')
  wire.close()
  await until(async () => (await found())[1] === 'not connected.')
  assert.deepEqual(await found(), ['warning', 'not connected.'])
  await openLink(service, { direction: 'dial' })
  const findings = await linkFindings(service.database, sandboxed)
  assert.deepEqual(
    findings.map(({ verdict }) => verdict),
    ['warning', 'warning'],
  )
})

test('what cannot be a link is refused, everything at once', async () => {
  const service = await usual()
  const body = {
    linkName: 'wrong',
    networkId: 'demo-client',
    direction: 'dial',
    host: 'switch.example',
    port: 1,
    profile: 'no-such',
    peers: ['10.0.0.0/64'],
    zoneMasterKey: 'none',
    certificates: ['A'.repeat(43)],
  }
  const answer = await service.call('POST', '//links', { ...admin, body })
  assert.equal(answer.status, 422)
  assert.deepEqual(
    answer.json.errors.map(({ pointer }: { pointer: string }) => pointer),
    ['/networkId', '/profile', '/zoneMasterKey', '/certificates', '/host', '/peers'],
  )
  const tls = await service.call('POST', '//links', {
    ...admin,
    body: {
      linkName: 'wrong',
      networkId: 'demo-network',
      direction: 'listen',
      host: '127.0.0.1',
      port: 1,
      profile: 'sandbox',
      tls: true,
    },
  })
  assert.deepEqual(
    tls.json.errors.map(({ pointer }: { pointer: string }) => pointer),
    ['/tls'],
  )
  const client = await service.call('GET', '//links', { listener: 'private', as: 'network' })
  assert.equal(client.status, 403)
})

test('a disabled network is not listened to', async () => {
  const service = await openTestService({ env })
  const link = await openLink(service)
  const wire = await connectSwitch(link)
  await service.call('PATCH', '//clients/demo-network', { ...admin, body: { active: false } })
  await service.links.refresh()
  await wire.closed
  await assert.rejects(connectSwitch(link))
})

test('a dialled link is held by one process, and another one takes over and signs on', async () => {
  const database = await openTestDatabase()
  const first = await openTestService({ env, database })
  const second = await openTestService({ env, database, dataDir: first.dataDir })
  const network = await openNetwork()
  const link = await openLink(first, { direction: 'dial', port: network.port, profile: 'sandbox' })
  await second.links.refresh()
  await until(async () => (await linkOf(first, link.linkName)).state === 'signed on')
  assert.equal(network.sockets.length, 1)
  assert.deepEqual(network.codes, ['001'])
  // It asks as any other connection.
  const [socket] = network.sockets
  assert(socket)
  socket.removeAllListeners('data')
  const wire = playSwitch(findProfile('sandbox'), socket)
  const card = await issueCard(first)
  assert.equal((await wire.ask('0100', purchase(first, card))).fields['39'], '00')
  // The holder stops: it signs off, and the other one is there soon.
  const [holder, other] = first.links.load().some(({ connections }) => connections > 0)
    ? [first, second]
    : [second, first]
  await holder.links.stop()
  await until(() => network.sockets.length === 2)
  await until(() => other.links.load().some(({ signedOn }) => signedOn === 1))
})

test('a dialled link that breaks is dialled again', async () => {
  const service = await usual()
  const network = await openNetwork()
  await openLink(service, { direction: 'dial', port: network.port, profile: 'sandbox' })
  await until(() => network.codes.length === 1)
  network.sockets[0]?.destroy()
  await until(() => network.codes.length === 2)
  assert.equal(network.sockets.length, 2)
})

const thumbprintOf = ({ cert }: Identity): string =>
  createHash('sha256').update(new X509Certificate(cert).raw).digest('base64url')

test('with TLS a link is its network’s by the certificate that is bound to it', async () => {
  const folder = await makeFolder()
  const authority = await makeAuthority()
  const files = await tlsEnvironment(folder, authority)
  const service = await openTestService({
    env: {
      ...env,
      BASE_URL: 'https://cards.test',
      PRIVATE_BASE_URL: 'https://cards.test:8081',
      ...files,
    },
  })
  const own = await authority.issue('switch.test')
  const others = await authority.issue('other.test')
  const strange = await (await makeAuthority()).issue('switch.test')
  const link = await openLink(service, { tls: true, certificates: [thumbprintOf(own)] })
  const open = (identity: Identity | null, to = link) => {
    const socket = connectTls({
      port: to.port,
      host: '127.0.0.1',
      servername: 'cards.test',
      ca: authority.pem,
      ...(identity && { cert: identity.cert, key: identity.key }),
    })
    socket.on('error', () => undefined)
    return socket
  }
  const socket = open(own)
  await once(socket, 'secureConnect')
  const wire = await connectSwitch(link, socket)
  assert.equal(await wire.signOn(), '00')
  const weakKey = createPrivateKey({ key: exponentOnePrivateJwk, format: 'jwk' })
  const weak = await authority.issue('switch.test', { key: weakKey })
  const unbound = await openLink(service, { tls: true })
  for (const [identity, to] of [
    [others, link],
    [strange, link],
    [null, link],
    [weak, unbound],
  ] as const) {
    const refused = open(identity, to)
    let isAnswered = false
    refused.on('data', () => {
      isAnswered = true
    })
    refused.write(signOnFrame)
    await until(() => isAnswered || refused.closed)
    assert.equal(isAnswered, false)
  }
  wire.close()
  // A certificate that is replaced is shown to whoever connects from now on, and to nobody else.
  const next = await authority.issue('cards.test')
  await writeIdentity(folder, 'server', next)
  for (const each of service.tls) each.refresh()
  await service.links.refresh()
  const again = open(own)
  await once(again, 'secureConnect')
  assert.equal(
    again.getPeerX509Certificate()?.fingerprint256,
    new X509Certificate(next.cert).fingerprint256,
  )
  again.destroy()
})

test('a link is dialled with TLS, with this side’s certificate, and to whom its certificates name', async () => {
  const folder = await makeFolder()
  const authority = await makeAuthority()
  const lines: string[] = []
  const service = await openTestService({
    env: {
      ...env,
      BASE_URL: 'https://cards.test',
      PRIVATE_BASE_URL: 'https://cards.test:8081',
      ...(await tlsEnvironment(folder, authority)),
    },
    onLogLine: (line) => lines.push(line),
  })
  const isLogged = (linkName: string, text: string): boolean =>
    lines.some((line) => line.includes(`"link":"${linkName}"`) && line.includes(text))
  const own = await authority.issue('network.test')
  const asking = { requestCert: true, rejectUnauthorized: true, ca: authority.pem }
  const network = await openNetwork({ ...own, ...asking })
  const dialled = { direction: 'dial', profile: 'sandbox', tls: true }
  const bound = { ...dialled, certificates: [thumbprintOf(own)] }
  const link = await openLink(service, { ...bound, port: network.port })
  await until(async () => (await linkOf(service, link.linkName)).state === 'signed on')
  const [socket] = network.sockets
  assert(socket instanceof TLSSocket)
  assert.equal(socket.getPeerX509Certificate()?.subject, 'CN=cards.test')
  // Issued by the same authority, and not to the network that the link is of.
  const other = await openNetwork({ ...(await authority.issue('other.test')), ...asking })
  const wrong = await openLink(service, { ...bound, port: other.port })
  await until(() => isLogged(wrong.linkName, 'refused peer'))
  // Issued by somebody else.
  const strange = await openNetwork(await (await makeAuthority()).issue('network.test'))
  const unknown = await openLink(service, { ...dialled, port: strange.port })
  await until(() => isLogged(unknown.linkName, 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'))
  // Issued by the authority to a key with which anybody could seem to be the network.
  const weakKey = createPrivateKey({ key: exponentOnePrivateJwk, format: 'jwk' })
  const weak = await openNetwork(await authority.issue('network.test', { key: weakKey }))
  const guessed = await openLink(service, { ...dialled, port: weak.port })
  await until(() => isLogged(guessed.linkName, 'refused peer'))
  // And one that speaks no TLS.
  const port = await freePort()
  const plain = createServer((socket) => socket.on('error', () => undefined).end('plain'))
  plain.listen(port, '127.0.0.1')
  const open = await openLink(service, { ...dialled, port })
  await until(() => isLogged(open.linkName, 'a link failed'))
  plain.close()
  assert.deepEqual([other.codes, strange.codes, weak.codes], [[], [], []])
})

test('a network that wants no sign-on is dialled without one', async () => {
  const folder = await makeFolder()
  const text = { name: 'no-sign-on', description: 'A link without sign-ons.', extends: 'sandbox' }
  const profile = { ...text, signOn: { required: false } }
  await writeFile(join(folder, 'profile.json'), JSON.stringify(profile))
  const service = await openTestService({ env: { ...env, LINK_PROFILES_DIR: folder } })
  const network = await openNetwork()
  await openLink(service, { direction: 'dial', port: network.port, profile: 'no-sign-on' })
  await until(() => network.sockets.length === 1)
  const [socket] = network.sockets
  assert(socket)
  socket.removeAllListeners('data')
  const wire = playSwitch(findProfile('sandbox'), socket)
  const card = await issueCard(service)
  assert.equal((await wire.ask('0100', purchase(service, card))).fields['39'], '00')
  assert.deepEqual([network.codes, wire.received], [[], []])
})

test('a dialled link survives a short database outage, and answers 91 meanwhile', async () => {
  const real = await openTestDatabase()
  let isAway = false
  let isRenewalRefused = false
  const orAway =
    <Given extends unknown[], Result>(work: (...given: Given) => Promise<Result>) =>
    async (...given: Given): Promise<Result> => {
      if (!isAway) return work(...given)
      if (JSON.stringify(given).includes('claim_lease')) isRenewalRefused = true
      throw new Problem('unavailable')
    }
  const database = {
    ...real,
    query: orAway(real.query),
    readRow: orAway(real.readRow),
    change: orAway(real.change),
    transaction: orAway(real.transaction),
  } as Database
  const service = await openTestService({ env, database })
  const network = await openNetwork()
  const link = await openLink(service, { direction: 'dial', port: network.port })
  await until(async () => (await linkOf(service, link.linkName)).state === 'signed on')
  const [socket] = network.sockets
  assert(socket)
  socket.removeAllListeners('data')
  const wire = playSwitch(findProfile('sandbox'), socket)
  const card = await issueCard(service)
  isAway = true
  // The lease lasts for three renewals.
  await until(() => isRenewalRefused)
  const asked = purchase(service, card)
  for (const mti of ['0100', '0400', '0120']) {
    assert.equal((await wire.ask(mti, asked)).fields['39'], '91', mti)
  }
  isAway = false
  assert.equal((await wire.ask('0100', asked)).fields['39'], '00')
  assert.equal(network.sockets.length, 1)
})

/** An address of this machine that is not loopback. */
const ownAddress = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address

test('without TLS a link comes from loopback or from an address that is named', async () => {
  const service = await usual()
  const link = await openLink(service, { host: '0.0.0.0', peers: ['10.99.0.0/16'] })
  const wire = await connectSwitch(link)
  assert.equal(await wire.signOn(), '00')
  wire.close()
  if (!ownAddress) return
  const named = await openLink(service, { host: '0.0.0.0', peers: [`${ownAddress}/32`] })
  for (const [{ port }, isTaken] of [
    [link, false],
    [named, true],
  ] as const) {
    const socket = connect({ port, host: ownAddress })
    socket.on('error', () => undefined)
    let isAnswered = false
    socket.on('data', () => {
      isAnswered = true
    })
    socket.write(signOnFrame)
    await until(() => isAnswered || socket.closed)
    assert.equal(isAnswered, isTaken)
    socket.destroy()
  }
})

test('two links do not listen at one address, of which one has another network', async () => {
  const service = await usual()
  const { linkName, port } = await openLink(service, { host: '::1' })
  const body = {
    linkName: 'second',
    networkId: 'demo-network',
    direction: 'listen',
    profile: 'sandbox',
    host: '0:0:0:0:0:0:0:1',
    port,
  }
  const refused = await service.call('POST', '//links', { ...admin, body })
  assert.deepEqual(
    refused.json.errors.map(({ pointer }: { pointer: string }) => pointer),
    ['/port'],
  )
  const disable = { ...admin, body: { active: false } }
  assert.equal((await service.call('PATCH', `//links/${linkName}`, disable)).status, 200)
  assert.equal((await service.call('POST', '//links', { ...admin, body })).status, 201)
  const enable = { ...admin, body: { active: true } }
  assert.equal((await service.call('PATCH', `//links/${linkName}`, enable)).status, 422)
})
