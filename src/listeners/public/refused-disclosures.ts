import type { FastifyRequest } from 'fastify'
import { isPublicToken } from '../../domain/identifiers.ts'
import { toMembers } from '../../domain/members.ts'
import type { Problem } from '../../domain/problem.ts'
import { deviceKeyThumbprint } from '../../operations/card-data/card-data.ts'
import { requireCaller } from '../http/authentication.ts'
import type { PublicApi } from './api.ts'

/**
 * Puts on record, before it is answered, that a client which is known asked for a disclosure and
 * did not get it: whatever refused it, and wherever. What can be no card's token may be a card
 * number, and is left out.
 */
export const recordingRefusals =
  ({ issuing }: Pick<PublicApi, 'issuing'>, act: 'pin.revealed' | 'card_data.revealed') =>
  (request: FastifyRequest, { code, status }: Problem): Promise<void> => {
    const { publicToken } = toMembers(request.params)
    // Of a body it is not certain here that it is valid.
    const { deviceKey, includePin } = toMembers(request.body)
    return issuing.refusedDisclosures.record(
      {
        clientId: requireCaller(request).clientId,
        publicToken: isPublicToken(publicToken) ? publicToken : null,
        act,
        includesPin: act === 'pin.revealed' || includePin === true,
        device: deviceKeyThumbprint(toMembers(deviceKey)),
        outcome: status < 500 ? 'refused' : 'failed',
        reason: code,
      },
      request.id,
    )
  }
