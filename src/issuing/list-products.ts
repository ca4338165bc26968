import type { ListedProduct } from '../domain/product.ts'
import { listGrantedProducts, type ProductFilter } from '../storage/products.ts'
import type { Caller, Issuing } from './issuing.ts'

/** One page of the active products granted to the caller, by `productId`. */
export const listProducts = (
  { database }: Issuing,
  caller: Caller,
  filter: ProductFilter,
): Promise<ListedProduct[]> => listGrantedProducts(database, caller.clientId, filter)
