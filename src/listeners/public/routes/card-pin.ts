import { Pin } from '../../../domain/pin.ts'
import { type ChosenPin, revealPin, setPin } from '../../../operations/cards/pin.ts'
import { findTryStatus, unblock } from '../../../operations/cards/tries.ts'
import { noContent, repeatable } from '../../http/repeatable.ts'
import { requireExactlyOne } from '../../http/request.ts'
import { createRequester, type PublicApi, parsePublicToken } from '../api.ts'
import { recordingRefusals } from '../refused-disclosures.ts'
import * as cardSchemas from '../schemas/cards.ts'

export function setPinRoute({ app, base, issuing }: PublicApi): void {
  app.post(
    `${base}/card-pin/:publicToken/pin`,
    {
      config: {
        access: 'pin.write',
        repeatable: true,
        bodyRequired: true,
        bodyRules: [requireExactlyOne('pin', 'cardPin', 'encryptedPin')],
        ciphertexts: ['encryptedPin'],
        problems: ['card_closed', 'weak_pin', 'invalid_encrypted_pin'],
      },
      schema: {
        operationId: 'setPin',
        summary: 'Set PIN',
        description: 'Sets the PIN that the cardholder chose. It does not restore tries.',
        tags: ['PIN'],
        params: cardSchemas.CardParamsSchema,
        body: cardSchemas.SetPinSchema,
        response: { 204: cardSchemas.NoContentSchema },
      },
    },
    async (request, reply) => {
      const chosen = selectChosenPin(request.body)
      const { cardPin: _, encryptedPin: __, pin: ___, ...note } = request.body
      const answer = await setPin(
        issuing,
        createRequester(request),
        { publicToken: parsePublicToken(request), chosen, note },
        repeatable(request, { bearsSecret: true }),
      )
      return noContent(reply, answer)
    },
  )
}

/** Returns the given PIN; the route's rule ensures that there is one. */
function selectChosenPin({ cardPin, encryptedPin, pin }: cardSchemas.SetPinBody): ChosenPin {
  if (pin !== undefined) return { pin: new Pin(pin), pointer: '/pin' }
  if (cardPin !== undefined) return { pin: new Pin(cardPin), pointer: '/cardPin' }
  if (encryptedPin !== undefined) return { encryptedPin }
  throw new Error('The rule accepted a body without a PIN.')
}

export function revealPinRoute({ app, base, issuing }: PublicApi): void {
  app.get(
    `${base}/card-pin/:publicToken/pin`,
    {
      config: {
        access: 'pin.reveal',
        problems: ['card_closed', 'pin_not_revealable'],
        discloses: true,
        beforeProblem: recordingRefusals({ issuing }, 'pin.revealed'),
      },
      // A HEAD would record a disclosure without disclosing anything.
      exposeHeadRoute: false,
      schema: {
        operationId: 'getCurrentPin',
        summary: 'Get current PIN',
        description: 'The PIN in clear. Its disclosure is recorded before it is sent.',
        tags: ['PIN'],
        params: cardSchemas.CardParamsSchema,
        response: { 200: cardSchemas.PinSchema },
      },
    },
    async (request, reply) => {
      const acting = createRequester(request)
      const { entryId, pin } = await revealPin(issuing, acting, parsePublicToken(request))
      reply.header('audit-entry', entryId)
      return { pin: pin.reveal() }
    },
  )
}

export function pinStatusRoute({ app, base, issuing }: PublicApi): void {
  app.get(
    `${base}/card-pin/:publicToken/pin/status`,
    {
      config: { access: 'pin.read' },
      schema: {
        operationId: 'getPinStatus',
        summary: 'Get PIN status',
        tags: ['PIN'],
        params: cardSchemas.CardParamsSchema,
        response: { 200: cardSchemas.PinStatusSchema },
      },
    },
    async (request) =>
      findTryStatus(issuing, createRequester(request), parsePublicToken(request), 'pin'),
  )
}

export function unblockPinRoute({ app, base, issuing }: PublicApi): void {
  app.post(
    `${base}/card-pin/:publicToken/pin/unblock`,
    {
      config: { access: 'pin.write', repeatable: true, problems: ['card_closed'] },
      schema: {
        operationId: 'unblockPin',
        summary: 'Unblock PIN',
        description: 'Restores the tries, whether or not the PIN was blocked. No body is needed.',
        tags: ['PIN'],
        params: cardSchemas.CardParamsSchema,
        body: cardSchemas.UnblockPinSchema,
        response: { 204: cardSchemas.NoContentSchema },
      },
    },
    async (request, reply) => {
      const answer = await unblock(
        issuing,
        createRequester(request),
        { publicToken: parsePublicToken(request), kind: 'pin', note: request.body ?? {} },
        repeatable(request),
      )
      return noContent(reply, answer)
    },
  )
}
