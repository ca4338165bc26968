/** Checks the cosignatures of witnesses. */
import type { Report } from './findings.ts'
import { findClaim } from './known-checkpoints.ts'
import { type SignedCheckpoint, signatureTypes, type VerifierKey } from './notes.ts'

const { cosignature, ed25519, mlDsa44 } = signatureTypes

/**
 * Lists the names of witnesses among keys. A key whose name has an Ed25519 log key belongs to a
 * log.
 */
export function witnessesIn(keys: readonly VerifierKey[]): readonly string[] {
  const logs = new Set(keys.filter(({ type }) => type === ed25519).map(({ name }) => name))
  const witnesses = keys.filter(
    ({ name, type }) => type === cosignature || (type === mlDsa44 && !logs.has(name)),
  )
  return [...new Set(witnesses.map(({ name }) => name))]
}

/**
 * Describes missing cosignatures of a checkpoint; null if there are enough.
 * @param quorum the required number; all witnesses with a given key unless set
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
 * Reports checkpoints with too few cosignatures. A previous log's checkpoint needs none if its
 * successor, which is cosigned itself, begins with it.
 * @param quorum the required number; all witnesses with a given key unless set
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
    /** The checkpoint that the successor begins with; null without one. */
    readonly successorSays: string | null
    readonly report: Report
    /** Receives a remark that is not a finding. */
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
