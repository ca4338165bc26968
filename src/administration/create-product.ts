import { isPositiveInteger } from '../domain/identifiers.ts'
import type { Product, ProductDraft } from '../domain/product.ts'
import { type ProblemError, validationFailed } from '../errors.ts'
import { once } from '../idempotency/once.ts'
import type { Answer, RepeatableRequest } from '../idempotency/remembered.ts'
import type { Connection } from '../storage/database.ts'
import { holdInstallation } from '../storage/installation.ts'
import { findProduct, insertProduct } from '../storage/products.ts'
import { type Administration, type Operator, recordAct } from './administration.ts'
import { judgeProduct } from './judge-product.ts'

/** What a product is where its maker does not say. */
const defaults = {
  validityMonths: 48,
  pinLength: 4,
  pinRevealable: true,
  refuseWeakPins: true,
  pinTryLimit: 3,
  cvvTryLimit: 3,
  cvk: 'cvk',
  pvk: 'pvk',
  active: true,
} as const

/** A product as it was asked for, and what its schema found wrong with it. */
export interface AskedProduct {
  readonly draft: ProductDraft
  readonly shapeFaults: readonly ProblemError[]
}

/**
 * Adds a product.
 * @throws `Problem` `validation_failed` with everything that is wrong with it, at once.
 */
export const createProduct = (
  administration: Administration,
  operator: Operator,
  { draft: given, shapeFaults }: AskedProduct,
  request: RepeatableRequest | null,
): Promise<Answer<Product>> =>
  once(administration, request, async (connection) => {
    await holdInstallation(connection)
    const draft = { ...defaults, ...given }
    const faults = allFaults(shapeFaults, [
      ...(await takenFaults(connection, draft)),
      ...(await judgeProduct(connection, draft, null)),
    ])
    if (faults.length > 0) throw validationFailed(...faults)
    // Its schema found nothing wrong, and so it is one.
    const product = draft as Product
    await insertProduct(connection, product)
    const subject = String(product.productId)
    const act = { act: 'created', subjectKind: 'product', subject, details: product } as const
    await recordAct(connection, operator, act)
    return product
  })

/** What is wrong with a product, once a member: what the rules say of one is more than its schema does. */
export const allFaults = (
  shapeFaults: readonly ProblemError[],
  ruleFaults: readonly ProblemError[],
): readonly ProblemError[] => {
  const isRuled = ({ pointer }: ProblemError) =>
    ruleFaults.some((rule) => `${pointer}/`.startsWith(`${rule.pointer}/`))
  return [...shapeFaults.filter((fault) => !isRuled(fault)), ...ruleFaults]
}

async function takenFaults(
  connection: Connection,
  { productId }: ProductDraft,
): Promise<readonly ProblemError[]> {
  const isTaken =
    isPositiveInteger(productId) && (await findProduct(connection, productId)) !== null
  return isTaken ? [{ pointer: '/productId', detail: 'is the id of another product' }] : []
}
