import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { makeAuthority, writeIdentity } from '../support/certificates.ts'
import { makeFolder, makeMigratedFolder } from '../support/process.ts'
import { tlsEnvironment } from '../support/served-service.ts'
import { launchPinfold, pinfold, startPinfold } from './run-pinfold.ts'
import { type ServedProgram, serveProgram } from './served-program.ts'

/**
 * Commands in a process of their own: only at its start does one learn which authorities it trusts.
 */
const several = fileURLToPath(new URL('several.ts', import.meta.url))

let program: ServedProgram
let env: Record<string, string>

before(async () => {
  const dataDir = await makeMigratedFolder()
  const keys = []
  for (const kid of ['ana', 'bo']) {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    await writeFile(
      join(dataDir, `${kid}.jwk`),
      JSON.stringify(privateKey.export({ format: 'jwk' })),
    )
    keys.push({ ...publicKey.export({ format: 'jwk' }), kid })
  }
  const ADMIN_JWK_FILE = join(dataDir, 'admins.jwk')
  await writeFile(ADMIN_JWK_FILE, JSON.stringify({ keys }))
  env = { ADMIN_JWK_FILE, DATA_DIR: dataDir, RATE_LIMIT: 'off' }
  program = await serveProgram({ dataDir, env })
})

/** What a command answers one of the first administrators. */
const as = async (clientId: string, ...words: string[]) => {
  const who = ['--client', clientId, '--jwk-file', join(program.dataDir, `${clientId}.jwk`)]
  const { code, stderr, stdout } = await pinfold(env, ...words, ...who, '--json')
  return { code, stderr, json: JSON.parse(stdout) }
}

test('one of the first administrators confirms who was registered by the other', async () => {
  const words = ['cy', '--kind', 'admin', '--name', 'Cy', '--scopes', 'admin']
  const created = await as('ana', 'clients', 'create', ...words)
  assert.deepEqual([created.code, created.json.controlledBy], [0, ['ana']], created.stderr)
  const own = await as('ana', 'clients', 'confirm', 'cy')
  assert.equal(own.code, 1)
  const other = await as('bo', 'clients', 'confirm', 'cy', '--credentials-version', '2')
  assert.match(JSON.stringify(other.json), /is now 1/)
  const { code, json, stderr } = await as('bo', 'clients', 'confirm', 'cy')
  assert.equal(code, 0, stderr)
  assert.deepEqual([json.confirmedBy, json.controlledBy], [['bo'], []])
})

test('in production, the addresses of a former sandbox in the same folder are not used', async () => {
  const dataDir = await makeFolder()
  await writeFile(join(dataDir, 'sandbox.json'), JSON.stringify(program.sandbox), { mode: 0o600 })
  const production = {
    SANDBOX: 'false',
    DATA_DIR: dataDir,
    DATABASE_URL: 'postgres://pinfold@127.0.0.1:9/pinfold',
    MASTER_KEY_FILE: join(program.dataDir, 'master.key'),
    ACCEPT_SOFTWARE_HSM: 'yes',
    ADMIN_JWK_FILE: join(program.dataDir, 'admins.jwk'),
    // No server has this address, and that of the sandbox would answer.
    BASE_URL: 'https://127.0.0.1:9',
    PRIVATE_BASE_URL: program.privateUrl,
  }
  const who = ['--client', 'ana', '--jwk-file', join(program.dataDir, 'ana.jwk')]
  const { code, stderr } = await pinfold(production, 'clients', 'list', ...who)
  assert.equal(code, 3, stderr)
})

test('keys list and keys acts go through every page', async () => {
  const { json: zones } = await as('ana', 'zones', 'list')
  assert.ok(zones.length > 0)
  const token = await tokenOf()
  for (let at = 0; at < 105; at += 1) {
    const answer = await fetch(`${program.privateUrl}/keys`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        family: 'zone',
        clientId: 'demo-network',
        key: `zone-${at}`,
        pinBlockFormats: ['ISO_FORMAT_4'],
      }),
    })
    assert.equal(answer.status, 201)
  }
  const listed = (await as('ana', 'keys', 'list')).json as { key: string }[]
  assert.equal(listed.filter(({ key }) => /^zone-\d+$/.test(key)).length, 105)
  const acts = (await as('ana', 'keys', 'acts')).json as { key: string }[]
  assert.equal(acts.filter(({ key }) => /^demo-network\/zone-\d+$/.test(key)).length, 105)
})

const tokenOf = async (): Promise<string> => {
  const { clientId, clientSecret } = program.sandbox.admin
  const answer = await fetch(`${program.baseUrl}/oauth/token`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`,
    },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  })
  return ((await answer.json()) as { access_token: string }).access_token
}

test('a listener that requires certificates is reached with one, and by every kind of command', async () => {
  const folder = await makeMigratedFolder()
  const authority = await makeAuthority()
  const listeners = await tlsEnvironment(folder, authority, '127.0.0.1')
  await serveProgram({ dataDir: folder, env: listeners })
  const own = await writeIdentity(folder, 'operator', await authority.issue('operator.test'))
  const other = await writeIdentity(folder, 'other', await authority.issue('other.test'))
  const trusting = { DATA_DIR: folder, NODE_EXTRA_CA_CERTS: listeners.TLS_CLIENT_CA_FILE ?? '' }
  const presenting = {
    ...trusting,
    PINFOLD_CERT_FILE: own.certFile,
    PINFOLD_KEY_FILE: own.keyFile,
  }
  const each = ['products list', 'keys list', 'cards list']
  const { code, stderr } = await startPinfold(presenting, each, { file: several }).ended
  assert.equal(code, 0, stderr)
  const without = await launchPinfold(trusting, 'products', 'list')
  assert.equal(without.code, 3, without.stderr)
  const halves = { ...trusting, PINFOLD_CERT_FILE: own.certFile }
  for (const env of [halves, { ...halves, PINFOLD_KEY_FILE: other.keyFile }]) {
    const refused = await pinfold(env, 'products', 'list')
    assert.deepEqual(
      [refused.code, /PINFOLD_|belong to the certificate/.test(refused.stderr)],
      [2, true],
    )
  }
})
