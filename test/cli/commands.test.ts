import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { commands } from '../../src/cli/pinfold.ts'
import { examine } from '../../src/service/doctor/examine.ts'
import type { Finding } from '../../src/service/doctor/finding.ts'
import { lockDataDirectory } from '../../src/storage/engine/data-directory.ts'
import { atEndOfFile } from '../support/end-of-file.ts'
import { freePorts } from '../support/free-ports.ts'
import { makeMigratedFolder } from '../support/process.ts'
import { type Ended, launchPinfold, pinfold, startPinfold } from './run-pinfold.ts'
import { type ServedProgram, serveProgram } from './served-program.ts'

let program: ServedProgram
let env: Record<string, string>

before(async () => {
  program = await serveProgram()
  env = { DATA_DIR: program.dataDir }
})

const run = (...words: string[]): Promise<Ended> => pinfold(env, ...words)

/** What a command answered a program. */
const answer = async (...words: string[]) => {
  const { code, stderr, stdout } = await run(...words, '--json')
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout)
}

test('every command says how it is used, with an example that it understands', async () => {
  const { code, stdout } = await launchPinfold({}, '--help')
  assert.equal(code, 0)
  for (const { words } of commands) assert.ok(stdout.includes(`  ${words}`), words)
  for (const { example, summary, words } of commands) {
    assert.ok(example.includes(`pinfold ${words}`), words)
    assert.match(summary, /^[a-z]/, words)
  }
  for (const words of [['products'], ['products', 'create'], ['simulate'], ['keys'], ['demo']]) {
    const run = words[0] === 'demo' ? launchPinfold : pinfold
    const help = await run({}, ...words, '--help')
    assert.equal(help.code, 0, words.join(' '))
    assert.match(help.stdout, new RegExp(`pinfold ${words.join(' ')}`))
  }
})

test('exit codes tell a refusal, a mistake in typing and a server that is away from each other', async () => {
  const mistyped = await run('nothing')
  assert.deepEqual([mistyped.code, mistyped.stdout], [2, ''])
  assert.match(mistyped.stderr, /--help/)
  for (const words of [
    ['products', 'show'],
    ['cards', 'list', '--loud', 'x'],
  ]) {
    const { code, stderr } = await run(...words)
    assert.equal(code, 2, words.join(' '))
    assert.match(stderr, /--help/)
  }
  const refused = await launchPinfold(env, 'products', 'show', '9', '--json')
  assert.equal(refused.code, 1)
  assert.equal(JSON.parse(refused.stdout).error.code, 'not_found')
  const away = { PINFOLD_URL: 'http://127.0.0.1:9', PINFOLD_PRIVATE_URL: 'http://127.0.0.1:9' }
  const secret = { PINFOLD_CLIENT_ID: 'a', PINFOLD_CLIENT_SECRET: 'b' }
  const unreachable = await pinfold({ ...away, ...secret }, 'products', 'list', '--json')
  assert.equal(unreachable.code, 3)
  assert.equal(JSON.parse(unreachable.stdout).error.code, 'unreachable')
  const database = { SANDBOX: 'true', DATABASE_URL: 'postgres://a:secret-of-a@127.0.0.1:9/a' }
  const shut = await pinfold(
    { ...env, ...database, PRIVATE_PORT: '9' },
    'products',
    'list',
    '--json',
  )
  assert.equal(shut.code, 3, shut.stderr)
  assert.equal(JSON.parse(shut.stdout).error.code, 'unreachable')
  assert.doesNotMatch(shut.stderr + shut.stdout, /secret-of-a/)
  const nowhere = ['--url', 'pinfold', '--private-url', program.privateUrl]
  assert.equal((await pinfold(secret, 'products', 'list', ...nowhere)).code, 2)
})

test('a file that is not what it should be is a mistake in typing, and nothing of it is told', async () => {
  const file = join(program.dataDir, 'broken.jwk')
  const secret = 'c2VjcmV0LXNlY3JldA'
  const where = ['--url', program.baseUrl, '--private-url', program.privateUrl]
  const own = ['--client', 'a', '--jwk-file', file]
  for (const text of [
    secret,
    `{"kty":"EC","d":${secret}}`,
    `{"kty":"EC","d":"${secret}"}`,
    'null',
  ]) {
    await writeFile(file, text)
    for (const words of [
      ['products', 'list', ...where, ...own],
      ...(text.includes('"d":"') ? [] : [['cards', 'create', '--file', file]]),
    ]) {
      const { code, stderr, stdout } = await run(...words, '--json')
      assert.equal(code, 2, stderr)
      assert.ok(stderr.includes(file), stderr)
      assert.equal(JSON.parse(stdout).error.code, 'not_understood')
      assert.doesNotMatch(stderr + stdout, /c2Vj|cmV0/)
    }
  }
  const gone = await run('products', 'create', '9', '--file', join(program.dataDir, 'none.json'))
  assert.deepEqual([gone.code, /none\.json cannot be read/.test(gone.stderr)], [2, true])
})

test('a product is made, granted, issued and retired without one line of code', async () => {
  const members = ['--name', 'House', '--scheme', 'Visa', '--bin', '45000012', '--currency', 'EUR']
  const made = await answer('products', 'create', '3001', ...members, '--types', 'Virtual')
  assert.deepEqual([made.productId, made.pinTryLimit], [3001, 3])
  assert.equal((await answer('products', 'change', '3001', '--pin-try-limit', '2')).pinTryLimit, 2)
  await answer('products', 'grant', '3001', 'demo-client')
  const card = await createCard('3001')
  const wrong = await answer('simulate', card, '--pin', '0000')
  assert.deepEqual([wrong.responseCode, wrong.pin.remainingTries], ['55', 1])
  assert.equal((await answer('products', 'retire', '3001')).active, false)
  const refused = await run('cards', 'create', ...holder, '--product', '3001')
  assert.deepEqual([refused.code, /not available/.test(refused.stderr)], [1, true])
  const listed = await run('products', 'list')
  assert.match(listed.stdout, /^3001 +House +Visa +45000012.* no$/m)
  const acts = await answer('acts')
  assert.deepEqual(
    acts.slice(0, 4).map(({ act }: { act: string }) => act),
    ['retired', 'product granted', 'changed', 'created'],
  )
})

test('a product gets a chip, and its versions of the keys, by options', async () => {
  const members = ['--name', 'Chip', '--scheme', 'Visa', '--bin', '45000013', '--currency', 'EUR']
  const types = ['--types', 'Physical,Virtual']
  const chip = ['--chip', 'visa-cvn22']
  const made = await answer('products', 'create', '3002', ...members, ...types, ...chip)
  assert.deepEqual([made.chip.profile, made.chip.keyVersions], ['visa-cvn22', {}])
  const changed = await answer('products', 'change', '3002', '--chip-keys', 'c1=1,C2=1')
  assert.deepEqual(
    [changed.chip.profile, changed.chip.keyVersions],
    ['visa-cvn22', { C1: 1, C2: 1 }],
  )
  const unknown = await run('products', 'change', '3002', '--chip-keys', 'C1=9')
  assert.match(unknown.stderr, /^ {2}--chip-keys .*versions that are active/m)
  const strange = await run('products', 'change', '3002', '--chip', 'visa-cvn99')
  assert.match(strange.stderr, /^ {2}--chip /m)
  assert.equal((await run('products', 'change', '3002', '--chip-keys', 'C1')).code, 2)
  const twice = await run('products', 'change', '3002', '--chip-keys', 'C1=1,c1=2')
  assert.match(twice.stderr, /must list each derivation key index once/)
  assert.equal((await answer('products', 'change', '3002', '--chip', 'none')).chip, null)
})

const holder = [
  ...['--first-name', 'Ana', '--last-name', 'Lim', '--born', '1990-04-17'],
  ...['--address', 'Calle Mayor 1', '--post-code', '28013', '--country', 'ESP'],
]

const createCard = async (product: string): Promise<string> =>
  (await answer('cards', 'create', ...holder, '--product', product)).publicToken

test('all faults of a product are reported at once', async () => {
  const { code, stderr } = await run('products', 'create', '1001', '--bin', '12', '--types', 'Tin')
  assert.equal(code, 1)
  for (const typed of ['PRODUCT', '--bin', '--types', '--name', '--currency']) {
    assert.match(stderr, new RegExp(`^ {2}${typed} `, 'm'))
  }
})

test('cards are shown, listed and moved to another status, which is read again', async () => {
  const card = await createCard('1001')
  assert.equal((await answer('cards', 'show', card)).cardStatusCode, '00')
  assert.equal((await answer('cards', 'status', card, '--set', '62')).cardStatusCode, '62')
  const cards = await answer('cards', 'list', '--status', '62')
  assert.deepEqual(
    cards.map(({ publicToken }: { publicToken: string }) => publicToken),
    [card],
  )
  assert.equal((await run('cards', 'show', 'x')).code, 2)
})

test('a secret is shown at its making, works at once, and is rotated with an overlap', async () => {
  const scopes = ['--scopes', 'cards.read', '--products', '1001']
  const made = await run('clients', 'create', 'acme', '--name', 'Acme', ...scopes, '--json')
  const { clientSecret } = JSON.parse(made.stdout)
  const rotated = await answer('clients', 'rotate-secret', 'acme', '--overlap-hours', '1')
  for (const secret of [clientSecret, rotated.clientSecret]) {
    const own = {
      PINFOLD_URL: program.baseUrl,
      PINFOLD_CLIENT_ID: 'acme',
      PINFOLD_CLIENT_SECRET: secret,
    }
    const cards = await pinfold(own, 'cards', 'list', '--json')
    assert.deepEqual([cards.code, cards.stdout.trim()], [0, '[]'], cards.stderr)
  }
  const shown = await run('clients', 'show', 'acme')
  assert.ok(!shown.stdout.includes(clientSecret))
  assert.equal((await answer('clients', 'disable', 'acme')).active, false)
})

test('a client that requests too many tokens is told so, and when to retry', async (context) => {
  const narrow = { TOKEN_RATE_PER_SECOND: '1', TOKEN_RATE_BURST: '1' }
  const { dataDir, stop } = await serveProgram({ env: narrow })
  // On a slow machine a second passes between the commands, which would allow another token.
  const startedMs = performance.now()
  const clock = context.mock.method(performance, 'now', () => startedMs)
  const list = () => pinfold({ DATA_DIR: dataDir }, 'zones', 'list', '--json')
  const [allowed, refused] = [await list(), await list()]
  clock.mock.restore()
  assert.equal(allowed.code, 0, allowed.stderr)
  assert.equal(refused.code, 1)
  const { code, detail } = JSON.parse(refused.stdout).error
  assert.deepEqual(
    [code, detail],
    ['rate_limited', 'Too many tokens were requested. Retry in 1 s.'],
  )
  await stop()
})

test('an administrator with a key of its own reaches a server elsewhere', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const files = { private: join(program.dataDir, 'own.jwk'), public: join(program.dataDir, 'pub') }
  await writeFile(files.private, JSON.stringify(privateKey.export({ format: 'jwk' })))
  await writeFile(files.public, JSON.stringify(publicKey.export({ format: 'jwk' })))
  const settings = ['--name', 'Second', '--kind', 'admin', '--scopes', 'admin']
  await answer('clients', 'create', 'ops', ...settings, '--public-jwk', files.public)
  const where = ['--url', program.baseUrl, '--private-url', program.privateUrl]
  const who = ['--client', 'ops', '--jwk-file', files.private]
  for (const words of [
    ['zones', 'list'],
    ['keys', 'list'],
  ]) {
    const { code, stderr } = await pinfold({}, ...words, ...where, ...who)
    assert.equal(code, 0, stderr)
  }
})

test('a service that cannot issue a token is out of reach, and the credentials are not blamed', async () => {
  const service = createServer((_request, response) => {
    response.writeHead(503, { 'content-type': 'application/json' })
    response.end('{"error":"temporarily_unavailable"}')
  }).listen(0, '127.0.0.1')
  atEndOfFile(() => service.close())
  await once(service, 'listening')
  const { port } = service.address() as AddressInfo
  const credentials = { PINFOLD_CLIENT_ID: 'a', PINFOLD_CLIENT_SECRET: 'b' }
  const remote = { PINFOLD_URL: `http://127.0.0.1:${port}`, ...credentials }
  const { code, stderr } = await pinfold(remote, 'cards', 'list')
  assert.equal(code, 3, stderr)
  assert.match(stderr, /issues no token at present: it answered 503/)
  assert.doesNotMatch(stderr, /secret/)
})

test('a card network is registered and retired', async () => {
  const zone = await answer('zones', 'create', 'net-one', '--name', 'Net One')
  assert.match(zone.clientSecret, /^[\w-]{43}$/)
  assert.equal((await answer('zones', 'retire', 'net-one')).active, false)
  assert.match((await run('zones', 'list')).stdout, /^demo-network .*zone-a [0-9A-F]{6}/m)
})

test('events are followed from now on, and later from the last one that was seen', async () => {
  const words = ['events', 'follow', '--types', 'card.created', '--json']
  const first = startPinfold(env, [...words, '--count', '1'])
  while (!first.stderr().includes('Following')) await once(first.child.stderr, 'data')
  const card = await createCard('1001')
  const seen = JSON.parse((await first.ended).stdout)
  assert.deepEqual([seen.type, seen.data.publicToken], ['card.created', card])
  const missed = [await createCard('1001'), await createCard('1001')]
  const next = await pinfold(env, ...words, '--after', seen.id, '--count', '2')
  assert.equal(next.code, 0, next.stderr)
  const lines = next.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.deepEqual(
    lines.map(({ data }) => data.publicToken),
    missed,
  )
  const refused = await pinfold(env, ...words, '--after', 'no-event')
  assert.equal(refused.code, 1, refused.stdout)
  assert.match(refused.stderr, /--after must be the id of an event/)
})

test('the doctor finds a server that runs, and that is no fault', async () => {
  const port = (url: string) => new URL(url).port
  const ports = { PORT: port(program.baseUrl), PRIVATE_PORT: port(program.privateUrl) }
  const findings = await examine({ ...env, ...ports })
  assert.deepEqual(faultsIn(findings), [])
  assert.equal(findings.filter(({ found }) => /A Pinfold server on/.test(found)).length, 2)
  const [elsewhere, ...others] = faultsIn(
    await examine({ ...env, ...ports, BASE_URL: 'https://cards.test' }),
  )
  assert.deepEqual([elsewhere?.check, others], ['listeners', []])
  assert.match(elsewhere?.found ?? '', /has the issuer/)
})

const faultsIn = (findings: readonly Finding[]): readonly Finding[] =>
  findings.filter(({ verdict }) => verdict === 'fault')

test('without a server a command opens the service itself; to follow events is not possible then', async () => {
  const own = { DATA_DIR: await makeMigratedFolder() }
  const listed = await pinfold(own, 'products', 'list', '--json')
  assert.equal(JSON.parse(listed.stdout).length, 4, listed.stderr)
  assert.equal((await pinfold(own, 'events', 'follow')).code, 3)
})

test('a command beside a server that is still starting is told to wait for it', async () => {
  const folder = await makeMigratedFolder()
  const [port] = await freePorts()
  const unlock = await lockDataDirectory(folder, {
    pid: process.pid,
    startedAt: new Date().toISOString(),
    privateUrl: `http://127.0.0.1:${port}`,
  })
  const { code, stderr } = await pinfold({ DATA_DIR: folder }, 'products', 'list')
  unlock()
  assert.equal(code, 3)
  assert.match(stderr, /is in use by another process .*wait until it is ready/)
})

test('start says in one line that it is ready, and stops on a signal to its launcher', async () => {
  const ports = { PORT: '0', PRIVATE_PORT: 'x' }
  const refused = await pinfold({ DATA_DIR: program.dataDir, ...ports }, 'start', '--json')
  assert.equal(refused.code, 3)
  assert.match(refused.stderr, /PRIVATE_PORT/)
  const dataDir = await makeMigratedFolder()
  const [port, privatePort] = await freePorts()
  const own = {
    DATA_DIR: dataDir,
    LOG_LEVEL: 'silent',
    PORT: `${port}`,
    PRIVATE_PORT: `${privatePort}`,
  }
  const started = startPinfold(own, ['start', '--json'])
  while (!started.stdout().includes('\n')) await once(started.child.stdout, 'data')
  const ready = JSON.parse(started.stdout())
  assert.equal((await fetch(`${ready.privateUrl}/readyz`)).status, 200)
  started.child.kill('SIGTERM')
  assert.equal((await started.ended).code, 0)
})
