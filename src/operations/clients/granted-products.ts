import type { ListedProduct } from '../../domain/product.ts'
import { listGrantedProducts, type ProductFilter } from '../../storage/clients/products.ts'
import type { CardOperations, Requester } from '../cards/cards.ts'

/** One page of the active products granted to the caller, by `productId`. */
export const listProducts = (
  { database }: CardOperations,
  caller: Requester,
  filter: ProductFilter,
): Promise<ListedProduct[]> => listGrantedProducts(database, caller.clientId, filter)
