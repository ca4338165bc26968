import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { parseVerifierKeys, verifyFolder } from '../../../packages/audit/audit.ts'
import type { AuditEntry } from '../../../src/domain/audit-entry.ts'
import {
  createReader,
  type Exported,
  erasureEntries,
  exportLog,
  makeLogKey,
  numberedEntries,
  signNote,
} from '../../support/exported-log.ts'

const key = makeLogKey('cards.example/audit')
let exported: Exported
before(async () => {
  exported = await exportLog(key, numberedEntries(700))
})

type Files = Map<string, Uint8Array>

const reportOf = async (files: Files, remembered: readonly string[] = []) =>
  verifyFolder(createReader(files), { keys: await parseVerifierKeys(key.text), remembered })

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

test('an unsigned size is not read to its end', async () => {
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

test('what was erased is missing rightly where an erasure in the log covers it, and only there', async () => {
  const entries = [
    ...numberedEntries(600),
    ...erasureEntries(key.origin, [
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
  assert.deepEqual(await known(forged(size)), ['two_roots the remembered checkpoint'])
  assert.deepEqual(await known(forged(700)), ['two_roots the remembered checkpoint'])
  assert.deepEqual(await known(forged(900)), ['rolled_back the remembered checkpoint'])
  assert.deepEqual(await known(signNote(makeLogKey(key.origin), 500, root)), [
    'checkpoint_changed the remembered checkpoint',
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
    entry: 'succession',
    at: '2026-11-22T00:00:00.000000Z',
    act: 'log.succeeded',
    subject: origin,
    outcome: 'done',
    reason: 'Restored from the backup of Sunday.',
    details: { log: 2, origin, predecessorCheckpoint },
  }
  const log = await exportLog(successorKey, [first, ...numberedEntries(20), ...more])
  const before = [...former.files].map(([path, bytes]) => [`logs/1/${path}`, bytes] as const)
  return { ...log, files: new Map([...log.files, ...before]) }
}

const reportOfBoth = async (files: Files, acceptedSuccessors: readonly string[] = []) =>
  verifyFolder(createReader(files), {
    keys: await parseVerifierKeys(`${key.text}\n${successorKey.text}`),
    acceptedSuccessors,
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
  const covered = await succeeded(former.note, erasureEntries(key.origin, [[5, 7]]), former)
  const { findings: none, logs } = await reportOfBoth(covered.files)
  assert.deepEqual([none, logs[1]?.erased], [[], 3])
  const elsewhere = erasureEntries(successorKey.origin, [[5, 7]])
  const bare = await reportOfBoth((await succeeded(former.note, elsewhere, former)).files)
  assert.deepEqual(
    bare.findings.map(({ code, where }) => `${code} ${where}`),
    ['opening_missing entries 5 to 7'],
  )
})

test('entries that were lost behind a successor are a finding, until that one is accepted by its name', async () => {
  const { files } = await succeeded(signNote(key, 900, exported.root))
  const lost =
    /900 entries were signed, and 700 remain; its successor cards\.example\/audit\/2-abcd.*Restored from/
  for (const accepted of [[], [key.origin], ['cards.example/audit/2']]) {
    const { findings: found } = await reportOfBoth(files, accepted)
    assert.deepEqual(
      found.map(({ code, where }) => `${code} ${where}`),
      ['rolled_back what its successor says'],
    )
    assert.match(found[0]?.detail ?? '', lost)
  }
  const { findings: none, notes } = await reportOfBoth(files, [successorKey.origin])
  assert.deepEqual(none, [])
  assert.match(notes[0] ?? '', lost)
})

/** What is found in a log whose first three entries say nothing, and that ends with these. */
const foundOfBlank = async (more: readonly AuditEntry[]): Promise<string[]> =>
  findings(
    () => undefined,
    await exportLog(key, [...numberedEntries(30), ...more], new Set([0, 1, 2])),
  )

const blank = 'opening_missing entries 0 to 2'

test('an erasure explains missing openings only before itself, and after its request', async () => {
  const [requested, erased] = erasureEntries(key.origin, [[0, 2]])
  assert.deepEqual(await foundOfBlank([requested, erased]), [])
  const unfounded = (index: number) => [`erasure_unfounded entry ${index}`, blank]
  assert.deepEqual(await foundOfBlank([erased]), unfounded(30))
  assert.deepEqual(await foundOfBlank([erased, requested]), unfounded(30))
  const ofAnother = { ...requested, subject: '01900000-0000-7000-9000-000000000009' }
  assert.deepEqual(await foundOfBlank([ofAnother, erased]), unfounded(31))
  const byAnother = { ...requested, client: 'admin-2' }
  assert.deepEqual(await foundOfBlank([byAnother, erased]), unfounded(31))
  for (const range of [
    [0, 2 ** 53 - 1],
    [0, 2 ** 53],
    [0, 31],
    [-1, 2],
    [2, 0],
    [0, 1.5],
  ] as const) {
    const forged = erasureEntries(key.origin, [range])
    assert.deepEqual(await foundOfBlank(forged), unfounded(31), range.join())
  }
})

test('each erasure is told of: who asked for it, why, and which entries it names', async () => {
  const entries = [...numberedEntries(30), ...erasureEntries(key.origin, [[0, 2]])]
  const { files } = await exportLog(key, entries, new Set([0, 1, 2]))
  const { erasures } = await reportOf(files)
  assert.deepEqual(erasures, [
    {
      origin: key.origin,
      index: 31,
      erasure: '01900000-0000-7000-9000-000000000001',
      of: 'card',
      requestedBy: 'admin-1',
      reason: 'The cardholder asked for it.',
      log: key.origin,
      ranges: [[0, 2]],
    },
  ])
})

test('an erasure of entries of a log before it does not reach into what that never had', async () => {
  const former = await exportLog(key, numberedEntries(700), new Set([5]))
  const forged = erasureEntries(key.origin, [[5, 2 ** 53 - 1]])
  const { findings: found } = await reportOfBoth(
    (await succeeded(former.note, forged, former)).files,
  )
  assert.deepEqual(
    found.map(({ code, where }) => `${code} ${where}`),
    ['erasure_unfounded entry 22', 'opening_missing entry 5'],
  )
})

test('the first events of a card that were never entered are found', async () => {
  const late = without(100, ({ card, sequence = 0 }) => card === 'card-2' && sequence < 3)
  const found = await findings(() => undefined, await exportLog(key, late))
  assert.deepEqual(found, ['sequence_skipped entry 10'])
  const isLate = ({ card = '', sequence = 0 }: AuditEntry) => card !== 'card-0' && sequence < 2
  const four = await findings(() => undefined, await exportLog(key, without(100, isLate)))
  assert.equal(four.length, 4)
})

const at = '2026-11-22T00:00:00.000000Z'

const tryOf = (card: string, tryNumber: number, act = 'pin.attempted'): AuditEntry => ({
  entry: `${card} ${act} ${tryNumber}`,
  at,
  act,
  client: 'network-1',
  card,
  outcome: 'refused',
  details: { tryNumber, remainingTries: 2 },
})

test('a try that was never entered is found, in whichever order others came', async () => {
  const found = async (numbers: readonly number[], more: readonly AuditEntry[] = []) =>
    findings(
      () => undefined,
      await exportLog(key, [
        ...numbers.map((number) => tryOf('card-9', number)),
        ...more,
        { ...tryOf('card-8', 1), at: later },
      ]),
    )
  const later = '2026-11-22T00:02:00.000000Z'
  assert.deepEqual(await found([1, 2, 3]), [])
  assert.deepEqual(await found([2, 1, 4, 3, 5]), [])
  assert.deepEqual(await found([1, 2], [tryOf('card-9', 1, 'cvv.attempted')]), [])
  assert.deepEqual(await found([2, 3]), ['try_skipped entry 1'])
  assert.deepEqual(await found([1, 3]), ['try_skipped entry 1'])
  assert.deepEqual(await found([3, 4, 2]), ['try_skipped entry 2'])
  assert.deepEqual(await found([1], [tryOf('card-9', 2, 'cvv.attempted')]), ['try_skipped entry 1'])
  assert.deepEqual(await found([1, 2, 2]), ['try_repeated entry 2'])
  // Of the last two minutes a result may still be awaited, for as long as nothing else is entered.
  const soon = [1, 3].map((number) => tryOf('card-9', number))
  assert.deepEqual(await findings(() => undefined, await exportLog(key, soon)), [])
})

test('a try is found in the entry of its authorization, and a late answer is no try', async () => {
  const answered = (tryNumber: number, check = 'pin'): AuditEntry => ({
    ...tryOf('card-9', tryNumber, 'authorization.declined'),
    details: { tryNumber, checks: [{ check: 'pin' }, { check }, { check: 'limits' }] },
  })
  const lost = { ...tryOf('card-9', 2), reason: 'unresolved' }
  const last = { ...tryOf('card-8', 1), at: '2026-11-22T00:02:00.000000Z' }
  const found = async (...entries: AuditEntry[]) =>
    findings(() => undefined, await exportLog(key, [...entries, last]))
  assert.deepEqual(await found(answered(1), tryOf('card-9', 2), answered(3)), [])
  assert.deepEqual(await found(answered(1), answered(1, 'cvv2')), [])
  assert.deepEqual(await found(answered(1), answered(3)), ['try_skipped entry 1'])
  assert.deepEqual(await found(answered(1), lost, answered(2)), [])
  assert.deepEqual(await found(answered(1), lost, answered(2), answered(2)), [
    'try_repeated entry 3',
  ])
})

test('the tries that a block by the client takes away are not missed', async () => {
  const later = '2026-11-22T00:02:00.000000Z'
  const block = (blockedBy: string): AuditEntry => ({
    entry: `block by ${blockedBy}`,
    at,
    act: 'cvv.blocked',
    client: 'client-1',
    card: 'card-9',
    sequence: 1,
    outcome: 'done',
    details: { blockedBy },
  })
  const found = async (blockedBy: string, number: number, act = 'cvv.attempted') =>
    findings(
      () => undefined,
      await exportLog(key, [
        block(blockedBy),
        tryOf('card-9', number, act),
        { ...tryOf('card-8', 1), at: later },
      ]),
    )
  assert.deepEqual(await found('client', 4), [])
  assert.deepEqual(await found('client', 17), ['try_skipped entry 1'])
  assert.deepEqual(await found('client', 4, 'pin.attempted'), ['try_skipped entry 1'])
  assert.deepEqual(await found('tries', 4), ['try_skipped entry 1'])
})

test('so many cards may begin in the midst of a log as it says, where it begins, to be older', async () => {
  const begun = (olderCards: number): AuditEntry => ({
    entry: 'begun',
    at,
    act: 'log.began',
    subject: key.origin,
    outcome: 'done',
    details: { olderCards },
  })
  const late = without(100, ({ card = '', sequence = 0 }) => card < 'card-2' && sequence < 3)
  const tries = [
    ...[4, 5].map((number) => tryOf('card-0', number)),
    { ...tryOf('card-9', 1), at: '2026-11-23T00:00:00.000000Z' },
  ]
  const reportFrom = async (...entries: AuditEntry[]) =>
    reportOf((await exportLog(key, [...entries, ...late, ...tries])).files)
  const two = await reportFrom(begun(2))
  assert.deepEqual(two.findings, [])
  assert.match(two.notes[0] ?? '', /2 cards are older than the log, and 2 of them begin/)
  const codes = (report: typeof two) => report.findings.map(({ code }) => code)
  assert.deepEqual(codes(await reportFrom(begun(1))), ['sequence_skipped'])
  assert.deepEqual(codes(await reportFrom()), [
    'sequence_skipped',
    'sequence_skipped',
    'try_skipped',
  ])
  // Only its first entry can say so.
  const [first, ...others] = late
  assert.equal(codes(await reportFrom(first ?? begun(9), begun(9), ...others)).length >= 3, true)
})
