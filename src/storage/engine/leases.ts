import { type Connection, statement } from './database.ts'

// One that ends far later than it could have been given until is of a clock that was set back since, as when
// a standby takes over: nobody is to wait until that clock has caught up. A statement that waited for another's
// counts from before it, which the minute allows for.
const claimStatement = statement(
  'claim_lease',
  `insert into lease (lease_name, holder, leased_until)
   values ($1, $2, now() + make_interval(secs => $3))
   on conflict (lease_name) do update
     set holder = excluded.holder, leased_until = excluded.leased_until
     where lease.holder = excluded.holder or lease.leased_until <= now()
       or lease.leased_until > excluded.leased_until + interval '1 minute'
   returning lease_name as "leaseName"`,
)

/**
 * Takes a lease that is free, or renews its own, for so many seconds: the same for all who ask.
 * It spares work, and no more: its holder may lose it early. @returns whether the caller has it.
 */
export const claimLease = async (
  connection: Connection,
  leaseName: string,
  holder: string,
  seconds: number,
): Promise<boolean> =>
  (await connection.query(claimStatement, [leaseName, holder, seconds])).length === 1

const releaseStatement = statement(
  'release_lease',
  'delete from lease where lease_name = $1 and holder = $2',
)

/** Lets another process have the lease at once. */
export const releaseLease = async (
  connection: Connection,
  leaseName: string,
  holder: string,
): Promise<void> => {
  await connection.query(releaseStatement, [leaseName, holder])
}

const freeLeases = statement('free_leases', 'delete from lease')
const freeStreams = statement('free_event_streams', 'delete from event_stream')
const freeQueues = statement(
  'free_delivery_queues',
  `update delivery_queue set holder = null, leased_until = '-infinity', due_at = now()
   where holder is not null`,
)

/** Frees what an earlier process had leased: only for one that has the database to itself. */
export async function freeEveryLease(connection: Connection): Promise<void> {
  await connection.query(freeLeases)
  await connection.query(freeStreams)
  await connection.query(freeQueues)
}

const heldStatement = statement(
  'is_lease_held',
  'select 1 as "one" from lease where lease_name = $1 and leased_until > now()',
)

/** Whether any process has a lease. */
export const isLeaseHeld = async (connection: Connection, leaseName: string): Promise<boolean> =>
  (await connection.query(heldStatement, [leaseName])).length === 1
