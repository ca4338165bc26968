import type { Product, ProductDraft } from '../domain/product.ts'
import { Problem, type ProblemError, validationFailed } from '../errors.ts'
import { once } from '../idempotency/once.ts'
import type { Answer, RepeatableRequest } from '../idempotency/remembered.ts'
import type { Connection } from '../storage/database.ts'
import { holdInstallation } from '../storage/installation.ts'
import { hasCards, holdProduct, updateProduct } from '../storage/products.ts'
import {
  type Administration,
  differences,
  isSame,
  type Operator,
  recordAct,
} from './administration.ts'
import { type AskedProduct, allFaults } from './create-product.ts'
import { judgeProduct } from './judge-product.ts'

/** What its cards were made by: without it, they could not be read as what they are. */
const fixedMembers = ['schemeName', 'bin', 'currencyCode', 'pinLength', 'pinRevealable'] as const

/**
 * Changes what is given of a product. One that is not active has no new cards; those that it has live
 * on. Limits of tries hold for cards made from now on.
 * @throws `Problem` `not_found`; `validation_failed` with everything that is wrong, at once.
 */
export const changeProduct = (
  administration: Administration,
  operator: Operator,
  productId: number,
  { draft: given, shapeFaults }: AskedProduct,
  request: RepeatableRequest | null,
): Promise<Answer<Product>> =>
  once(administration, request, async (connection) => {
    await holdInstallation(connection)
    const before = await holdProduct(connection, productId)
    if (!before) throw new Problem('not_found')
    const draft: ProductDraft = { ...before, ...given, productId }
    const faults = allFaults(shapeFaults, [
      ...(await judgeProduct(connection, draft, before)),
      ...(await fixedFaults(connection, before, draft)),
    ])
    if (faults.length > 0) throw validationFailed(...faults)
    const product = draft as Product
    await updateProduct(connection, product)
    await recordAct(connection, operator, {
      act: actOf(before, product),
      subjectKind: 'product',
      subject: String(productId),
      details: differences(before, product),
    })
    return product
  })

function actOf(before: Product, after: Product): string {
  if (before.active === after.active) return 'changed'
  return after.active ? 'resumed' : 'retired'
}

async function fixedFaults(
  connection: Connection,
  before: Product,
  draft: ProductDraft,
): Promise<readonly ProblemError[]> {
  const moved = fixedMembers.filter((name) => !isSame(before[name], draft[name]))
  if (moved.length === 0 || !(await hasCards(connection, before.productId))) return []
  return moved.map((name) => ({
    pointer: `/${name}`,
    detail: 'cannot change: there are cards of this product',
  }))
}
