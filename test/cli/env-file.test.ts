import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, lstat, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, test } from 'node:test'
import { loadEnvFile } from '../../bin/env-file.mjs'
import { atEndOfFile } from '../support/end-of-file.ts'
import { makeLogKey } from '../support/exported-log.ts'
import { startPinfold } from './run-pinfold.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'env-file-'))
  const made = folder
  atEndOfFile(() => rm(made, { recursive: true, force: true }))
})

/** What the environment is after the file was read, or why the command cannot run. */
async function load(
  text: string | Uint8Array,
  own: Record<string, string> = {},
  words = 'cards list',
) {
  const path = join(folder, 'pinfold.env')
  await writeFile(path, text, { mode: 0o600 })
  return loadHere(own, words)
}

function loadHere(own: Record<string, string> = {}, words = 'cards list') {
  const before = process.cwd()
  process.chdir(folder)
  const environment: Record<string, string> = { ...own }
  try {
    const refusal = loadEnvFile(words.split(' '), environment)
    const { PINFOLD_FILE_VARIABLES: _, ...rest } = environment
    return refusal ?? rest
  } finally {
    process.chdir(before)
  }
}

test('a file of the folder says how the service runs, and the environment goes before it', async () => {
  assert.deepEqual(await load('PORT=81\nDATA_DIR=there\n', { PORT: '80' }), {
    PORT: '80',
    DATA_DIR: 'there',
  })
})

test('commands that read an audit log, or witness one, take nothing from a folder', async () => {
  for (const words of [
    'audit verify .',
    '--json audit export x',
    'audit logs',
    'witness --dir x',
  ]) {
    assert.deepEqual(await load('PORT=81\nNODE_OPTIONS=--import=./x.mjs\n', {}, words), {})
  }
})

test('a file of the folder sets nothing that loads code or leads connections elsewhere', async () => {
  const names = [
    ...['NODE_OPTIONS', 'NODE_PATH', 'NODE_EXTRA_CA_CERTS', 'NODE_TLS_REJECT_UNAUTHORIZED'],
    ...['node_options', 'LD_PRELOAD', 'LD_LIBRARY_PATH', 'DYLD_INSERT_LIBRARIES', 'PATH', 'Path'],
    ...[
      'PKCS11_MODULE',
      'OPENSSL_CONF',
      'SSL_CERT_FILE',
      'HTTPS_PROXY',
      'http_proxy',
      'npm_config_x',
    ],
  ]
  for (const name of names) {
    assert.match(String(await load(`${name}=x\n`)), new RegExp(`^pinfold.env sets ${name}, `))
  }
})

test('an address and a secret come from the file, or from the environment', async () => {
  const address = 'PINFOLD_URL=https://cards.example\nPINFOLD_PRIVATE_URL=https://cards.example\n'
  const caller = { PINFOLD_CLIENT_ID: 'a', PINFOLD_CLIENT_SECRET: 'b' }
  const url = { PINFOLD_URL: 'https://own.example' }
  assert.match(String(await load(address, caller)), /^PINFOLD_CLIENT_ID is set in the environment/)
  assert.match(String(await load(address, { PINFOLD_PERSON_TOKEN: 'x' })), /^PINFOLD_PERSON_TOKEN/)
  assert.match(String(await load('PINFOLD_CLIENT_SECRET=b\n', url)), /^PINFOLD_URL is set in the/)
  assert.match(String(await load('PINFOLD_PRIVATE_URL=https://x.example\n', url)), /^PINFOLD_URL/)
  assert.match(
    String(await load('PRIVATE_BASE_URL=https://x.example\n', caller)),
    /^PINFOLD_CLIENT/,
  )
  assert.match(String(await load('PRIVATE_HOST=x.example\n', caller)), /^PINFOLD_CLIENT/)
  const postgres = 'DATABASE_URL=postgres://db.example/pinfold\n'
  assert.match(String(await load(postgres, { PGPASSWORD: 'x' })), /^PGPASSWORD is set in the/)
  assert.deepEqual(await load(address, { ...caller, ...url }), { ...caller, ...url })
  assert.deepEqual(await load('HOST=127.0.0.1\nPRIVATE_HOST=::1\n', caller), {
    ...caller,
    HOST: '127.0.0.1',
    PRIVATE_HOST: '::1',
  })
  const whole = await load(`${address}PINFOLD_CLIENT_SECRET=b\n`)
  assert.match(JSON.stringify(whole), /"PINFOLD_ADDRESS_SOURCE":"pinfold.env"/)
})

test('an issuer and its credentials come from one place: the file or the environment', async () => {
  const issuer = 'CONSOLE_ISSUER=https://people.example\n'
  const client = {
    CONSOLE_CLIENT_ID: 'console',
    CONSOLE_CLIENT_SECRET_FILE: '/etc/pinfold/secret',
    CONSOLE_CLIENT_JWK_FILE: '/etc/pinfold/console.jwk',
  }
  for (const [name, value] of Object.entries(client)) {
    assert.match(
      String(await load(issuer, { [name]: value })),
      new RegExp(`^${name} is set in the environment, and CONSOLE_ISSUER in pinfold.env: `),
    )
  }
  const own = { ...client, CONSOLE_ISSUER: 'https://own.example' }
  assert.deepEqual(await load(`${issuer}CONSOLE_ROLES=admin=all\n`, own), own)
  const stores = {
    DATABASE_URL: 'postgres://db.example/pinfold',
    MASTER_KEY_FILE: '/etc/master.key',
  }
  const names = [
    'AUTH_ISSUER',
    'PRIVATE_AUTH_ISSUER',
    'PRIVATE_AUTH_CLIENT_CLAIM',
    'CONSOLE_ISSUER',
    'ADMIN_JWK_FILE',
  ]
  for (const [store, value] of Object.entries(stores)) {
    for (const name of names) {
      assert.match(
        String(await load(`${name}=https://x.example\n`, { [store]: value })),
        new RegExp(
          `^${store} is set in the environment, and ${name} in pinfold.env: the database, `,
        ),
      )
    }
  }
})

test('a database and its master key come from the file, or from the environment', async () => {
  const [url, key] = ['DATABASE_URL=postgres://db.example/pinfold\n', 'MASTER_KEY_FILE=./key\n']
  const ofKey = { MASTER_KEY_FILE: '/etc/master.key' }
  assert.match(
    String(await load(url, ofKey)),
    /^MASTER_KEY_FILE is set in the environment, and DATA/,
  )
  assert.match(
    String(await load(key, { DATABASE_URL: 'postgres://own.example/pinfold' })),
    /^DATABASE_URL is set in the environment, and MASTER_KEY_FILE in pinfold.env/,
  )
  assert.match(String(await load(url, { PKCS11_PIN_FILE: '/etc/pin' })), /^PKCS11_PIN_FILE is/)
  assert.deepEqual(await load(`${url}${key}`), {
    DATABASE_URL: 'postgres://db.example/pinfold',
    MASTER_KEY_FILE: './key',
  })
})

test('a first variable behind a byte order mark counts, and a text that is not UTF-8 is refused', async () => {
  assert.deepEqual(await load('\ufeffPORT=81\nHOST=::1\n'), { PORT: '81', HOST: '::1' })
  assert.match(String(await load(Buffer.from('\ufeffPORT=81\n', 'utf16le'))), /UTF-8/)
})

test('a file that others may have written is refused, and says what to do', async () => {
  const path = join(folder, 'pinfold.env')
  await load('PORT=81\n')
  for (const mode of [0o620, 0o602, 0o666]) {
    await chmod(path, mode)
    assert.match(String(loadHere()), /^Other users can write pinfold.env: run chmod 600/)
  }
  await rm(path)
  await writeFile(join(folder, 'other'), 'PORT=81\n', { mode: 0o600 })
  await symlink('other', path)
  assert.match(String(loadHere()), /not a regular file/)
  await rm(path)
  execFileSync('mkfifo', ['-m', '600', path])
  assert.match(String(loadHere()), /not a regular file/)
})

const launchIn = (env: Record<string, string>, ...words: string[]) =>
  startPinfold(env, words, { cwd: folder }).ended

test('a variable of the file that the program does not know is named', async () => {
  const text = `FOO=secret-of-foo\nDATA_DIR=${folder}\nLOG_LEVEL=warn\n`
  await writeFile(join(folder, 'pinfold.env'), text, { mode: 0o600 })
  const { stdout } = await launchIn({}, 'doctor')
  assert.match(stdout, /FOO is ignored: no such variable\./)
  assert.doesNotMatch(stdout, /secret-of-foo|LOG_LEVEL is ignored/)
})

test('a program that the file of a folder names is not started', async () => {
  await writeFile(join(folder, 'x.mjs'), "console.log('it ran')")
  await writeFile(join(folder, 'pinfold.env'), 'NODE_OPTIONS=--import=./x.mjs\n', { mode: 0o600 })
  const ended = await launchIn({}, 'products', 'list')
  assert.equal(ended.code, 3)
  assert.match(ended.stderr, /^pinfold.env sets NODE_OPTIONS, which must be set in the environment/)
  const verified = await launchIn({}, 'audit', 'verify', '.')
  assert.equal(verified.code, 2, verified.stderr)
  assert.doesNotMatch(ended.stdout + verified.stdout, /it ran/)
})

test('a service that the file of a folder names gets no secret and no token of the environment', async () => {
  let asked = 0
  const server = createServer((_request, response) => {
    asked += 1
    response.writeHead(404).end()
  }).listen(0, '127.0.0.1')
  atEndOfFile(() => server.close())
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const named = `PINFOLD_URL=${url}x\nPINFOLD_PRIVATE_URL=${url}x\n`
  await writeFile(join(folder, 'pinfold.env'), named, { mode: 0o600 })
  const secret = { PINFOLD_CLIENT_ID: 'a', PINFOLD_CLIENT_SECRET: 'b' }
  assert.equal((await launchIn(secret, 'products', 'list')).code, 3)
  await writeFile(
    join(folder, 'person-token.json'),
    JSON.stringify({ accessToken: 'x', expiresAt: '2999-01-01T00:00:00Z' }),
  )
  const person = await launchIn({ DATA_DIR: folder }, 'products', 'list', '--as-person')
  assert.equal(person.code, 2, person.stderr)
  assert.match(person.stderr, /Your token is not sent/)
  assert.equal(asked, 0)
})

test('a service of this machine is not asked for by way of a proxy', async () => {
  const asked: string[] = []
  const listen = async (name: string): Promise<string> => {
    const server = createServer((request, response) => {
      asked.push(`${name} ${request.url}`)
      response.writeHead(404).end()
    })
    // A fetch asks a proxy for a tunnel.
    server.on('connect', (request, socket) => {
      asked.push(`${name} tunnel ${request.url}`)
      socket.destroy()
    })
    server.listen(0, '127.0.0.1')
    atEndOfFile(() => server.close())
    await once(server, 'listening')
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }
  const [proxy, service] = [await listen('proxy'), await listen('service')]
  const keys = join(folder, 'keys')
  await writeFile(keys, makeLogKey('cards.example/audit').text)
  const env = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: proxy, HTTPS_PROXY: proxy }
  await launchIn(env, 'audit', 'monitor', service, '--keys', keys)
  assert.deepEqual(asked, ['service /checkpoint'])
})

test('pinfold init writes a file that its owner alone can read, and that commands take', async () => {
  const made = await launchIn({}, 'init')
  assert.equal(made.code, 0, made.stderr)
  const { mode } = await lstat(join(folder, 'pinfold.env'))
  assert.equal(mode & 0o777, 0o600)
  assert.match(JSON.stringify(loadHere()), /"SANDBOX":"true"/)
})
