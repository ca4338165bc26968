import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { before, test } from 'node:test'
import { parseVerifierKeys, type VerifierKey, verifyFolder } from '../../../sdk/audit/audit.ts'
import type { AuditEntry } from '../../../src/domain/audit-entry.ts'
import { verifierKeyText } from '../../../src/domain/audit-notes.ts'
import {
  type Exported,
  erasureEntries,
  exportLog,
  type LogKey,
  makeLogKey,
  numberedEntries,
  readerOf,
  signNote,
} from '../../support/exported-log.ts'

const logKey = (number: number): LogKey => makeLogKey(`cards.example/audit/${number}`)
const [first, second, third] = [logKey(1), logKey(2), logKey(3)]
let keys: VerifierKey[]
before(async () => {
  keys = await parseVerifierKeys([first, second, third].map(({ text }) => text).join('\n'))
})

type Files = Map<string, Uint8Array>

/** Codes and places of findings, and what could not be checked. */
async function verify(
  files: Files,
  remembered: readonly string[] = [],
): Promise<[found: string[], unchecked: readonly string[]]> {
  const report = await verifyFolder(readerOf(files), { keys, remembered })
  return [report.findings.map(({ code, where }) => `${code} ${where}`), report.unchecked]
}

/** A log that says of itself that it follows another. */
function follower(
  key: LogKey,
  log: number,
  predecessorCheckpoint: string,
  entries = numberedEntries(20),
): Promise<Exported> {
  const { origin } = key
  const begin: AuditEntry = {
    ...{ entry: 'succession', at: '2026-11-22T00:00:00.000000Z', act: 'log.succeeded' },
    ...{ subject: origin, outcome: 'done', reason: 'Restored from the backup of Sunday.' },
    details: { log, origin, predecessorCheckpoint },
  }
  return exportLog(key, [begin, ...entries])
}

const under = (folder: string, { files }: Exported) =>
  [...files].map(([path, bytes]) => [`${folder}${path}`, bytes] as const)

/** Every so many bits of the files of a folder, but of its own keys: others are trusted. */
function* bentFiles(files: Files, stride: number): Generator<[name: string, bent: Files]> {
  let until = 0
  for (const [path, bytes] of files) {
    for (let bit = until; path !== 'keys' && bit < bytes.length * 8; bit += stride) {
      const bent = new Uint8Array(bytes)
      bent[bit >> 3] = (bent[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      yield [`${path}, bit ${bit}`, new Map(files).set(path, bent)]
      until = bit + stride - bytes.length * 8
    }
  }
}

test('whichever bit of an export is turned, it is not said to be good', async () => {
  for (const [size, stride] of [
    [22, 47],
    [300, 9_973],
  ] as const) {
    const entries = [...numberedEntries(size), ...erasureEntries(first.origin, [[3, 5]])]
    const { files, note } = await exportLog(first, entries, new Set([3, 4, 5]))
    files.set('checkpoints.jsonl', Buffer.from(`${JSON.stringify(note)}\n`))
    assert.deepEqual(await verify(files), [[], []])
    let count = 0
    for (const [name, bent] of bentFiles(files, stride)) {
      const [found, unchecked] = await verify(bent)
      assert.ok(found.length + unchecked.length > 0, name)
      count += 1
    }
    assert.ok(count > 80, String(count))
  }
})

test('entries that nobody signed, between the others or behind them, are found', async () => {
  const { files } = await exportLog(first, numberedEntries(30))
  const path = 'tile/entries/000.p/30'
  const bundle = Buffer.from(files.get(path) ?? [])
  const insert = (at: number) => {
    const stranger = Buffer.concat([Uint8Array.of(0, 33), Buffer.alloc(33, 1)])
    const [before, behind] = [bundle.subarray(0, at * 35), bundle.subarray(at * 35)]
    return verify(new Map(files).set(path, Buffer.concat([before, stranger, behind])))
  }
  assert.deepEqual(await insert(0), [['entry_added entry 0'], []])
  assert.deepEqual(await insert(12), [['entry_added entry 12'], []])
  assert.deepEqual(await insert(30), [['entry_added entry 29'], []])
})

test('an entry that is given to say something twice is found', async () => {
  const { files } = await exportLog(first, numberedEntries(30))
  const lines = Buffer.from(files.get('openings/0.jsonl') ?? []).toString()
  files.set('openings/0.jsonl', Buffer.from(`${lines}{"index":7,"erased":true}\n`))
  assert.deepEqual(await verify(files), [['opening_changed entry 7'], []])
})

test('acts are numbered from 1 on, but in a log that follows another', async () => {
  const late = numberedEntries(60).filter(({ number }) => number === undefined || number > 2)
  assert.deepEqual(await verify((await exportLog(first, late)).files), [
    ['number_skipped entry 27'],
    [],
  ])
  // Where what came before was erased, the numbers may have been there.
  const covered = [...late, ...erasureEntries(first.origin, [[0, 2]])]
  const erased = await exportLog(first, covered, new Set([0, 1, 2]))
  assert.deepEqual(await verify(erased.files), [[], []])
  const one = await exportLog(first, numberedEntries(30))
  const two = await follower(second, 2, one.note, late)
  assert.deepEqual(await verify(new Map([...two.files, ...under('logs/1/', one)])), [[], []])
})

test('a checkpoint that was had before is not passed over: no checkpoint, or of a log that is not there', async () => {
  const { files, root } = await exportLog(first, numberedEntries(30))
  for (const [remembered, said] of [
    ['', 'what was remembered: it is no checkpoint.'],
    [root.toString(), 'what was remembered: it is no checkpoint.'],
    [
      signNote(second, 20, root),
      `what was remembered: it is of ${second.origin}, which is not there.`,
    ],
  ] as const) {
    assert.deepEqual(await verify(files, [remembered]), [[], [said]])
  }
  const kept = (line: string) => verify(new Map(files).set('checkpoints.jsonl', Buffer.from(line)))
  assert.deepEqual(await kept('{}\n'), [['checkpoint_changed checkpoints.jsonl, line 1'], []])
  assert.deepEqual(await kept(`${JSON.stringify(signNote(second, 20, root))}\n`), [
    [],
    [`checkpoints.jsonl, line 1: it is of ${second.origin}, which is not there.`],
  ])
})

test('the checkpoints of a log that a folder keeps are held against it also when another log has followed it', async () => {
  const one = await exportLog(first, numberedEntries(30))
  const two = await follower(second, 2, one.note)
  const files = new Map([...two.files, ...under('logs/1/', one)])
  const withKept = (note: string) =>
    verify(new Map(files).set('checkpoints.jsonl', Buffer.from(`${JSON.stringify(note)}\n`)))
  assert.deepEqual(await withKept(signNote(first, 20, await one.rootAt(20))), [[], []])
  assert.deepEqual(await withKept(signNote(first, 20, one.root)), [
    ['two_roots checkpoints.jsonl, line 1'],
    [],
  ])
  // More than the log after it says that there was.
  assert.deepEqual(await withKept(signNote(first, 40, one.root)), [
    ['rolled_back checkpoints.jsonl, line 1'],
    [],
  ])
})

test('a log that stands at the place of the one before is no proof of that one', async () => {
  const one = await exportLog(first, numberedEntries(30))
  const two = await follower(second, 2, one.note)
  const three = await follower(third, 3, two.note)
  const whole = new Map([...three.files, ...under('logs/2/', two), ...under('logs/1/', one)])
  assert.deepEqual(await verify(whole), [[], []])
  const [found, [unchecked, ...more]] = await verify(
    new Map([...three.files, ...under('logs/2/', one)]),
  )
  assert.deepEqual([found, more], [[], []])
  assert.match(
    unchecked ?? '',
    /^cards.example\/audit\/2 with 21 entries is not there; .* Sunday\.$/,
  )
})

test('logs that say that they follow each other end', async () => {
  const two = await follower(second, 2, '')
  const [found] = await verify(new Map([...two.files, ...under('logs/1/', two)]))
  assert.deepEqual(found, [])
})

test('a witness whose key is given and that has not cosigned is named', async () => {
  const { files } = await exportLog(first, numberedEntries(3))
  const { x } = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
  const witness = verifierKeyText('witness.example/w', 4, Buffer.from(x ?? '', 'base64url'))
  const asked = await parseVerifierKeys(`${first.text}\n${witness}\n`)
  const { notes } = await verifyFolder(readerOf(files), { keys: asked })
  assert.deepEqual(notes, [
    `${first.origin}: witness.example/w, whose key was given, has not cosigned it.`,
  ])
})
