import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import * as oauth from 'oauth4webapi'
import {
  type Authority,
  fetchWith,
  type Identity,
  makeAuthority,
  type TlsFetch,
  writeIdentity,
  writeWhole,
} from '../support/certificates.ts'
import { openPostgres } from '../support/postgres.ts'
import { makeFolder, type Program, spawnProgram, startProgram } from '../support/process.ts'
import { newCard } from '../support/service.ts'

const guide = fileURLToPath(new URL('../../docs/guides/going-to-production.md', import.meta.url))
const postgres = await openPostgres({ debian: true })

const issuer = 'https://cards.example'
const placeholder =
  'postgres://pinfold:secret@db.example/pinfold?sslmode=verify-full&sslrootcert=/etc/pinfold/db-ca.crt'

/** Runs a block of the guide. @returns the environment that it leaves. */
const runBlock = async (
  block: string,
  cwd: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Record<string, string>> => {
  const { stdout } = await promisify(execFile)(
    'bash',
    ['--norc', '-euo', 'pipefail', '-c', `${block}\nenv -0`],
    {
      cwd,
      env: { PATH: process.env.PATH ?? '', ...env },
    },
  )
  const lines = stdout.split('\0').filter((line) => line.includes('='))
  return Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)))
}

const readBlocks = async (databaseUrl: string): Promise<readonly string[]> =>
  [...(await readFile(guide, 'utf8')).matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(
    ([, commands = '']) => commands.replace(placeholder, databaseUrl),
  )

const portOf = (url: string): number => Number(new URL(url).port)

/** A caller with a certificate, at one process. */
const callerAt = (program: Program, authority: Authority, identity: Identity) => ({
  public: fetchWith({ ca: authority.pem, ...identity }, portOf(program.baseUrl)),
  private: fetchWith({ ca: authority.pem, ...identity }, portOf(program.privateUrl)),
})

const askToken = async (fetch: TlsFetch, clientId: string, proof: oauth.ClientAuth) => {
  const options = { algorithm: 'oauth2', [oauth.customFetch]: fetch } as const
  const url = new URL(issuer)
  const server = await oauth.processDiscoveryResponse(
    url,
    await oauth.discoveryRequest(url, options),
  )
  const client = { client_id: clientId }
  const answer = await oauth.clientCredentialsGrantRequest(server, client, proof, {}, options)
  return (await oauth.processClientCredentialsResponse(server, client, answer)).access_token
}

const administratorKey = async (folder: string): Promise<oauth.ClientAuth> => {
  const jwk = JSON.parse(await readFile(join(folder, 'admin.private.jwk'), 'utf8'))
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256' }
  return oauth.PrivateKeyJwt(await crypto.subtle.importKey('jwk', jwk, algorithm, false, ['sign']))
}

const send = async (
  fetch: TlsFetch,
  token: string,
  method: string,
  path: string,
  body?: object,
  // biome-ignore lint/suspicious/noExplicitAny: a test asserts on what it expects to be there.
): Promise<any> => {
  const answer = await fetch(`${issuer}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`)
  return text === '' ? undefined : JSON.parse(text)
}

test('the guide leads to two processes with TLS, and to a backup that opens under its master key alone', {
  skip: postgres.leftOut,
}, async (t) => {
  t.after(postgres.stop)
  const { url } = await postgres.createDatabase()
  const [makeKeys = '', configure = '', backUp = '', restore = ''] = await readBlocks(url)
  const folder = await makeFolder()
  const authority = await makeAuthority()
  await writeIdentity(folder, 'tls', await authority.issue('cards.example'))
  await writeWhole(folder, 'clients.crt', authority.pem)
  await runBlock(makeKeys, folder)
  const env = await runBlock(configure, folder)

  const dataDir = await makeFolder()
  const [first, second] = await Promise.all([startProgram({ env }), startProgram({ env })])
  const operator = callerAt(first, authority, await authority.issue('operator.test'))
  const admin = await askToken(operator.public, 'admin', await administratorKey(folder))
  await send(operator.private, admin, 'POST', '/products', {
    productId: 1001,
    productName: 'Everyday Debit',
    schemeName: 'Visa',
    bin: '40000012',
    currencyCode: 'EUR',
    cardTypes: ['Virtual'],
    pinRevealable: true,
  })
  const registered = await send(operator.private, admin, 'POST', '/clients', {
    clientId: 'acme',
    clientName: 'Acme Bank',
    kind: 'client',
    scopes: ['cards.read', 'cards.write', 'pin.reveal', 'pin.write'],
    productIds: [1001],
    certificateBoundTokens: true,
  })

  const identity = await authority.issue('acme.test')
  const proof = oauth.ClientSecretBasic(registered.clientSecret)
  const atFirst = callerAt(first, authority, identity).public
  const atSecond = callerAt(second, authority, identity).public
  const token = await askToken(atFirst, 'acme', proof)
  const card = await send(atFirst, token, 'POST', '/thr/processor/cards', newCard())
  const pinPath = `/thr/processor/card-pin/${card.publicToken}/pin`
  const { pin } = await send(atSecond, token, 'GET', pinPath)

  await runBlock(backUp, folder, env)
  for (const program of [first, second]) assert.equal((await program.kill('SIGTERM')).code, 0)
  const restored = await postgres.createDatabase()
  await runBlock(restore, folder, { ...env, RESTORED_URL: restored.url })

  await writeWhole(folder, 'other.key', randomBytes(32).toString('hex'))
  const onRestored = { ...env, DATABASE_URL: restored.url }
  const refused = await spawnProgram({
    dataDir,
    env: { ...onRestored, MASTER_KEY_FILE: join(folder, 'other.key') },
  })
  assert.equal((await refused.ended).code, 1)
  assert.match(refused.stderr(), /master key/)

  const again = await startProgram({ dataDir, env: onRestored })
  const atAgain = callerAt(again, authority, identity).public
  // The signing key is in the backup, too: a token from before is still good, and a new one is
  // given.
  for (const each of [token, await askToken(atAgain, 'acme', proof)]) {
    assert.deepEqual(await send(atAgain, each, 'GET', pinPath), { pin })
    const { maskedPan } = await send(
      atAgain,
      each,
      'GET',
      `/thr/processor/cards/${card.publicToken}`,
    )
    assert.equal(maskedPan, card.maskedPan)
  }
  await again.kill('SIGTERM')
})
