import { isPositiveInteger } from '../domain/identifiers.ts'
import { type Product, type ProductDraft, productFaults } from '../domain/product.ts'
import type { ProblemError } from '../errors.ts'
import type { Connection } from '../storage/database.ts'
import { findOverlappingProduct } from '../storage/products.ts'

/** The installation's keys that a product may name. Which version is used, the life of the key says. */
const keysOf = { cvk: ['cvk'], pvk: ['pvk'] } as const

/**
 * Everything that is wrong with a product, by its own rules and beside what there is already.
 * @param before what it was, if it is there
 */
export async function judgeProduct(
  connection: Connection,
  draft: ProductDraft,
  before: Product | null,
): Promise<readonly ProblemError[]> {
  return [
    ...productFaults(draft),
    ...keyFaults(draft),
    ...(draft.bin === before?.bin ? [] : await overlapFaults(connection, draft)),
  ]
}

const keyFaults = (draft: ProductDraft): readonly ProblemError[] =>
  (['cvk', 'pvk'] as const)
    .filter((name) => typeof draft[name] === 'string' && draft[name] !== '')
    .filter((name) => !keysOf[name].some((key) => key === draft[name]))
    .map((name) => ({
      pointer: `/${name}`,
      detail: `must be one of the keys for it: ${keysOf[name].join(', ')}`,
    }))

async function overlapFaults(
  connection: Connection,
  { bin, productId }: ProductDraft,
): Promise<readonly ProblemError[]> {
  if (typeof bin !== 'string' || !/^(?:[0-9]{6}|[0-9]{8})$/.test(bin)) return []
  const own = isPositiveInteger(productId) ? productId : 0
  const other = await findOverlappingProduct(connection, own, bin)
  if (other === null) return []
  return [{ pointer: '/bin', detail: `overlaps with the card numbers of product ${other}` }]
}
