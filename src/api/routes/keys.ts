import Type from 'typebox'
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

const member = Type.Optional(Type.String())

const CardDataKeySchema = Type.Object({
  kty: Type.Enum(['RSA', 'EC']),
  kid: Type.String({ examples: ['card-data-wrap-1'] }),
  use: Type.Enum(['enc', 'sig']),
  alg: Type.Enum(['RSA-OAEP-256', 'PS256', 'ES256', 'ECDH-ES']),
  n: member,
  e: member,
  crv: member,
  x: member,
  y: member,
})

const CardDataKeysSchema = Type.Object(
  { keys: Type.Array(CardDataKeySchema) },
  { description: 'A JWK Set (RFC 7517). Of each purpose the key to use now comes first.' },
)

const config = { access: 'open' } as const

function keySetRoute({ app, issuing }: Api): void {
  app.get(
    '/.well-known/jwks.json',
    { config, schema: { hide: true, response: { 200: CardDataKeysSchema } } },
    async (_, reply) => {
      const keys = await listCardDataKeys(issuing)
      return reply.header('access-control-allow-origin', '*').send({ keys: keys.map(jwkOf) })
    },
  )
}

function keyRoute({ app, base, issuing }: Api): void {
  const params = Type.Object({ kid: Type.String() })
  app.get(
    `${base}/keys/:kid(^[a-z0-9-]+).pem`,
    { config, schema: { hide: true, params, response: { 200: Type.String() } } },
    async (request, reply) => {
      const { publicPem } = await findCardDataKey(issuing, request.params.kid)
      return reply
        .type('application/x-pem-file')
        .header('access-control-allow-origin', '*')
        .send(publicPem)
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
