import type { Product } from '../domain/product.ts'
import { listAllProducts } from '../storage/products.ts'
import type { Administration } from './administration.ts'

/** Products with greater ids than this one, active or not, by `productId`. */
export const listProducts = (
  { database }: Administration,
  afterProductId: number,
  limit: number,
): Promise<Product[]> => listAllProducts(database, afterProductId, limit)
