import { CallFailed } from '../errors.ts'
import type { operations } from '../generated/openapi.ts'
import type { Answer } from './attempt.ts'
import { parseContent, parseList, parseNextQuery, type QueryValues } from './content.ts'
import type { CallOptions, Path, Transport } from './transport.ts'

/** The options of a call that changes something. */
export interface ChangeOptions extends CallOptions {
  /**
   * 1 to 255 visible ASCII characters. Generated for each call unless given; the same in all
   * retries.
   */
  readonly idempotencyKey?: string | undefined
}

/** Options, and the query of an operation. */
type Queried<Options> = Options & { readonly query?: QueryValues | undefined }

/** Calls by the operation's name in the document, which defines the types. */
export interface Calls {
  get<Id extends OperationId>(path: Path, options?: Queried<CallOptions>): Promise<Result<Id>>
  post<Id extends OperationId>(
    path: Path,
    body: Body<Id> | undefined,
    options?: Queried<ChangeOptions>,
  ): Promise<Result<Id>>
  put<Id extends OperationId>(
    path: Path,
    body: Body<Id>,
    options?: Queried<ChangeOptions>,
  ): Promise<Result<Id>>
  patch<Id extends OperationId>(
    path: Path,
    body: Body<Id>,
    options?: Queried<ChangeOptions>,
  ): Promise<Result<Id>>
  /** Not repeated: a repeat could not be distinguished from a deletion of something unknown. */
  delete(path: Path, options?: Queried<CallOptions>): Promise<void>
  /** Cancels something once, under a key. */
  cancel(path: Path, options?: Queried<ChangeOptions>): Promise<void>
  /** Discloses data: repeated only after a refusal before any disclosure. */
  reveal<Id extends OperationId>(
    path: Path,
    body: Body<Id> | undefined,
    options?: CallOptions,
  ): Promise<Result<Id>>
  /** One page, and the query of the next. */
  page<Id extends OperationId>(
    path: Path,
    query: QueryValues,
    options?: CallOptions,
  ): Promise<{ readonly items: Result<Id>; readonly next: QueryValues | null }>
}

export function createCalls({ send }: Transport): Calls {
  return {
    get: async (path, options) =>
      parseContent(await send({ ...options, method: 'GET', path, isRepeatable: true })),
    post: async (path, body, options) =>
      parseResult(await send({ ...keyed(options), method: 'POST', path, body })),
    put: async (path, body, options) =>
      parseResult(await send({ ...keyed(options), method: 'PUT', path, body })),
    patch: async (path, body, options) =>
      parseResult(await send({ ...keyed(options), method: 'PATCH', path, body })),
    async delete(path, options) {
      await send({ ...options, method: 'DELETE', path, isRepeatable: false, retries: 0 })
    },
    async cancel(path, options) {
      await send({ ...keyed(options), method: 'DELETE', path })
    },
    async reveal(path, body, options) {
      const method = body === undefined ? 'GET' : 'POST'
      return parseContent(await send({ ...options, method, path, body, isRepeatable: false }))
    },
    async page(path, query, options) {
      const answer = await send({ ...options, method: 'GET', path, query, isRepeatable: true })
      return { items: parseList(answer), next: parseNextQuery(answer) }
    },
  }
}

/** Uses one key for all attempts of a call; a caller's own key can outlive this process. */
export function keyed({
  idempotencyKey = crypto.randomUUID(),
  ...options
}: Queried<ChangeOptions> = {}) {
  if (!/^[\x21-\x7e]{1,255}$/.test(idempotencyKey)) {
    const detail = 'idempotencyKey must have 1 to 255 visible ASCII characters.'
    throw new CallFailed('invalid_argument', { detail })
  }
  return { ...options, headers: { 'idempotency-key': idempotencyKey }, isRepeatable: true }
}

/** A change may have an empty answer. */
const parseResult = <Json>(answer: Answer): Json =>
  answer.status === 204 ? (undefined as Json) : parseContent(answer)

/** The name of an operation in the document. */
type OperationId = keyof operations

type Successes<Id extends OperationId> =
  operations[Id]['responses'][keyof operations[Id]['responses'] & (200 | 201 | 202 | 204)]

/** The successful answer of an operation; void for a 204. */
export type Result<Id extends OperationId> =
  Successes<Id> extends { readonly content: { readonly 'application/json': infer Json } }
    ? Json
    : undefined

/** The body of an operation. */
type Body<Id extends OperationId> =
  NonNullable<operations[Id]['requestBody']> extends {
    readonly content: { readonly 'application/json': infer Json }
  }
    ? Json
    : never

/** The query of an operation. */
export type Query<Id extends OperationId> = NonNullable<operations[Id]['parameters']['query']>

/** The listed items of an operation. */
export type Item<Id extends OperationId> = Result<Id> extends readonly (infer Each)[] ? Each : never

/**
 * Makes a change and returns the status read afterwards, as the specification requires, so that a
 * cardholder sees the stored status.
 * @throws CallFailed `status_unknown` when the change was made and the read failed, which is its
 *   cause.
 */
export async function readAfter<Status>(
  change: Promise<unknown>,
  read: () => Promise<Status>,
): Promise<Status> {
  await change
  try {
    return await read()
  } catch (cause) {
    throw new CallFailed('status_unknown', { cause })
  }
}

export interface Page<Item> {
  readonly items: readonly Item[]
  /**
   * The position of the next page: `cursor` of the next call, or `after` for events. Null on the
   * last.
   */
  readonly next: string | null
}

/**
 * A list that has not been asked for yet. `for await` reads it page by page, as far as it is read.
 *
 * ```ts
 * for await (const card of pinfold.cards.list({ cardStatusCode: '00' })) show(card)
 * ```
 */
export interface Listing<Item> extends AsyncIterable<Item> {
  /** One page, for example for a “more” button. */
  page(): Promise<Page<Item>>
}

type ReadPage<Item> = (
  query: QueryValues,
) => Promise<{ readonly items: readonly Item[]; readonly next: QueryValues | null }>

/** @param continuation the parameter for the next page. */
export function listing<Item>(
  read: ReadPage<Item>,
  query: QueryValues,
  continuation: 'cursor' | 'after' = 'cursor',
): Listing<Item> {
  const readPage: ReadPage<Item> = async (from) => {
    const page = await read(from)
    const place = page.next?.[continuation]
    // A page without a position, or with its own, would loop.
    if (page.next !== null && (place === undefined || place === from[continuation])) {
      throw new CallFailed('unexpected_answer')
    }
    return page
  }
  return {
    async page() {
      const { items, next } = await readPage(query)
      return { items, next: next === null ? null : String(next[continuation]) }
    },
    async *[Symbol.asyncIterator]() {
      let rest: QueryValues | null = query
      while (rest !== null) {
        const page: Awaited<ReturnType<ReadPage<Item>>> = await readPage(rest)
        yield* page.items
        rest = page.next
      }
    },
  }
}
