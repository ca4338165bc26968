import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { RateLimiter } from '../../http/client-rate.ts'
import {
  type AuthorizationServer,
  authorizationServerPaths,
} from '../../oauth/authorization-server.ts'
import { claimedClientId } from '../../oauth/claimed-client-id.ts'
import type { Api } from '../api.ts'

/**
 * Mounts the embedded authorization server. It reads and answers in its own terms (RFC 6749): here it
 * only gets the listener's limits.
 */
export function oauthRoutes(
  { app }: Pick<Api, 'app'>,
  server: AuthorizationServer,
  rate: RateLimiter | null,
): void {
  // A scope of its own, so that forms are read here and nowhere else.
  app.register(async (scope) => {
    const mounted = scope as unknown as FastifyInstance
    mounted.removeAllContentTypeParsers()
    mounted.addContentTypeParser(
      '*',
      { parseAs: 'buffer' },
      async (_: unknown, body: Buffer) => body,
    )
    const { jwks, metadata, token } = authorizationServerPaths
    const config = { access: 'open' } as const
    const schema = { hide: true }
    mounted.post<{ Body: Buffer | undefined }>(
      token,
      { config: { ...config, notRepeatable: 'a token is asked for anew' }, schema },
      async (request, reply) => {
        if (rate) spendBoth(rate, request)
        await answer(server, request, reply, request.body ?? Buffer.alloc(0))
      },
    )
    for (const path of [jwks, metadata]) {
      mounted.get(path, { config, schema }, async (request, reply) =>
        answer(server, request, reply),
      )
    }
  })
}

/** Per address and per client id, as it is claimed: guessing at one client's secret is slow from anywhere. */
function spendBoth(rate: RateLimiter, request: FastifyRequest<{ Body: Buffer | undefined }>): void {
  rate.spend(`address ${request.ip}`)
  const clientId = claimedClientId(request.headers.authorization, request.body ?? Buffer.alloc(0))
  if (clientId !== undefined) rate.spend(`client ${clientId}`)
}

async function answer(
  server: AuthorizationServer,
  request: FastifyRequest,
  reply: FastifyReply,
  body?: Buffer,
): Promise<void> {
  reply.hijack()
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) reply.raw.setHeader(name, value)
  }
  await server.handle(request.raw, reply.raw, body)
}
