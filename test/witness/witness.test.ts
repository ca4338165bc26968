import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { openNote, parseVerifierKey, verifierKeyText } from '../../packages/audit/notes.ts'
import { parseWitnessPolicy } from '../../packages/audit/witness-policy.ts'
import { cosign, isCosigned, type Witnesses } from '../../src/operations/audit-log/witnesses.ts'
import { createWitnessServer } from '../../src/witness/listen.ts'
import { createWitness, type LogWitness } from '../../src/witness/witness.ts'
import { atEndOfFile } from '../support/end-of-file.ts'
import {
  type Exported,
  exportLog,
  makeLogKey,
  numberedEntries,
  signNote,
} from '../support/exported-log.ts'
import { parseHex, tlogVectors } from '../support/tlog-vectors.ts'

const keys = generateKeyPairSync('ed25519')
const newFolder = (): Promise<string> => mkdtemp(join(tmpdir(), 'witness-'))

const witnessOf = (folder: string, ...logs: string[]): LogWitness =>
  createWitness({ name: 'witness.example/w', ...keys, logs: logs.map(parseVerifierKey), folder })

const rows = tlogVectors.filter(({ op }) => op === 'witnessRequest')

test('the 9 published requests are answered as specified, also after a restart', async () => {
  assert.equal(rows.length, 9)
  const [{ inputs }] = rows as [(typeof rows)[number]]
  const log = verifierKeyText(inputs.origin, 1, parseHex(inputs.logPublicKeyHex))
  const folder = await newFolder()
  for (const { expected, id, inputs } of rows) {
    // It has nothing but what is on the disk.
    const witness = witnessOf(folder, log)
    const { status, text } = await witness.addCheckpoint(inputs.body)
    assert.equal(status, expected.status, id)
    if (status === 409) assert.match(text, /^[0-9]+\n$/)
    if (status !== 200) continue
    const [, note = ''] = inputs.body.split(/\n\n(.*)/s)
    const { verified } = await openNote(`${note}${text}`, [parseVerifierKey(witness.verifierKey)])
    assert.ok(Math.abs((verified[0]?.at?.getTime() ?? 0) - Date.now()) / 1_000 < 60, id)
  }
})

const key = makeLogKey('cards.example/audit')
let log: Exported
let other: Exported
before(async () => {
  log = await exportLog(key, numberedEntries(600))
  other = await exportLog(key, numberedEntries(600))
})

const first = async (size: number, of: Exported): Promise<string> =>
  `old 0\n\n${signNote(key, size, await of.rootAt(size))}`

test('of two trees of one size that come at once, one is cosigned', async () => {
  const witness = witnessOf(await newFolder(), key.text)
  const trees = [log, other]
  const bodies = await Promise.all(trees.map((each) => first(600, each)))
  const answers = await Promise.all(bodies.map((body) => witness.addCheckpoint(body)))
  const statuses = answers.map(({ status }) => status)
  assert.deepEqual(statuses.toSorted(), [200, 409])
  assert.equal(answers.find(({ status }) => status === 409)?.text, '600\n')
  // What it has cosigned, it cosigns again.
  for (const [index, { note }] of trees.entries()) {
    const again = await witness.addCheckpoint(`old 600\n\n${note}`)
    assert.equal(again.status, statuses[index])
  }
})

test('what is not a request, of no log that is known, or not signed by it, is refused', async () => {
  const witness = witnessOf(await newFolder(), key.text)
  const statusOf = async (body: string) => (await witness.addCheckpoint(body)).status
  const body = await first(600, log)
  const hash = Buffer.alloc(32).toString('base64')
  const stranger = makeLogKey(key.origin)
  for (const [bent, status] of [
    ['', 400],
    [body.replace('old 0', 'old 00'), 400],
    [body.replace('old 0', 'old 601'), 400],
    [body.replace('old 0\n', 'old 0\nAAAA\n'), 400],
    [body.replace('old 0\n', `old 0\n${`${hash}\n`.repeat(64)}`), 400],
    [body.slice(0, -1), 403],
    [body.replace('\n600\n', '\n0x1\n'), 400],
    [body.replaceAll('cards.example', 'cards.test'), 404],
    [body.replace('\n600\n', '\n601\n'), 403],
    [`old 0\n\n${signNote(stranger, 600, log.root)}`, 403],
    [body.replace('old 0\n', `old 0\n${hash}\n`), 422],
    [body.replace('old 0', 'old 3'), 409],
    [body, 200],
  ] as const) {
    assert.equal(await statusOf(bent), status, bent.slice(0, 20))
  }
})

async function serve(witness: LogWitness): Promise<string> {
  const server = createWitnessServer(witness, assert.ifError)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEndOfFile(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** As the log asks witnesses, but for the guard of addresses. */
const witnessesAt = (url: string, witness: LogWitness): Witnesses => ({
  policy: parseWitnessPolicy(`witness w ${witness.verifierKey} ${url}\nquorum w\n`),
  async post(target, body) {
    const answer = await fetch(target, { method: 'POST', body })
    return { status: answer.status, text: await answer.text() }
  },
  sizes: new Map(),
})

/** A checkpoint of a log as its signer hands it to witnesses. */
const signedAt = async (of: Exported, size: number) => {
  const note = signNote(key, size, await of.rootAt(size))
  const text = note.slice(0, note.indexOf('\n\n') + 1)
  return {
    origin: key.origin,
    size,
    text,
    note,
    proofFrom: (oldSize: number) => of.proofFrom(oldSize, size),
  }
}

test('a log has its checkpoints cosigned as it grows; restored from a backup, it learns that it is behind', async () => {
  const witness = witnessOf(await newFolder(), key.text)
  const witnesses = witnessesAt(await serve(witness), witness)
  for (const size of [1, 2, 256, 300, 600]) {
    const checkpoint = await signedAt(log, size)
    const { disputed, lines } = await cosign(witnesses, checkpoint)
    assert.equal(disputed, null)
    const note = `${checkpoint.note}${lines.join('')}`
    assert.ok(await isCosigned(witnesses, note), `${size}`)
    assert.ok(!(await isCosigned(witnesses, checkpoint.note)))
    const cosigned = await openNote(note, [parseVerifierKey(witness.verifierKey)])
    assert.deepEqual(
      cosigned.verified.map(({ name }) => name),
      ['witness.example/w'],
    )
  }
  // Another process of the log, which knows nothing of what was cosigned.
  const restored = witnessesAt(await serve(witness), witness)
  const behind = await cosign(restored, await signedAt(log, 300))
  assert.match(behind.ahead ?? '', /^The witness w has cosigned .* with 600 entries/)
  // Of the same size, and grown beyond it, but of other entries.
  for (const cosigned of [log, other]) {
    const { disputed, lines } = await cosign(restored, await signedAt(cosigned, 600))
    assert.deepEqual([lines.length, disputed === null], cosigned === log ? [1, true] : [0, false])
  }
})

test('it takes checkpoints by POST, at one path, up to a length', async () => {
  const url = await serve(witnessOf(await newFolder(), key.text))
  const statusOf = async (path: string, init?: RequestInit) =>
    (await fetch(`${url}${path}`, init)).status
  assert.equal(await statusOf('/'), 404)
  assert.equal(await statusOf('/add-checkpoint'), 405)
  const body = await first(600, log)
  const long = { method: 'POST', body: body + 'x'.repeat(70_000) }
  assert.equal(await statusOf('/add-checkpoint', long), 413)
  assert.equal(await statusOf('/add-checkpoint', { method: 'POST', body }), 200)
  const again = await fetch(`${url}/add-checkpoint`, { method: 'POST', body })
  assert.deepEqual(
    [again.status, again.headers.get('content-type'), await again.text()],
    [409, 'text/x.tlog.size', '600\n'],
  )
})
