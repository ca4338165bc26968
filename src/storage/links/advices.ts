import { type Connection, onKey, statement } from '../engine/database.ts'

/** What a network says that it did by itself, or took back. */
export interface NewAdvice {
  readonly networkId: string
  readonly adviceHash: Uint8Array
  readonly linkName: string
  readonly messageType: string
  /** Of the card that it is about; null where there is none. */
  readonly publicToken: string | null
  readonly trace: string | null
  readonly transmittedAt: string | null
  readonly reference: string | null
  readonly amount: string | null
  readonly currency: string | null
  readonly responseCode: string | null
  readonly isMatched: boolean
}

/** Where a page of advices ends: newest first. */
export interface AdvicePosition {
  /** With microseconds, which a JavaScript date would lose. */
  readonly receivedAt: string
  /** In hexadecimal. */
  readonly adviceHash: string
}

/** An advice that is on record. */
export interface KnownAdvice extends Omit<NewAdvice, keyof AdvicePosition>, AdvicePosition {}

const recordStatement = statement(
  'record_network_advice',
  `insert into network_advice (network_id, advice_hash, link_name, message_type, public_token, trace,
     transmitted_at, reference, amount, currency, response_code, is_matched)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
   on conflict (advice_hash, network_id) do nothing returning network_id as "networkId"`,
)

/** Puts an advice on record, unless it is there. */
export const recordAdvice = async (connection: Connection, advice: NewAdvice): Promise<void> => {
  await connection.query(recordStatement, [
    ...[advice.networkId, advice.adviceHash, advice.linkName, advice.messageType],
    ...[advice.publicToken, advice.trace, advice.transmittedAt, advice.reference],
    ...[advice.amount, advice.currency, advice.responseCode, advice.isMatched],
  ])
}

const listStatement = statement(
  'list_network_advices',
  `select network_id as "networkId", encode(advice_hash, 'hex') as "adviceHash", link_name as "linkName",
     message_type as "messageType", public_token as "publicToken", trace,
     transmitted_at as "transmittedAt", reference, amount, currency, response_code as "responseCode",
     is_matched as "isMatched",
     to_char(received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "receivedAt"
   from network_advice
   where (link_name, received_at, advice_hash) < ($1, $2::timestamptz, decode($3, 'hex')) and link_name >= $1
   order by network_advice.link_name desc, network_advice.received_at desc, network_advice.advice_hash desc
   limit $4`,
)

/** What a network said on a link, the newest first. @param before null: the newest. */
export const findAdvices = (
  connection: Connection,
  linkName: string,
  before: AdvicePosition | null,
  limit: number,
): Promise<KnownAdvice[]> => {
  const { adviceHash, receivedAt } = before ?? { receivedAt: 'infinity', adviceHash: '' }
  return connection.query(listStatement, [linkName, receivedAt, adviceHash, limit])
}

const pruneStatement = statement(
  'prune_network_advices',
  `with old as materialized (
     select network_id, advice_hash from network_advice
     where received_at < (select now() - interval '30 days') order by received_at limit $1
   )
   delete from network_advice using old
   where ${onKey('network_advice', 'old', ['advice_hash', 'network_id'])}
     and now() - received_at > interval '30 days'
   returning network_advice.network_id as "networkId"`,
)

/** Forgets some of the advices older than 30 days. @returns how many. */
export const pruneAdvices = async (connection: Connection, limit: number): Promise<number> =>
  (await connection.query(pruneStatement, [limit])).length
