import { listPossiblePans, type Pan } from '../../domain/pan.ts'
import { Problem, validationFailed } from '../../domain/problem.ts'
import { callHsm } from '../../hsm/contract/outage.ts'
import { findTokenByPan } from '../../storage/authorizations/begin.ts'
import type { AuthorizationContext } from './authorization.ts'

/** An id of a network, and its place in the body of its message. */
interface NetworkId {
  readonly pointer: string
  readonly text: string
}

/**
 * Refuses ids that hold the number of a card, because they are recorded and shown. An id that only
 * looks like a card number is accepted: no card has it.
 * @throws `Problem` `validation_failed`; `unavailable` if an id may hold one during an outage.
 */
export async function refuseCardNumbers(
  context: AuthorizationContext,
  ids: readonly NetworkId[],
): Promise<void> {
  const suspects = ids
    .map(({ pointer, text }) => ({ pointer, pans: listPossiblePans(text) }))
    .filter(({ pans }) => pans.length > 0)
  const found = await Promise.all(
    suspects.map(async ({ pans, pointer }) =>
      (await isAnyOfCard(context, pans))
        ? [{ pointer, detail: 'must not hold a card number' }]
        : [],
    ),
  )
  const [fault] = found.flat()
  if (fault) throw validationFailed(fault)
}

async function isAnyOfCard(context: AuthorizationContext, pans: readonly Pan[]): Promise<boolean> {
  const known = await callHsm(context, () =>
    Promise.all(pans.map((pan) => context.hsm.fingerprintPan(pan))),
  )
  if (!known) throw new Problem('unavailable', { detail: 'The HSM gave no answer.' })
  const fingerprints = known.flat().map(({ fingerprint }) => fingerprint)
  return (await findTokenByPan(context.database, fingerprints)) !== null
}
