import type { AuditEntry } from '../../domain/audit-entry.ts'
import {
  type DisclosureFilter,
  type DisclosurePosition,
  listDisclosureRows,
} from '../../storage/card-data/shown-cards.ts'
import type { Connection } from '../../storage/engine/database.ts'
import { listActorNames } from '../../storage/people/actor-names.ts'

/** A disclosure of card data, or a refused one. */
interface Disclosure extends DisclosurePosition {
  /** Its entry in the audit log. */
  readonly entry: string
  readonly act: string
  readonly at: string
  readonly outcome: string
  /** The client system or operator that received the data; null if erased. */
  readonly shownTo: string | null
  /** Its name at present; null if it is not known. */
  readonly shownToName: string | null
  readonly publicToken: string | null
  readonly requestId: string | null
  /** The thumbprint of the cardholder's device key, if the data was sealed to one. */
  readonly device: string | null
  readonly reason: string | null
  /** The number of such disclosures, if the entry reports more than one. */
  readonly count: number
  /** Whether a checkpoint covers it. It then has a receipt. */
  readonly isSigned: boolean
  /** Whether the text of the entry was erased. */
  readonly isErased: boolean
}

/** Lists disclosures, newest first. */
export async function listDisclosures(
  { database }: { readonly database: Connection },
  filter: DisclosureFilter,
): Promise<Disclosure[]> {
  const rows = await listDisclosureRows(database, filter)
  const names = await listActorNames(
    database,
    rows.map(({ clientId }) => clientId),
  )
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
        shownToName: names.get(clientId ?? '') ?? null,
        requestId: said.request ?? null,
        device: said.device ?? null,
        reason: said.reason ?? null,
        count: said.count ?? 1,
        isErased: text === null,
      }
    },
  )
}
