import type { JWK } from 'jose'

/** A private key (RFC 7517) with the algorithm that it signs with, such as `ES256` or `PS256`. */
export type PrivateJwk = JWK & { readonly alg: string }
