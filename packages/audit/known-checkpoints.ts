/** Earlier checkpoints of logs, which the logs must extend. */
import type { Succession } from './acts.ts'
import { AuditFault } from './audit-fault.ts'
import { type Checkpoint, parseCheckpoint } from './checkpoints.ts'
import type { Report } from './findings.ts'
import { openCheckpoint, type SignedCheckpoint, type VerifierKey } from './notes.ts'

/** An unverified note of a log that was received earlier. */
export interface KnownNote {
  readonly where: string
  readonly note: string
  /** Whether the folder itself contains it. */
  readonly isKept: boolean
}

/** A checkpoint signed by a key of its log, and its source. */
export interface KnownCheckpoint extends Checkpoint {
  readonly where: string
  /** Whether the log's successor states this size: then it also explains missing entries. */
  readonly isExplained: boolean
}

/** The maximum number of checkpoints of earlier exports. */
const mostNotes = 10_000

/** Lists the notes of earlier exports in a folder, each a line of JSON. */
export const notesIn = (kept: string): KnownNote[] =>
  kept.split('\n', mostNotes + 1).flatMap((line, at) => {
    const where = `checkpoints.jsonl, line ${at + 1}`
    // Lines beyond the maximum make the file invalid.
    const note = at < mostNotes ? noteIn(line) : ''
    return line === '' ? [] : [{ where, note, isKept: true }]
  })

/** An empty text is not a note, nor is one in another form than that of an export. */
function noteIn(line: string): string {
  try {
    const note: unknown = JSON.parse(line)
    return typeof note === 'string' && JSON.stringify(note) === line ? note : ''
  } catch {
    return ''
  }
}

/** Lists the known signed checkpoints of one log, with the one that its successor begins with. */
export async function listKnownCheckpoints(
  origin: string,
  log: {
    readonly notes: readonly KnownNote[]
    readonly keys: readonly VerifierKey[]
    readonly succession: Succession | null
    readonly report: Report
    /** Receives a checkpoint that cannot be checked. */
    readonly leave: (what: string) => void
  },
): Promise<KnownCheckpoint[]> {
  const predecessor = log.succession?.predecessorCheckpoint ?? null
  const said = { where: 'what its successor says', note: predecessor ?? '', isKept: true }
  const signedSize = findClaim(said.note)?.size ?? 0
  const known: KnownCheckpoint[] = []
  for (const { note, where } of predecessor === null ? log.notes : [...log.notes, said]) {
    if (findClaim(note)?.origin !== origin) continue
    const { checkpoint, fault } = await openOrFault(note, log.keys)
    if (checkpoint) {
      known.push({ ...checkpoint, where, isExplained: checkpoint.size <= signedSize })
    } else if (fault?.code === 'unsupported') log.leave(`${where}: ${fault.message}.`)
    else log.report('checkpoint_changed', where, fault?.message ?? 'it is not a checkpoint')
  }
  return known
}

/** Returns a verified checkpoint, or the reason why it is invalid. */
export async function openOrFault(
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

/** Returns the unverified checkpoint in a note, or null if the note has none. */
export function findClaim(note: string): Checkpoint | null {
  try {
    return parseCheckpoint(note.slice(0, note.lastIndexOf('\n\n') + 1))
  } catch {
    return null
  }
}
