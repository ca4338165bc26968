import { type Connection, statement } from '../engine/database.ts'

// After the change of the client, so that the rule is the database's alone. Done again it does nothing.
const followStatement = statement(
  'follow_delivery_suspension',
  `with clock as materialized (select now() as at)
   update client set
     deliveries_suspended_seconds = deliveries_suspended_seconds
       + greatest(0, coalesce(extract(epoch from at - deliveries_suspended_at)::float8, 0)),
     deliveries_suspended_at = case when not receives_events then at end
   from clock
   where client_id = $1 and receives_events = (deliveries_suspended_at is not null)`,
)

/** Stops the clock of a client's deliveries, or lets it go on, where a change of the client asks for it. */
export const followSuspension = async (connection: Connection, clientId: string): Promise<void> => {
  await connection.query(followStatement, [clientId])
}

/** Deliveries that wait for their client to be enabled again. */
interface SuspendedDeliveries {
  readonly clientId: string
  readonly suspendedAt: Date | null
  readonly waiting: number
}

const listStatement = statement(
  'list_suspended_deliveries',
  `select client_id as "clientId", deliveries_suspended_at as "suspendedAt",
     sum(pending)::integer as "waiting"
   from client join delivery_group using (client_id)
   where not receives_events and pending > 0
   group by client_id, deliveries_suspended_at order by client_id limit $1`,
)

/** Clients with deliveries that are suspended, by their ids. */
export const listSuspendedDeliveries = (
  connection: Connection,
  limit: number,
): Promise<SuspendedDeliveries[]> => connection.query(listStatement, [limit])
