import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

/** The configuration of a connection on which a card network uses ISO 8583. */
export interface LinkRow {
  readonly linkName: string
  readonly networkId: string
  readonly direction: 'listen' | 'dial'
  readonly host: string
  readonly port: number
  readonly profile: string
  readonly tls: boolean
  /** SHA-256 of the certificates that the peer may present, base64url. */
  readonly certificates: readonly string[]
  /** Addresses and networks that may connect without TLS. */
  readonly peers: readonly string[]
  readonly zoneMasterKey: string | null
  readonly active: boolean
}

/** A link with its state. */
export interface KnownLinkRow extends LinkRow {
  readonly createdAt: Date
  readonly lastSignedOnAt: Date | null
  /** The sessions that were renewed within half a minute, in all processes. */
  readonly sessions: number
  readonly signedOnSessions: number
  /** Processes that listen or connect, and were alive within half a minute. */
  readonly servingProcesses: number
  /** Why one of the others does not; null where all do. */
  readonly fault: string | null
}

const declare = loadStatements(import.meta.url)

const selectLink = declare<{ linkName: string }, KnownLinkRow>('find_link')

export const findLink = async (
  connection: Connection,
  linkName: string,
): Promise<KnownLinkRow | null> => firstRow(await selectLink(connection, { linkName }))

const selectLinks = declare<{ after: string; limit: number }, KnownLinkRow>('list_links')

/** Lists links after this name, by name. */
export const listLinksAfter = (
  connection: Connection,
  after: string,
  limit: number,
): Promise<KnownLinkRow[]> => selectLinks(connection, { after, limit })

const selectActiveLinks = declare<{ limit: number }, LinkRow>('list_active_links')

/** Lists the active links of networks that may send requests. */
export const listActiveLinks = (connection: Connection, limit: number): Promise<LinkRow[]> =>
  selectActiveLinks(connection, { limit })

type LinkAddress = Pick<LinkRow, 'host' | 'port'>

const selectListeningLink = declare<LinkAddress, { linkName: string }>('find_listening_link')

/** Returns the link that listens at an address; null without one. */
export const findListeningLink = async (
  connection: Connection,
  address: LinkAddress,
): Promise<string | null> =>
  firstRow(await selectListeningLink(connection, address))?.linkName ?? null

const insert = declare<LinkRow, { linkName: string }>('insert_link')

/**
 * Stores a link.
 * @returns false if the name is taken.
 */
export const insertLink = async (connection: Connection, link: LinkRow): Promise<boolean> =>
  (await insert(connection, link)).length === 1

const update = declare<LinkRow>('update_link')

export const updateLink = async (connection: Connection, link: LinkRow): Promise<void> => {
  await update(connection, link)
}

/** A connection of a link in this process. */
export interface LinkSession {
  readonly linkName: string
  readonly sessionId: string
  /** The address of the peer. */
  readonly peer: string
  readonly connectedAt: Date
  readonly signedOnAt: Date | null
}

const upsertSession = declare<LinkSession>('see_link_session')
const updateSignedOn = declare<{ linkName: string; signedOnAt: Date }>('set_link_signed_on')

/** Records that a session is open. */
export async function noteLinkSession(connection: Connection, session: LinkSession): Promise<void> {
  await upsertSession(connection, session)
  const { linkName, signedOnAt } = session
  if (signedOnAt) await updateSignedOn(connection, { linkName, signedOnAt })
}

type SessionKey = Pick<LinkSession, 'linkName' | 'sessionId'>

const deleteSession = declare<SessionKey>('end_link_session')

/** Deletes a session that ended. */
export const deleteLinkSession = async (
  connection: Connection,
  session: SessionKey,
): Promise<void> => {
  await deleteSession(connection, session)
}

const deleteLostSessions = declare<{ linkName: string }>('forget_lost_link_sessions')

/** A process that serves a link, or the reason why it does not. */
export interface LinkProcess {
  readonly linkName: string
  readonly processId: string
  readonly fault: string | null
}

const upsertProcess = declare<LinkProcess>('see_link_process')

/** Notes whether a living process serves a link. */
export const noteLinkProcess = async (
  connection: Connection,
  linkProcess: LinkProcess,
): Promise<void> => {
  await upsertProcess(connection, linkProcess)
}

const deleteProcess = declare<Pick<LinkProcess, 'linkName' | 'processId'>>('end_link_process')

/** Deletes the note of a process that stopped serving a link. */
export const deleteLinkProcess = async (
  connection: Connection,
  linkProcess: Pick<LinkProcess, 'linkName' | 'processId'>,
): Promise<void> => {
  await deleteProcess(connection, linkProcess)
}

const deleteLostProcesses = declare<{ linkName: string }>('forget_lost_link_processes')

/** Deletes what lost processes left of a link. */
export const deleteLostLinkState = async (
  connection: Connection,
  linkName: string,
): Promise<void> => {
  await deleteLostSessions(connection, { linkName })
  await deleteLostProcesses(connection, { linkName })
}
