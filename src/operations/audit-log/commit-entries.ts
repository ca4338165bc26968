import { randomBytes } from 'node:crypto'
import { computeCommitment } from '../../../packages/audit/tree.ts'
import { type AuditEntry, entryText, isByOperator } from '../../domain/audit-entry.ts'

/** An entry with the values that its leaf commits to. */
interface CommittedEntry {
  readonly entryId: string
  readonly clientId: string | null
  readonly publicToken: string | null
  readonly act: string
  readonly isByOperator: boolean
  readonly commitment: Uint8Array
  readonly salt: Uint8Array
  readonly text: string
}

const saltBytes = 32

/**
 * Encodes entries and draws a salt for each. Without the salt, the leaf does not reveal the entry.
 */
export function commitEntries(entries: readonly AuditEntry[]): CommittedEntry[] {
  const salts = randomBytes(saltBytes * entries.length)
  return entries.map((said, at) => {
    const salt = salts.subarray(at * saltBytes, (at + 1) * saltBytes)
    const text = entryText(said)
    return {
      entryId: said.entry,
      clientId: said.client ?? null,
      publicToken: said.card ?? null,
      act: said.act,
      isByOperator: isByOperator(said),
      commitment: computeCommitment(salt, text),
      salt,
      text,
    }
  })
}
