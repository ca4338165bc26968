import type { AuditEntry } from '../../domain/audit-entry.ts'
import {
  type DisclosureFilter,
  type DisclosurePosition,
  listDisclosureRows,
} from '../../storage/card-data/shown-cards.ts'
import type { Connection } from '../../storage/engine/database.ts'

/** That somebody was shown something of a card, or asked to be. */
interface Disclosure extends DisclosurePosition {
  /** Its entry of the audit log. */
  readonly entry: string
  readonly act: string
  readonly at: string
  readonly outcome: string
  /** Who was shown it: a client system, or an operator. Null where that is erased. */
  readonly shownTo: string | null
  readonly publicToken: string | null
  readonly requestId: string | null
  /** The thumbprint of the key of the cardholder's device, where it was sealed to one. */
  readonly device: string | null
  readonly reason: string | null
  /** How many of these there were, where the entry tells of more than one. */
  readonly count: number
  /** Whether a checkpoint covers it: from then on it has a receipt. */
  readonly isSigned: boolean
  /** Whether what the entry said was erased. */
  readonly isErased: boolean
}

/** Lists disclosures, newest first. */
export async function listDisclosures(
  { database }: { readonly database: Connection },
  filter: DisclosureFilter,
): Promise<Disclosure[]> {
  const rows = await listDisclosureRows(database, filter)
  return rows.map(
    ({ act, clientId, enteredAt, entryId, index, isSigned, log, publicToken, text }) => {
      const said: Partial<AuditEntry> = text === null ? {} : JSON.parse(text)
      return {
        log,
        index,
        entry: entryId,
        act,
        isSigned,
        publicToken,
        at: said.at ?? enteredAt.toISOString(),
        outcome: said.outcome ?? 'erased',
        shownTo: clientId,
        requestId: said.request ?? null,
        device: said.device ?? null,
        reason: said.reason ?? null,
        count: said.count ?? 1,
        isErased: text === null,
      }
    },
  )
}
