import { openNote, parseNote, signatureLine } from '../../../packages/audit/notes.ts'
import type { Witness, WitnessPolicy } from '../../../packages/audit/witness-policy.ts'

/** The witnesses that cosign checkpoints, and the calls to them. */
export interface Witnesses {
  readonly policy: WitnessPolicy
  /**
   * Posts a text to a witness.
   * @throws Error if there is no answer in time.
   */
  post(url: URL, body: string): Promise<{ readonly status: number; readonly text: string }>
  /**
   * The size that each witness cosigned last, by origin and name: a cache of this process, which
   * the first answer corrects.
   */
  readonly sizes: Map<string, number>
}

/** A checkpoint with the log's signatures. */
interface SignedCheckpoint {
  readonly origin: string
  readonly size: number
  /** The signed text, and the same text with the log's signatures. */
  readonly text: string
  readonly note: string
  /** Proves that the tree of an older size is a prefix of this one (RFC 6962 2.1.2). */
  proofFrom(oldSize: number): Promise<readonly Uint8Array[]>
}

/** The answers of the witnesses to a checkpoint. */
interface Cosigned {
  /** The lines of the valid cosignatures. */
  readonly lines: readonly string[]
  /** A witness's cosigned checkpoint that contradicts this one; null without one. */
  readonly disputed: string | null
  /** A witness's cosigned checkpoint that is larger; null without one. */
  readonly ahead: string | null
}

/** Asks every witness with an address concurrently (c2sp.org/tlog-witness, add-checkpoint). */
export async function cosign(
  witnesses: Witnesses,
  checkpoint: SignedCheckpoint,
): Promise<Cosigned> {
  const asked = witnesses.policy.witnesses.filter(({ url }) => url !== null)
  const answers = await Promise.all(
    // A witness that is unreachable or answers nonsense has neither cosigned nor disputed.
    asked.map((witness) => askWitness(witnesses, witness, checkpoint).catch(() => null)),
  )
  const lines = answers.flatMap((answer) => answer?.line ?? [])
  const [disputed = null] = answers.flatMap((answer) => answer?.disputed ?? [])
  const [ahead = null] = answers.flatMap((answer) => answer?.ahead ?? [])
  return { lines, disputed, ahead }
}

async function askWitness(
  witnesses: Witnesses,
  witness: Witness,
  checkpoint: SignedCheckpoint,
): Promise<Partial<Record<'line' | 'disputed' | 'ahead', string>>> {
  const { origin, size, text } = checkpoint
  const place = `${origin} ${witness.name}`
  // The second attempt uses the size in the first answer.
  for (const _ of [1, 2]) {
    const oldSize = witnesses.sizes.get(place) ?? 0
    const of = `${witness.name} has cosigned the log ${origin}`
    if (oldSize > size) {
      return { ahead: `The witness ${of} with ${oldSize} entries, but the database has ${size}.` }
    }
    const answer = await sendTo(witnesses, witness, checkpoint, oldSize)
    if (answer.status === 200) {
      const line = await findLine(witness, `${text}\n${answer.text}`)
      witnesses.sizes.set(place, size)
      return { line }
    }
    // The proof from the witness's tree is invalid, or its root for the same size is different.
    if (answer.status === 422 || (answer.known === oldSize && oldSize === size)) {
      return { disputed: `The witness ${of} with other entries.` }
    }
    if (answer.known === null) break
    witnesses.sizes.set(place, answer.known)
  }
  throw new Error('The witness does not cosign.')
}

/** @returns with `known` the cosigned size, if the witness states another one. */
async function sendTo(
  { post }: Witnesses,
  { url }: Witness,
  { note, proofFrom }: SignedCheckpoint,
  oldSize: number,
) {
  const proof = oldSize === 0 ? [] : await proofFrom(oldSize)
  const hashes = proof.map((hash) => `${Buffer.from(hash).toString('base64')}\n`)
  const body = `old ${oldSize}\n${hashes.join('')}\n${note}`
  const { status, text } = await post(new URL(`${url}/add-checkpoint`), body)
  const isSize = status === 409 && /^(0|[1-9][0-9]{0,15})\n$/.test(text)
  return { status, text, known: isSize ? Number(text) : null }
}

/**
 * Returns the line of a witness in a note.
 * @throws AuditFault unless the line exists and is valid.
 */
async function findLine({ key }: Witness, note: string): Promise<string> {
  // Other signatures are ignored.
  await openNote(note, [key])
  const own = parseNote(note).signatures.find(({ id, name }) => id === key.id && name === key.name)
  return own ? signatureLine(own) : ''
}

/** Whether the witnesses that the policy requires have cosigned a checkpoint. */
export async function isCosigned({ policy }: Witnesses, note: string): Promise<boolean> {
  const cosigned = new Set<string>()
  for (const witness of policy.witnesses) {
    const line = await findLine(witness, note).catch(() => '')
    if (line !== '') cosigned.add(witness.name)
  }
  return policy.isQuorum(cosigned)
}
