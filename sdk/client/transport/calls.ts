import { CallFailed } from '../errors/call-failed.ts'
import type { Answer } from './attempt.ts'
import { contentOf, listOf, nextOf } from './content.ts'
import type { Body, OperationId, Result } from './operations.ts'
import type { Path } from './path.ts'
import type { CallOptions, QueryValues, Transport } from './transport.ts'

/** What a caller may say of a call that changes something. */
export interface ChangeOptions extends CallOptions {
  /** 1 to 255 visible ASCII characters. Made for each call unless given; the same in all its tries. */
  readonly idempotencyKey?: string | undefined
}

/** Calls by the operation's name in the document, which says what goes out and what comes back. */
export interface Calls {
  get<Id extends OperationId>(path: Path, options?: CallOptions): Promise<Result<Id>>
  post<Id extends OperationId>(
    path: Path,
    body: Body<Id> | undefined,
    options?: ChangeOptions,
  ): Promise<Result<Id>>
  put<Id extends OperationId>(
    path: Path,
    body: Body<Id>,
    options?: ChangeOptions,
  ): Promise<Result<Id>>
  /** Not repeated: a second one could not be told from one of something that was never there. */
  delete(path: Path, options?: CallOptions): Promise<void>
  /** Discloses: repeated only where the service refused before it disclosed anything. */
  reveal<Id extends OperationId>(
    path: Path,
    body: Body<Id> | undefined,
    options?: CallOptions,
  ): Promise<Result<Id>>
  /** One page, and the query that leads to the next. */
  page<Id extends OperationId>(
    path: Path,
    query: QueryValues,
    options?: CallOptions,
  ): Promise<{ readonly items: Result<Id>; readonly next: QueryValues | null }>
}

export function createCalls({ send }: Transport): Calls {
  return {
    get: async (path, options) =>
      contentOf(await send({ ...options, method: 'GET', path, isRepeatable: true })),
    post: async (path, body, options) =>
      resultOf(await send({ ...keyed(options), method: 'POST', path, body })),
    put: async (path, body, options) =>
      resultOf(await send({ ...keyed(options), method: 'PUT', path, body })),
    async delete(path, options) {
      await send({ ...options, method: 'DELETE', path, isRepeatable: false, retries: 0 })
    },
    async reveal(path, body, options) {
      const method = body === undefined ? 'GET' : 'POST'
      return contentOf(await send({ ...options, method, path, body, isRepeatable: false }))
    },
    async page(path, query, options) {
      const answer = await send({ ...options, method: 'GET', path, query, isRepeatable: true })
      return { items: listOf(answer), next: nextOf(answer) }
    },
  }
}

/** One key for all tries of a call, made here unless the caller has one that outlives this process. */
function keyed({ idempotencyKey = crypto.randomUUID(), ...options }: ChangeOptions = {}) {
  if (!/^[\x21-\x7e]{1,255}$/.test(idempotencyKey)) {
    const detail = 'idempotencyKey is 1 to 255 visible ASCII characters.'
    throw new CallFailed('invalid_argument', { detail })
  }
  return { ...options, headers: { 'idempotency-key': idempotencyKey }, isRepeatable: true }
}

/** A change may answer nothing. */
const resultOf = <Json>(answer: Answer): Json =>
  answer.status === 204 ? (undefined as Json) : contentOf(answer)
