import assert from 'node:assert/strict'
import { createPrivateKey } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { inspect } from 'node:util'
import { ConfigError, readConfig } from '../../src/service/config/config.ts'
import { openTlsFiles } from '../../src/service/config/tls.ts'
import {
  type Authority,
  fetchWith,
  makeAuthority,
  writeIdentity,
  writeWhole,
} from '../support/certificates.ts'
import { makeFolder, printed, startProgram } from '../support/process.ts'
import { tlsEnvironment } from '../support/served-service.ts'
import { exponentOnePrivateJwk } from '../support/weak-rsa-keys.ts'

let authority: Authority
let folder: string
let sound: Readonly<Record<string, string>>

before(async () => {
  authority = await makeAuthority()
  folder = await makeFolder()
  sound = await tlsEnvironment(folder, authority)
})

const faultsOf = (environment: Readonly<Record<string, string>>): readonly string[] => {
  try {
    readConfig(environment)
  } catch (error) {
    if (error instanceof ConfigError) return error.faults
    throw error
  }
  return []
}

const without = (...names: string[]) =>
  Object.fromEntries(Object.entries(sound).filter(([name]) => !names.includes(name)))

test('with a certificate the addresses are https, and an authority makes certificates required', () => {
  const { baseUrl, privateListener, privateUrl, publicListener } = readConfig(sound)
  assert.deepEqual([baseUrl, privateUrl], ['https://127.0.0.1:8080', 'https://127.0.0.1:8081'])
  assert.equal(publicListener.tls?.clientCertificates, 'required')
  assert.equal(privateListener.tls?.clientCertificates, 'required')
  const plain = readConfig(without('TLS_CLIENT_CA_FILE'))
  assert.equal(plain.publicListener.tls?.clientCertificates, 'off')
  assert.equal(readConfig({}).publicListener.tls, null)
})

test('half of a pair, or an authority without one, is refused by name', () => {
  const said = (environment: Readonly<Record<string, string>>) => faultsOf(environment).join('\n')
  assert.match(said(without('TLS_KEY_FILE')), /^TLS_CERT_FILE requires TLS_KEY_FILE\.$/)
  assert.match(
    said(without('PRIVATE_TLS_CERT_FILE')),
    /^PRIVATE_TLS_KEY_FILE requires PRIVATE_TLS_CERT_FILE\.$/,
  )
  assert.match(
    said(without('TLS_CERT_FILE', 'TLS_KEY_FILE')),
    /require TLS_CERT_FILE and TLS_KEY_FILE\.$/,
  )
  assert.match(
    said({ ...without('TLS_CLIENT_CA_FILE'), TLS_CLIENT_CERT: 'optional' }),
    /^TLS_CLIENT_CERT=optional requires TLS_CLIENT_CA_FILE\.$/,
  )
  assert.match(said({ ...sound, TLS_CLIENT_CERT: 'off' }), /^TLS_CLIENT_CA_FILE has no effect/)
  assert.match(said({ ...sound, TLS_CLIENT_CERT: 'maybe' }), /^TLS_CLIENT_CERT must be one of/)
  assert.match(said({ ...sound, BASE_URL: 'http://cards.test' }), /^BASE_URL must be https/)
  assert.match(said({ ...sound, PRIVATE_BASE_URL: 'http://a.test' }), /^PRIVATE_BASE_URL must/)
})

test('files that cannot be used are each refused by the name of their variable, all at once', async () => {
  const put = (name: string, text: string) => writeWhole(folder, name, text)
  const other = await writeIdentity(folder, 'other', await authority.issue('cards.test'))
  const expired = await writeIdentity(
    folder,
    'expired',
    await authority.issue('cards.test', { to: new Date('2020-01-02T00:00:00Z') }),
  )
  const early = await writeIdentity(
    folder,
    'early',
    await authority.issue('cards.test', { from: new Date(Date.now() + 3_600_000) }),
  )
  const faults = (members: Readonly<Record<string, string>>) => faultsOf({ ...sound, ...members })
  assert.deepEqual(faults({ TLS_KEY_FILE: other.keyFile }), [
    'The key in TLS_KEY_FILE does not belong to the certificate in TLS_CERT_FILE.',
  ])
  assert.deepEqual(faults({ TLS_CERT_FILE: expired.certFile, TLS_KEY_FILE: expired.keyFile }), [
    'TLS_CERT_FILE: the certificate has expired, on 2020-01-02T00:00:00.000Z.',
  ])
  const [tooEarly = ''] = faults({ TLS_CERT_FILE: early.certFile, TLS_KEY_FILE: early.keyFile })
  assert.match(tooEarly, /^TLS_CERT_FILE: the certificate is not valid before /)
  assert.deepEqual(faults({ TLS_CLIENT_CA_FILE: expired.certFile }), [
    'TLS_CLIENT_CA_FILE: every certificate in the file has expired.',
  ])
  const key = createPrivateKey({ key: exponentOnePrivateJwk, format: 'jwk' })
  const weak = await writeIdentity(folder, 'weak', await authority.issue('cards.test', { key }))
  assert.deepEqual(
    faults({
      TLS_CERT_FILE: weak.certFile,
      TLS_KEY_FILE: weak.keyFile,
      TLS_CLIENT_CA_FILE: weak.certFile,
    }),
    ['TLS_CERT_FILE', 'TLS_CLIENT_CA_FILE'].map(
      (name) =>
        `${name}: a certificate has a weak key. The exponent of an RSA key must be odd, and at least 65537.`,
    ),
  )
  const all = faults({
    TLS_CERT_FILE: await put('a', 'nothing'),
    TLS_KEY_FILE: join(folder, 'absent'),
    TLS_CLIENT_CA_FILE: folder,
    PRIVATE_TLS_CERT_FILE: await put(
      'b',
      `-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`,
    ),
    PRIVATE_TLS_KEY_FILE: await put(
      'c',
      '-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n',
    ),
    LOG_LEVEL: 'loud',
  })
  assert.deepEqual(all.toSorted(), [
    'LOG_LEVEL must be one of fatal, error, warn, info, debug, trace, silent.',
    'PRIVATE_TLS_CERT_FILE must name a file of certificates as PEM.',
    'PRIVATE_TLS_KEY_FILE must name a file of a private key as PEM, without a passphrase.',
    'TLS_CERT_FILE must name a file of certificates as PEM.',
    'The file in TLS_CLIENT_CA_FILE cannot be read: EISDIR.',
    'The file in TLS_KEY_FILE cannot be read: ENOENT.',
  ])
})

test('a private key prints as its mask, wherever it is looked at', async () => {
  const { publicListener } = readConfig(sound)
  assert.ok(publicListener.tls)
  const opened = openTlsFiles(publicListener.tls.files, new Date())
  assert.ok('material' in opened)
  const { privateKey } = opened.material
  const [, middle = ''] = privateKey.reveal().split('\n')
  for (const shown of [inspect(opened, { depth: 9 }), JSON.stringify(opened), `${privateKey}`]) {
    assert.ok(shown.includes('[private key]'))
    assert.ok(!shown.includes(middle))
  }
})

test('all that is wrong with TLS is said in one message', () => {
  const wrong = { ...sound, TLS_KEY_FILE: join(folder, 'absent'), PRIVATE_TLS_KEY_FILE: '' }
  assert.throws(() => readConfig(wrong), {
    name: 'ConfigError',
    message: /- The file in TLS_KEY_FILE [^\n]+\n {2}- PRIVATE_TLS_CERT_FILE requires/,
  })
})

test('the program listens with TLS, follows files that change, and stops in order', async () => {
  const program = await startProgram({ env: { ...sound, TLS_REFRESH_MS: '100' } })
  const identity = await authority.issue('client.test')
  const callOver = fetchWith({ ca: authority.pem, ...identity })
  assert.equal((await callOver(`${program.privateUrl}/readyz`)).status, 200)
  assert.equal((await callOver(`${program.baseUrl}/docs`)).status, 200)
  // Its relay would have no certificate to call with.
  assert.equal((await callOver(`${program.baseUrl}/demo`)).status, 404)

  await writeWhole(folder, 'server.crt', 'broken')
  await printed(program, 'the changed TLS files cannot be used')
  const successor = await authority.issue('cards.test')
  await writeIdentity(folder, 'server', successor)
  await printed(program, 'the TLS certificate was replaced')
  assert.equal((await callOver(`${program.privateUrl}/readyz`)).status, 200)

  // Whoever connects and never begins a handshake must not keep it from stopping in order.
  const silent = connect(Number(new URL(program.baseUrl).port), '127.0.0.1')
  silent.on('error', () => undefined)
  await once(silent, 'connect')
  assert.equal((await program.kill('SIGTERM')).code, 0)
  const [, middle = ''] = successor.key.split('\n')
  assert.ok(!program.stdout().includes(middle.slice(0, 40)))
})
