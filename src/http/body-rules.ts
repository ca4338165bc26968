import type { FastifyRequest } from 'fastify'
import type { ProblemError } from '../errors.ts'

/** What a schema cannot say of a body: the fault, or null. It may be asked of a body that is not valid. */
export type BodyRule = (body: Readonly<Record<string, unknown>>) => ProblemError | null

/** Exactly one of these members is given. */
export const exactlyOneOf =
  (...names: readonly [string, string, ...string[]]): BodyRule =>
  (body) => {
    if (names.filter((name) => body[name] !== undefined).length === 1) return null
    const list = `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
    return { pointer: '', detail: `must have exactly one of ${list}` }
  }

/** A member is given only beside another one. */
export const onlyWith =
  (name: string, other: string): BodyRule =>
  (body) =>
    body[name] === undefined || body[other] !== undefined
      ? null
      : { pointer: `/${name}`, detail: `belongs to ${other}` }

/** A member is given wherever another one is. */
export const alwaysWith =
  (name: string, other: string): BodyRule =>
  (body) =>
    body[other] === undefined || body[name] !== undefined
      ? null
      : { pointer: `/${name}`, detail: 'must be given' }

/** All that the rules of a route find wrong with its body. */
export function bodyFaults({ body, routeOptions }: FastifyRequest): ProblemError[] {
  if (typeof body !== 'object' || body === null) return []
  const { bodyRules = [] } = routeOptions.config
  return bodyRules
    .map((rule) => rule(body as Readonly<Record<string, unknown>>))
    .filter((fault) => fault !== null)
}
