import type { Requester } from '../../domain/client.ts'
import { isProductId, type ProductId } from '../../domain/identifiers.ts'
import { Problem, type ProblemError, validationFailed } from '../../domain/problem.ts'
import * as productRules from '../../domain/product.ts'
import { completeChip, type ProductChip, type ProductChipDraft } from '../../domain/product-chip.ts'
import { chipKeyNames } from '../../hsm/contract/catalogue.ts'
import type { Hsm } from '../../hsm/contract/hsm.ts'
import { findAdministeredClient } from '../../storage/clients/clients.ts'
import type { Connection, Database } from '../../storage/engine/database.ts'
import { lockInstallation } from '../../storage/engine/installation.ts'
import { listHsmKeys } from '../../storage/keys/hsm-keys.ts'
import * as storedProducts from '../../storage/products/products.ts'
import { differences, isSame, nameChange, recordAct } from '../acts/acts.ts'
import { type Answer, once, type RepeatableRequest } from '../idempotency/idempotency.ts'

/** The dependencies of the operations on products. */
interface ProductContext {
  readonly database: Database
  readonly hsm: Hsm
}

/** A product in a client's list. */
interface GrantedProduct extends productRules.ListedProduct {
  /** The days before the expiry on which the client is notified that a renewal is due. */
  readonly renewalNoticeDays: readonly number[]
}

/** Lists one page of the active products granted to the requester, by `productId`. */
export async function listProducts(
  { database }: Pick<ProductContext, 'database'>,
  { clientId }: Requester,
  filter: storedProducts.ProductFilter,
): Promise<GrantedProduct[]> {
  const products = await storedProducts.listGrantedProducts(database, clientId, filter)
  const { renewalNoticeDays } = productRules
  return products.map((product) => ({ ...product, renewalNoticeDays }))
}

/** The default values of a product. */
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
  chip: null,
  renewalType: 'Manual',
  renewalEarliestDays: productRules.renewalBounds.earliestDays.default,
  renewalLeadDays: productRules.renewalBounds.leadDays.default,
  renewalGraceMonths: productRules.renewalBounds.graceMonths.default,
} as const

/** A requested product, and the faults that its schema found. */
interface ProposedProduct {
  readonly draft: productRules.ProductDraft
  readonly shapeFaults: readonly ProblemError[]
}

/**
 * Adds a product.
 * @throws `Problem` `validation_failed` with every fault.
 */
export const createProduct = (
  context: ProductContext,
  operator: Requester,
  proposed: ProposedProduct,
  request: RepeatableRequest | null,
): Promise<Answer<productRules.Product>> =>
  once(context, request, async (connection) => {
    await lockInstallation(connection)
    const draft = completeDraft({ ...defaults, ...proposed.draft }, null)
    const { productId } = draft
    const isTaken =
      isProductId(productId) && (await storedProducts.findProduct(connection, productId)) !== null
    const faults = allFaults(proposed, [
      ...(isTaken
        ? [{ pointer: '/productId', detail: 'is the id of a product that already exists' }]
        : []),
      ...(await ruleFaults(connection, draft, null)),
    ])
    if (faults.length > 0) throw validationFailed(...faults)
    // The schema found no fault, so the draft is a product.
    const product = draft as productRules.Product
    await storedProducts.insertProduct(connection, product)
    const subject = String(product.productId)
    const act = { act: 'created', subjectKind: 'product', subject, details: product } as const
    await recordAct(connection, operator, act)
    return product
  })

/** The members that existing cards depend on, which therefore cannot change. */
const fixedMembers = ['schemeName', 'bin', 'currencyCode', 'pinLength', 'pinRevealable'] as const

/**
 * Changes the given members of a product. An inactive product gets no new cards; its existing cards
 * stay valid. Limits of tries apply to new cards.
 * @throws `Problem` `not_found`; `validation_failed` with every fault.
 */
export const changeProduct = (
  context: ProductContext,
  operator: Requester,
  { productId, ...proposed }: ProposedProduct & { readonly productId: ProductId },
  request: RepeatableRequest | null,
): Promise<Answer<productRules.Product>> =>
  once(context, request, async (connection) => {
    await lockInstallation(connection)
    const before = await storedProducts.lockProduct(connection, productId)
    if (!before) throw new Problem('not_found', { detail: noProduct })
    const draft = completeDraft({ ...before, ...proposed.draft, productId }, before.chip)
    const fixed = [
      ...fixedMembers
        .filter((name) => !isSame(before[name], draft[name]))
        .map((name) => ({
          pointer: `/${name}`,
          detail: 'cannot change: cards of this product exist',
        })),
      ...(before.chip !== null && draft.chip === null
        ? [{ pointer: '/chip', detail: 'cannot be removed: cards of this product exist' }]
        : []),
      ...(hasOtherProfile(before, draft)
        ? [{ pointer: '/chip/profile', detail: 'cannot change: cards of this product exist' }]
        : []),
    ]
    const isRefused = fixed.length > 0 && (await storedProducts.hasCards(connection, productId))
    const faults = allFaults(proposed, [
      ...(await ruleFaults(connection, draft, before)),
      ...(isRefused ? fixed : []),
    ])
    if (faults.length > 0) throw validationFailed(...faults)
    const product = draft as productRules.Product
    await storedProducts.updateProduct(connection, product)
    await recordAct(connection, operator, {
      act: nameChange(before, product, { on: 'resumed', off: 'retired' }),
      subjectKind: 'product',
      subject: String(productId),
      details: differences(before, product),
    })
    return product
  })

/** Completes the chip of a product; another type is a fault of the schema. */
const completeDraft = (
  draft: productRules.ProductDraft,
  before: ProductChip | null,
): productRules.ProductDraft => ({
  ...draft,
  chip:
    typeof draft.chip === 'object'
      ? completeChip(draft.chip as ProductChipDraft | null, before)
      : draft.chip,
})

/** Cards keep their chips and the profile of them. Chips can be added to a product. */
const hasOtherProfile = (
  { chip: before }: productRules.Product,
  { chip }: productRules.ProductDraft,
): boolean =>
  before !== null &&
  typeof chip === 'object' &&
  chip !== null &&
  before.profile !== (chip as ProductChipDraft).profile

/**
 * Lists the faults of a product, one for each member: the rules describe a fault more precisely
 * than the schema.
 */
const allFaults = (
  { shapeFaults }: ProposedProduct,
  ruled: readonly ProblemError[],
): readonly ProblemError[] => {
  const isRuled = ({ pointer }: ProblemError) =>
    ruled.some((rule) => `${pointer}/`.startsWith(`${rule.pointer}/`))
  return [...shapeFaults.filter((fault) => !isRuled(fault)), ...ruled]
}

/**
 * Lists every fault of a product, by its own rules and in relation to other data.
 * @param before the product before the change, if it exists
 */
async function ruleFaults(
  connection: Connection,
  draft: productRules.ProductDraft,
  before: productRules.Product | null,
): Promise<readonly ProblemError[]> {
  const { bin, productId } = draft
  const newBin = typeof bin === 'string' && bin !== before?.bin ? bin : ''
  const own = isProductId(productId) ? productId : null
  const other = /^(?:[0-9]{6}|[0-9]{8})$/.test(newBin)
    ? await storedProducts.findOverlappingProduct(connection, own, newBin)
    : null
  return [
    ...productRules.productFaults(draft),
    // The installation has one key for each purpose; its life cycle decides the version.
    ...(['cvk', 'pvk'] as const)
      .filter((name) => typeof draft[name] === 'string' && draft[name] !== '')
      .filter((name) => draft[name] !== name)
      .map((name) => ({
        pointer: `/${name}`,
        detail: `must be one of the keys for this purpose: ${name}`,
      })),
    ...(await keyVersionFaults(connection, draft, before)),
    ...(other === null
      ? []
      : [{ pointer: '/bin', detail: `overlaps with the card numbers of product ${other}` }]),
  ]
}

/** Each version that a chip lists must be active, of each of the keys. */
async function keyVersionFaults(
  connection: Connection,
  { chip }: productRules.ProductDraft,
  before: productRules.Product | null,
): Promise<readonly ProblemError[]> {
  const keyVersions = (chip as ProductChipDraft | null | undefined)?.keyVersions
  const versions = keyVersions && typeof keyVersions === 'object' ? Object.values(keyVersions) : []
  const known = Object.values(before?.chip?.keyVersions ?? {})
  const added = versions.filter((version) => !known.includes(version))
  if (added.length === 0) return []
  const rows = (await listHsmKeys(connection)).filter(({ state }) => state === 'active')
  const missing = chipKeyNames.filter(
    (name) =>
      !added.every((version) =>
        rows.some(({ keyName, keyVersion }) => keyName === name && keyVersion === version),
      ),
  )
  if (missing.length === 0) return []
  const detail = `must list versions that are active of ${missing.join(', ')}`
  return [{ pointer: '/chip/keyVersions', detail }]
}

/**
 * Returns one product, active or not.
 * @throws `Problem` `not_found`.
 */
export async function findProductRecord(
  { database }: ProductContext,
  productId: ProductId,
): Promise<productRules.Product> {
  const product = await storedProducts.findProduct(database, productId)
  if (!product) throw new Problem('not_found', { detail: noProduct })
  return product
}

/** Lists products with ids greater than this one, active or not, by `productId`; null lists all. */
export const listAllProducts = (
  { database }: ProductContext,
  afterProductId: ProductId | null,
  limit: number,
): Promise<productRules.Product[]> =>
  storedProducts.listProductRows(database, afterProductId, limit)

/** A grant of a product to a client, or its removal. */
interface Grant {
  readonly clientId: string
  readonly productId: ProductId
  readonly isGranted: boolean
}

const noClient = 'No client system has this clientId.'
/** The detail of a 404. */
export const noProduct = 'No product has this productId.'

/**
 * Allows a client system to issue cards of a product, or removes the permission. Its existing cards
 * stay valid. A request without a change leaves no act.
 * @throws `Problem` `not_found` if the client system or the product does not exist.
 */
export const setGrant = (
  context: ProductContext,
  operator: Requester,
  { clientId, isGranted, productId }: Grant,
  request: RepeatableRequest | null,
): Promise<Answer<null>> =>
  once(context, request, async (connection) => {
    await lockInstallation(connection)
    const client = await findAdministeredClient(connection, clientId)
    const product = await storedProducts.findProduct(connection, productId)
    if (client?.kind !== 'client') {
      const detail = product ? noClient : `${noClient} ${noProduct}`
      throw new Problem('not_found', { detail })
    }
    if (!product) throw new Problem('not_found', { detail: noProduct })
    if (client.productIds.includes(productId) === isGranted) return null
    await (isGranted ? storedProducts.grantProduct : storedProducts.revokeProduct)(
      connection,
      clientId,
      productId,
    )
    await recordAct(connection, operator, {
      act: isGranted ? 'product granted' : 'product revoked',
      subjectKind: 'client',
      subject: clientId,
      details: { productId },
    })
    return null
  })
