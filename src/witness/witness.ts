import { hash, type KeyObject, sign } from 'node:crypto'
import { join } from 'node:path'
import { AuditFault } from '../../packages/audit/audit-fault.ts'
import { eightBytes } from '../../packages/audit/bytes.ts'
import {
  type Checkpoint,
  cosignatureMessage,
  parseCheckpoint,
} from '../../packages/audit/checkpoints.ts'
import {
  openNote,
  parseNote,
  parseVerifierKey,
  signatureLine,
  signatureTypes,
  type VerifierKey,
  verifierKeyText,
} from '../../packages/audit/notes.ts'
import { emptyRoot, verifyConsistency } from '../../packages/audit/tree.ts'
import { checkpointFile } from '../storage/audit-log/checkpoint-file.ts'

/** The witness's key and its logs. */
interface WitnessSettings {
  /** The name of its key, a URL without its scheme: `witness.example/w1`. */
  readonly name: string
  /** Ed25519. */
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
  /** The keys of the logs that it cosigns; a key's name is its log's origin. */
  readonly logs: readonly VerifierKey[]
  /** The folder of its latest checkpoints. */
  readonly folder: string
  now?(): Date
}

/** An HTTP answer. */
interface WitnessAnswer {
  readonly status: number
  readonly text: string
}

/**
 * A witness of logs (c2sp.org/tlog-witness): it cosigns a log's tree when it extends the last one
 * that it cosigned.
 */
export interface LogWitness {
  /** The text form of the key that verifies its cosignatures. */
  readonly verifierKey: string
  /** Answers `POST /add-checkpoint`. A cosigned checkpoint is on disk before the answer. */
  addCheckpoint(body: string): Promise<WitnessAnswer>
}

export function createWitness(settings: WitnessSettings): LogWitness {
  const raw = Buffer.from(settings.publicKey.export({ format: 'jwk' }).x ?? '', 'base64url')
  const verifierKey = verifierKeyText(settings.name, signatureTypes.cosignature, raw)
  const { id, name } = parseVerifierKey(verifierKey)
  // One request of a log at a time: two concurrent requests could extend the same tree differently.
  const queues = new Map<string, Promise<unknown>>()
  const cosign = (text: string): string => {
    const seconds = Math.floor((settings.now?.() ?? new Date()).getTime() / 1_000)
    const signed = sign(null, cosignatureMessage(text, seconds), settings.privateKey)
    const signature = Buffer.concat([eightBytes(seconds), signed])
    return signatureLine({ name, id, signature })
  }
  return {
    verifierKey,
    async addCheckpoint(body) {
      try {
        const request = await readRequest(body, settings.logs)
        const { origin } = request.checkpoint
        const file = checkpointFile(
          join(settings.folder, `${hash('sha256', origin, 'hex')}.checkpoint`),
        )
        const work = async (): Promise<WitnessAnswer> => {
          const note = await file.read()
          const latest = note === null ? null : parseCheckpoint(parseNote(note).text)
          checkGrowth(request, latest ?? { origin, size: 0, root: emptyRoot })
          const { size } = request.checkpoint
          const isKept = await file.write(
            request.note,
            (known) => parseCheckpoint(parseNote(known).text).size <= size,
          )
          if (!isKept) throw new Error('Another process has a larger tree.')
          return { status: 200, text: cosign(request.text) }
        }
        const answer = (queues.get(origin) ?? Promise.resolve()).then(work)
        queues.set(
          origin,
          answer.catch(() => undefined),
        )
        return await answer
      } catch (error) {
        if (error instanceof Refusal) return { status: error.status, text: error.text }
        throw error
      }
    },
  }
}

/** The reason why a checkpoint is not cosigned. */
class Refusal extends Error {
  readonly status: number
  readonly text: string

  constructor(status: number, text: string) {
    super(text)
    this.status = status
    this.text = text
  }
}

interface AddCheckpoint {
  readonly oldSize: number
  readonly proof: readonly Uint8Array[]
  readonly note: string
  /** The signed text of the note. */
  readonly text: string
  readonly checkpoint: Checkpoint
}

/** The maximum length of a proof in a tree of 2^63 entries. */
const mostHashes = 63

/** @throws Refusal when it is malformed, or of an unknown log, or lacks the log's signature. */
async function readRequest(body: string, logs: readonly VerifierKey[]): Promise<AddCheckpoint> {
  const end = body.indexOf('\n\n')
  const [first = '', ...lines] = body.slice(0, Math.max(0, end)).split('\n')
  const [, digits] = /^old (0|[1-9][0-9]{0,15})$/.exec(first) ?? []
  const proof = lines.map((line) => Buffer.from(line, 'base64'))
  const isProof = proof.every(
    (each, at) => each.length === 32 && each.toString('base64') === lines[at],
  )
  if (digits === undefined || !isProof || lines.length > mostHashes) {
    throw new Refusal(400, 'The request must begin with an old size and hashes.\n')
  }
  const note = body.slice(end + 2)
  const oldSize = Number(digits)
  const text = note.slice(0, note.lastIndexOf('\n\n') + 1)
  const checkpoint = await orRefuse(400, () => parseCheckpoint(text))
  const keys = logs.filter(({ name }) => name === checkpoint.origin)
  if (keys.length === 0) throw new Refusal(404, 'The log is unknown.\n')
  // A malformed signature line counts as invalid.
  await orRefuse(403, () => openNote(note, keys))
  if (oldSize > checkpoint.size)
    throw new Refusal(400, 'The old size exceeds that of the checkpoint.\n')
  return { oldSize, proof, note, text, checkpoint }
}

async function orRefuse<Result>(
  status: number,
  work: () => Result | Promise<Result>,
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof AuditFault) throw new Refusal(status, `${error.message}\n`)
    throw error
  }
}

/** @throws Refusal unless a tree extends the last cosigned one. */
function checkGrowth(
  { checkpoint: { root, size }, oldSize, proof }: AddCheckpoint,
  latest: Checkpoint,
): void {
  const isSame = Buffer.compare(root, latest.root) === 0
  if (oldSize !== latest.size || (size === latest.size && !isSame)) {
    throw new Refusal(409, `${latest.size}\n`)
  }
  const claim = { oldSize, size, oldRoot: latest.root, root, proof }
  // Every tree extends the empty one.
  const isGrown = oldSize === 0 ? proof.length === 0 : verifyConsistency(claim)
  if (!isGrown)
    throw new Refusal(422, 'The proof does not lead from the old tree to the new one.\n')
}
