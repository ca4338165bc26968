import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { parseVerifierKeys, verifyFolder } from '../../../sdk/audit/audit.ts'
import type { AuditEntry } from '../../../src/domain/audit-entry.ts'
import {
  type Exported,
  exportLog,
  makeLogKey,
  numberedEntries,
  readerOf,
  signNote,
} from '../../support/exported-log.ts'

const key = makeLogKey('cards.example/audit')
let exported: Exported
before(async () => {
  exported = await exportLog(key, numberedEntries(700))
})

type Files = Map<string, Uint8Array>

const reportOf = async (files: Files, remembered: readonly string[] = []) =>
  verifyFolder(readerOf(files), { keys: await parseVerifierKeys(key.text), remembered })

/** The findings in a folder that was bent: each its code and place. */
async function findings(
  bend: (files: Files) => void,
  { files } = exported,
  remembered: readonly string[] = [],
): Promise<string[]> {
  const bent: Files = new Map([...files].map(([path, bytes]) => [path, new Uint8Array(bytes)]))
  bend(bent)
  const report = await reportOf(bent, remembered)
  return report.findings.map(({ code, where }) => `${code} ${where}`)
}

const flip = (files: Files, path: string, byte: number): void => {
  const bytes = files.get(path) ?? assert.fail(path)
  bytes[byte] = (bytes[byte] ?? 0) ^ 4
}

const linesOf = (files: Files, path: string): string[] =>
  Buffer.from(files.get(path) ?? [])
    .toString()
    .split('\n')
    .slice(0, -1)

const setLines = (files: Files, path: string, lines: readonly string[]): void => {
  files.set(path, Buffer.from(lines.map((line) => `${line}\n`).join('')))
}

const bundle = 'tile/entries/001'
const entryBytes = 35

test('a folder as it was exported is good, whatever the size of its tree', async () => {
  for (const size of [0, 1, 255, 256, 257, 700]) {
    const { files } = await exportLog(key, numberedEntries(size))
    const report = await reportOf(files)
    assert.deepEqual([report.findings, report.unchecked, report.notes], [[], [], []])
    assert.deepEqual(
      report.logs.map((log) => [log.origin, log.size, log.erased, log.checkpoint?.signedBy.length]),
      [[key.origin, size, 0, 1]],
    )
  }
})

test('a bit that is turned in an entry, a tile or the checkpoint is found where it is', async () => {
  const bend = (path: string, byte: number) => findings((files) => flip(files, path, byte))
  assert.deepEqual(await bend(bundle, 3 * entryBytes + 20), ['entry_changed entry 259'])
  assert.deepEqual(await bend('tile/entries/002.p/188', 10), ['entry_changed entry 512'])
  assert.deepEqual(await bend('tile/0/001', 40), ['tile_changed tile/0/001'])
  assert.deepEqual(await bend('tile/0/002.p/188', 40), ['tile_changed tile/0/002.p/188'])
  assert.deepEqual(await bend('tile/1/000.p/2', 40), ['tile_changed tile/1/000.p/2'])
  const { length } = exported.note
  for (const byte of [2, key.origin.length + 2, key.origin.length + 9, length - 20, length - 90]) {
    const found = await bend('checkpoint', byte)
    assert.ok(found.includes('checkpoint_changed checkpoint'), `${byte}: ${found}`)
  }
})

test('an entry that is taken out, or two that change places, are found and named', async () => {
  const cut = (files: Files) => {
    const bytes = Buffer.from(files.get(bundle) ?? [])
    files.set(bundle, Buffer.concat([bytes.subarray(0, 70), bytes.subarray(105)]))
  }
  assert.deepEqual(await findings(cut), ['entry_deleted entry 258'])
  const swap = (files: Files) => {
    const bytes = Buffer.from(files.get(bundle) ?? [])
    const [one, other] = [bytes.subarray(0, 35), bytes.subarray(35, 70)]
    files.set(bundle, Buffer.concat([other, one, bytes.subarray(70)]))
  }
  assert.deepEqual(await findings(swap), ['entry_swapped entry 256', 'entry_swapped entry 257'])
})

test('a row whose text is changed, deleted or exchanged with that of another is found and named', async () => {
  const path = 'openings/2.jsonl'
  const edit = (change: (lines: string[]) => string[]) =>
    findings((files) => setLines(files, path, change(linesOf(files, path))))
  const changed = await edit((lines) =>
    lines.map((line, at) => (at === 4 ? line.replace('acme', 'evil') : line)),
  )
  assert.deepEqual(changed, ['opening_changed entry 516'])
  const deleted = await edit((lines) => lines.toSpliced(7, 1))
  assert.deepEqual(deleted, ['opening_missing entry 519'])
  const swapped = await findings((files) => {
    const [one, other] = ['openings/0.jsonl', path].map((each) => linesOf(files, each))
    const [first, second] = [one?.[3] ?? '', other?.[3] ?? '']
    setLines(files, 'openings/0.jsonl', one?.with(3, second.replace('515', '3')) ?? [])
    setLines(files, path, other?.with(3, first.replace('"index":3', '"index":515')) ?? [])
  })
  assert.deepEqual(swapped, ['opening_swapped entry 3', 'opening_swapped entry 515'])
})

test('rows and tiles that were all made anew to fit a changed act do not fit what was signed', async () => {
  const entries = numberedEntries(700).map((entry, at) =>
    at === 300 ? { ...entry, client: 'nobody' } : entry,
  )
  const { files } = await exportLog(key, entries)
  files.set('checkpoint', Buffer.from(exported.note))
  assert.deepEqual(await findings(() => undefined, { ...exported, files }), [
    'tree_changed entries 0 to 699',
  ])
})

test('where entries and their tile were made anew, it is said which they are', async () => {
  const other = await exportLog(key, numberedEntries(700))
  const found = await findings((files) => {
    for (const path of ['tile/0/001', bundle, 'openings/1.jsonl']) {
      files.set(path, other.files.get(path) ?? assert.fail(path))
    }
  })
  assert.deepEqual(found, ['tree_changed entries 256 to 511'])
})

test('a file that is not there is found', async () => {
  const gone = (path: string) => findings((files) => files.delete(path))
  assert.deepEqual(await gone(bundle), [`tile_missing ${bundle}`])
  assert.deepEqual(await gone('tile/0/000'), ['tile_missing tile/0/000'])
  assert.deepEqual(await gone('tile/1/000.p/2'), ['tile_missing tile/1/000.p/2'])
  assert.deepEqual(await gone('openings/0.jsonl'), ['opening_missing entries 0 to 255'])
  const cut: Files = new Map(exported.files)
  for (const path of [bundle, 'tile/0/001', 'openings/1.jsonl']) cut.delete(path)
  const rest = await reportOf(cut, [signNote(key, 600, await exported.rootAt(600))])
  assert.deepEqual(
    rest.findings.map(({ code, where }) => `${code} ${where}`),
    ['tile_missing tile/0/001', `tile_missing ${bundle}`],
  )
  assert.match(rest.unchecked[0] ?? '', /entries 256 to 699/)
  const { unchecked } = await reportOf(new Map())
  assert.deepEqual(unchecked, ['There is no checkpoint of the log.'])
})

test('a size that nobody signed is not walked to its end', async () => {
  const found = await findings((files) => {
    const note = exported.note.replace('\n700\n', '\n9000000000000000\n')
    files.set('checkpoint', Buffer.from(note))
  })
  assert.equal(found[0], 'checkpoint_changed checkpoint')
  assert.ok(found.length < 10, String(found.length))
})

const without = (count: number, isLeftOut: (entry: AuditEntry) => boolean): AuditEntry[] =>
  numberedEntries(count).filter((entry) => !isLeftOut(entry))

test('a number of an act, or of an event of a card, that was never entered is found', async () => {
  const noNumber = await exportLog(
    key,
    without(100, ({ number }) => number === 4),
  )
  assert.deepEqual(await findings(() => undefined, noNumber), ['number_skipped entry 48'])
  const noEvent = await exportLog(
    key,
    without(100, ({ card, sequence }) => card === 'card-2' && sequence === 7),
  )
  assert.deepEqual(await findings(() => undefined, noEvent), ['sequence_skipped entry 36'])
  const entries = numberedEntries(60)
  const twice = await exportLog(key, [...entries, entries[59], entries[58]] as AuditEntry[])
  assert.deepEqual(await findings(() => undefined, twice), [
    'number_repeated entry 60',
    'sequence_repeated entry 61',
  ])
})

const erasure = (ranges: readonly (readonly [number, number])[]): AuditEntry => ({
  ...{ entry: 'erasure', at: '2026-11-22T00:00:00.000000Z', act: 'entries.erased' },
  ...{ subject: key.origin, outcome: 'done', details: { ranges } },
})

test('what was erased is missing rightly where an erasure in the log covers it, and only there', async () => {
  const entries = [
    ...numberedEntries(600),
    erasure([
      [0, 100],
      [90, 299],
    ]),
  ]
  const covered = new Set(Array.from({ length: 300 }, (_, at) => at))
  const { files } = await exportLog(key, entries, covered)
  const report = await reportOf(files)
  assert.deepEqual([report.findings, report.logs[0]?.erased], [[], 300])
  const more = await exportLog(key, entries, new Set([...covered, 300, 301, 410]))
  assert.deepEqual(await findings(() => undefined, more), [
    'opening_missing entries 300 to 301',
    'opening_missing entry 410',
  ])
})

test('a checkpoint of before is held against the log: another tree of its size, or a larger one, is found', async () => {
  const { root, size } = await exportLog(key, numberedEntries(500))
  const begun = await exportLog(key, numberedEntries(700))
  const forged = (at: number) => signNote(key, at, root)
  const known = (note: string) => findings(() => undefined, begun, [note])
  assert.deepEqual(await known(begun.note), [])
  assert.deepEqual(await known(forged(size)), ['two_roots what was remembered'])
  assert.deepEqual(await known(forged(700)), ['two_roots what was remembered'])
  assert.deepEqual(await known(forged(900)), ['rolled_back what was remembered'])
  assert.deepEqual(await known(signNote(makeLogKey(key.origin), 500, root)), [
    'checkpoint_changed what was remembered',
  ])
  const keep = (note: string) => (files: Files) =>
    files.set('checkpoints.jsonl', Buffer.from(`${JSON.stringify(note)}\n`))
  assert.deepEqual(await findings(keep(forged(900)), begun), [
    'rolled_back checkpoints.jsonl, line 1',
  ])
})

test('a log goes on from every older tree that was signed of it', async () => {
  for (const size of [1, 255, 256, 257, 512, 600, 699]) {
    const note = signNote(key, size, await exported.rootAt(size))
    assert.deepEqual(await findings(() => undefined, exported, [note]), [], `${size}`)
  }
})

const successorKey = makeLogKey('cards.example/audit/2-abcd')

/** A folder of a log and of the one before it. */
async function succeeded(
  predecessorCheckpoint: string | null,
  more: readonly AuditEntry[] = [],
  former: Exported = exported,
): Promise<Exported> {
  const { origin } = successorKey
  const first: AuditEntry = {
    ...{ entry: 'succession', at: '2026-11-22T00:00:00.000000Z', act: 'log.succeeded' },
    ...{ subject: origin, outcome: 'done', reason: 'Restored from the backup of Sunday.' },
    details: { log: 2, origin, predecessorCheckpoint },
  }
  const log = await exportLog(successorKey, [first, ...numberedEntries(20), ...more])
  const before = [...former.files].map(([path, bytes]) => [`logs/1/${path}`, bytes] as const)
  return { ...log, files: new Map([...log.files, ...before]) }
}

const reportOfBoth = async (files: Files) =>
  verifyFolder(readerOf(files), {
    keys: await parseVerifierKeys(`${key.text}\n${successorKey.text}`),
  })

test('a successor is verified with the log before it, which it says the newest checkpoint of', async () => {
  const good = await reportOfBoth((await succeeded(exported.note)).files)
  assert.deepEqual([good.findings, good.unchecked, good.notes], [[], [], []])
  assert.deepEqual(
    good.logs.map(({ origin, size }) => [origin, size]),
    [
      [successorKey.origin, 21],
      [key.origin, 700],
    ],
  )
  const lost = await reportOfBoth((await succeeded(signNote(key, 800, exported.root))).files)
  assert.deepEqual(lost.findings, [])
  assert.match(lost.notes[0] ?? '', /800 entries were signed, 700 are left.*Restored from/)
  const other = await reportOfBoth((await succeeded(signNote(key, 600, exported.root))).files)
  assert.deepEqual(
    other.findings.map(({ code, where }) => [code, where]),
    [['two_roots', 'what its successor says']],
  )
  const { files } = await succeeded(exported.note)
  files.delete('logs/1/checkpoint')
  assert.deepEqual((await reportOfBoth(files)).unchecked, [
    'There is no checkpoint of log 1, before the others.',
  ])
})

test('what was erased in a log is covered by its successor, which names the log', async () => {
  const former = await exportLog(key, numberedEntries(700), new Set([5, 6, 7]))
  const covered = await succeeded(former.note, [erasure([[5, 7]])], former)
  const { findings: none, logs } = await reportOfBoth(covered.files)
  assert.deepEqual([none, logs[1]?.erased], [[], 3])
  const elsewhere = { ...erasure([[5, 7]]), subject: successorKey.origin }
  const bare = await reportOfBoth((await succeeded(former.note, [elsewhere], former)).files)
  assert.deepEqual(
    bare.findings.map(({ code, where }) => `${code} ${where}`),
    ['opening_missing entries 5 to 7'],
  )
})
