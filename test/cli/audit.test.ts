import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { openCheckpoint, parseVerifierKeys } from '../../packages/audit/audit.ts'
import { AuditFault } from '../../packages/audit/audit-fault.ts'
import { verifierKeyText } from '../../packages/audit/notes.ts'
import { createPinfold } from '../../packages/sdk/client/client.ts'
import { atEndOfFile } from '../support/end-of-file.ts'
import {
  type Exported,
  erasureEntries,
  exportLog,
  makeLogKey,
  numberedEntries,
  signNote,
  writeFiles,
} from '../support/exported-log.ts'
import { pinfold, type Started, startPinfold } from './run-pinfold.ts'
import { type ServedProgram, serveProgram } from './served-program.ts'

let program: ServedProgram
let folder: string
let keysFile: string
before(async () => {
  program = await serveProgram()
  folder = await mkdtemp(join(tmpdir(), 'audit-'))
  keysFile = join(folder, 'audit-log-keys')
  // A log begins with its first entry, and has its keys then.
  let keys = ''
  while (keys === '') {
    await wait(50)
    keys = await (await fetch(`${program.baseUrl}/.well-known/audit-log-keys`)).text()
  }
  await writeFile(keysFile, keys)
})

const run = (...words: string[]) => pinfold({ DATA_DIR: program.dataDir }, ...words)

/** A card whose PIN was shown, and the entry of that. */
async function showPin(): Promise<string> {
  const token = await program.token()
  const cardHolder = { firstName: 'Ana', lastName: 'Lim', dateOfBirth: '1990-04-17' }
  const address = { addressLine1: 'Calle Mayor 1', postCode: '28013', country: 'ESP' }
  const body = { cardType: 'Virtual', cardProduct: 1001, cardHolder, address }
  const card = await program.call('POST', '/cards', { token, body })
  const shown = await program.call('GET', `/card-pin/${card.json.publicToken}/pin`, { token })
  assert.equal(shown.status, 200)
  return shown.headers.get('audit-entry') ?? assert.fail('no entry')
}

test('a receipt is fetched as soon as it is there, kept, and verified without the server', async () => {
  const entry = await showPin()
  const file = join(folder, 'shown.tlog-proof')
  const fetched = await run('audit', 'receipt', entry, '--output', file, '--json')
  assert.equal(fetched.code, 0, fetched.stdout + fetched.stderr)
  assert.equal(JSON.parse(fetched.stdout).entry.act, 'pin.revealed')
  const verified = await pinfold({}, 'audit', 'receipt', file, '--keys', keysFile)
  assert.equal(verified.code, 0, verified.stdout)
  assert.match(verified.stdout, new RegExp(`entry +${entry}`))
  const receipt = await readFile(file, 'utf8')
  await writeFile(file, receipt.replace(/^index .*$/m, 'index 0'))
  const bent = await pinfold({}, 'audit', 'receipt', file, '--keys', keysFile)
  assert.deepEqual([bent.code, bent.stdout.split(':')[0]], [1, 'not_included'])
  assert.equal((await pinfold({}, 'audit', 'receipt', file)).code, 2)
})

test('the client of the SDK answers with a receipt that it has verified', async () => {
  const entry = await showPin()
  const keys = await parseVerifierKeys(await readFile(keysFile, 'utf8'))
  const sandbox = JSON.parse(await readFile(join(program.dataDir, 'sandbox.json'), 'utf8'))
  const client = createPinfold(sandbox)
  const { checkpoint, entry: said, file } = await client.receipt(entry, keys)
  assert.deepEqual([said.entry, said.act], [entry, 'pin.revealed'])
  assert.ok(checkpoint.size > 0 && file.startsWith('c2sp.org/tlog-proof@v1\n'))
  const strangers = await parseVerifierKeys(makeLogKey(checkpoint.origin).text)
  await assert.rejects(
    client.receipt(entry, strangers),
    (error) => error instanceof AuditFault && error.code === 'unverified',
  )
})

test('an export of a server verifies, and again when it has grown', async () => {
  const target = join(folder, 'export')
  for (const _ of [1, 2]) {
    const entry = await showPin()
    assert.equal((await run('audit', 'receipt', entry)).code, 0)
    const exported = await run('audit', 'export', target, '--json')
    assert.equal(exported.code, 0, exported.stderr)
    assert.ok(JSON.parse(exported.stdout).logs[0].size > 0)
    const verified = await pinfold({}, 'audit', 'verify', target, '--keys', keysFile, '--json')
    assert.equal(verified.code, 0, verified.stdout)
    const { findings, logs } = JSON.parse(verified.stdout)
    assert.deepEqual(findings, [])
    assert.equal(logs[0].size, JSON.parse(exported.stdout).logs[0].size)
    assert.ok((await readFile(join(target, 'openings/0.jsonl'), 'utf8')).includes(entry))
    assert.equal(await readFile(join(target, 'keys'), 'utf8'), await readFile(keysFile, 'utf8'))
  }
  const kept = await readFile(join(target, 'checkpoints.jsonl'), 'utf8')
  assert.equal(kept.trimEnd().split('\n').length, 2)
})

const key = makeLogKey('cards.example/audit')

async function writeExport(name: string, exported: Exported): Promise<string> {
  const target = join(folder, name)
  await writeFiles(target, exported.files)
  return target
}

test('verify ends with 1 for what it finds, a line each, and with 2 where it cannot say', async () => {
  const target = await writeExport('bent', await exportLog(key, numberedEntries(30)))
  const verify = (...words: string[]) => pinfold({}, 'audit', 'verify', target, ...words)
  const good = await verify()
  assert.equal(good.code, 0, good.stdout)
  assert.match(good.stdout, /note: The keys come from the folder/)
  const openings = join(target, 'openings/0.jsonl')
  await writeFile(openings, (await readFile(openings, 'utf8')).replace('acme', 'evil'))
  const bent = await verify()
  assert.equal(bent.code, 1)
  assert.match(bent.stdout, /^opening_changed entry 0 of cards\.example\/audit: /)
  const empty = await pinfold({}, 'audit', 'verify', join(folder, 'nothing'))
  assert.deepEqual(
    [empty.code, empty.stdout.split('\n')[0]],
    [2, 'could not be verified: There is no checkpoint of the log.'],
  )
  assert.equal((await verify('--keys', join(folder, 'nothing'))).code, 2)
})

test('verify prints each erasure, and finds what belongs to no entry and what no witness has cosigned', async () => {
  const entries = [...numberedEntries(30), ...erasureEntries(key.origin, [[3, 5]])]
  const target = await writeExport('erased', await exportLog(key, entries, new Set([3, 4, 5])))
  const verify = (...words: string[]) => pinfold({}, 'audit', 'verify', target, ...words)
  const good = await verify()
  assert.equal(good.code, 0, good.stdout)
  assert.match(
    good.stdout,
    /^erasure 0190\S+ by entry 31 of cards\.example\/audit: entries 3-5 of .*\(card\), requested by admin-1: The card/m,
  )
  const witnessKeys = join(folder, 'witness-keys')
  const { publicKey } = generateKeyPairSync('ed25519')
  const { x = '' } = publicKey.export({ format: 'jwk' })
  const witness = verifierKeyText('witness.example/w', 4, Buffer.from(x, 'base64url'))
  await writeFile(witnessKeys, `${key.text}\n${witness}\n`)
  const bare = await verify('--keys', witnessKeys)
  assert.equal(bare.code, 1)
  assert.match(bare.stdout, /^cosignature_missing checkpoint of .*0 of 1 have/)
  assert.equal((await verify('--keys', witnessKeys, '--quorum', '0')).code, 0)
  assert.equal((await verify('--keys', witnessKeys, '--quorum', '2')).code, 1)
  assert.equal((await verify('--quorum', '2')).code, 2)
  assert.equal((await verify('--quorum', '-1')).code, 2)
  await writeFile(join(target, 'openings/invented.jsonl'), '{}\n')
  const more = await verify()
  assert.equal(more.code, 1)
  assert.match(more.stdout, /^file_added openings\/invented\.jsonl of /)
})

test('a monitor finds a log that was rolled back, or has another tree than before', async () => {
  const published = new Map<string, Uint8Array>()
  const server = createServer((request, response) => {
    const bytes = published.get((request.url ?? '').replace('/audit/', ''))
    // Half of it comes, and then nothing any more.
    const isCut = request.url?.startsWith('/cut/')
    if (isCut)
      response.writeHead(200, { 'content-length': 900 }).write('cards', () => response.destroy())
    else response.writeHead(bytes ? 200 : 404).end(bytes)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEndOfFile(() => void server.close())
  const publish = (log: Exported) => {
    for (const [path, bytes] of log.files) published.set(path, bytes)
  }
  const [state, logKeys] = [join(folder, 'seen'), join(folder, 'log-keys')]
  await writeFile(logKeys, `${key.text}\n`)
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}/audit`
  const look = async () => {
    const { code, stdout } = await pinfold(
      {},
      ...['audit', 'monitor', url, '--keys', logKeys, '--state', state],
    )
    return [code, stdout.split(' ')[0]]
  }
  assert.deepEqual((await look())[0], 2)
  const cut = url.replace('/audit', '/cut')
  const broken = await pinfold({}, 'audit', 'monitor', cut, '--keys', logKeys)
  assert.deepEqual([broken.code, broken.stdout.split(':')[0]], [2, 'could not be verified'])
  const entries = numberedEntries(900)
  const long = await exportLog(key, entries)
  publish(long)
  assert.deepEqual(await look(), [0, 'cards.example/audit:'])
  const { publicKey } = generateKeyPairSync('ed25519')
  const raw = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url')
  const withWitness = join(folder, 'keys-with-witness')
  await writeFile(withWitness, `${key.text}\n${verifierKeyText('witness.example/w', 4, raw)}\n`)
  const lookFor = async (...words: string[]) => {
    const asked = ['audit', 'monitor', url, '--keys', withWitness, ...words]
    const { code, stdout } = await pinfold({}, ...asked)
    return [code, stdout.split(' ')[0]]
  }
  assert.deepEqual(await lookFor(), [1, 'cosignature_missing'])
  assert.deepEqual(await lookFor('--quorum', '0'), [0, 'cards.example/audit:'])
  for (const size of [1, 256, 300, 768]) {
    await writeFile(state, signNote(key, size, await long.rootAt(size)))
    assert.deepEqual(await look(), [0, 'cards.example/audit:'])
  }
  const others = await exportLog(key, numberedEntries(900))
  publish(others)
  assert.deepEqual(await look(), [1, 'two_roots'])
  publish(await exportLog(key, numberedEntries(899)))
  assert.deepEqual(await look(), [1, 'rolled_back'])
  publish(await exportLog(key, numberedEntries(1_000)))
  assert.deepEqual(await look(), [1, 'two_roots'])
  await writeFile(state, signNote(key, 900, others.root))
  publish(others)
  assert.deepEqual(await look(), [0, 'cards.example/audit:'])
  published.set('checkpoint', Buffer.from(others.note.replace('\n900\n', '\n901\n')))
  assert.deepEqual(await look(), [1, 'wrong_signature:'])
  publish(others)
  for (const lost of ['', others.note.slice(0, 40), others.note.replace('\n900\n', '\n901\n')]) {
    await writeFile(state, lost)
    assert.deepEqual(await look(), [2, 'could'])
    // What it cannot read it does not write over.
    assert.equal(await readFile(state, 'utf8'), lost)
  }
})

test('a witness says its key, cosigns the logs that it is given, and keeps its memory to itself', async () => {
  const [dir, keyFile] = [join(folder, 'witness'), join(folder, 'witness.pem')]
  await mkdir(dir)
  const options = ['--dir', dir, '--listen', '127.0.0.1:0', '--key', keyFile, '--name', 'w.example']
  const none = await pinfold({}, 'witness', ...options)
  assert.deepEqual([none.code, none.stdout], [2, ''])
  await writeFile(join(dir, 'logs'), `${key.text}\n`)
  const started = startPinfold({}, ['witness', ...options])
  const url = await lineOf(started, started.stderr, /http:\S+add-checkpoint/)
  const { note } = await exportLog(key, numberedEntries(5))
  const answer = await fetch(url, { method: 'POST', body: `old 0\n\n${note}` })
  assert.equal(answer.status, 200)
  const vkey = started.stdout().trim()
  const keys = await parseVerifierKeys(`${key.text}\n${vkey}`)
  const { cosignedBy } = await openCheckpoint(`${note}${await answer.text()}`, keys)
  assert.deepEqual(
    cosignedBy.map(({ name }) => name),
    ['w.example'],
  )
  const second = await pinfold({}, 'witness', ...options)
  assert.equal(second.code, 3)
  assert.match(second.stderr, /is in use by another process/)
  started.child.kill('SIGTERM')
  assert.equal((await started.ended).code, 0)
  assert.equal((await stat(keyFile)).mode & 0o777, 0o600)
})

async function lineOf({ child }: Started, text: () => string, pattern: RegExp): Promise<string> {
  for (;;) {
    const [found] = pattern.exec(text()) ?? []
    if (found !== undefined) return found
    await once(child.stderr, 'data')
  }
}
