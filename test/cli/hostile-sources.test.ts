/** Folders and services that mean harm, against every command that reads an audit log. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import {
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  readlink,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { proofText } from '../../packages/audit/receipt.ts'
import { computeCommitment, encodeEntry, leafHash } from '../../packages/audit/tree.ts'
import { thinLines } from '../../src/cli/commands/audit-export.ts'
import type { AuditEntry } from '../../src/domain/audit-entry.ts'
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
import { type Ended, pinfold } from './run-pinfold.ts'

const key = makeLogKey('cards.example/audit')
const secret = 'root:x:0:0: what no command may print'
/** Each case is over long before; a case that hangs fails. */
const patience = { timeout: 180_000 }
/** More than any case takes, and much less than what it is offered. */
const mostBytes = 1_500_000_000

const [esc, csi, override] = ['\u001b', '\u009b', '\u202e']
const staining = `${esc}[2J${esc}]0;owned\u0007${csi}31m${override}\ncards.example/audit: 9 entries, all is good`
// biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may be printed
const raw = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/

let exported: Exported
before(async () => {
  exported = await exportLog(key, numberedEntries(300))
})

/** A folder with an export, beside a folder and a file that nothing may touch. */
interface Place {
  readonly folder: string
  readonly keysFile: string
  readonly outside: string
  /** All that is outside the folder, as it is. */
  look(): Promise<string>
}

async function makePlace(files: ReadonlyMap<string, Uint8Array> = exported.files): Promise<Place> {
  const top = await mkdtemp(join(tmpdir(), 'hostile-'))
  atEndOfFile(() => rm(top, { recursive: true, force: true }))
  const [folder, outside, keysFile] = ['export', 'outside', 'audit-log-keys'].map((name) =>
    join(top, name),
  ) as [string, string, string]
  await mkdir(folder)
  await mkdir(join(outside, 'tile'), { recursive: true })
  await writeFile(join(outside, 'secret'), `${secret}\n`.repeat(20))
  await writeFile(keysFile, `${key.text}\n`)
  await writeFiles(folder, files)
  const look = async (): Promise<string> => {
    const found = await readdir(top, { recursive: true, withFileTypes: true })
    const others = found.filter(({ parentPath }) => !parentPath.startsWith(folder))
    const contents = others.map(async (file) => {
      const path = join(file.parentPath, file.name)
      if (path === folder) return path
      if (file.isSymbolicLink()) return `${path} -> ${await readlink(path)}`
      return file.isFile() ? `${path}: ${await readFile(path, 'latin1')}` : path
    })
    return (await Promise.all(contents)).toSorted().join('\n')
  }
  return { folder, keysFile, outside, look }
}

/**
 * @returns how a command ended; it printed no control character and no secret, and took little
 *   memory.
 */
async function run(place: Place, env: Record<string, string>, ...words: string[]): Promise<Ended> {
  const [was, usedBytes] = [await place.look(), process.memoryUsage.rss()]
  let highest = usedBytes
  const watch = setInterval(() => {
    highest = Math.max(highest, process.memoryUsage.rss())
  }, 20)
  try {
    const ended = await pinfold(env, ...words)
    const printed = ended.stdout + ended.stderr
    assert.doesNotMatch(printed, raw)
    assert.ok(!printed.includes(secret.slice(0, 8)), printed)
    assert.equal(await place.look(), was)
    assert.ok(highest - usedBytes < mostBytes, `${highest - usedBytes} bytes`)
    return ended
  } finally {
    clearInterval(watch)
  }
}

/** What a folder has in place of an export's own. */
type Change = (place: Place) => Promise<unknown>

const linkTo =
  (path: string, target: string): Change =>
  async ({ folder, outside }) => {
    await rm(join(folder, path), { recursive: true, force: true })
    const to = target.startsWith('/') ? target : join(outside, target)
    await symlink(to, join(folder, path))
  }

const pipeAt =
  (path: string): Change =>
  async ({ folder }) => {
    await rm(join(folder, path))
    execFileSync('mkfifo', [join(folder, path)])
  }

const write =
  (path: string, bytes: string | Uint8Array): Change =>
  ({ folder }) =>
    writeFile(join(folder, path), bytes)

const gigabytesAt =
  (path: string): Change =>
  async ({ folder }) => {
    const file = await open(join(folder, path), 'w')
    await file.truncate(8 * 2 ** 30)
    await file.close()
  }

const entryWith = (members: Partial<AuditEntry>): AuditEntry => ({
  entry: '01900000-0000-7000-8000-000000000000',
  at: '2026-11-22T00:00:00.000000Z',
  act: 'log.began',
  outcome: 'done',
  ...members,
})

const folderCases: readonly [title: string, change: Change, code: number, isWithKeys?: boolean][] =
  [
    ['a checkpoint that is a link to a file of others', linkTo('checkpoint', 'secret'), 1],
    ['openings that are a link to a file of others', linkTo('openings/0.jsonl', 'secret'), 1],
    ['a tile that is a link to a file of others', linkTo('tile/0/000', 'secret'), 1],
    ['a folder of tiles that is a link', linkTo('tile', 'tile'), 1],
    ['a folder of openings that is a link', linkTo('openings', '.'), 1],
    ['older logs in a folder that is a link', linkTo('logs', '.'), 1],
    ['keys that are a device without an end', linkTo('keys', '/dev/zero'), 1, false],
    ['a checkpoint that is a pipe', pipeAt('checkpoint'), 1],
    ['a tile that is a pipe', pipeAt('tile/0/000'), 1],
    ['older checkpoints that are a pipe', linkTo('checkpoints.jsonl', '/dev/stdin'), 1],
    ['openings of eight gigabytes', gigabytesAt('openings/0.jsonl'), 1],
    ['a tile of eight gigabytes', gigabytesAt('tile/0/000'), 1],
    ['16 million empty lines', write('openings/0.jsonl', '\n'.repeat(16_777_216)), 1],
    ['as many lines as fit that are none', write('openings/0.jsonl', 'x\n'.repeat(8_388_608)), 1],
    ['older checkpoints that are none', write('checkpoints.jsonl', 'x\n'.repeat(8_388_608)), 1],
    ['as many entries as fit', write('tile/entries/000', new Uint8Array(32_768)), 1],
    [
      'a signed tree of 2^53 - 1 entries',
      write('checkpoint', signNote(key, Number.MAX_SAFE_INTEGER, new Uint8Array(32))),
      1,
    ],
  ]

for (const [title, change, code, isWithKeys = true] of folderCases) {
  test(`audit verify ends with ${code} for ${title}`, patience, async () => {
    const place = await makePlace()
    await change(place)
    const keys = isWithKeys ? ['--keys', place.keysFile] : []
    const ended = await run(place, {}, 'audit', 'verify', place.folder, ...keys)
    assert.equal(ended.code, code, ended.stdout.slice(0, 2_000) + ended.stderr)
  })
}

test('audit verify prints a reason that means to be a line of its own as a part of one', async () => {
  const [asked, erased] = erasureEntries(key.origin, [[1, 1]])
  const reason = { ...asked, details: { of: 'card', reason: staining } }
  const entries = [...numberedEntries(3), reason, erased]
  const { files } = await exportLog(key, entries, new Set([1]))
  const place = await makePlace(files)
  const ended = await run(place, {}, 'audit', 'verify', place.folder, '--keys', place.keysFile)
  assert.match(ended.stdout, /u001b\[2J/)
  assert.doesNotMatch(ended.stdout, /^cards\.example\/audit: 9 entries/m)
  const json = await run(place, {}, 'audit', 'verify', place.folder, '--json')
  assert.ok(JSON.parse(json.stdout).erasures[0].reason === staining)
})

/** The receipt of the one entry of a log, which may say what no service enters. */
function receiptOf(entry: object): string {
  const [salt, text] = [Buffer.alloc(32), JSON.stringify(entry)]
  const root = leafHash(encodeEntry(computeCommitment(salt, text)))
  const extra = Buffer.from(JSON.stringify({ salt: salt.toString('base64'), text }))
  return proofText({ extra, index: 0, hashes: [], checkpoint: signNote(key, 1, root) })
}

test('audit receipt shows the log, the size and the witnesses that it has verified', async () => {
  const place = await makePlace()
  const file = join(place.folder, 'receipt')
  const forged = { log: 'other.example/audit', witnesses: ['w.example'], size: 9_000, index: 7 }
  await writeFile(file, receiptOf({ ...entryWith({ reason: staining }), ...forged }))
  const ended = await run(place, {}, 'audit', 'receipt', file, '--keys', place.keysFile)
  assert.equal(ended.code, 0, ended.stdout)
  assert.match(ended.stdout, /^log +cards\.example\/audit$/m)
  assert.match(ended.stdout, /^size +1$/m)
  assert.match(ended.stdout, /^witnesses *$/m)
  assert.match(ended.stdout, /^entry\.log +other\.example\/audit$/m)
  assert.doesNotMatch(ended.stdout, /^cards\.example/m)
})

for (const [title, make] of [
  ['a pipe', pipeAt('receipt')],
  ['a device', linkTo('receipt', '/dev/zero')],
  ['of eight gigabytes', gigabytesAt('receipt')],
] as const) {
  test(`audit receipt and its keys are refused where they are ${title}`, patience, async () => {
    const place = await makePlace()
    const file = join(place.folder, 'receipt')
    await writeFile(file, receiptOf(entryWith({})))
    await make(place)
    const ended = await run(place, {}, 'audit', 'receipt', file, '--keys', place.keysFile)
    assert.equal(ended.code, 2, ended.stdout)
    const keys = await run(place, {}, 'audit', 'verify', place.folder, '--keys', file)
    assert.equal(keys.code, 2, keys.stdout)
    const since = await run(place, {}, 'audit', 'verify', place.folder, '--since', file)
    assert.equal(since.code, 2, since.stdout)
  })
}

test('audit receipt names what it cannot read: neither a file nor the id of an entry', async () => {
  const place = await makePlace()
  const ended = await run(place, {}, 'audit', 'receipt', join(place.folder, 'no-receipt'))
  assert.equal(ended.code, 2, ended.stdout)
  assert.match(ended.stderr, /no-receipt cannot be read/)
})

type Answer = (request: IncomingMessage, response: ServerResponse) => unknown

/** A service that answers as it is told; what it is asked for beyond that is not there. */
async function serve(answers: Readonly<Record<string, Answer>>) {
  const asked: string[] = []
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    asked.push(path)
    const found = Object.entries(answers).find(([beginning]) => path.startsWith(beginning))
    const token = JSON.stringify({ access_token: 'secret-token', token_type: 'Bearer' })
    if (path === '/oauth/token') response.setHeader('content-type', 'application/json').end(token)
    else if (found) found[1](request, response)
    else response.writeHead(404).end()
  })
  atEndOfFile(() => {
    server.closeAllConnections()
    server.close()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const env = {
    PINFOLD_URL: url,
    PINFOLD_PRIVATE_URL: url,
    PINFOLD_CLIENT_ID: 'admin',
    PINFOLD_CLIENT_SECRET: 'a secret of the client',
  }
  return { asked, env, url }
}

const say =
  (body: unknown, status = 200): Answer =>
  (_request, response) => {
    const isText = typeof body === 'string' || body instanceof Uint8Array
    response.writeHead(status).end(isText ? body : JSON.stringify(body))
  }

/** Bytes without an end. */
const flood: Answer = (_request, response) => {
  const chunk = Buffer.alloc(65_536, 'x')
  const more = (): void => {
    while (!response.destroyed && response.write(chunk)) {}
  }
  response.on('drain', more)
  response.writeHead(200)
  more()
}

/** Much that is little on its way. */
const packed = gzipSync(Buffer.alloc(2 ** 28))
const bomb: Answer = (_request, response) =>
  response.writeHead(200, { 'content-encoding': 'gzip' }).end(packed)

const logs = say([{ log: 1, origin: key.origin }])
const checkpointOf = (size: number): Answer => say(signNote(key, size, new Uint8Array(32)))
const listing = (...listed: unknown[]): Record<string, Answer> => ({
  '/audit/logs/': checkpointOf(1),
  '/audit/logs': say(listed),
  '/audit/keys': say(`${key.text}\n`),
})

/** A checkpoint of another size each time. */
const inTurn = (sizeOf: (asked: number) => number): Answer => {
  let asked = 0
  return (request, response) => {
    const size = sizeOf(asked)
    asked += 1
    checkpointOf(size)(request, response)
  }
}

const ofLog = (answers: Record<string, Answer>): Record<string, Answer> => ({
  ...answers,
  '/audit/logs': logs,
  '/audit/keys': say(`${key.text}\n`),
})

const serviceCases: readonly [title: string, answers: Record<string, Answer>][] = [
  ['a log called ../../x', listing({ log: '../../outside/x', origin: key.origin })],
  ['a log numbered -1', listing({ log: 1, origin: 'a' }, { log: -1, origin: 'b' })],
  ['two logs of one number', listing({ log: 1, origin: 'a' }, { log: 1, origin: 'b' })],
  ['a log whose name is a line of its own', listing({ log: 1, origin: staining })],
  ['a list that is none', { '/audit/logs': say({ log: 1 }) }],
  ['a list without an end', { '/audit/logs': flood }],
  ['keys without an end', { '/audit/logs': logs, '/audit/keys': flood }],
  ['a checkpoint without an end', ofLog({ '/audit/logs/1/checkpoint': flood })],
  ['a checkpoint that is none', ofLog({ '/audit/logs/1/checkpoint': say(staining) })],
  [
    'openings without an end',
    ofLog({ '/audit/logs/1/checkpoint': checkpointOf(9), '/audit/logs/1/openings': flood }),
  ],
  [
    'openings that are much more when they are unpacked',
    ofLog({ '/audit/logs/1/checkpoint': checkpointOf(9), '/audit/logs/1/openings': bomb }),
  ],
  [
    'a tree of 2^53 - 1 entries, all of them there',
    ofLog({
      '/audit/logs/1/checkpoint': checkpointOf(Number.MAX_SAFE_INTEGER),
      '/audit/logs/1/': say(Buffer.alloc(1_000_000)),
    }),
  ],
  [
    'a tree that grows, and whose entries are erased, again and again',
    ofLog({
      '/audit/logs/1/checkpoint': inTurn((asked) => asked + 1),
      '/audit/logs/1/': say('"erased":true'),
    }),
  ],
  [
    'a tree that becomes smaller',
    ofLog({
      '/audit/logs/1/checkpoint': inTurn((asked) => [300, 600][asked] ?? 1),
      '/audit/logs/1/': say(''),
    }),
  ],
  ['a refusal that clears the terminal', { '/audit/logs': say({ detail: staining }, 403) }],
]

for (const [title, answers] of serviceCases) {
  test(`audit export is given up for ${title}`, patience, async () => {
    const [place, { env }] = [await makePlace(new Map()), await serve(answers)]
    const ended = await run(place, env, 'audit', 'export', place.folder, '--most-mib', '32')
    assert.ok([1, 3].includes(ended.code ?? 0), ended.stdout + ended.stderr)
    assert.doesNotMatch(ended.stderr, /^cards\.example\/audit: 9 entries/m)
  })
}

const goodService: Record<string, Answer> = ofLog({
  '/audit/logs/1/': (request, response) => {
    const path = request.url?.slice('/audit/logs/1/'.length) ?? ''
    const name = path.startsWith('openings/') ? `${path}.jsonl` : path
    const bytes = exported.files.get(name)
    response.writeHead(bytes ? 200 : 404).end(bytes)
  },
})

test('an export of a log that grew by one while erased entries were read comes to its end', async () => {
  const [place, { asked, env }] = [
    await makePlace(new Map()),
    await serve(
      ofLog({
        '/audit/logs/1/checkpoint': inTurn((times) => (times === 0 ? 10 : 11)),
        '/audit/logs/1/openings': say('{"erased":true}\n'),
      }),
    ),
  ]
  const ended = await run(place, env, 'audit', 'export', place.folder)
  assert.doesNotMatch(ended.stderr, /does not end/)
  assert.equal(asked.filter((path) => path.includes('/openings/')).length, 2)
})

test('of checkpoints of earlier exports the oldest and the newest stay, and no more than are read', () => {
  let lines: readonly string[] = []
  for (let number = 0; number < 5_000; number++) {
    lines = thinLines([...lines, `"${number}"`])
    assert.ok(lines.length <= 1_000)
  }
  assert.equal(lines[0], '"0"')
  assert.deepEqual(
    lines.slice(-200),
    Array.from({ length: 200 }, (_, at) => `"${4_800 + at}"`),
  )
  const long = thinLines(Array.from({ length: 40 }, (_, at) => `"${at}${'x'.repeat(500_000)}"`))
  assert.ok(long.length >= 2 && long.join('\n').length <= 8_388_608)
})

for (const [title, path, target, isGood] of [
  ['replaces a file that is a link', 'keys', 'secret', true],
  ['replaces a draft that is a link', '.checkpoint.draft', 'secret', true],
  ['writes nothing by way of a folder that is a link', 'openings', '.', false],
  ['takes nothing away by way of a folder that is a link', 'tile', 'tile', false],
] as const) {
  test(`audit export ${title}`, patience, async () => {
    const [place, { env }] = [await makePlace(new Map()), await serve(goodService)]
    await linkTo(path, target)(place)
    const ended = await run(place, env, 'audit', 'export', place.folder)
    assert.equal(ended.code === 0, isGood, ended.stdout + ended.stderr)
  })
}

const monitorCases: readonly [title: string, answers: Record<string, Answer>][] = [
  ['a checkpoint without an end', { '/checkpoint': flood }],
  ['a checkpoint that is much more when it is unpacked', { '/checkpoint': bomb }],
  ['a checkpoint that is none', { '/checkpoint': say(staining) }],
  ['a tile without an end', { '/checkpoint': checkpointOf(900), '/tile': flood }],
]

for (const [title, answers] of monitorCases) {
  test(`audit monitor ends for ${title}`, patience, async () => {
    const [place, { url }] = [await makePlace(), await serve(answers)]
    const state = join(place.folder, 'state')
    await writeFile(state, exported.note)
    const options = ['--keys', place.keysFile, '--state', state]
    const ended = await run(place, {}, 'audit', 'monitor', url, ...options)
    assert.ok([1, 2].includes(ended.code ?? 0), ended.stdout + ended.stderr)
    assert.equal(await readFile(state, 'utf8'), exported.note)
  })
}

test('audit monitor asks no other address than the one that was named', async () => {
  const other = await serve({})
  const place = await makePlace()
  const away: Answer = (_request, response) =>
    response.writeHead(302, { location: `${other.url}/checkpoint` }).end()
  const { url } = await serve({ '/checkpoint': away })
  const ended = await run(place, {}, 'audit', 'monitor', url, '--keys', place.keysFile)
  assert.equal(ended.code, 2, ended.stdout)
  assert.deepEqual(other.asked, [])
})

test('audit receipt refuses a right receipt of another entry than the one that was asked for', async () => {
  const place = await makePlace()
  const other = entryWith({ entry: '01900000-0000-7000-8000-000000000001' })
  const { env } = await serve({
    '/thr/processor/receipts/': say(receiptOf(other)),
    '/.well-known/audit-log-keys': say(`${key.text}\n`),
  })
  const asked = '01900000-0000-7000-8000-000000000002'
  const ended = await run(place, env, 'audit', 'receipt', asked, '--keys', place.keysFile)
  assert.deepEqual([ended.code, ended.stdout.split(':')[0]], [1, 'not_included'])
  const right = await run(place, env, 'audit', 'receipt', other.entry, '--keys', place.keysFile)
  assert.equal(right.code, 0, right.stdout)
})

test('a list whose next page is on another host gets no token there', async () => {
  const place = await makePlace()
  const other = await serve({})
  const next = `@${other.url.slice('http://'.length)}/acts`
  const { env } = await serve({
    '/acts': (_request, response) =>
      response.writeHead(200, { link: `<${next}>; rel="next"` }).end('[]'),
  })
  const ended = await run(place, env, 'acts')
  assert.equal(ended.code, 3, ended.stdout)
  assert.deepEqual(other.asked, [])
})
