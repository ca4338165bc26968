import { isPositiveInteger } from '../../domain/identifiers.ts'
import { Problem, type ProblemError, validationFailed } from '../../domain/problem.ts'
import { type Product, type ProductDraft, productFaults } from '../../domain/product.ts'
import { findAdministeredClient } from '../../storage/clients/clients.ts'
import {
  findAllProducts,
  findOverlappingProduct,
  findProduct,
  findProduct as findStoredProduct,
  grantProduct as grantStored,
  hasCards,
  holdProduct,
  insertProduct,
  revokeProduct,
  updateProduct,
} from '../../storage/clients/products.ts'
import type { Connection } from '../../storage/engine/database.ts'
import { holdInstallation } from '../../storage/engine/installation.ts'
import {
  type Administration,
  differences,
  isSame,
  type Operator,
  recordAct,
} from '../audit/acts.ts'
import { type Answer, once, type RepeatableRequest } from '../idempotency/idempotency.ts'

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
interface AskedProduct {
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
const allFaults = (
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

/** One product, active or not. @throws `Problem` `not_found`. */
export async function getProduct(
  { database }: Administration,
  productId: number,
): Promise<Product> {
  const product = await findStoredProduct(database, productId)
  if (!product) throw new Problem('not_found')
  return product
}

/** Products with greater ids than this one, active or not, by `productId`. */
export const listAllProducts = (
  { database }: Administration,
  afterProductId: number,
  limit: number,
): Promise<Product[]> => findAllProducts(database, afterProductId, limit)

/** The installation's keys that a product may name. Which version is used, the life of the key says. */
const keysOf = { cvk: ['cvk'], pvk: ['pvk'] } as const

/**
 * Everything that is wrong with a product, by its own rules and beside what there is already.
 * @param before what it was, if it is there
 */
async function judgeProduct(
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

/** Which product is granted to which client, or no longer is. */
interface Grant {
  readonly clientId: string
  readonly productId: number
  readonly isGranted: boolean
}

/**
 * Lets a client system issue cards of a product, or no longer. Cards that it has live on. What is so
 * already stays so, and leaves no act.
 * @throws `Problem` `not_found` where there is no such client system, or no such product.
 */
export const setGrant = (
  administration: Administration,
  operator: Operator,
  { clientId, isGranted, productId }: Grant,
  request: RepeatableRequest | null,
): Promise<Answer<null>> =>
  once(administration, request, async (connection) => {
    await holdInstallation(connection)
    const client = await findAdministeredClient(connection, clientId)
    const product = await findProduct(connection, productId)
    if (client?.kind !== 'client' || !product) throw new Problem('not_found')
    if (client.productIds.includes(productId) === isGranted) return null
    await (isGranted ? grantStored : revokeProduct)(connection, clientId, productId)
    const act = isGranted ? 'product granted' : 'product revoked'
    const details = { productId }
    await recordAct(connection, operator, {
      act,
      subjectKind: 'client',
      subject: clientId,
      details,
    })
    return null
  })
