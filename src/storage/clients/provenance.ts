import type { ProvenanceAct } from '../../domain/client.ts'
import { type Connection, statement } from '../engine/database.ts'

/** What somebody did to which client. */
interface ProvenanceRow extends ProvenanceAct {
  readonly clientId: string
}

const listStatement = statement(
  'list_client_provenance',
  `select client_id as "clientId", act, by_client_id as "by", controlled_by as "controlledBy"
   from client_provenance where client_id = any ($1::text[]) order by client_id, acted_at, by_client_id`,
)

/** Who had a hand in each of these clients. */
export const listProvenance = (
  connection: Connection,
  clientIds: readonly string[],
): Promise<ProvenanceRow[]> => connection.query(listStatement, [clientIds])

// Whoever did it twice keeps all who could have acted for them at either time. A confirmation is the last one.
const insertStatement = statement(
  'insert_client_provenance',
  `insert into client_provenance (client_id, act, by_client_id, controlled_by)
   select $1, $2, $3, $4::text[]
   on conflict (client_id, act, by_client_id) do update set acted_at = excluded.acted_at,
     controlled_by = case when excluded.act = 'confirmed' then excluded.controlled_by else array(
       select unnest(client_provenance.controlled_by) union select unnest(excluded.controlled_by)
       order by 1
     ) end`,
)

/** Puts on record that somebody had a hand in a client. */
export const insertProvenance = async (
  connection: Connection,
  { act, by, clientId, controlledBy }: ProvenanceRow,
): Promise<void> => {
  await connection.query(insertStatement, [clientId, act, by, controlledBy])
}

const countStatement = statement(
  'count_credentials',
  `with clock as (select clock_timestamp() as at)
   update client set credentials_version = credentials_version + 1, credentials_changed_at = clock.at
   from clock where client_id = $1`,
)

/** Counts that a client has other credentials than before, whoever gave them to it. */
export const countCredentials = async (connection: Connection, clientId: string): Promise<void> => {
  await connection.query(countStatement, [clientId])
}

const voidStatement = statement(
  'void_client_confirmations',
  `delete from client_provenance where client_id = $1 and act = 'confirmed'`,
)

/** Lets no confirmation of a client count any more. */
export const voidConfirmations = async (
  connection: Connection,
  clientId: string,
): Promise<void> => {
  await connection.query(voidStatement, [clientId])
}
