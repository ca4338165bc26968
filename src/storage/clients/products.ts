import { randomUUID } from 'node:crypto'
import type { ProductId } from '../../domain/identifiers.ts'
import type { CardType, ListedProduct, Product } from '../../domain/product.ts'
import type { Connection, Database, SqlValue } from '../engine/database.ts'
import { firstRow, statement } from '../engine/database.ts'
import { rowRead } from '../engine/shared-statements.ts'

const listedColumns = `product_id as "productId", product_name as "productName",
  scheme_name as "schemeName", currency_code as "currencyCode", card_types as "cardTypes",
  validity_months as "validityMonths", pin_length as "pinLength",
  pin_revealable as "pinRevealable", pin_try_limit as "pinTryLimit",
  cvv_try_limit as "cvvTryLimit"`

const hiddenColumns = `bin, refuse_weak_pins as "refuseWeakPins", cvk, pvk, active`

const listStatement = statement(
  'list_granted_products',
  `select ${listedColumns} from product join client_product using (product_id)
   where client_id = $1 and active and product_id > $2
     and ($3::text is null or $3 = any (card_types))
     and ($4::text is null or currency_code = $4)
   order by product_id limit $5`,
)

export interface ProductFilter {
  readonly cardType: CardType | null
  readonly currencyCode: string | null
  /** Only products with a greater id; null: all of them. */
  readonly afterProductId: ProductId | null
  readonly limit: number
}

/** The active products granted to a client, by `productId`. */
export const listGrantedProducts = (
  connection: Connection,
  clientId: string,
  { afterProductId, cardType, currencyCode, limit }: ProductFilter,
): Promise<ListedProduct[]> =>
  connection.query(listStatement, [clientId, afterProductId ?? 0, cardType, currencyCode, limit])

/** A product as it was read. */
export interface GrantedProduct extends Product {
  /** Another one whenever it is to be changed. */
  readonly version: string
}

const grantedRead = rowRead('find_granted_product', {
  columns: `${listedColumns}, ${hiddenColumns}, product_version as "version"`,
  key: ['text', 'integer'],
  from: (clientId, productId) => `product join client_product using (product_id)
    where client_id = ${clientId} and product_id = ${productId} and active`,
})

/** An active product granted to a client as it is now, or null. */
export const findGrantedProduct = (
  database: Database,
  clientId: string,
  productId: ProductId,
): Promise<GrantedProduct | null> => database.readRow(grantedRead, [clientId, productId])

const insertStatement = statement(
  'insert_product',
  `insert into product (product_id, product_name, scheme_name, bin, currency_code, card_types,
     validity_months, pin_length, pin_revealable, refuse_weak_pins, pin_try_limit, cvv_try_limit,
     cvk, pvk, active)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
   on conflict (product_id) do nothing`,
)

/** Adds a product, unless its id is taken. */
export const insertProduct = async (connection: Connection, product: Product): Promise<void> => {
  await connection.query(insertStatement, valuesOf(product))
}

const allStatement = statement(
  'list_all_products',
  `select ${listedColumns}, ${hiddenColumns} from product
   where product_id > $1 order by product_id limit $2`,
)

/** Products with greater ids than this one, active or not, by `productId`; null: all of them. */
export const findAllProducts = (
  connection: Connection,
  afterProductId: ProductId | null,
  limit: number,
): Promise<Product[]> => connection.query(allStatement, [afterProductId ?? 0, limit])

const findAnyStatement = statement(
  'find_product',
  `select ${listedColumns}, ${hiddenColumns} from product where product_id = $1`,
)

/** A product, active or not, or null. */
export const findProduct = async (
  connection: Connection,
  productId: ProductId,
): Promise<Product | null> => firstRow(await connection.query(findAnyStatement, [productId]))

const lockStatement = statement(
  'lock_product',
  `select ${listedColumns}, ${hiddenColumns} from product where product_id = $1 for no key update`,
)
// Cards that are being made hold one of these rows, and those that come after find another version.
const lockGrantsStatement = statement(
  'lock_grants_of_product',
  'update client_product set product_version = $2 where product_id = $1',
)

/** A product, locked until the transaction ends: cards of it are made before or after. */
export const lockProduct = async (
  connection: Connection,
  productId: ProductId,
): Promise<Product | null> => {
  const product = firstRow<Product>(await connection.query(lockStatement, [productId]))
  await connection.query(lockGrantsStatement, [productId, randomUUID()])
  return product
}

const updateStatement = statement(
  'update_product',
  `update product set product_name = $2, scheme_name = $3, bin = $4, currency_code = $5,
     card_types = $6, validity_months = $7, pin_length = $8, pin_revealable = $9,
     refuse_weak_pins = $10, pin_try_limit = $11, cvv_try_limit = $12, cvk = $13, pvk = $14,
     active = $15
   where product_id = $1`,
)

/** Makes the product of this id so. Cards keep the limits of tries that they were issued with. */
export const updateProduct = async (connection: Connection, product: Product): Promise<void> => {
  await connection.query(updateStatement, valuesOf(product))
}

const valuesOf = (product: Product): readonly SqlValue[] => [
  product.productId,
  product.productName,
  product.schemeName,
  product.bin,
  product.currencyCode,
  product.cardTypes,
  product.validityMonths,
  product.pinLength,
  product.pinRevealable,
  product.refuseWeakPins,
  product.pinTryLimit,
  product.cvvTryLimit,
  product.cvk,
  product.pvk,
  product.active,
]

const overlapStatement = statement(
  'find_overlapping_product',
  `select product_id as "productId" from product
   where product_id <> $1 and (starts_with(bin, $2) or starts_with($2, bin))
   order by product_id limit 1`,
)

/** Another product than this one, if it is any yet, whose card numbers begin as those of a BIN do, or null. */
export const findOverlappingProduct = async (
  connection: Connection,
  productId: ProductId | null,
  bin: string,
): Promise<ProductId | null> => {
  const values = [productId ?? 0, bin]
  const rows = await connection.query<{ productId: ProductId }>(overlapStatement, values)
  return firstRow(rows)?.productId ?? null
}

const hasCardsStatement = statement(
  'has_cards_of_product',
  // The next card in the order of its index: to look for any of a product, the planner would rather read
  // the table, as if there were one soon.
  `select exists (
     select from (
       select product_id from card where product_id >= $1 order by product_id limit 1
     ) as next where product_id = $1
   ) as "hasCards"`,
)

/** Whether a card was ever made of a product. */
export const hasCards = async (connection: Connection, productId: ProductId): Promise<boolean> => {
  const rows = await connection.query<{ hasCards: boolean }>(hasCardsStatement, [productId])
  return firstRow(rows)?.hasCards === true
}

const knownStatement = statement(
  'list_known_product_ids',
  'select product_id as "productId" from product where product_id = any ($1::integer[])',
)

/** Which of these ids are products'. */
export const listKnownProductIds = async (
  connection: Connection,
  productIds: readonly ProductId[],
): Promise<readonly ProductId[]> => {
  const rows = await connection.query<{ productId: ProductId }>(knownStatement, [productIds])
  return rows.map(({ productId }) => productId)
}

const grantStatement = statement(
  'grant_product',
  `insert into client_product (client_id, product_id) values ($1, $2)
   on conflict (client_id, product_id) do nothing`,
)

/** Lets a client issue cards of a product. */
export const grantProduct = async (
  connection: Connection,
  clientId: string,
  productId: ProductId,
): Promise<void> => {
  await connection.query(grantStatement, [clientId, productId])
}

const revokeStatement = statement(
  'revoke_product',
  'delete from client_product where client_id = $1 and product_id = $2',
)

/** Lets a client issue no cards of a product any more. */
export const revokeProduct = async (
  connection: Connection,
  clientId: string,
  productId: ProductId,
): Promise<void> => {
  await connection.query(revokeStatement, [clientId, productId])
}
