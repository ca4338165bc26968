import { openNote, parseNote, signatureLine } from '../../../packages/audit/notes.ts'
import type { Witness, WitnessPolicy } from '../../../packages/audit/witness-policy.ts'

/** Who cosigns checkpoints, and how they are asked. */
export interface Witnesses {
  readonly policy: WitnessPolicy
  /** Posts a text to a witness. @throws Error where there is no answer in time. */
  post(url: URL, body: string): Promise<{ readonly status: number; readonly text: string }>
  /**
   * What each has cosigned last, by origin and name: this process's own memory, which a first
   * answer corrects.
   */
  readonly sizes: Map<string, number>
}

/** A checkpoint that the log has signed. */
interface SignedCheckpoint {
  readonly origin: string
  readonly size: number
  /** The text that is signed, and the same with the log's signatures. */
  readonly text: string
  readonly note: string
  /** That the tree of an older size is the beginning of this one (RFC 6962 2.1.2). */
  proofFrom(oldSize: number): Promise<readonly Uint8Array[]>
}

/** What witnesses had to say of a checkpoint. */
interface Cosigned {
  /** Lines of cosignatures that verify. */
  readonly lines: readonly string[]
  /** What one of them has cosigned that does not go with it; null where nothing is. */
  readonly disputed: string | null
  /** What one of them has cosigned that is larger; null where nothing is. */
  readonly ahead: string | null
}

/** Asks every witness that has an address, all at once (c2sp.org/tlog-witness, add-checkpoint). */
export async function cosign(
  witnesses: Witnesses,
  checkpoint: SignedCheckpoint,
): Promise<Cosigned> {
  const asked = witnesses.policy.witnesses.filter(({ url }) => url !== null)
  const answers = await Promise.all(
    // One that is away, or answers nonsense, has neither cosigned nor disputed.
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
  // The second time with the size that it has said.
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
    // The proof from what it has does not hold, or of the same size it has another root.
    if (answer.status === 422 || (answer.known === oldSize && oldSize === size)) {
      return { disputed: `The witness ${of} with other entries.` }
    }
    if (answer.known === null) break
    witnesses.sizes.set(place, answer.known)
  }
  throw new Error('The witness does not cosign.')
}

/** @returns with `known` the size that it has cosigned, where it says that it is another. */
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

/** The line of a witness in a note. @throws AuditFault unless it is there and verifies. */
async function findLine({ key }: Witness, note: string): Promise<string> {
  // What others have signed beside it is passed over.
  await openNote(note, [key])
  const own = parseNote(note).signatures.find(({ id, name }) => id === key.id && name === key.name)
  return own ? signatureLine(own) : ''
}

/** Whether those that the policy asks for have cosigned a checkpoint. */
export async function isCosigned({ policy }: Witnesses, note: string): Promise<boolean> {
  const cosigned = new Set<string>()
  for (const witness of policy.witnesses) {
    const line = await findLine(witness, note).catch(() => '')
    if (line !== '') cosigned.add(witness.name)
  }
  return policy.isQuorum(cosigned)
}
