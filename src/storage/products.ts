import type { CardType, ListedProduct, Product } from '../domain/product.ts'
import { type Connection, firstRow, statement } from './database.ts'

const listedColumns = `product_id as "productId", product_name as "productName",
  scheme_name as "schemeName", currency_code as "currencyCode", card_types as "cardTypes",
  validity_months as "validityMonths", pin_length as "pinLength",
  pin_revealable as "pinRevealable", pin_try_limit as "pinTryLimit",
  cvv_try_limit as "cvvTryLimit"`

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
  /** Only products with a greater id. */
  readonly afterProductId: number
  readonly limit: number
}

/** The active products granted to a client, by `productId`. */
export const listGrantedProducts = (
  connection: Connection,
  clientId: string,
  { afterProductId, cardType, currencyCode, limit }: ProductFilter,
): Promise<ListedProduct[]> =>
  connection.query(listStatement, [clientId, afterProductId, cardType, currencyCode, limit])

const findStatement = statement(
  'find_granted_product',
  `select ${listedColumns}, bin, refuse_weak_pins as "refuseWeakPins", cvk, pvk, active
   from product join client_product using (product_id)
   where client_id = $1 and product_id = $2 and active`,
)

/** An active product granted to a client, or null. */
export const findGrantedProduct = async (
  connection: Connection,
  clientId: string,
  productId: number,
): Promise<Product | null> => firstRow(await connection.query(findStatement, [clientId, productId]))

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
  await connection.query(insertStatement, [
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
  ])
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
  productId: number,
): Promise<void> => {
  await connection.query(grantStatement, [clientId, productId])
}
