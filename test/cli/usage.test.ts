import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { commands } from '../../src/cli/pinfold.ts'
import { launchPinfold, pinfold, startPinfold } from './run-pinfold.ts'
import { type ServedProgram, serveProgram } from './served-program.ts'

let program: ServedProgram
let env: Record<string, string>

before(async () => {
  program = await serveProgram()
  env = { DATA_DIR: program.dataDir }
})

test('pinfold --version prints the version of the package and nothing else', async () => {
  const { version } = JSON.parse(await readFile('package.json', 'utf8'))
  const { code, stderr, stdout } = await launchPinfold({}, '--version')
  assert.deepEqual([code, stdout, stderr], [0, `${version}\n`, ''])
})

test('the help begins with eight first commands, and lists each command once', async () => {
  const { stdout } = await pinfold({}, '--help')
  const [, first = ''] = /^First commands\n((?: {2}.+\n)+)/m.exec(stdout) ?? []
  assert.equal(first.trimEnd().split('\n').length, 8)
  assert.match(first, /^ {2}init .*\n {2}start .*\n {2}demo /)
  assert.match(stdout, /^Card networks$/m)
  assert.equal(stdout.match(/^ {2}cards create /gm)?.length, 1)
})

test('a mistyped command or option is answered with the nearest one', async () => {
  const near: readonly (readonly [words: readonly string[], hint: string])[] = [
    [['product', 'list'], 'Did you mean pinfold products list?'],
    [['crads', 'show', '4820117360'], 'Did you mean pinfold cards show?'],
    [['simulat', '4820117360'], 'Did you mean pinfold simulate?'],
    [['decisions', 'endpoint', 'shwo'], 'Did you mean pinfold decisions endpoint show?'],
    [['cards', 'list', '--staus', '00'], 'Unknown option --staus. Did you mean --status?'],
  ]
  for (const [words, hint] of near) {
    const { code, stderr } = await pinfold(env, ...words)
    assert.equal(code, 2, words.join(' '))
    assert.ok(stderr.includes(hint), stderr)
  }
  const { stderr } = await pinfold(env, 'cards', 'list', '--completely-different')
  assert.doesNotMatch(stderr, /Did you mean/)
})

test('an unknown command of a known noun leads to the commands of that noun', async () => {
  const { code, stderr } = await pinfold(env, 'links', 'show', 'acme-1')
  assert.equal(code, 2)
  assert.equal(
    stderr,
    'The command links show does not exist. pinfold links --help lists the commands.\n',
  )
})

test('the help of the first words of a command lists the commands that begin so', async () => {
  for (const words of [
    ['decisions', 'endpoint'],
    ['decisions', 'endpoint', '--help'],
  ]) {
    const { code, stdout } = await pinfold({}, ...words)
    assert.equal(code, 0)
    assert.match(stdout, /^pinfold decisions endpoint\n\n {2}decisions endpoint show /)
    assert.doesNotMatch(stdout, /decisions listen/)
  }
})

test('a refusal names the option that was typed, and in a file its member', async () => {
  const typed = await pinfold(env, 'cards', 'list', '--status', '1', '--json')
  assert.equal(typed.code, 1)
  assert.match(typed.stderr, /^ {2}--status must /m)
  assert.equal(JSON.parse(typed.stdout).error.errors[0].pointer, '/cardStatusCode')
  const file = join(program.dataDir, 'product.json')
  await writeFile(file, JSON.stringify({ bin: '12' }))
  const filed = await pinfold(env, 'products', 'create', '3009', '--file', file)
  assert.match(filed.stderr, /^ {2}\/bin /m)
})

test('an option that would change nothing is refused', async () => {
  const card = '4820117360'
  const useless: readonly (readonly [words: readonly string[], reason: RegExp])[] = [
    [['cards', 'status', card, '--description', 'Lost'], /--description .* without --set/],
    [['cards', 'create', '--file', 'x.json', '--type', 'Virtual'], /--file .* with --type/],
    [['products', 'list', '--jwk-file', 'x.jwk'], /--jwk-file .* without --client/],
    [['products', 'list', '--as-person', '--client', 'a'], /--as-person .* with --client/],
    [['cards', 'list', '--as-person'], /Unknown option --as-person/],
    [['links', 'change', 'a', '--enable', '--disable'], /--disable .* with --enable/],
    [['terminal', '--pin', '1234'], /--pin .* without --pan/],
    [['start', '--url', 'http://127.0.0.1:9998'], /Unknown option --url/],
  ]
  for (const [words, reason] of useless) {
    const { code, stderr } = await pinfold(env, ...words)
    assert.equal(code, 2, words.join(' '))
    assert.match(stderr, reason)
  }
})

test('a wrong command line is answered with the correction', async () => {
  const corrected: readonly (readonly [words: readonly string[], said: RegExp])[] = [
    [['--url', 'http://127.0.0.1:9', 'cards', 'list'], /^Options follow the command/],
    [['cards', 'status', '4820117360', 'Frozen'], /Frozen is an extra argument\. Use --set CODE/],
    [['events', 'trigger', 'pin.blokced'], /Did you mean pin\.blocked\?/],
    [
      ['cards', 'create', '--product', '1001', '--born', '1990-04-17'],
      /^--first-name, --last-name, --address, .* are missing\.\n\nRun pinfold cards create --help/,
    ],
    [['simulate', '4820117360', '--amount', '1,5'], /write it as in 1234\.50\./],
  ]
  for (const [words, said] of corrected) {
    const { code, stderr } = await pinfold(env, ...words)
    assert.equal(code, 2, words.join(' '))
    assert.match(stderr, said)
  }
})

test('a refusal names what does not exist', async () => {
  const missing: readonly (readonly [words: readonly string[], said: RegExp])[] = [
    [['keys', 'rotate', 'foo'], /No key of the installation has this name\./],
    [['clients', 'rotate-secret', 'nobody'], /No client has this clientId\./],
    [['terminal', '--link', 'nope'], /No link has this linkName\./],
    [['products', 'show', '77'], /No product has this productId\./],
  ]
  for (const [words, said] of missing) {
    const { code, stderr } = await pinfold(env, ...words)
    assert.equal(code, 1, words.join(' '))
    assert.match(stderr, said)
  }
})

test('a PIN that is weak or empty is refused in one sentence', async () => {
  const made = await pinfold(env, 'events', 'trigger', 'card.created', '--json')
  const { publicToken } = JSON.parse(made.stdout)
  const set = (input: string) => startPinfold(env, ['pins', 'set', publicToken], { input }).ended
  const weak = await set('1234')
  assert.deepEqual(
    [weak.code, weak.stderr],
    [1, 'The PIN is too easy to guess: an ascending series.\n'],
  )
  const empty = await set('')
  assert.equal(empty.code, 2)
  assert.match(empty.stderr, /^No PIN on standard input/)
})

test('doctor finds nothing good of an address at which no server answers', async () => {
  const { code, stdout } = await pinfold({}, 'doctor', '--url', 'http://127.0.0.1:9')
  assert.equal(code, 1)
  assert.match(stdout, /No Pinfold server answered/)
  assert.doesNotMatch(stdout, /No faults were found/)
})

test('doctor names variables that resemble ours and are ignored', async () => {
  const mistyped = { DATABSE_URL: 'postgres://a:secret-of-a@127.0.0.1/a', PINFOLD_COLOUR: 'no' }
  // Docker, Kubernetes and OpenSSL use these.
  const foreign = {
    HOSTNAME: 'a',
    PINFOLD_PORT: 'tcp://10.0.0.1:80',
    SSL_CERT_FILE: '/etc/ssl/cert.pem',
    HOME: '/root',
  }
  const { stdout } = await pinfold({ ...env, ...mistyped, ...foreign }, 'doctor')
  assert.match(stdout, /DATABSE_URL is ignored.*Did you mean DATABASE_URL\?/)
  assert.match(stdout, /PINFOLD_COLOUR is ignored/)
  assert.doesNotMatch(stdout, /secret-of-a|HOSTNAME is|PINFOLD_PORT is|SSL_CERT_FILE is|HOME is/)
})

test('a HOST that is none is a fault of the configuration', async () => {
  for (const HOST of ['local host', 'a/b', '[::1]']) {
    const { code, stderr } = await pinfold({ ...env, HOST }, 'start')
    assert.equal(code, 3)
    assert.match(stderr, /HOST must be a host name or an IP address/)
  }
})

test('the reference of the command line has every command, and no other', async () => {
  const page = await readFile('docs/reference/cli.md', 'utf8')
  const [table = ''] = /^\| command \| purpose \|\n(?:\|.*\n)+/m.exec(page) ?? []
  const names = table.split('\n').flatMap((row) => {
    const [, cell = ''] = row.split('|')
    const [first = '', ...verbs] = [...cell.matchAll(/`([^`]+)`/g)].map(([, text = '']) =>
      text.replace(/ (?:--|\[?[A-Z]).*/, ''),
    )
    const noun = first.replace(/[^ ]+$/, '')
    return first === '' ? [] : [first, ...verbs.map((verb) => `${noun}${verb}`)]
  })
  const documented = new Set(names.map((name) => name.replace(/^completion .*/, 'completion')))
  const known = ['demo', ...commands.map(({ words }) => words)]
  assert.deepEqual([...documented].toSorted(), known.toSorted())
})
