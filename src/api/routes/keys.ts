import Type from 'typebox'
import {
  type PublishedDocument,
  publishedDocument,
  sendPublished,
} from '../../http/published-document.ts'
import {
  type CardDataKey,
  findCardDataKey,
  listCardDataKeys,
} from '../../issuing/list-card-data-keys.ts'
import type { Api } from '../api.ts'

/** The public keys of card data. A page of any origin may fetch them: they are nobody's secret. */
export function keyRoutes(api: Api): void {
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
