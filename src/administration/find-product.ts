import type { Product } from '../domain/product.ts'
import { Problem } from '../errors.ts'
import { findProduct as findStoredProduct } from '../storage/products.ts'
import type { Administration } from './administration.ts'

/** One product, active or not. @throws `Problem` `not_found`. */
export async function findProduct(
  { database }: Administration,
  productId: number,
): Promise<Product> {
  const product = await findStoredProduct(database, productId)
  if (!product) throw new Problem('not_found')
  return product
}
