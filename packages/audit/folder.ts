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
 * Names of what is in a folder of an export; none where it is not there.
 * @throws AuditFault `unreachable`
 */
export type ListFolder = (folder: string) => Promise<readonly string[]>

const nothing: ListFolder = async () => []

/** How an exported log is verified. */
export interface FolderOptions {
  /**
   * Of the logs, and of witnesses; the folder's own unless given, which whoever made the folder may
   * have made, too.
   */
  readonly keys?: readonly VerifierKey[] | undefined
  /** Checkpoints that were had before, signed notes: the log must go on from them. */
  readonly remembered?: readonly string[] | undefined
  /**
   * Origins of successors that may explain why a log before them has fewer entries than were
   * signed. Of others that is a finding.
   */
  readonly acceptedSuccessors?: readonly string[] | undefined
  /**
   * How many of the witnesses whose keys are given must have cosigned; all of them unless it is
   * said.
   */
  readonly quorum?: number | undefined
  /**
   * Names what is in a folder of the export, `openings` or `logs`: then what belongs to no entry is
   * found, too.
   */
  readonly list?: ListFolder | undefined
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
  /** Entries that name others as erased, and at whose request: each is for people to read. */
  readonly erasures: readonly ErasureReport[]
  readonly findings: readonly Finding[]
  /** What could not be checked, and why. */
  readonly unchecked: readonly string[]
  /**
   * What whoever reads the report is to know: which keys were trusted, what a successor says of the
   * log before.
   */
  readonly notes: readonly string[]
}

/**
 * A log that was walked; what is erased in it is judged at the end, since the log after it may
 * cover it.
 */
interface Walked {
  readonly report: LogReport
  readonly acts: Acts
}

/** What all logs of a folder are verified with, and what comes of it. */
interface Context {
  readonly keys: readonly VerifierKey[]
  /** What was remembered, and what the logs that were walked keep: of whichever log. */
  readonly known: KnownNote[]
  readonly findings: Finding[]
  readonly unchecked: string[]
  readonly notes: string[]
  readonly acceptedSuccessors: readonly string[]
  readonly quorum: number | undefined
  readonly onProgress: FolderOptions['onProgress']
}

/** What a log says of the one before it, and the name of the one that says so. */
interface Successor extends Succession {
  readonly origin: string
}

/**
 * Verifies an export: signatures, every tile and entry, what each entry says, that no act is left
 * out, that what is missing was erased, and that the log goes on from every checkpoint that is
 * known of it.
 * @throws AuditFault `malformed` where the keys are none, `unreachable` where a file cannot be read
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
    // Each has a smaller number than the one after it, whatever a folder says of itself.
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

/** Says of a checkpoint that none of the logs could be held against why that is. */
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
 * @param succession what the log after it says of it.
 * @returns null where nothing of it can be looked at.
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
    // It may be lost, with the database that knew it; or somebody has put another in its place.
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
  const { met, said } = acts.older
  if (said > 0) {
    const cards = `${said} cards are older than the log, and ${met} of them begin in its midst`
    context.notes.push(`${origin}: it says that ${cards}.`)
  }
  if (walked < size) {
    const rest = `entries ${walked} to ${size - 1}`
    context.unchecked.push(`${origin}: ${rest}. Nothing of the first of them is there.`)
  }
  // Where the checkpoint itself is not right, that is what there is to say.
  if (!isSigned && checkpoint && walked === size) {
    const detail = 'some of their entries and tiles were not signed'
    report('tree_changed', `entries 0 to ${size - 1}`, detail)
  }
  const comparable = known.filter((each) => each.size <= walked || each.size >= size)
  for (const each of comparable) holdAgainst(each, { claim, roots, succession, report, context })
  return { report: { origin, size, checkpoint, erased: 0 }, acts }
}

/** What a log is read from. */
interface Folders {
  readonly read: ReadFile
  readonly list: ListFolder
}

const foldersBelow = (prefix: string, read: ReadFile, list: ListFolder): Folders => ({
  read: (path) => read(`${prefix}${path}`),
  list: (folder) => list(`${prefix}${folder}`),
})

/**
 * Reports files of what entries say that belong to none: whoever searches the folder would read
 * them, too.
 */
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

/** Stray files that are reported, each. */
const straysMost = 20

function reportStrays(paths: readonly string[], detail: string, report: Report): void {
  for (const path of paths.slice(0, straysMost)) report('file_added', path, detail)
  const more = paths.length - straysMost
  if (more > 0) report('file_added', `${more} more`, detail)
}

/**
 * @returns the checkpoint of a log; null where it is not signed as it must be, which is reported.
 */
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

/** Reports a checkpoint that the log does not go on from. */
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
