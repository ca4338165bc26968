import { proofText } from '../../../packages/audit/receipt.ts'
import { inclusionProof } from '../../../packages/audit/tiles.ts'
import type { Requester } from '../../domain/client.ts'
import { Problem } from '../../domain/problem.ts'
import { findNewestCheckpoint } from '../../storage/audit-log/checkpoints.ts'
import { findAuditEntry } from '../../storage/audit-log/entries.ts'
import { listAuditLogs } from '../../storage/audit-log/log.ts'
import { type AuditLogContext, createTileReader } from './audit-log.ts'

/** How long an act may take to be entered before its id counts as unknown. */
const youngMs = 10 * 60_000

/**
 * Returns the receipt of an entry: a proof that it is in the log (c2sp.org/tlog-proof), with its
 * text. Null until a checkpoint covers the entry. An erased entry has a proof without a text.
 * @throws `Problem` `not_found` for an entry that does not belong to the client.
 */
export const findReceipt = (
  audit: Pick<AuditLogContext, 'database'>,
  { clientId }: Requester,
  entryId: string,
): Promise<string | null> => readReceiptWhere(audit, entryId, (owner) => owner === clientId)

/**
 * Returns the receipt of an entry of any client, for callers who may read the whole log.
 * @throws `Problem` `not_found`
 */
export const findAnyReceipt = (
  audit: Pick<AuditLogContext, 'database'>,
  entryId: string,
): Promise<string | null> => readReceiptWhere(audit, entryId, () => true)

async function readReceiptWhere(
  { database }: Pick<AuditLogContext, 'database'>,
  entryId: string,
  mayRead: (clientId: string | null) => boolean,
): Promise<string | null> {
  const logs = await listAuditLogs(database)
  const entry = await findAuditEntry(
    database,
    logs.map(({ log }) => log),
    entryId,
  )
  if (!entry) {
    // An id contains its time (RFC 9562 5.7). The clock of a database may be ahead of this one.
    const hex = entryId.replaceAll('-', '')
    const ageMs = Date.now() - Number.parseInt(hex.slice(0, 12), 16)
    if (hex[12] === '7' && Math.abs(ageMs) < youngMs) return null
    throw new Problem('not_found')
  }
  if (!mayRead(entry.clientId)) throw new Problem('not_found')
  const { index, log, salt, text } = entry
  const newest = await findNewestCheckpoint(database, log)
  if (!newest || index >= newest.size) return null
  const opening =
    salt && text !== null ? { salt: Buffer.from(salt).toString('base64'), text } : null
  return proofText({
    extra: opening && Buffer.from(JSON.stringify(opening)),
    index,
    hashes: await inclusionProof(index, newest.size, createTileReader(database, log)),
    checkpoint: newest.note,
  })
}
