import {
  type AddressOutcome,
  compareAddress,
  type GivenAddress,
} from '../../domain/address-check.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import { callHsm } from '../../hsm/contract/outage.ts'
import { findPersonalData } from '../../storage/cards/personal-data.ts'
import { revealPersonalData } from '../cards/personal-data.ts'
import type { AuthorizationContext } from './authorization.ts'

/** Compares the given address with that of the card. An outage of the HSM leaves it unchecked. */
export async function compareCardAddress(
  context: AuthorizationContext,
  publicToken: PublicToken,
  given: GivenAddress,
): Promise<AddressOutcome> {
  const sealed = await findPersonalData(context.database, publicToken)
  const stored =
    sealed && (await callHsm(context, () => revealPersonalData(context.hsm, publicToken, sealed)))
  return compareAddress(given, stored?.address ?? null)
}
