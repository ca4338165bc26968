import Type from 'typebox'
import { toMembers } from '../../../domain/members.ts'
import * as cardDataOperations from '../../../operations/card-data/card-data.ts'
import { requireCaller, requireScope } from '../../http/authentication.ts'
import {
  type PublishedDocument,
  preflightRoute,
  publishedDocument,
  sendPreflight,
  sendPublished,
} from '../../http/published-document.ts'
import { alwaysWith, onlyWith, requireExactlyOne } from '../../http/request.ts'
import { createRequester, type PublicApi, parsePublicToken } from '../api.ts'
import { recordingRefusals } from '../refused-disclosures.ts'
import { CardDataSchema, type GetCardDataBody, GetCardDataSchema } from '../schemas/card-data.ts'
import { CardParamsSchema } from '../schemas/cards.ts'

const description = `PAN, CVV2 and expiry of a card, and the PIN on request, sealed so that only
the device can open them. The disclosure is recorded before they are sent. An idempotency key
has no effect.`

/** Exactly one form, complete, without members of the other. */
const oneForm = [
  requireExactlyOne('key', 'deviceKey'),
  onlyWith('paddingMode', 'key'),
  onlyWith('encryptionKeyLength', 'key'),
  onlyWith('hashingAlgorithm', 'key'),
  onlyWith('nonce', 'deviceKey'),
  alwaysWith('nonce', 'deviceKey'),
]

export function getCardDataRoute({ app, base, baseUrl, issuing }: PublicApi): void {
  app.post(
    `${base}/cards/:publicToken/encrypted`,
    {
      config: {
        access: 'cards.encrypted',
        bodyRequired: true,
        bodyRules: oneForm,
        notRepeatable: 'each answer is sealed and recorded separately',
        ciphertexts: ['key'],
        problems: ['card_closed', 'pin_not_revealable', 'invalid_session_key'],
        discloses: true,
        beforeProblem: recordingRefusals({ issuing }, 'card_data.revealed'),
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
      // Before the body is checked: a caller without the right to the PIN learns that first.
      preValidation: async (request) => {
        const { includePin } = toMembers(request.body)
        if (includePin === true) requireScope(requireCaller(request), 'pin.encrypted')
      },
    },
    async (request, reply) => {
      const { body } = request
      const form = selectForm(body, baseUrl)
      const disclosureRequest = {
        publicToken: parsePublicToken(request),
        includePin: body.includePin ?? false,
        ...form,
      }
      const { entryId, sealed } = await cardDataOperations.revealCardData(
        issuing,
        createRequester(request),
        disclosureRequest,
      )
      reply.header('audit-entry', entryId)
      if ('jwe' in sealed) return sealed
      const { encryptedPayload, iv, signatureOfPayloadAndIv } = sealed.sessionSealed
      return {
        iv: base64(iv),
        encryptedPayload: base64(encryptedPayload),
        signatureOfPayloadAndIv: base64(signatureOfPayloadAndIv),
      }
    },
  )
}

type Form = cardDataOperations.CardDataRequest extends infer Request
  ? Request extends cardDataOperations.CardDataRequest
    ? Omit<Request, 'publicToken' | 'includePin'>
    : never
  : never

/** Returns the given form; the route's rules ensure that there is one. */
function selectForm({ deviceKey, key, nonce }: GetCardDataBody, issuer: string): Form {
  if (key !== undefined) return { form: 'sessionKey', key }
  if (deviceKey !== undefined && nonce !== undefined) {
    const { crv, kty, x, y } = deviceKey
    const publicKey = { kty, crv, x, ...(y !== undefined && { y }) }
    return { form: 'deviceKey', deviceKey: publicKey, nonce, issuer }
  }
  throw new Error('The rules accepted a body of no form.')
}

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')

/** Returns the public keys of card data. A page of any origin may fetch them. */
export function cardDataKeySetRoute({ app, issuing }: PublicApi): void {
  let made: { readonly keyIds: string; readonly document: PublishedDocument } | null = null
  const composeDocument = (keys: readonly cardDataOperations.CardDataKey[]): PublishedDocument => {
    // A key id never names another key.
    const keyIds = keys.map(({ keyId }) => keyId).join()
    if (made?.keyIds !== keyIds) {
      // The current key of each purpose comes first.
      const jwks = keys.map(({ algorithm, keyId, publicJwk, use }) => {
        const { crv, e, kty, n, x, y } = publicJwk
        // JSON omits undefined members.
        return {
          kty: kty === 'RSA' ? 'RSA' : 'EC',
          kid: keyId,
          use,
          alg: algorithm,
          n,
          e,
          crv,
          x,
          y,
        }
      })
      const text = JSON.stringify({ keys: jwks })
      made = { keyIds, document: publishedDocument('application/json; charset=utf-8', text) }
    }
    return made.document
  }
  preflightRoute(app, '/.well-known/jwks.json')
  app.get(
    '/.well-known/jwks.json',
    { config: { access: 'open' }, schema: { hide: true, response: { 200: Type.Any() } } },
    async (request, reply) => {
      const document = composeDocument(await cardDataOperations.listCardDataKeys(issuing))
      return sendPublished(request, reply.header('access-control-allow-origin', '*'), document)
    },
  )
}

/** Returns one of the keys as PEM. */
export function cardDataKeyRoute({ app, base, issuing }: PublicApi): void {
  const params = Type.Object({ kid: Type.String() })
  const path = `${base}/keys/:kid(^[a-z0-9-]+).pem`
  app.options(
    path,
    {
      config: { access: 'open', problems: ['unsupported_media_type', 'body_too_large'] },
      schema: { hide: true, params, response: { 204: Type.Null() } },
    },
    async (request, reply) => {
      // An unknown key is 404 for every method.
      await cardDataOperations.findCardDataKey(issuing, request.params.kid)
      return sendPreflight(reply)
    },
  )
  app.get(
    path,
    { config: { access: 'open' }, schema: { hide: true, params, response: { 200: Type.Any() } } },
    async (request, reply) => {
      const { publicPem } = await cardDataOperations.findCardDataKey(issuing, request.params.kid)
      const document = publishedDocument('application/x-pem-file', publicPem)
      return sendPublished(request, reply.header('access-control-allow-origin', '*'), document)
    },
  )
}
