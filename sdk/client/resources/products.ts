import type { Product } from '../models.ts'
import type { Calls } from '../transport/calls.ts'
import { type Listing, listing } from '../transport/listing.ts'
import type { Query } from '../transport/operations.ts'
import { path } from '../transport/path.ts'
import type { CallOptions } from '../transport/transport.ts'

export interface Products {
  /** The active products granted to the client. Scope `cards.read`. */
  list(query?: Query<'listProducts'>, options?: CallOptions): Listing<Product>
}

export const products = ({ page }: Calls): Products => ({
  list: (query = {}, options) =>
    listing((rest) => page<'listProducts'>(path`/products`, rest, options), query),
})
