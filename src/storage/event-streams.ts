import { type Connection, firstRow, statement } from './database.ts'

const claimStatement = statement(
  'claim_event_stream',
  `insert into event_stream (client_id, slot, holder, leased_until)
   select $1, slot, $2, now() + make_interval(secs => $4)
   from generate_series(1, $3::integer) as slot
   where not exists (
     select 1 from event_stream taken
     where taken.client_id = $1 and taken.slot = slot.slot and taken.leased_until > now()
   )
   order by random() limit 1
   on conflict (client_id, slot) do update
     set holder = excluded.holder, leased_until = excluded.leased_until
     where event_stream.leased_until <= now()
   returning slot`,
)

/**
 * Takes one of a client's slots for a stream. Of several that reach for one slot at once a single one
 * gets it.
 * @returns whether a slot was had.
 */
export const claimStream = async (
  connection: Connection,
  clientId: string,
  holder: string,
  slots: number,
  seconds: number,
): Promise<boolean> =>
  firstRow(await connection.query(claimStatement, [clientId, holder, slots, seconds])) !== null

const renewStatement = statement(
  'renew_event_streams',
  `update event_stream set leased_until = now() + make_interval(secs => $2)
   from client
   where holder = any($1::uuid[]) and client.client_id = event_stream.client_id
     and client.active and 'events.read' = any(client.scopes)
   returning holder`,
)

/** Keeps the slots of streams whose clients may still read. @returns the holders that keep theirs. */
export const renewStreams = async (
  connection: Connection,
  holders: readonly string[],
  seconds: number,
): Promise<ReadonlySet<string>> => {
  const rows = await connection.query<{ holder: string }>(renewStatement, [holders, seconds])
  return new Set(rows.map(({ holder }) => holder))
}

const releaseStatement = statement(
  'release_event_stream',
  'delete from event_stream where client_id = $1 and holder = $2',
)

/** Frees the slot of a stream that has ended. */
export const releaseStream = async (
  connection: Connection,
  clientId: string,
  holder: string,
): Promise<void> => {
  await connection.query(releaseStatement, [clientId, holder])
}
