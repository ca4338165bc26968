import { type Connection, firstRow, type SqlValue, statement } from '../engine/database.ts'

/** A connection on which a card network speaks ISO 8583, as it is configured. */
export interface LinkRow {
  readonly linkName: string
  readonly networkId: string
  readonly direction: 'listen' | 'dial'
  readonly host: string
  readonly port: number
  readonly profile: string
  readonly tls: boolean
  /** SHA-256 of the certificates that the other side may have, base64url. */
  readonly certificates: readonly string[]
  /** Addresses and networks that may come without TLS. */
  readonly peers: readonly string[]
  readonly zoneMasterKey: string | null
  readonly active: boolean
}

/** A link with what became of it. */
export interface KnownLinkRow extends LinkRow {
  readonly createdAt: Date
  readonly lastSignedOnAt: Date | null
  /** Sessions that were alive within half a minute, in all processes. */
  readonly sessions: number
  readonly signedOnSessions: number
}

const columns = `link.link_name as "linkName", link.network_id as "networkId", link.direction, link.host, link.port,
  link.profile, link.tls, link.certificates, link.peers, link.zone_master_key as "zoneMasterKey", link.active`

const knownColumns = `${columns}, link.created_at as "createdAt", link.signed_on_at as "lastSignedOnAt",
  session.sessions, session.signed_on as "signedOnSessions"`

const withSessions = `link cross join lateral (
    select count(*)::integer as sessions, count(signed_on_at)::integer as signed_on from link_session
    where link_session.link_name = link.link_name and seen_at > now() - interval '30 seconds'
  ) as session`

const findStatement = statement(
  'find_link',
  `select ${knownColumns} from ${withSessions} where link.link_name = $1`,
)

export const findLink = async (
  connection: Connection,
  linkName: string,
): Promise<KnownLinkRow | null> => firstRow(await connection.query(findStatement, [linkName]))

const listStatement = statement(
  'list_links',
  `select ${knownColumns} from ${withSessions} where link.link_name > $1
   order by link.link_name limit $2`,
)

/** Links after this name, by their names. */
export const listLinksAfter = (
  connection: Connection,
  linkName: string,
  limit: number,
): Promise<KnownLinkRow[]> => connection.query(listStatement, [linkName, limit])

const activeStatement = statement(
  'list_active_links',
  `select ${columns} from link join client on client.client_id = link.network_id
   where link.active and client.active and client.kind = 'network'
   order by link.link_name limit $1`,
)

/** The links that are to be up, of networks that may ask. */
export const listActiveLinks = (connection: Connection, limit: number): Promise<LinkRow[]> =>
  connection.query(activeStatement, [limit])

const findListeningStatement = statement(
  'find_listening_link',
  `select link_name as "linkName" from link
   where host = $1 and port = $2 and direction = 'listen' and active`,
)

/** The link that is listened for at an address; null where none is. */
export const findListeningLink = async (
  connection: Connection,
  { host, port }: Pick<LinkRow, 'host' | 'port'>,
): Promise<string | null> => {
  const rows = await connection.query<{ linkName: string }>(findListeningStatement, [host, port])
  return firstRow(rows)?.linkName ?? null
}

const insertStatement = statement(
  'insert_link',
  `insert into link (link_name, network_id, direction, host, port, profile, tls, certificates, peers,
     zone_master_key, active)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
   on conflict (link_name) do nothing returning link_name as "linkName"`,
)

/** Keeps a link. @returns false where the name is taken. */
export const insertLink = async (connection: Connection, link: LinkRow): Promise<boolean> =>
  (await connection.query(insertStatement, valuesOf(link))).length === 1

const updateStatement = statement(
  'update_link',
  `update link set network_id = $2, direction = $3, host = $4, port = $5, profile = $6, tls = $7,
     certificates = $8, peers = $9, zone_master_key = $10, active = $11
   where link_name = $1`,
)

export const updateLink = async (connection: Connection, link: LinkRow): Promise<void> => {
  await connection.query(updateStatement, valuesOf(link))
}

const valuesOf = (link: LinkRow): readonly SqlValue[] => [
  ...[link.linkName, link.networkId, link.direction, link.host, link.port, link.profile],
  ...[link.tls, link.certificates, link.peers, link.zoneMasterKey, link.active],
]

/** A connection of a link, of this process. */
export interface LinkSession {
  readonly linkName: string
  readonly sessionId: string
  /** The address of the other side. */
  readonly peer: string
  readonly connectedAt: Date
  readonly signedOnAt: Date | null
}

const seenStatement = statement(
  'see_link_session',
  `insert into link_session (link_name, session_id, peer, connected_at, signed_on_at)
   values ($1, $2, $3, $4, $5)
   on conflict (link_name, session_id) do update
     set signed_on_at = excluded.signed_on_at, seen_at = excluded.seen_at`,
)
const signedOnStatement = statement(
  'set_link_signed_on',
  `update link set signed_on_at = $2
   where link_name = $1 and (signed_on_at is null or signed_on_at < $2)`,
)

/** Notes that a session lives. */
export async function noteLinkSession(
  connection: Connection,
  { connectedAt, linkName, peer, sessionId, signedOnAt }: LinkSession,
): Promise<void> {
  await connection.query(seenStatement, [linkName, sessionId, peer, connectedAt, signedOnAt])
  if (signedOnAt) await connection.query(signedOnStatement, [linkName, signedOnAt])
}

const endedStatement = statement(
  'end_link_session',
  'delete from link_session where link_name = $1 and session_id = $2',
)

/** Forgets a session that ended. */
export const forgetLinkSession = async (
  connection: Connection,
  { linkName, sessionId }: Pick<LinkSession, 'linkName' | 'sessionId'>,
): Promise<void> => {
  await connection.query(endedStatement, [linkName, sessionId])
}

const staleStatement = statement(
  'forget_lost_link_sessions',
  `delete from link_session where link_name = $1 and seen_at < now() - interval '1 minute'`,
)

/** Forgets the sessions of a link that a lost process had. */
export const forgetLostLinkSessions = async (
  connection: Connection,
  linkName: string,
): Promise<void> => {
  await connection.query(staleStatement, [linkName])
}
