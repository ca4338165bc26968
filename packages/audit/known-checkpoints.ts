/** Checkpoints that were had of logs before, which the logs must go on from. */
import type { Succession } from './acts.ts'
import { AuditFault } from './audit-fault.ts'
import { type Checkpoint, parseCheckpoint } from './checkpoints.ts'
import type { Report } from './findings.ts'
import { openCheckpoint, type SignedCheckpoint, type VerifierKey } from './notes.ts'

/** A note of a log that was received earlier. Nothing in it is verified. */
export interface KnownNote {
  readonly where: string
  readonly note: string
  /** Whether the folder itself keeps it. */
  readonly isKept: boolean
}

/** A checkpoint that a key of its log signed, and where it was had from. */
export interface KnownCheckpoint extends Checkpoint {
  readonly where: string
  /**
   * Whether the log's successor says that so much was signed: then it also says why some of it may
   * be gone.
   */
  readonly isExplained: boolean
}

/** Checkpoints of earlier exports that are read. */
const mostNotes = 10_000

/** The notes that a folder keeps of earlier exports, each a line of JSON. */
export const notesIn = (kept: string): KnownNote[] =>
  kept.split('\n', mostNotes + 1).flatMap((line, at) => {
    const where = `checkpoints.jsonl, line ${at + 1}`
    // What is behind as many as are read makes the file no export's.
    const note = at < mostNotes ? noteIn(line) : ''
    return line === '' ? [] : [{ where, note, isKept: true }]
  })

/** None is no note, nor is one that is written in another way than an export does. */
function noteIn(line: string): string {
  try {
    const note: unknown = JSON.parse(line)
    return typeof note === 'string' && JSON.stringify(note) === line ? note : ''
  } catch {
    return ''
  }
}

/** What is known of one log, as its keys signed it, with what the log after it begins with. */
export async function listKnownCheckpoints(
  origin: string,
  log: {
    readonly notes: readonly KnownNote[]
    readonly keys: readonly VerifierKey[]
    readonly succession: Succession | null
    readonly report: Report
    /** Takes in what cannot be checked. */
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

/** A checkpoint that is verified, or why it is not. */
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

/** Returns the checkpoint in a note, whoever signed it, or null when the note has none. */
export function findClaim(note: string): Checkpoint | null {
  try {
    return parseCheckpoint(note.slice(0, note.lastIndexOf('\n\n') + 1))
  } catch {
    return null
  }
}
