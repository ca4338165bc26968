import type { FastifyInstance } from 'fastify'
import { Problem } from '../domain/problem.ts'
import { publishedDocument, sendPublished } from '../listeners/http/published-document.ts'

/** Reads the files under `/console/assets/`, by name. Called at the first request for one. */
export type ReadAssets = () => Promise<
  Readonly<Record<string, { readonly mediaType: string; readonly text: string }>>
>

const config = { access: 'open' } as const
const schema = { hide: true }

/** The routes of the files that pages load. */
export function assetRoutes(mounted: FastifyInstance, readAssets: ReadAssets): void {
  const publish = (assets: Awaited<ReturnType<ReadAssets>>) =>
    new Map(
      Object.entries(assets).map(([name, { mediaType, text }]) => [
        name,
        publishedDocument(mediaType, text),
      ]),
    )
  let published: ReturnType<typeof publish> | null = null
  mounted.get<{ Params: { '*': string } }>(
    '/console/assets/*',
    { config, schema },
    async (request, reply) => {
      published ??= publish(await readAssets())
      const document = published.get(request.params['*'])
      if (!document) throw new Problem('not_found')
      return sendPublished(request, reply, document)
    },
  )
}
