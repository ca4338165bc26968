import { type ProblemError, validationFailed } from '../../errors.ts'
import { callerOf as authenticatedCaller, requireScope } from '../../http/authentication.ts'
import {
  type CardDataQuestion,
  revealCardData,
  type SealedCardData,
} from '../../issuing/reveal-card-data.ts'
import { type Api, callerOf, publicTokenOf } from '../api.ts'
import { CardDataSchema, type GetCardDataBody, GetCardDataSchema } from '../schemas/card-data.ts'
import { CardParamsSchema } from '../schemas/requests.ts'

const description = `PAN, CVV2 and expiry of a card, and the PIN if it is asked for, sealed so that only the device opens them.
That they were told is on record before they leave. An idempotency key has no effect.`

/** @param issuer base URL of this service, which its answers name. */
export function cardDataRoutes({ app, base, issuing }: Api, issuer: string): void {
  app.post(
    `${base}/cards/:publicToken/encrypted`,
    {
      config: {
        access: 'cards.encrypted',
        bodyRequired: true,
        problems: ['card_closed', 'pin_not_revealable', 'invalid_session_key'],
      },
      schema: {
        operationId: 'getCardData',
        summary: 'Get Card Data',
        description,
        tags: ['Card data'],
        params: CardParamsSchema,
        body: GetCardDataSchema,
        response: { 200: CardDataSchema },
      },
    },
    async (request) => {
      const { body } = request
      if (body.includePin) requireScope(authenticatedCaller(request), 'pin.encrypted')
      const form = formOf(body, issuer)
      const question = {
        publicToken: publicTokenOf(request),
        includePin: body.includePin ?? false,
        ...form,
      }
      return answerOf(await revealCardData(issuing, callerOf(request), question))
    },
  )
}

type Form = CardDataQuestion extends infer Question
  ? Question extends CardDataQuestion
    ? Omit<Question, 'publicToken' | 'includePin'>
    : never
  : never

/** @throws `Problem` `validation_failed` unless it is one form, whole, and nothing of the other. */
function formOf(body: GetCardDataBody, issuer: string): Form {
  const { deviceKey, encryptionKeyLength, hashingAlgorithm, key, nonce, paddingMode } = body
  if (key !== undefined && deviceKey === undefined) {
    refuseMembers({ nonce }, 'belongs to deviceKey')
    return { form: 'sessionKey', key }
  }
  if (deviceKey === undefined || key !== undefined) {
    throw validationFailed({ pointer: '', detail: 'must have exactly one of key and deviceKey' })
  }
  refuseMembers({ encryptionKeyLength, hashingAlgorithm, paddingMode }, 'belongs to key')
  if (nonce === undefined) throw validationFailed({ pointer: '/nonce', detail: 'must be given' })
  return { form: 'deviceKey', deviceKey: publicKeyOf(deviceKey), nonce, issuer }
}

function refuseMembers(members: Readonly<Record<string, unknown>>, detail: string): void {
  const faults = Object.entries(members).flatMap(([name, value]): ProblemError[] =>
    value === undefined ? [] : [{ pointer: `/${name}`, detail }],
  )
  if (faults.length > 0) throw validationFailed(...faults)
}

const publicKeyOf = ({ crv, kty, x, y }: NonNullable<GetCardDataBody['deviceKey']>) => ({
  kty,
  crv,
  x,
  ...(y !== undefined && { y }),
})

function answerOf(sealed: SealedCardData) {
  if ('jwe' in sealed) return sealed
  const { encryptedPayload, iv, signatureOfPayloadAndIv } = sealed.sessionSealed
  return {
    iv: base64(iv),
    encryptedPayload: base64(encryptedPayload),
    signatureOfPayloadAndIv: base64(signatureOfPayloadAndIv),
  }
}

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')
