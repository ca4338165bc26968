import type { ListedProduct } from '../../domain/product.ts'
import { listGrantedProducts, type ProductFilter } from '../../storage/clients/products.ts'
import type { Acting, Issuing } from '../cards/cards.ts'

/** One page of the active products granted to the caller, by `productId`. */
export const listProducts = (
  { database }: Issuing,
  caller: Acting,
  filter: ProductFilter,
): Promise<ListedProduct[]> => listGrantedProducts(database, caller.clientId, filter)
