import { type Acts, createActs, type Succession } from './acts.ts'
import { isSame } from './bytes.ts'
import type { Checkpoint } from './checkpoints.ts'
import { holdCosignatures, witnessesIn } from './cosignatures.ts'
import { type ErasureReport, judgeErasures } from './erasures.ts'
import type { Finding, Report } from './findings.ts'
import {
  findClaim,
  type KnownCheckpoint,
  type KnownNote,
  listKnownCheckpoints,
  notesIn,
  openOrFault,
} from './known-checkpoints.ts'
import { parseVerifierKeys, type SignedCheckpoint, type VerifierKey } from './notes.ts'
import { openingsPath, type ReadFile } from './openings.ts'
import { tileWidth } from './tiles.ts'
import { walkTree } from './walk.ts'

/**
 * Lists the names in a folder of an export; none if it does not exist.
 * @throws AuditFault `unreachable`
 */
export type ListFolder = (folder: string) => Promise<readonly string[]>

const nothing: ListFolder = async () => []

/** The options of a verification. */
export interface FolderOptions {
  /**
   * The keys of logs and witnesses; those in the folder unless given, which its author may have
   * forged.
   */
  readonly keys?: readonly VerifierKey[] | undefined
  /** Earlier checkpoints, as signed notes: the log must extend them. */
  readonly remembered?: readonly string[] | undefined
  /**
   * Origins of successors that may explain why a previous log has fewer entries than were signed.
   * For other successors, this is a finding.
   */
  readonly acceptedSuccessors?: readonly string[] | undefined
  /** The required number of witnesses among those with a given key; all of them unless set. */
  readonly quorum?: number | undefined
  /**
   * Lists a folder of the export, `openings` or `logs`, so that files without an entry are found,
   * too.
   */
  readonly list?: ListFolder | undefined
  /** Reports the number of checked entries of a log from time to time. */
  onProgress?(origin: string, seen: number, size: number): void
}

/** The results for one log. */
export interface LogReport {
  readonly origin: string
  readonly size: number
  /** Null without a valid signature. */
  readonly checkpoint: SignedCheckpoint | null
  /** Entries whose text was erased, under an erasure in the log. */
  readonly erased: number
}

/** The results for a folder. */
export interface FolderReport {
  /** The current log first, then the previous ones. */
  readonly logs: readonly LogReport[]
  /** Entries that list erased entries, with their requesters, for a person to check. */
  readonly erasures: readonly ErasureReport[]
  readonly findings: readonly Finding[]
  /** The parts that could not be checked, with reasons. */
  readonly unchecked: readonly string[]
  /**
   * Remarks for the reader of the report: the trusted keys, and each successor's statement about
   * its previous log.
   */
  readonly notes: readonly string[]
}

/** A verified log. Its erasures are checked at the end, since its successor may justify them. */
interface Walked {
  readonly report: LogReport
  readonly acts: Acts
}

/** The input of all logs of a folder, and the results. */
interface Context {
  readonly keys: readonly VerifierKey[]
  /** Remembered checkpoints, and those in the verified logs: of any log. */
  readonly known: KnownNote[]
  readonly findings: Finding[]
  readonly unchecked: string[]
  readonly notes: string[]
  readonly acceptedSuccessors: readonly string[]
  readonly quorum: number | undefined
  readonly onProgress: FolderOptions['onProgress']
}

/** A successor's name and its statement about the previous log. */
interface Successor extends Succession {
  readonly origin: string
}

/**
 * Verifies an export: signatures, all tiles and entries, the entries' texts, that no act is
 * missing, that missing texts were erased, and that the log extends every known checkpoint.
 * @throws AuditFault `malformed` for malformed keys, `unreachable` when a file cannot be read
 */
export async function verifyFolder(
  read: ReadFile,
  options: FolderOptions = {},
): Promise<FolderReport> {
  const { acceptedSuccessors = [], list = nothing, onProgress, quorum, remembered = [] } = options
  const keys = options.keys ?? parseVerifierKeys(decodeText(await read('keys')))
  const known = remembered.map((note) => ({
    where: 'the remembered checkpoint',
    note,
    isKept: false,
  }))
  const [findings, unchecked, notes]: [Finding[], string[], string[]] = [[], [], []]
  const context: Context = {
    keys,
    known,
    findings,
    unchecked,
    notes,
    acceptedSuccessors,
    quorum,
    onProgress,
  }
  const { length: witnesses } = witnessesIn(keys)
  if (quorum !== undefined && quorum > witnesses) {
    unchecked.push(
      `The quorum is ${quorum} witnesses, but only the keys of ${witnesses} were given.`,
    )
  }
  if (!options.keys)
    notes.push('The keys come from the folder: compare them with those from another source.')
  const walked: Walked[] = []
  const numbers = new Set<string>()
  let succession: Successor | null = null
  for (let number = Number.POSITIVE_INFINITY; number > 0; ) {
    const prefix = succession ? `logs/${number}/` : ''
    const log = await verifyLog(foldersBelow(prefix, read, list), succession, context)
    if (!log) break
    walked.push(log)
    numbers.add(String(number))
    const { acts, report } = log
    succession = acts.succession && { ...acts.succession, origin: report.origin }
    // Each has a smaller number than its successor, whatever the folder claims.
    number = succession ? Math.min(succession.log, number) - 1 : 0
  }
  for (const each of known) reportUnheld(each, walked, context)
  const strays = (await list('logs')).filter((name) => !numbers.has(name))
  reportStrays(
    strays.map((name) => `logs/${name}`),
    'it belongs to none of the logs',
    (code, where, detail) => findings.push({ code, origin: '', where, detail }),
  )
  const {
    erased,
    erasures,
    findings: bare,
  } = judgeErasures(walked.map(({ acts, report: { origin, size } }) => ({ acts, origin, size })))
  findings.push(...bare)
  const logs = walked.map(({ report }) => ({ ...report, erased: erased.get(report.origin) ?? 0 }))
  return { logs, erasures, findings, unchecked, notes }
}

/** Reports why a checkpoint could not be compared with any log. */
function reportUnheld(
  { isKept, note, where }: KnownNote,
  walked: readonly Walked[],
  { findings, unchecked }: Context,
): void {
  const claim = findClaim(note)
  if (walked.some(({ report }) => report.origin === claim?.origin)) return
  const detail = claim
    ? `it belongs to ${claim.origin}, which is missing`
    : 'it is not a checkpoint'
  if (claim || !isKept) unchecked.push(`${where}: ${detail}.`)
  else findings.push({ code: 'checkpoint_changed', origin: '', where, detail })
}

const decodeText = (bytes: Uint8Array | null): string =>
  new TextDecoder().decode(bytes ?? new Uint8Array())

/**
 * @param succession the successor's statement about it.
 * @returns null when nothing of it can be checked.
 */
async function verifyLog(
  { list, read }: Folders,
  succession: Successor | null,
  context: Context,
): Promise<Walked | null> {
  const note = await read('checkpoint')
  if (!note) {
    const which = succession ? `log ${succession.log - 1}, before the others` : 'the log'
    context.unchecked.push(`There is no checkpoint of ${which}.`)
    return null
  }
  context.known.push(...notesIn(decodeText(await read('checkpoints.jsonl'))))
  const claim = findClaim(decodeText(note))
  const { origin = '', size = 0 } = claim ?? {}
  const report: Report = (code, where, detail) => {
    context.findings.push({ code, origin, where, detail })
  }
  const checkpoint = await openOwn(decodeText(note), report, context)
  if (checkpoint) {
    holdCosignatures(checkpoint, {
      witnesses: witnessesIn(context.keys),
      quorum: context.quorum,
      report,
      successorSays: succession?.predecessorCheckpoint ?? null,
      note: (text) => context.notes.push(text),
    })
  }
  if (!claim) {
    context.unchecked.push('The entries cannot be verified without a checkpoint.')
    return null
  }
  const followed = findClaim(succession?.predecessorCheckpoint ?? '')
  if (followed && followed.origin !== origin) {
    // It may be lost with its database, or another log was put in its place.
    const lost = `${followed.origin} with ${followed.size} entries is missing`
    context.unchecked.push(`${lost}; its successor gives the reason: ${succession?.reason}`)
  }
  const known = await listKnownCheckpoints(origin, {
    notes: context.known,
    keys: context.keys,
    succession,
    report,
    leave: (what) => context.unchecked.push(what),
  })
  const acts = createActs(report)
  const { isSigned, roots, walked } = await walkTree(claim, {
    read,
    report,
    sizes: new Set(known.map((each) => each.size)),
    see(index, text) {
      acts.see(index, text)
      if (index % progressEvery === 0) context.onProgress?.(origin, index, size)
    },
  })
  acts.finish()
  await reportStrayOpenings({ list, read }, size, report)
  context.notes.push(...describeBeginnings(acts).map((note) => `${origin}: ${note}`))
  if (walked < size) {
    const rest = `entries ${walked} to ${size - 1}`
    context.unchecked.push(`${origin}: ${rest}. Nothing of the first of them is there.`)
  }
  // An invalid checkpoint is reported already.
  if (!isSigned && checkpoint && walked === size) {
    const detail = 'some of their entries and tiles were not signed'
    report('tree_changed', `entries 0 to ${size - 1}`, detail)
  }
  const comparable = known.filter((each) => each.size <= walked || each.size >= size)
  for (const each of comparable) holdAgainst(each, { claim, roots, succession, report, context })
  return { report: { origin, size, checkpoint, erased: 0 }, acts }
}

/** Describes why cards may begin with another number than 1. */
function describeBeginnings({ older: { met, said }, restores }: Acts): readonly string[] {
  const cards = `${said} cards are older than the log, and ${met} of them begin in its midst`
  const times = restores === 1 ? 'once' : `${restores} times`
  return [
    ...(said > 0 ? [`it says that ${cards}.`] : []),
    ...(restores > 0
      ? [`its sandbox was restored ${times}. The log of a production has no restore.`]
      : []),
  ]
}

/** The source of a log. */
interface Folders {
  readonly read: ReadFile
  readonly list: ListFolder
}

const foldersBelow = (prefix: string, read: ReadFile, list: ListFolder): Folders => ({
  read: (path) => read(`${prefix}${path}`),
  list: (folder) => list(`${prefix}${folder}`),
})

/** Reports openings without an entry, since a search of the folder would find them, too. */
async function reportStrayOpenings(
  { list, read }: Folders,
  size: number,
  report: Report,
): Promise<void> {
  const count = Math.ceil(size / tileWidth)
  const isOwn = (path: string): boolean => {
    const digits = /^openings\/(0|[1-9][0-9]{0,15})\.jsonl$/.exec(path)?.[1]
    return digits !== undefined && Number(digits) < count
  }
  const listed = (await list('openings')).map((name) => `openings/${name}`)
  const next = (await read(openingsPath(count))) ? [openingsPath(count)] : []
  const strays = [...new Set([...next, ...listed])].filter((path) => !isOwn(path))
  reportStrays(strays, 'it belongs to none of the entries', report)
}

/** The maximum number of stray files that are reported individually. */
const straysMost = 20

function reportStrays(paths: readonly string[], detail: string, report: Report): void {
  for (const path of paths.slice(0, straysMost)) report('file_added', path, detail)
  const more = paths.length - straysMost
  if (more > 0) report('file_added', `${more} more`, detail)
}

/** @returns the checkpoint of a log; null, which is reported, without a valid signature. */
async function openOwn(
  note: string,
  report: Report,
  { keys, unchecked }: Context,
): Promise<SignedCheckpoint | null> {
  const { checkpoint, fault } = await openOrFault(note, keys)
  if (fault?.code === 'unsupported') unchecked.push(`checkpoint: ${fault.message}.`)
  else if (fault) report('checkpoint_changed', 'checkpoint', fault.message)
  for (const name of checkpoint?.uncheckedBy ?? []) {
    unchecked.push(`A signature by ${name}: this runtime does not verify ML-DSA-44.`)
  }
  return checkpoint
}

/** Reports a checkpoint that the log does not extend. */
function holdAgainst(
  { isExplained, root, size, where }: KnownCheckpoint,
  log: {
    readonly claim: Checkpoint
    readonly roots: ReadonlyMap<number, Uint8Array>
    readonly succession: Successor | null
    readonly report: Report
    readonly context: Context
  },
): void {
  const { claim, context, report } = log
  const own = size === claim.size ? claim.root : log.roots.get(size)
  if (size > claim.size && isExplained) {
    const { origin = '', reason } = log.succession ?? {}
    const lost = `${size} entries were signed, and ${claim.size} remain`
    const detail = `${lost}; its successor ${origin} gives the reason: ${reason}`
    if (context.acceptedSuccessors.includes(origin)) {
      context.notes.push(`${claim.origin}: ${detail}`)
    } else report('rolled_back', where, detail)
  } else if (size > claim.size) {
    report('rolled_back', where, `${size} entries were signed, and ${claim.size} exist`)
  } else if (size > 0 && !(own && isSame(own, root))) {
    report('two_roots', where, `another tree of ${size} entries was signed`)
  }
}

const progressEvery = 65_536
