import assert from 'node:assert/strict'
import { generateKeyPairSync, sign } from 'node:crypto'
import { before, test } from 'node:test'
import { parseVerifierKeys, type VerifierKey, verifyFolder } from '../../../packages/audit/audit.ts'
import { verifierKeyText } from '../../../packages/audit/notes.ts'
import type { AuditEntry } from '../../../src/domain/audit-entry.ts'
import {
  createReader,
  type Exported,
  erasureEntries,
  exportLog,
  exportTexts,
  type LogKey,
  makeLogKey,
  numberedEntries,
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
  const report = await verifyFolder(createReader(files), { keys, remembered })
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
    entry: 'succession',
    at: '2026-11-22T00:00:00.000000Z',
    act: 'log.succeeded',
    subject: origin,
    outcome: 'done',
    reason: 'Restored from the backup of Sunday.',
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

test('unsigned entries between the others or behind them are found', async () => {
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
    ['', 'the remembered checkpoint: it is not a checkpoint.'],
    [root.toString(), 'the remembered checkpoint: it is not a checkpoint.'],
    [
      signNote(second, 20, root),
      `the remembered checkpoint: it belongs to ${second.origin}, which is missing.`,
    ],
  ] as const) {
    assert.deepEqual(await verify(files, [remembered]), [[], [said]])
  }
  const kept = (line: string) => verify(new Map(files).set('checkpoints.jsonl', Buffer.from(line)))
  assert.deepEqual(await kept('{}\n'), [['checkpoint_changed checkpoints.jsonl, line 1'], []])
  assert.deepEqual(await kept(`${JSON.stringify(signNote(second, 20, root))}\n`), [
    [],
    [`checkpoints.jsonl, line 1: it belongs to ${second.origin}, which is missing.`],
  ])
})

test('stored checkpoints are compared with a log also after its successor has begun', async () => {
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
  assert.match(unchecked ?? '', /^cards.example\/audit\/2 with 21 entries is missing; .* Sunday\.$/)
})

test('logs that say that they follow each other end', async () => {
  const two = await follower(second, 2, '')
  const [found] = await verify(new Map([...two.files, ...under('logs/1/', two)]))
  assert.deepEqual(found, [])
})

/** A witness: its verifier key, and how it cosigns. */
function makeWitness(name: string) {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const { x = '' } = publicKey.export({ format: 'jwk' })
  const text = verifierKeyText(name, 4, Buffer.from(x, 'base64url'))
  const cosign = (note: string): string => {
    const at = 1_700_000_000
    const said = note.slice(0, note.lastIndexOf('\n\n') + 1)
    const signature = sign(null, Buffer.from(`cosignature/v1\ntime ${at}\n${said}`), privateKey)
    const time = Buffer.alloc(8)
    time.writeBigUInt64BE(BigInt(at))
    const [, id = ''] = text.split('+')
    const bytes = Buffer.concat([Buffer.from(id, 'hex'), time, signature])
    return `${note}— ${name} ${bytes.toString('base64')}\n`
  }
  return { name, text, cosign }
}

test('a checkpoint that a witness has not cosigned whose key is given is a finding, unless a quorum has', async () => {
  const { files, note } = await exportLog(first, numberedEntries(3))
  const [one, other] = [makeWitness('witness.example/w'), makeWitness('witness.example/v')]
  const withNote = async (text: string, quorum?: number, witnesses = [one, other]) => {
    const asked = [first, ...witnesses].map((each) => each.text).join('\n')
    const report = await verifyFolder(
      createReader(new Map(files).set('checkpoint', Buffer.from(text))),
      {
        keys: await parseVerifierKeys(asked),
        quorum,
      },
    )
    const found = report.findings.map(({ code, detail }) => `${code}: ${detail}`)
    return [found, report.notes, report.unchecked]
  }
  const both = other.cosign(one.cosign(note))
  assert.deepEqual(await withNote(both), [[], [], []])
  const lacks = (names: string, there: string) =>
    `cosignature_missing: ${names}, whose key was given, has not cosigned it: ${there} have`
  assert.deepEqual(await withNote(note), [
    [lacks('witness.example/w, witness.example/v', '0 of 2')],
    [],
    [],
  ])
  const half = one.cosign(note)
  assert.deepEqual(await withNote(half), [[lacks('witness.example/v', '1 of 2')], [], []])
  assert.deepEqual(await withNote(half, 2), [[lacks('witness.example/v', '1 of 2')], [], []])
  const noted = `${first.origin}: witness.example/v, whose key was given, has not cosigned it.`
  assert.deepEqual(await withNote(half, 1), [[], [noted], []])
  assert.deepEqual(await withNote(both, 3), [
    [],
    [],
    ['The quorum is 3 witnesses, but only the keys of 2 were given.'],
  ])
})

test('a followed log needs no cosignature if its cosigned successor begins with it', async () => {
  const witness = makeWitness('witness.example/w')
  const former = await exportLog(first, numberedEntries(30))
  const foundAfter = async (said: string) => {
    const next = await follower(second, 2, said)
    const files = new Map([...next.files, ...under('logs/1/', former)])
    files.set('checkpoint', Buffer.from(witness.cosign(next.note)))
    const asked = await parseVerifierKeys(
      [first, second, witness].map(({ text }) => text).join('\n'),
    )
    const { findings } = await verifyFolder(createReader(files), { keys: asked })
    return findings.map(({ code, origin }) => `${code} ${origin}`)
  }
  assert.deepEqual(await foundAfter(former.note), [])
  assert.deepEqual(await foundAfter(signNote(first, 20, await former.rootAt(20))), [
    `cosignature_missing ${first.origin}`,
  ])
})

/** An export of which the file of what entries say is written otherwise. */
async function rewritten(write: (lines: string[]) => string | Uint8Array): Promise<string[]> {
  const { files } = await exportLog(first, numberedEntries(30))
  const path = 'openings/0.jsonl'
  const lines = Buffer.from(files.get(path) ?? [])
    .toString()
    .split('\n')
    .slice(0, -1)
  files.set(path, Buffer.from(write(lines)))
  const [found, unchecked] = await verify(files)
  assert.deepEqual(unchecked, [])
  return found
}

const joined = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('')

test('what entries say is found by a search by text: a line that is written otherwise is a finding', async () => {
  assert.deepEqual(await rewritten(joined), [])
  const other = ['form_changed openings/0.jsonl']
  const each = (change: (line: string) => string) =>
    rewritten((lines) => joined(lines.map((line, at) => (at === 4 ? change(line) : line))))
  assert.deepEqual(
    await rewritten((lines) => joined(lines.map((l) => l.replaceAll('.', '\\u002e')))),
    other,
  )
  assert.deepEqual(await each((line) => line.replace('pin.revealed', 'pin\\u002erevealed')), other)
  assert.deepEqual(await each((line) => line.replace('acme', '\\u0061cme')), other)
  assert.deepEqual(await each((line) => line.replace('{', '{"text":"{}",')), other)
  assert.deepEqual(await each((line) => line.replace('{', '{"text":"{}",')), other)
  assert.deepEqual(await each((line) => line.replace(/\}$/, ',"note":"unknown"}')), other)
  assert.deepEqual(await each((line) => line.replace('"index":', '"index": ')), other)
  assert.deepEqual(await each((line) => `${line} `), other)
  assert.deepEqual(await each((line) => line.replace('"index":4', '"index":4.0')), other)
  assert.deepEqual(await each((line) => `${line}\r`), other)
  assert.deepEqual(await rewritten((lines) => joined(lines).trimEnd()), other)
  assert.deepEqual(await rewritten((lines) => `\ufeff${joined(lines)}`), [
    'opening_changed openings/0.jsonl',
    'opening_missing entry 0',
  ])
  assert.deepEqual(await rewritten((lines) => joined([...lines].reverse())), other)
  const notUtf8 = await rewritten((lines) =>
    Buffer.from(joined(lines).replace('acme', '\u00e9'), 'latin1'),
  )
  assert.deepEqual(notUtf8, [other[0], 'opening_changed entry 0'])
})

test('an entry that was entered in another form than entries have is a finding', async () => {
  const texts = [
    '{"entry":"x","act":"pin\\u002erevealed"}',
    '{"act":"pin.revealed","act":"card.created"}',
    '{"act": "pin.revealed"}',
    '["pin.revealed"]',
    'pin.revealed',
  ]
  const { files } = await exportTexts(first, texts)
  assert.deepEqual(await verify(files), [texts.map((_, at) => `form_changed entry ${at}`), []])
})

test('lines behind the last entry, and files that belong to no entry, are findings', async () => {
  const invented = JSON.stringify({
    index: 30,
    salt: Buffer.alloc(32).toString('base64'),
    text: '{}',
  })
  assert.deepEqual(await rewritten((lines) => joined([...lines, invented])), [
    'entry_added openings/0.jsonl',
  ])
  assert.deepEqual(await rewritten((lines) => joined([...lines, '{"index":31,"erased":true}'])), [
    'entry_added openings/0.jsonl',
  ])
  const { files } = await exportLog(first, numberedEntries(30))
  const more = new Map(files).set('openings/1.jsonl', Buffer.from(`${invented}\n`))
  assert.deepEqual(await verify(more), [['file_added openings/1.jsonl'], []])
  const names = ['0.jsonl', '00.jsonl', '7.jsonl', 'later.jsonl', 'more']
  const { findings } = await verifyFolder(createReader(files), {
    keys,
    list: async (folder) => (folder === 'openings' ? names : ['1']),
  })
  assert.deepEqual(
    findings.map(({ code, where }) => `${code} ${where}`),
    [...names.slice(1).map((name) => `file_added openings/${name}`), 'file_added logs/1'],
  )
})
