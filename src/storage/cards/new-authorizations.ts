import type { PublicToken } from '../../domain/identifiers.ts'
import { type Connection, type Database, firstRow, statement } from '../engine/database.ts'
import { sharedChange } from '../engine/shared-statements.ts'
import { type Claim, claimOf, claimTypes, claimValues, isDone } from '../idempotency/idempotency.ts'
import { originalOf, originalTypes, originalValues } from '../links/transactions.ts'
import type { AttemptOrigin } from './spend-try.ts'

/** What is put on record of an authorization when it is decided. */
export interface NewAuthorizationRecord extends AttemptOrigin {
  readonly publicToken: PublicToken
  /** A version 7 UUID. */
  readonly authorizationId: string
  readonly responseCode: string
  /** JSON. */
  readonly checks: string
  readonly durationMs: number
}

/** The types of what `recordText` takes. */
export const recordTypes = [
  'uuid',
  'text',
  'text',
  'text',
  'text',
  'text',
  'text',
  'integer',
] as const

/** What `recordText` takes; the card is named by what it hangs on. */
export const recordValues = (record: NewAuthorizationRecord) =>
  [
    record.authorizationId,
    record.networkId,
    record.requestId,
    record.reference,
    record.entryMode,
    record.responseCode,
    record.checks,
    record.durationMs,
  ] as const

interface RecordParts {
  /** Number of the first of the record's eight values. */
  readonly first: number
  /** Names a part that has a row for each who asks. */
  readonly source: string
  /** The card's token, as SQL over the source. */
  readonly publicToken: string
  /** Tries that are left of what was compared last, as SQL over the source. */
  readonly remaining?: string
  /** What was answered, as SQL, given the record's own. */
  readonly answered?: (responseCode: string) => string
}

/** Puts an authorization on record, as a part of the statement that decides it. */
export const recordText = ({
  answered = (responseCode) => responseCode,
  first,
  publicToken,
  remaining = 'null::integer',
  source,
}: RecordParts): string => {
  const [id, network, request, reference, entryMode, code = '', checks, duration] = recordTypes.map(
    (type, at) => `$${first + at}::${type}`,
  )
  return `authorization_recorded as (
      insert into authorization_record (public_token, authorization_id, network_id, request_id, reference,
        entry_mode, response_code, checks, duration_ms, remaining_tries)
      select ${publicToken}, ${id}, ${network}, ${request}, ${reference}, ${entryMode}, ${answered(code)},
        ${checks}, ${duration}, ${remaining}
      from ${source}
    )`
}

const recording = sharedChange('record_authorization', {
  types: ['text', ...recordTypes],
  text: ({ answered, askers }) => `${askers},
    ${recordText({ first: 2, source: 'askers', publicToken: '$1' })}
    select ${answered('askers')} from askers`,
})

/** Puts an authorization on record where nothing else is committed. Those that come together share a commit. */
export const recordAuthorization = async (
  database: Database,
  record: NewAuthorizationRecord,
): Promise<void> => {
  // Nobody waits for another of the same card: no two write the same row.
  const values = [record.publicToken, ...recordValues(record)]
  await database.change(recording, record.authorizationId, values)
}

const declareRemember = (name: string, hasOriginal: boolean) => {
  const originalFirst = claimTypes.length + 1
  const recordFirst = originalFirst + (hasOriginal ? originalTypes.length : 0)
  const asking = hasOriginal ? 'unreversed' : 'asked'
  return statement(
    name,
    `with asked as (select 1 as one),
       ${hasOriginal ? `${originalOf(originalFirst, 'asked', '$1::text')},` : ''}
       ${claimOf(1, asking)},
       ${recordText({
         first: recordFirst,
         source: 'claimed',
         publicToken: `$${recordFirst + recordTypes.length}::text`,
       })}
     select claim_id as "claimId" from claimed`,
  )
}

const rememberStatement = declareRemember('remember_answer_and_record', false)
const rememberOfOriginalStatement = declareRemember('remember_answer_of_original_and_record', true)

/**
 * Remembers the answer of a question that spends nothing, and puts the question on record with it.
 * @returns whether the key was free, and nothing reversed.
 */
export const rememberAndRecord = (
  connection: Connection,
  claim: Claim,
  record: NewAuthorizationRecord,
): Promise<boolean> => {
  const [remember, values] = claim.original
    ? [rememberOfOriginalStatement, originalValues(claim.original)]
    : [rememberStatement, []]
  return isDone(async () =>
    firstRow(
      await connection.query(remember, [
        ...claimValues(claim),
        ...values,
        ...recordValues(record),
        record.publicToken,
      ]),
    ),
  )
}
