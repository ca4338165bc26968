import { createHash, createPublicKey, verify } from 'node:crypto'
import { checkpointText } from '../../../packages/audit/checkpoints.ts'
import {
  type CheckResult,
  type CheckRow,
  findNewestResult,
  type LockedCheck,
  lockCheck,
  writeCheck,
} from '../../storage/audit-log/checks.ts'
import type { Connection } from '../../storage/engine/database.ts'
import type { AuditLogContext } from './audit-log.ts'
import { recordFinding } from './record-finding.ts'

/** Signs the state, and names the keys that signed it. */
export type CheckSigner = Pick<AuditLogContext, 'database' | 'hsm'>

/** The origin of signed states. No audit log has it, so a state is never a checkpoint. */
const origin = 'pinfold.invalid/audit-check'

const toHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

/** Composes the state as a checkpoint: everything that decides what the next step reads. */
const composeCheckpoint = (row: CheckRow) => {
  const root = createHash('sha256')
    .update(
      JSON.stringify([
        row.followedLog,
        row.followedIndex,
        row.hasBaseline,
        row.startedAt?.getTime() ?? null,
        row.finishedAt?.getTime() ?? null,
        row.afterToken,
        row.cards,
        row.findings,
        toHex(row.keptFold),
        toHex(row.newFold),
        row.digestedAct,
        toHex(row.digestedFold),
        row.actsNumber,
        toHex(row.rowsFold),
      ]),
    )
    .digest()
  return { origin, size: row.actsNumber, root }
}

/** Stores the signed state of a check. A writer to the database without the HSM cannot sign it. */
export async function writeSigned(
  connection: Connection,
  { hsm }: CheckSigner,
  row: CheckRow,
): Promise<void> {
  const [signed] = await hsm.signCheckpoint(composeCheckpoint(row), {
    at: new Date(),
    withMlDsa: false,
  })
  if (!signed) throw new Error('No key signs the state of the check.')
  await writeCheck(connection, { ...row, signature: signed.signature })
}

/**
 * Returns the state of the check, locked until the transaction ends; null if another process runs
 * the check. A state that this service did not write is a finding: the newest result in the audit
 * log replaces it.
 */
export async function lockState(
  connection: Connection,
  signer: CheckSigner,
): Promise<LockedCheck | null> {
  const row = await lockCheck(connection)
  if (!row) return null
  const newest = await findNewestResult(connection)
  if (await isOwn(signer, row, newest)) return row
  await recordFinding(connection, {
    found: 'check state changed',
    details: { since: newest?.actId ?? null },
  })
  const restored = { ...restore(row, newest), now: row.now }
  await writeSigned(connection, signer, restored)
  return restored
}

/** Whether this service wrote the state, after the newest result. */
async function isOwn(
  { hsm }: CheckSigner,
  row: CheckRow,
  newest: CheckResult | null,
): Promise<boolean> {
  const { signature } = row
  // The state is unsigned before the first step, and before a result of this version.
  if (signature === null) return newest === null ? isUntouched(row) : !newest.isStateSigned
  if (row.digestedAct !== (newest?.actId ?? null)) return false
  const text = Buffer.from(checkpointText(composeCheckpoint(row)))
  return (await hsm.auditKeys())
    .filter(({ algorithm }) => algorithm === 'Ed25519')
    .some(({ publicKey }) => verify(null, text, ed25519Key(publicKey), signature))
}

const isUntouched = ({ finishedAt, hasBaseline, startedAt }: CheckRow): boolean =>
  !hasBaseline && startedAt === null && finishedAt === null

const ed25519Key = (publicKey: Uint8Array) =>
  createPublicKey({
    key: { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(publicKey).toString('base64url') },
    format: 'jwk',
  })

/** The part of a result with which the next check begins. */
interface Result {
  readonly cardsDigest: string
  readonly rowsDigest: string
  readonly actsNumber: number
  readonly followed: readonly [log: number, index: number]
}

/** Parses a JSON text; returns null for other texts. */
function parseSaid<Said>(text: string): Partial<Said> | null {
  try {
    const said: Partial<Said> | null = JSON.parse(text)
    return typeof said === 'object' ? said : null
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return null
  }
}

/**
 * Parses the entry of a result; null if it is missing or erased, or not in the form of this
 * service.
 */
export function parseResultEntry(text: string | null): Partial<Result> | null {
  const said = text === null ? null : parseSaid<{ readonly details: Partial<Result> }>(text)
  return said?.details ?? null
}

/** Null if an earlier version wrote it without these members. */
function readResult({ details }: CheckResult): Result | null {
  const said = parseSaid<Result>(details)
  if (!said) return null
  const { actsNumber, cardsDigest, followed, rowsDigest } = said
  if (typeof rowsDigest !== 'string' || typeof cardsDigest !== 'string') return null
  return actsNumber === undefined || followed === undefined
    ? null
    : { actsNumber, cardsDigest, followed, rowsDigest }
}

/** Restores the state of the newest result; the next check is due at once. */
function restore(row: CheckRow, newest: CheckResult | null): CheckRow {
  const result = newest && readResult(newest)
  const [followedLog, followedIndex] = result?.followed ?? [1, 0]
  return {
    followedLog,
    followedIndex,
    hasBaseline: newest !== null,
    startedAt: null,
    finishedAt: null,
    afterToken: '',
    cards: 0,
    findings: 0,
    keptFold: Buffer.alloc(0),
    newFold: Buffer.alloc(0),
    digestedAct: newest?.actId ?? null,
    digestedFold: Buffer.from(result?.cardsDigest ?? '', 'hex'),
    actsNumber: result?.actsNumber ?? row.actsNumber,
    rowsFold: Buffer.from(result?.rowsDigest ?? '', 'hex'),
    signature: null,
  }
}
