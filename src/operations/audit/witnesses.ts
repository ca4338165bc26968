import { openNote, parseNote, signatureLine } from '../../domain/audit-notes.ts'
import type { Witness, WitnessPolicy } from '../../domain/witness-policy.ts'

/** Who cosigns checkpoints, and how they are asked. */
export interface Witnesses {
  readonly policy: WitnessPolicy
  /** Posts a text to a witness. @throws Error where there is no answer in time. */
  post(url: URL, body: string): Promise<{ readonly status: number; readonly text: string }>
  /** What each has cosigned last, by origin and name: this process's own memory, which a first answer corrects. */
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
  readonly isQuorum: boolean
  /** A witness that has cosigned a larger tree of this log, and how large. */
  readonly ahead: { readonly witness: string; readonly size: number } | null
}

/** Asks every witness that has an address, all at once (c2sp.org/tlog-witness, add-checkpoint). */
export async function cosign(
  witnesses: Witnesses,
  checkpoint: SignedCheckpoint,
): Promise<Cosigned> {
  const asked = witnesses.policy.witnesses.filter(({ url }) => url !== null)
  const answers = await Promise.all(
    asked.map(async (witness) => ({
      witness,
      // One that is away, or answers nonsense, has not cosigned.
      answer: await askWitness(witnesses, witness, checkpoint).catch(() => null),
    })),
  )
  const lines = answers.flatMap(({ answer }) => answer?.line ?? [])
  const names = answers.flatMap(({ answer, witness }) => (answer?.line ? [witness.name] : []))
  const [ahead = null] = answers.flatMap(({ answer, witness }) =>
    answer && answer.size > checkpoint.size ? [{ witness: witness.name, size: answer.size }] : [],
  )
  return { lines, isQuorum: witnesses.policy.isQuorum(new Set(names)), ahead }
}

/** @returns its cosignature, or the size that it has cosigned. */
async function askWitness(
  { post, sizes }: Witnesses,
  { key, name, url }: Witness,
  { note, origin, proofFrom, size, text }: SignedCheckpoint,
): Promise<{ readonly line: string | null; readonly size: number }> {
  const place = `${origin} ${name}`
  // The second time with the size that it has said.
  for (const _ of [1, 2]) {
    const oldSize = sizes.get(place) ?? 0
    if (oldSize > size) return { line: null, size: oldSize }
    const proof = oldSize === 0 ? [] : await proofFrom(oldSize)
    const hashes = proof.map((hash) => `${Buffer.from(hash).toString('base64')}\n`)
    const body = `old ${oldSize}\n${hashes.join('')}\n${note}`
    const answer = await post(new URL(`${url}/add-checkpoint`), body)
    if (answer.status === 200) {
      // What others have signed beside it is passed over.
      const answered = `${text}\n${answer.text}`
      openNote(answered, [key])
      const own = parseNote(answered).signatures.find(
        (each) => each.name === key.name && each.id === key.id,
      )
      sizes.set(place, size)
      return { line: own ? signatureLine(own) : null, size }
    }
    if (answer.status !== 409 || !/^(0|[1-9][0-9]{0,15})\n$/.test(answer.text)) break
    sizes.set(place, Number(answer.text))
  }
  throw new Error('It does not cosign.')
}
