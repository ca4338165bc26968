import type { Requester } from '../../domain/client.ts'
import {
  type ControlsMembers,
  completeProductControls,
  type ProductControls,
  type ProductTermsMembers,
} from '../../domain/controls.ts'
import type { ProductId } from '../../domain/identifiers.ts'
import { Problem } from '../../domain/problem.ts'
import type { Hsm } from '../../hsm/contract/hsm.ts'
import type { Database } from '../../storage/engine/database.ts'
import * as stored from '../../storage/products/controls.ts'
import { isSame, recordAct } from '../acts/acts.ts'
import { type Answer, once, type RepeatableRequest } from '../idempotency/idempotency.ts'
import { noProduct } from './products.ts'

interface VersionedControls extends ProductControls {
  readonly version: number
}

/** Returns the spending controls of a product. @throws `Problem` `not_found`. */
export async function findProductControls(
  { database }: { readonly database: Database },
  productId: ProductId,
): Promise<VersionedControls> {
  const found = await stored.findProductControls(database, productId)
  if (!found) throw new Problem('not_found', { detail: noProduct })
  return { version: found.version, ...found.controls }
}

/** New controls of a product, and the version that they replace. */
interface ReplacedControls {
  readonly productId: ProductId
  readonly version: number
  readonly controls: ControlsMembers & ProductTermsMembers
}

/**
 * Replaces the spending controls of a product whole. They apply to the next authorization of each
 * of its cards.
 * @returns the version of the new ones.
 * @throws `Problem` `not_found`, `controls_version_conflict`.
 */
export const replaceProductControls = (
  context: { readonly database: Database; readonly hsm: Hsm },
  operator: Requester,
  { controls: members, productId, version }: ReplacedControls,
  request: RepeatableRequest | null,
): Promise<Answer<{ readonly version: number }>> =>
  once(context, request, async (connection) => {
    const before = await stored.lockProductControls(connection, productId)
    if (!before) throw new Problem('not_found', { detail: noProduct })
    if (before.version !== version) {
      const detail = `The present version is ${before.version}.`
      throw new Problem('controls_version_conflict', { detail })
    }
    const controls = completeProductControls(members)
    const result = { version: version + 1 }
    await stored.updateProductControls(connection, productId, { ...result, controls })
    // The lists may have thousands of entries: the act names the members that changed.
    const names = Object.keys(controls) as (keyof ProductControls)[]
    const changed = names.filter((name) => !isSame(before.controls[name], controls[name]))
    await recordAct(connection, operator, {
      act: 'controls changed',
      subjectKind: 'product',
      subject: String(productId),
      details: { ...result, changed },
    })
    return result
  })
