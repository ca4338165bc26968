/** Whether witnesses have cosigned what they were to cosign. */
import type { Report } from './findings.ts'
import { findClaim } from './known-checkpoints.ts'
import { type SignedCheckpoint, signatureTypes, type VerifierKey } from './notes.ts'

const { cosignature, ed25519, mlDsa44 } = signatureTypes

/**
 * Names of the witnesses among keys: of those that sign logs, each has an Ed25519 key that does.
 */
export function witnessesIn(keys: readonly VerifierKey[]): readonly string[] {
  const logs = new Set(keys.filter(({ type }) => type === ed25519).map(({ name }) => name))
  const witnesses = keys.filter(
    ({ name, type }) => type === cosignature || (type === mlDsa44 && !logs.has(name)),
  )
  return [...new Set(witnesses.map(({ name }) => name))]
}

/**
 * What is missing where fewer witnesses have cosigned a checkpoint than must; null where enough
 * have.
 * @param quorum how many must have; all whose keys were given, unless it is said
 */
export function findMissingCosignatures(
  { cosignedBy, uncheckedBy }: SignedCheckpoint,
  witnesses: readonly string[],
  quorum: number | undefined,
): { readonly detail: string; readonly isEnough: boolean } | null {
  const names = new Set([...cosignedBy.map(({ name }) => name), ...uncheckedBy])
  const missing = witnesses.filter((name) => !names.has(name))
  if (missing.length === 0) return null
  const needed = quorum ?? witnesses.length
  const there = witnesses.length - missing.length
  const lacks = `${missing.join(', ')}, whose key was given, has not cosigned it`
  return there >= needed
    ? { detail: lacks, isEnough: true }
    : { detail: `${lacks}: ${there} of ${needed} have`, isEnough: false }
}

/**
 * Reports where too few witnesses have cosigned a checkpoint. That of a log before the one in use
 * needs none where the log after it, which is cosigned itself, begins with it.
 * @param quorum how many must have; all whose keys were given, unless it is said
 */
export function holdCosignatures(
  checkpoint: SignedCheckpoint,
  {
    note,
    quorum,
    report,
    successorSays,
    witnesses,
  }: {
    readonly witnesses: readonly string[]
    readonly quorum: number | undefined
    /**
     * The checkpoint that the log after it begins with; null where that is none, or there is no
     * such log.
     */
    readonly successorSays: string | null
    readonly report: Report
    /** Takes in what is no finding. */
    readonly note: (text: string) => void
  },
): void {
  const missing = findMissingCosignatures(checkpoint, witnesses, quorum)
  if (!missing) return
  const { origin, size } = checkpoint
  const followed = findClaim(successorSays ?? '')
  const isFollowed = followed?.origin === origin && followed.size === size
  if (missing.isEnough || isFollowed) note(`${origin}: ${missing.detail}.`)
  else report('cosignature_missing', 'checkpoint', missing.detail)
}
