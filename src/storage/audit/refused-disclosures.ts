import { type Connection, statement } from '../engine/database.ts'

/** A disclosure that somebody asked for and did not get. */
export interface RefusedDisclosure {
  readonly clientId: string
  /** As it was asked for, whether or not it is the client's card; null where it can be no card's token. */
  readonly publicToken: string | null
  readonly act: 'pin.revealed' | 'card_data.revealed' | 'cardholder.revealed' | 'pan.searched'
  readonly includesPin: boolean
  /** The thumbprint of the key that it was to be sealed to, where there was one. */
  readonly device: string | null
  /** `failed` where it may have been put on record as done before. */
  readonly outcome: 'refused' | 'failed'
  /** The code of the problem. */
  readonly reason: string
}

/** Several of them that say the same. */
export interface CountedRefusal extends RefusedDisclosure {
  readonly count: number
  /** Of the first. */
  readonly requestId: string
  /** How long ago the first was, in seconds. */
  readonly ageSeconds: number
}

// In one order, so that processes that count the same wait for each other, and never in a circle.
const countStatement = statement(
  'count_refused_disclosures',
  `insert into refused_disclosure (minute, client_id, public_token, act, includes_pin, device, outcome, reason,
     count, first_at, last_at, request_id)
   select date_trunc('minute', at, 'UTC'), client_id, public_token, act, includes_pin, device, outcome, reason,
     count, at, clock_timestamp(), request_id
   from (
     select given.*, clock_timestamp() - make_interval(secs => age_seconds) as at
     from unnest($1::text[], $2::text[], $3::text[], $4::boolean[], $5::text[], $6::text[], $7::text[],
       $8::bigint[], $9::text[], $10::float8[])
       as given (client_id, public_token, act, includes_pin, device, outcome, reason, count, request_id, age_seconds)
   ) as refused
   order by client_id, public_token, act, includes_pin, device, outcome, reason
   on conflict (client_id, minute, public_token, act, includes_pin, device, outcome, reason) do update
     set count = refused_disclosure.count + excluded.count, last_at = excluded.last_at`,
)

/** Counts refusals, each given once, in the minute in which they came. */
export async function countRefusedDisclosures(
  connection: Connection,
  refusals: readonly CountedRefusal[],
): Promise<void> {
  await connection.query(countStatement, [
    refusals.map(({ clientId }) => clientId),
    refusals.map(({ publicToken }) => publicToken),
    refusals.map(({ act }) => act),
    refusals.map(({ includesPin }) => includesPin),
    refusals.map(({ device }) => device),
    refusals.map(({ outcome }) => outcome),
    refusals.map(({ reason }) => reason),
    refusals.map(({ count }) => count),
    refusals.map(({ requestId }) => requestId),
    refusals.map(({ ageSeconds }) => ageSeconds),
  ])
}
