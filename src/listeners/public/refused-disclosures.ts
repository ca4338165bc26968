import type { FastifyRequest } from 'fastify'
import { isPublicToken } from '../../domain/identifiers.ts'
import { toMembers } from '../../domain/members.ts'
import type { Problem } from '../../domain/problem.ts'
import { deviceKeyThumbprint } from '../../operations/card-data/card-data.ts'
import { requireCaller } from '../http/authentication.ts'
import type { PublicApi } from './api.ts'

/**
 * Records, before the answer, that a known client requested a disclosure and did not get it,
 * whichever part refused it. A value that cannot be a card's token may be a card number, and is
 * omitted.
 */
export const recordingRefusals =
  ({ issuing }: Pick<PublicApi, 'issuing'>, act: 'pin.revealed' | 'card_data.revealed') =>
  (request: FastifyRequest, { code, status }: Problem): Promise<void> => {
    const { publicToken } = toMembers(request.params)
    // The body may be invalid here.
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
