import type { FastifyRequest } from 'fastify'
import Type from 'typebox'
import {
  type CardDataKey,
  type CardDataRequest,
  findCardDataKey,
  listCardDataKeys,
  revealCardData,
  type SealedCardData,
} from '../../../operations/card-data/card-data.ts'
import { callerOf as authenticatedCaller, requireScope } from '../../http/authentication.ts'
import {
  type PublishedDocument,
  publishedDocument,
  sendPublished,
} from '../../http/published-document.ts'
import { alwaysWith, exactlyOneOf, onlyWith } from '../../http/request.ts'
import { CardDataSchema, type GetCardDataBody, GetCardDataSchema } from '../schemas/card-data.ts'
import { CardParamsSchema } from '../schemas/cards.ts'
import { type Api, actingOf, publicTokenOf } from '../server.ts'

const description = `PAN, CVV2 and expiry of a card, and the PIN if it is asked for, sealed so that only the device opens them.
That they were told is on record before they leave. An idempotency key has no effect.`

/** One form, whole, and nothing of the other. */
const oneForm = [
  exactlyOneOf('key', 'deviceKey'),
  onlyWith('paddingMode', 'key'),
  onlyWith('encryptionKeyLength', 'key'),
  onlyWith('hashingAlgorithm', 'key'),
  onlyWith('nonce', 'deviceKey'),
  alwaysWith('nonce', 'deviceKey'),
]

/** @param issuer base URL of this service, which its answers name. */
export function cardDataRoutes({ app, base, issuing }: Api, issuer: string): void {
  app.post(
    `${base}/cards/:publicToken/encrypted`,
    {
      config: {
        access: 'cards.encrypted',
        bodyRequired: true,
        bodyRules: oneForm,
        notRepeatable: 'each answer is sealed and on record anew',
        ciphertexts: ['key'],
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
      preValidation: requireScopeOfPin,
    },
    async (request) => {
      const { body } = request
      const form = formOf(body, issuer)
      const question = {
        publicToken: publicTokenOf(request),
        includePin: body.includePin ?? false,
        ...form,
      }
      return answerOf(await revealCardData(issuing, actingOf(request), question))
    },
  )
}

/** Before anything is said of the body: who may not ask for the PIN learns that first. */
async function requireScopeOfPin(request: FastifyRequest): Promise<void> {
  const { body } = request
  const isAsked = typeof body === 'object' && body !== null && 'includePin' in body
  if (isAsked && body.includePin === true) {
    requireScope(authenticatedCaller(request), 'pin.encrypted')
  }
}

type Form = CardDataRequest extends infer Question
  ? Question extends CardDataRequest
    ? Omit<Question, 'publicToken' | 'includePin'>
    : never
  : never

/** The one that is given: the route's rules have seen to that. */
function formOf({ deviceKey, key, nonce }: GetCardDataBody, issuer: string): Form {
  if (key !== undefined) return { form: 'sessionKey', key }
  if (deviceKey !== undefined && nonce !== undefined) {
    return { form: 'deviceKey', deviceKey: publicKeyOf(deviceKey), nonce, issuer }
  }
  throw new Error('The rules let a body of no form pass.')
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

/** The public keys of card data. A page of any origin may fetch them: they are nobody's secret. */
export function cardDataKeyRoutes(api: Api): void {
  keySetRoute(api)
  keyRoute(api)
}

const config = { access: 'open' } as const

function keySetRoute({ app, issuing }: Api): void {
  let made: { readonly keyIds: string; readonly document: PublishedDocument } | null = null
  const documentOf = (keys: readonly CardDataKey[]): PublishedDocument => {
    // A key id never comes to name another key.
    const keyIds = keys.map(({ keyId }) => keyId).join()
    if (made?.keyIds !== keyIds) {
      // Of each purpose the key to use now comes first.
      const text = JSON.stringify({ keys: keys.map(jwkOf) })
      made = { keyIds, document: publishedDocument('application/json; charset=utf-8', text) }
    }
    return made.document
  }
  app.get(
    '/.well-known/jwks.json',
    { config, schema: { hide: true, response: { 200: Type.Any() } } },
    async (request, reply) => {
      const document = documentOf(await listCardDataKeys(issuing))
      return sendPublished(request, reply.header('access-control-allow-origin', '*'), document)
    },
  )
}

function keyRoute({ app, base, issuing }: Api): void {
  const params = Type.Object({ kid: Type.String() })
  app.get(
    `${base}/keys/:kid(^[a-z0-9-]+).pem`,
    { config, schema: { hide: true, params, response: { 200: Type.Any() } } },
    async (request, reply) => {
      const { publicPem } = await findCardDataKey(issuing, request.params.kid)
      const document = publishedDocument('application/x-pem-file', publicPem)
      return sendPublished(request, reply.header('access-control-allow-origin', '*'), document)
    },
  )
}

const jwkOf = ({ algorithm, keyId, publicJwk, use }: CardDataKey) => ({
  kty: publicJwk.kty === 'RSA' ? ('RSA' as const) : ('EC' as const),
  kid: keyId,
  use,
  alg: algorithm,
  ...publicMembers(publicJwk),
})

const publicMembers = ({ crv, e, n, x, y }: CardDataKey['publicJwk']) => ({
  ...(n !== undefined && { n }),
  ...(e !== undefined && { e }),
  ...(crv !== undefined && { crv }),
  ...(x !== undefined && { x }),
  ...(y !== undefined && { y }),
})
