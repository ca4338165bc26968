import { METHODS } from 'node:http'
// Its types know the member that keeps a route out of the document.
import type {} from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { Problem } from '../errors.ts'

/** `CONNECT` never reaches a route. */
const answerable = METHODS.filter((method) => method !== 'CONNECT')

/**
 * Answers every method that a path does not have with 405 and `Allow`.
 * @returns what to call when all routes are there.
 */
export function refuseOtherMethods(app: FastifyInstance): () => void {
  const methodsOf = new Map<string, Set<string>>()
  app.addHook('onRoute', ({ method, url }) => {
    // The index of a folder is one page, with the slash at its end and without.
    const path = url.replace(/(?<=.)\/$/, '')
    const methods = methodsOf.get(path) ?? new Set()
    for (const each of [method].flat()) methods.add(each)
    methodsOf.set(path, methods)
  })
  for (const method of answerable) {
    if (!app.supportedMethods.includes(method)) app.addHttpMethod(method)
  }
  return () => {
    for (const [url, present] of [...methodsOf]) refuse(app, url, [...present].sort())
  }
}

function refuse(app: FastifyInstance, url: string, allow: readonly string[]): void {
  const method = answerable.filter((each) => !allow.includes(each))
  app.route({
    method,
    url,
    schema: { hide: true },
    config: { access: 'open', refusesMethods: true },
    // Refused before a body is looked at.
    onRequest: async () => {
      throw new Problem('method_not_allowed', { allow })
    },
    handler: async () => {},
  })
}
