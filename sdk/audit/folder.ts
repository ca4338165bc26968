import { type Acts, createActs, type Succession, uncovered } from './acts.ts'
import { AuditFault } from './audit-fault.ts'
import type { ReadFile } from './bundle.ts'
import type { Finding, Report } from './findings.ts'
import {
  type Checkpoint,
  openCheckpoint,
  parseCheckpoint,
  parseVerifierKeys,
  type SignedCheckpoint,
  type VerifierKey,
} from './notes.ts'
import { type Bytes, isSame } from './tree.ts'
import { walkTree } from './walk.ts'

/** How an exported log is verified. */
export interface FolderOptions {
  /** Of the logs, and of witnesses; the folder's own unless given, which whoever made the folder may have made, too. */
  readonly keys?: readonly VerifierKey[] | undefined
  /** Checkpoints that were had before, signed notes: the log must go on from them. */
  readonly remembered?: readonly string[] | undefined
  /** Is told now and then how many entries of a log have been looked at. */
  onProgress?(origin: string, seen: number, size: number): void
}

/** One log of a folder as it was found. */
export interface LogReport {
  readonly origin: string
  readonly size: number
  /** Null where its checkpoint is not signed as it must be. */
  readonly checkpoint: SignedCheckpoint | null
  /** Entries whose text was erased, under an erasure in the log. */
  readonly erased: number
}

/** What was found in a folder. */
export interface FolderReport {
  /** The log in use first, then those before it. */
  readonly logs: readonly LogReport[]
  readonly findings: readonly Finding[]
  /** What could not be checked, and why. */
  readonly unchecked: readonly string[]
  /** What whoever reads the report is to know: which keys were trusted, what a successor says of the log before. */
  readonly notes: readonly string[]
}

/** A log that was walked; what is erased in it is judged at the end, since the log after it may cover it. */
interface Walked {
  readonly report: LogReport
  readonly acts: Acts
}

type Collected = { findings: Finding[]; unchecked: string[]; notes: string[] }

/**
 * Verifies an export: signatures, every tile and entry, what each entry says, that no act is left out, that what is
 * missing was erased, and that the log goes on from every checkpoint that is known of it.
 * @throws AuditFault `malformed` where the keys are none, `unreachable` where a file cannot be read
 */
export async function verifyFolder(
  read: ReadFile,
  options: FolderOptions = {},
): Promise<FolderReport> {
  const collected: Collected = { findings: [], unchecked: [], notes: [] }
  const own = await read('keys')
  const keys = options.keys ?? (await parseVerifierKeys(textOf(own)))
  if (!options.keys)
    collected.notes.push('The keys are those of the folder: compare them with others.')
  const walked: Walked[] = []
  let prefix = ''
  let succession: Succession | null = null
  for (;;) {
    const readOwn: ReadFile = (path) => read(`${prefix}${path}`)
    const log = await verifyLog(readOwn, keys, options, succession, collected)
    if (!log) break
    walked.push(log)
    succession = log.acts.succession
    if (!succession || succession.log < 2) break
    prefix = `logs/${succession.log - 1}/`
  }
  const erasures = walked.flatMap(({ acts }) => acts.erasures)
  const logs = walked.map(({ acts, report }): LogReport => {
    const covers = erasures.filter(({ origin }) => origin === report.origin)
    const bare = uncovered(
      acts.silent,
      covers.map(({ range }) => range),
    )
    for (const [from, to] of bare) {
      const where = from === to ? `entry ${from}` : `entries ${from} to ${to}`
      const detail = 'what it says is not there, and no erasure covers it'
      collected.findings.push({ code: 'opening_missing', origin: report.origin, where, detail })
    }
    return { ...report, erased: countOf(acts.silent) - countOf(bare) }
  })
  return { logs, ...collected }
}

const countOf = (ranges: Acts['silent']): number =>
  ranges.reduce((sum, [from, to]) => sum + to - from + 1, 0)

const textOf = (bytes: Bytes | null): string => new TextDecoder().decode(bytes ?? new Uint8Array())

/** @param succession what the log after it says of it. @returns null where nothing of it can be looked at. */
async function verifyLog(
  read: ReadFile,
  keys: readonly VerifierKey[],
  options: FolderOptions,
  succession: Succession | null,
  collected: Collected,
): Promise<Walked | null> {
  const note = await read('checkpoint')
  if (!note) {
    const which = succession ? `log ${succession.log - 1}, before the others` : 'the log'
    collected.unchecked.push(`There is no checkpoint of ${which}.`)
    return null
  }
  const { checkpoint, fault } = await open(textOf(note), keys)
  const claim = checkpoint ?? claimOf(textOf(note))
  const { origin = '', size = 0 } = claim ?? {}
  const report: Report = (code, where, detail) => {
    collected.findings.push({ code, origin, where, detail })
  }
  if (fault?.code === 'unsupported') collected.unchecked.push(`checkpoint: ${fault.message}.`)
  else if (fault) report('checkpoint_changed', 'checkpoint', fault.message)
  for (const name of checkpoint?.uncheckedBy ?? []) {
    collected.unchecked.push(`A signature by ${name}: this runtime does not verify ML-DSA-44.`)
  }
  if (!claim) {
    collected.unchecked.push('The entries: there is no checkpoint to hold them against.')
    return null
  }
  const known = await knownCheckpoints({ read, keys, origin, report }, options, succession)
  const acts = createActs(report)
  const { isSigned, roots, walked } = await walkTree(claim, {
    ...{ read, report, sizes: new Set(known.map((each) => each.size)) },
    see(index, text) {
      acts.see(index, text)
      if (index % progressEvery === 0) options.onProgress?.(origin, index, size)
    },
  })
  if (walked < size) {
    const rest = `entries ${walked} to ${size - 1}`
    collected.unchecked.push(`${origin}: ${rest}. Nothing of the first of them is there.`)
  }
  // Where the checkpoint itself is not right, that is what there is to say.
  if (!isSigned && checkpoint && walked === size) {
    const detail = 'not all of what they and their tiles are was signed'
    report('tree_changed', `entries 0 to ${size - 1}`, detail)
  }
  const comparable = known.filter((each) => each.size <= walked || each.size >= size)
  for (const each of comparable) holdAgainst(each, { claim, roots, succession, report, collected })
  return { report: { origin, size, checkpoint, erased: 0 }, acts }
}

/** Reports a checkpoint that the log does not go on from. */
function holdAgainst(
  { isSuccessors, root, size, where }: KnownCheckpoint,
  log: {
    readonly claim: Checkpoint
    readonly roots: ReadonlyMap<number, Bytes>
    readonly succession: Succession | null
    readonly report: Report
    readonly collected: Collected
  },
): void {
  const { claim, collected, report } = log
  const own = size === claim.size ? claim.root : log.roots.get(size)
  if (size > claim.size && isSuccessors) {
    const left = `${size} entries were signed, ${claim.size} are left`
    const reason = log.succession?.reason
    collected.notes.push(`${claim.origin}: ${left}; its successor says why: ${reason}`)
  } else if (size > claim.size) {
    report('rolled_back', where, `${size} entries were signed, and there are ${claim.size}`)
  } else if (size > 0 && !(own && isSame(own, root))) {
    report('two_roots', where, `another tree of ${size} entries was signed`)
  }
}

const progressEvery = 65_536

/** A checkpoint that was had of a log, and from where. */
interface KnownCheckpoint extends Checkpoint {
  readonly where: string
  /** Whether the log's successor says it: then it also says why some of it may be gone. */
  readonly isSuccessors: boolean
}

/** The checkpoints of a log that the folder keeps, that were remembered, and that its successor begins with. */
async function knownCheckpoints(
  log: {
    readonly read: ReadFile
    readonly keys: readonly VerifierKey[]
    readonly origin: string
    readonly report: Report
  },
  { remembered = [] }: FolderOptions,
  succession: Succession | null,
): Promise<KnownCheckpoint[]> {
  const lines = textOf(await log.read('checkpoints.jsonl')).split('\n')
  const predecessor = succession?.predecessorCheckpoint ?? null
  const all = [
    ...lines.map((line, at) => [`checkpoints.jsonl, line ${at + 1}`, noteIn(line)] as const),
    ...remembered.map((note) => ['what was remembered', note] as const),
    ...(predecessor === null ? [] : [['what its successor says', predecessor] as const]),
  ]
  const known: KnownCheckpoint[] = []
  for (const [where, note] of all) {
    // Of another log nothing is said here.
    if (claimOf(note)?.origin !== log.origin) continue
    const { checkpoint, fault } = await open(note, log.keys)
    if (checkpoint) known.push({ ...checkpoint, where, isSuccessors: note === predecessor })
    else if (fault?.code !== 'unsupported') {
      log.report('checkpoint_changed', where, fault?.message ?? 'it is none')
    }
  }
  return known
}

async function open(
  note: string,
  keys: readonly VerifierKey[],
): Promise<{ readonly checkpoint: SignedCheckpoint | null; readonly fault: AuditFault | null }> {
  try {
    return { checkpoint: await openCheckpoint(note, keys), fault: null }
  } catch (fault) {
    if (fault instanceof AuditFault) return { checkpoint: null, fault }
    throw fault
  }
}

/** What a note says, whoever signed it; null where it is none. */
function claimOf(note: string): Checkpoint | null {
  try {
    return parseCheckpoint(note.slice(0, note.lastIndexOf('\n\n') + 1))
  } catch {
    return null
  }
}

/** A note that is kept as a line of JSON; none is no note. */
function noteIn(line: string): string {
  try {
    return String(JSON.parse(line))
  } catch {
    return ''
  }
}
