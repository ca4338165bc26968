import type { DeliveryStatus } from '../../domain/delivery.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import type { RenewalType } from '../../domain/product.ts'
import type { Connection, Database } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

const declare = loadStatements(import.meta.url)

/** The parts of a card's record that are no columns of its row. */
export interface RecordParts {
  readonly publicToken: PublicToken
  /** The card's own, or its product's. */
  readonly renewalType: RenewalType
  /** Whether a successor took its place, or it was reported as compromised. */
  readonly isRetired: boolean
  /** Of the plastic that is ordered and not current yet; null without one. */
  readonly waitingNumber: number | null
  readonly waitingExpiryDate: string | null
  readonly waitingDelivery: DeliveryStatus | null
  /** The card that this card replaces, and the newest card that replaces this card. */
  readonly replacementFor: PublicToken | null
  readonly replacedBy: PublicToken | null
  /** JSON of an object of texts; null without metadata. */
  readonly metadata: string | null
}

type PageOfTokens = { readonly publicTokens: readonly string[] }

const selectParts = declare<PageOfTokens, RecordParts>('list_record_parts')

interface PartsOnNode extends Omit<RecordParts, 'replacementFor' | 'replacedBy'> {
  readonly lineToken: string
}

const selectPartsOnNodes = declare<PageOfTokens, PartsOnNode>('list_record_parts_on_nodes')

interface Succession {
  readonly successorToken: PublicToken
  readonly replacedToken: PublicToken
}

const selectSuccessions = declare<{ lineTokens: readonly string[] }, Succession>('list_successions')

/** Returns the parts of the records of some cards, by token. */
export async function findRecordParts(
  database: Connection & Pick<Database, 'isCluster'>,
  publicTokens: readonly PublicToken[],
): Promise<ReadonlyMap<PublicToken, RecordParts>> {
  const parts = database.isCluster()
    ? await listPartsOnNodes(database, publicTokens)
    : await selectParts(database, { publicTokens })
  return new Map(parts.map((each) => [each.publicToken, each]))
}

async function listPartsOnNodes(
  connection: Connection,
  publicTokens: readonly PublicToken[],
): Promise<RecordParts[]> {
  const parts = await selectPartsOnNodes(connection, { publicTokens })
  const lineTokens = [...new Set(parts.map(({ lineToken }) => lineToken))]
  const successions = await selectSuccessions(connection, { lineTokens })
  // In the order of generations, so that the newest successor of a card is the last.
  const forerunners = new Map(successions.map((each) => [each.successorToken, each.replacedToken]))
  const successors = new Map(successions.map((each) => [each.replacedToken, each.successorToken]))
  return parts.map(({ lineToken, ...each }) => ({
    ...each,
    replacementFor: forerunners.get(each.publicToken) ?? null,
    replacedBy: successors.get(each.publicToken) ?? null,
  }))
}
