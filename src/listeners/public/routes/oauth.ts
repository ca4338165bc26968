import type { FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '../../../domain/problem.ts'
import type { CallerAddresses } from '../../http/caller-address.ts'
import { publishedDocument, sendPublished } from '../../http/published-document.ts'
import { plainInstance } from '../../http/server.ts'
import type { TokenAttempts } from '../../http/token-attempts.ts'
import {
  type AuthorizationServer,
  authorizationServerPaths,
} from '../../oauth/authorization-server.ts'
import { claimedClientId } from '../../oauth/claimed-client.ts'
import type { TokenAttempt } from '../../oauth/token-endpoint.ts'
import type { PublicApi } from '../api.ts'

/** The functions of the authorization server that the public listener uses. */
export type PublicAuthorizationServer = Pick<AuthorizationServer, 'issueToken' | 'document'>

/**
 * Mounts the embedded authorization server. It reads and answers in the terms of RFC 6749; only the
 * listener's limits apply.
 */
export function oauthRoutes(
  { app }: Pick<PublicApi, 'app'>,
  server: PublicAuthorizationServer,
  callers: CallerAddresses,
  attempts: TokenAttempts | null,
): void {
  // A separate scope, so that forms are read only here.
  app.register(async (scope) => {
    const mounted = plainInstance(scope)
    mounted.removeAllContentTypeParsers()
    mounted.addContentTypeParser(
      '*',
      { parseAs: 'buffer' },
      async (_: unknown, body: Buffer) => body,
    )
    const { token } = authorizationServerPaths
    const config = { access: 'open' } as const
    const schema = { hide: true }
    mounted.post<{ Body: Buffer | undefined }>(
      token,
      {
        config: { ...config, limitsItself: true, notRepeatable: 'a repeat returns another token' },
        schema,
      },
      async (request, reply) => {
        const body = request.body ?? Buffer.alloc(0)
        const handle = (attempt?: TokenAttempt) => answer(server, request, reply, { body, attempt })
        if (!attempts) return handle()
        const gone = new AbortController()
        reply.raw.once('close', () => gone.abort(new Problem('malformed_request')))
        const address = callers.findAddress(request.raw)
        const clientId = claimedClientId(request.headers.authorization, body)
        return attempts.verify({ address, clientId, gone: gone.signal }, handle)
      },
    )
    for (const name of ['jwks', 'metadata'] as const) {
      mounted.get(authorizationServerPaths[name], { config, schema }, async (request, reply) => {
        const { mediaType, text } = await server.document(name)
        return sendPublished(request, reply, publishedDocument(mediaType, text))
      })
    }
  })
}

async function answer(
  server: PublicAuthorizationServer,
  request: FastifyRequest,
  reply: FastifyReply,
  { attempt, body }: { readonly attempt: TokenAttempt | undefined; readonly body: Buffer },
): Promise<void> {
  reply.hijack()
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) reply.raw.setHeader(name, value)
  }
  await server.issueToken(request.raw, reply.raw, body, attempt)
}
