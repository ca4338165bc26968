import { randomUUID } from 'node:crypto'
import type { ProductId } from '../../domain/identifiers.ts'
import type { CardType, ListedProduct, Product, ProductRenewal } from '../../domain/product.ts'
import { type Connection, type Database, firstRow } from '../engine/database.ts'
import { loadSharedStatements, loadStatements } from '../engine/statements.ts'

const declare = loadStatements(import.meta.url)
const shared = loadSharedStatements(import.meta.url)

export interface ProductFilter {
  readonly cardType: CardType | null
  readonly currencyCode: string | null
  /** Only products with a greater id; null for all. */
  readonly afterProductId: ProductId | null
  readonly limit: number
}

interface GrantedFilter extends Omit<ProductFilter, 'afterProductId'> {
  readonly clientId: string
  /** 0 precedes all ids. */
  readonly afterProductId: number
}

const selectGranted = declare<GrantedFilter, ListedProduct>('list_granted_products')

/** Lists the active products granted to a client, by `productId`. */
export const listGrantedProducts = (
  connection: Connection,
  clientId: string,
  { afterProductId, cardType, currencyCode, limit }: ProductFilter,
): Promise<ListedProduct[]> =>
  selectGranted(connection, {
    clientId,
    afterProductId: afterProductId ?? 0,
    cardType,
    currencyCode,
    limit,
  })

/** A product as it was read. No card is created by its chip or the settings of renewals. */
export interface GrantedProduct extends Omit<Product, 'chip' | keyof ProductRenewal> {
  /** Changes before every change of the product. */
  readonly version: string
}

interface GrantedProductKey {
  readonly clientId: string
  readonly productId: ProductId
}

const selectGrantedProduct = shared.declareRead<GrantedProductKey, GrantedProduct>(
  'find_granted_product',
)

/** Returns an active product granted to a client as it is now, or null. */
export const findGrantedProduct = (
  database: Database,
  clientId: string,
  productId: ProductId,
): Promise<GrantedProduct | null> => selectGrantedProduct(database, { clientId, productId })

/** The stored form of a product. */
interface StoredProduct extends Omit<Product, 'chip'> {
  readonly chip: string | null
}

const toStored = ({ chip, ...product }: Product): StoredProduct => ({
  ...product,
  chip: chip && JSON.stringify(chip),
})

const insert = declare<StoredProduct>('insert_product')

/** Adds a product, unless its id is taken. */
export const insertProduct = async (connection: Connection, product: Product): Promise<void> => {
  await insert(connection, toStored(product))
}

interface ProductsAfter {
  /** 0 stands before all. */
  readonly afterProductId: number
  readonly limit: number
}

const selectProducts = declare<ProductsAfter, Product>('list_all_products')

/** Lists products with ids greater than this one, active or not, by `productId`; null for all. */
export const listProductRows = (
  connection: Connection,
  afterProductId: ProductId | null,
  limit: number,
): Promise<Product[]> => selectProducts(connection, { afterProductId: afterProductId ?? 0, limit })

const selectProduct = declare<{ productId: ProductId }, Product>('find_product')

/** Returns a product, active or not, or null. */
export const findProduct = async (
  connection: Connection,
  productId: ProductId,
): Promise<Product | null> => firstRow(await selectProduct(connection, { productId }))

const lock = declare<{ productId: ProductId }, Product>('lock_product')
const updateGrants = declare<{ productId: ProductId; version: string }>('lock_grants_of_product')

/**
 * Returns a product, locked until the transaction ends, so that no card of it is created meanwhile.
 */
export const lockProduct = async (
  connection: Connection,
  productId: ProductId,
): Promise<Product | null> => {
  const product = firstRow(await lock(connection, { productId }))
  await updateGrants(connection, { productId, version: randomUUID() })
  return product
}

const update = declare<StoredProduct>('update_product')

/** Updates a product. Cards keep the limits of tries that they were issued with. */
export const updateProduct = async (connection: Connection, product: Product): Promise<void> => {
  await update(connection, toStored(product))
}

const selectOverlapping = declare<{ productId: number; bin: string }, { productId: ProductId }>(
  'find_overlapping_product',
)

/** Returns another product whose card numbers can begin with a BIN, or null. */
export const findOverlappingProduct = async (
  connection: Connection,
  productId: ProductId | null,
  bin: string,
): Promise<ProductId | null> => {
  const rows = await selectOverlapping(connection, { productId: productId ?? 0, bin })
  return firstRow(rows)?.productId ?? null
}

const selectHasCards = declare<{ productId: ProductId }, { hasCards: boolean }>(
  'has_cards_of_product',
)

/** Whether any card of a product exists. */
export const hasCards = async (connection: Connection, productId: ProductId): Promise<boolean> =>
  firstRow(await selectHasCards(connection, { productId }))?.hasCards === true

const selectOfChipKeys = declare<{ keyVersion: number }, { productId: ProductId }>(
  'find_product_of_chip_keys',
)

/** Returns a product that lists a version of the keys of chips, or null. */
export const findProductOfChipKeys = async (
  connection: Connection,
  keyVersion: number,
): Promise<ProductId | null> =>
  firstRow(await selectOfChipKeys(connection, { keyVersion }))?.productId ?? null

const selectKnown = declare<{ productIds: readonly ProductId[] }, { productId: ProductId }>(
  'list_known_product_ids',
)

/** Lists the existing products among these ids. */
export const listKnownProductIds = async (
  connection: Connection,
  productIds: readonly ProductId[],
): Promise<readonly ProductId[]> => {
  const rows = await selectKnown(connection, { productIds })
  return rows.map(({ productId }) => productId)
}

interface Grant {
  readonly clientId: string
  readonly productId: ProductId
}

const insertGrant = declare<Grant>('grant_product')

/** Allows a client to issue cards of a product. */
export const grantProduct = async (
  connection: Connection,
  clientId: string,
  productId: ProductId,
): Promise<void> => {
  await insertGrant(connection, { clientId, productId })
}

const deleteGrant = declare<Grant>('revoke_product')

/** Removes a client's permission to issue cards of a product. */
export const revokeProduct = async (
  connection: Connection,
  clientId: string,
  productId: ProductId,
): Promise<void> => {
  await deleteGrant(connection, { clientId, productId })
}
