import { type Connection, firstRow, statement } from '../engine/database.ts'

/** A log: the last one is in use, the others are closed. */
export interface AuditLogRow {
  readonly log: number
  readonly origin: string
  readonly size: number
  /** The newest checkpoint that was known of the log before, and why that one could not go on. */
  readonly predecessorCheckpoint: string | null
  readonly reason: string | null
  readonly beganAt: Date
  readonly closedAt: Date | null
  /** Why no checkpoint is signed; null where nothing is known against it. */
  readonly refusal: string | null
}

const columns = `log, origin, size::float8 as "size", predecessor_checkpoint as "predecessorCheckpoint", reason,
  began_at as "beganAt", closed_at as "closedAt", refusal`

const listStatement = statement(
  'list_audit_logs',
  `select ${columns} from audit_log order by log desc limit 1000`,
)

/** All logs, the one in use first. */
export const listAuditLogs = (connection: Connection): Promise<AuditLogRow[]> =>
  connection.query(listStatement)

const findStatement = statement(
  'find_audit_log',
  `select ${columns} from audit_log order by log desc limit 1`,
)
const lockStatement = statement(
  'lock_audit_log',
  `select ${columns} from audit_log where log = (select max(log) from audit_log) for update`,
)

/** The log in use; null before the first has begun. */
export const findAuditLog = async (connection: Connection): Promise<AuditLogRow | null> =>
  firstRow(await connection.query<AuditLogRow>(findStatement))

/** The same, locked to the end of the transaction: nobody else appends meanwhile. */
export const lockAuditLog = async (connection: Connection): Promise<AuditLogRow | null> =>
  firstRow(await connection.query<AuditLogRow>(lockStatement))

/** A log that begins. */
interface NewLog {
  readonly log: number
  readonly origin: string
  readonly predecessorCheckpoint: string | null
  readonly reason: string | null
}

const beginStatement = statement(
  'begin_audit_log',
  `insert into audit_log (log, origin, predecessor_checkpoint, reason) values ($1, $2, $3, $4)
   on conflict do nothing returning log`,
)

/** Lets a log begin, unless another process was first. @returns whether it did. */
export const beginAuditLog = async (
  connection: Connection,
  { log, origin, predecessorCheckpoint, reason }: NewLog,
): Promise<boolean> => {
  const values = [log, origin, predecessorCheckpoint, reason]
  return (await connection.query(beginStatement, values)).length > 0
}

// Three counts, each of which a cluster can take from every shard. In this order: an event that is published between two of
// them, or a card that is made meanwhile, makes the difference larger and never smaller.
const creationStatements = [
  statement(
    'count_published_creations',
    'select count(*)::float8 as "count" from published_event where sequence = 1',
  ),
  statement(
    'count_unpublished_creations',
    'select count(*)::float8 as "count" from event where not published and sequence = 1',
  ),
]
const cardsStatement = statement('count_cards', 'select count(*)::float8 as "count" from card')

/** How many cards there are whose creation is no event any more, so that it can never be entered. */
export async function countOlderCards(connection: Connection): Promise<number> {
  let creations = 0
  for (const each of creationStatements) {
    creations += firstRow(await connection.query<{ count: number }>(each))?.count ?? 0
  }
  const cards = firstRow(await connection.query<{ count: number }>(cardsStatement))?.count ?? 0
  return Math.max(0, cards - creations)
}

const closeStatement = statement(
  'close_audit_log',
  'update audit_log set closed_at = clock_timestamp() where log = $1 and closed_at is null',
)

export const closeAuditLog = async (connection: Connection, log: number): Promise<void> => {
  await connection.query(closeStatement, [log])
}

const refusalStatement = statement(
  'set_audit_log_refusal',
  'update audit_log set refusal = $2 where log = $1 and refusal is distinct from $2',
)

/** Says why no checkpoint of a log is signed; null where it is signed again. */
export const setRefusal = async (
  connection: Connection,
  log: number,
  refusal: string | null,
): Promise<void> => {
  await connection.query(refusalStatement, [log, refusal])
}

/** Hashes of a tree (c2sp.org/tlog-tiles). */
interface TileRow {
  readonly level: number
  readonly index: number
  readonly hashes: Uint8Array
}

const tileStatement = statement(
  'find_audit_tile',
  'select hashes from audit_tile where log = $1 and level = $2 and tile_index = $3',
)

/** All hashes that a tile has by now, also those behind what is signed; null where it has none. */
export const findTile = async (
  connection: Connection,
  log: number,
  { index, level }: Pick<TileRow, 'index' | 'level'>,
): Promise<Uint8Array | null> => {
  const values = [log, level, index]
  const rows = await connection.query<Pick<TileRow, 'hashes'>>(tileStatement, values)
  return firstRow(rows)?.hashes ?? null
}

const tilesStatement = statement(
  'find_audit_tiles',
  `select tile.level, tile.tile_index::float8 as "index", hashes
   from unnest($2::smallint[], $3::bigint[]) as asked (level, tile_index)
   join audit_tile as tile on log = $1 and tile.level = asked.level and tile.tile_index = asked.tile_index`,
)

/** Tiles of a log, of those that are asked for and are there. */
export const findTiles = (
  connection: Connection,
  log: number,
  asked: readonly Pick<TileRow, 'index' | 'level'>[],
): Promise<TileRow[]> =>
  connection.query(tilesStatement, [
    log,
    asked.map(({ level }) => level),
    asked.map(({ index }) => index),
  ])

const writeTilesStatement = statement(
  'write_audit_tiles',
  `insert into audit_tile (log, level, tile_index, hashes)
   select $1, level, tile_index, hashes
   from unnest($2::smallint[], $3::bigint[], $4::bytea[]) as given (level, tile_index, hashes)
   on conflict (log, level, tile_index) do update set hashes = excluded.hashes`,
)

export const writeTiles = async (
  connection: Connection,
  log: number,
  tiles: readonly TileRow[],
): Promise<void> => {
  const values = [
    tiles.map(({ level }) => level),
    tiles.map(({ index }) => index),
    tiles.map(({ hashes }) => hashes),
  ]
  await connection.query(writeTilesStatement, [log, ...values])
}

const growStatement = statement(
  'grow_audit_log',
  'update audit_log set size = size + $2::bigint where log = $1',
)

export const growAuditLog = async (
  connection: Connection,
  log: number,
  count: number,
): Promise<void> => {
  await connection.query(growStatement, [log, count])
}
