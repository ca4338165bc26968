import { isIP } from 'node:net'
import type { Requester } from '../../domain/client.ts'
import { isCidr } from '../../domain/identifiers.ts'
import { Problem, type ProblemError, validationFailed } from '../../domain/problem.ts'
import type { Hsm } from '../../hsm/contract/hsm.ts'
import { insertAct } from '../../storage/acts/acts.ts'
import { findAdministeredClient } from '../../storage/clients/clients.ts'
import type { Connection, Database } from '../../storage/engine/database.ts'
import { lockInstallation } from '../../storage/engine/installation.ts'
import { claimLease, releaseLease } from '../../storage/engine/leases.ts'
import { findZoneMasterKey } from '../../storage/keys/key-blocks.ts'
import * as storedLinks from '../../storage/links/links.ts'
import { differences, nameChange, recordAct } from '../acts/acts.ts'
import { type Answer, once, type RepeatableRequest } from '../idempotency/idempotency.ts'

/** The dependencies of the operations on links. */
export interface LinkContext {
  readonly database: Database
  readonly hsm: Hsm
  /** The profiles of this program. */
  readonly profiles: ReadonlySet<string>
  /**
   * Null if this process has no certificate for links; otherwise whether it knows the authority of
   * the networks' certificates.
   */
  readonly tls: { readonly knowsAuthority: boolean } | null
  /** Whether links can be unencrypted beyond this machine. */
  readonly allowsPlain: boolean
}

export type Link = storedLinks.LinkRow

/**
 * The best that holds in any process: a connection that is `signed on`, another one (`connected`),
 * a port that waits for the network (`listening`). `failed`: no process can listen or connect.
 * `down`: no process serves the link, or it has not connected yet.
 */
type LinkState = 'disabled' | 'down' | 'failed' | 'listening' | 'connected' | 'signed on'

/** A link as operators see it. */
export interface LinkRecord extends Link {
  readonly state: LinkState
  /** Why a process cannot serve the link; null where every process can. */
  readonly fault: string | null
  readonly connections: number
  readonly lastSignedOnAt: string | null
  readonly createdAt: string
}

function linkRecord({
  createdAt,
  fault,
  lastSignedOnAt,
  servingProcesses,
  sessions,
  signedOnSessions,
  ...link
}: storedLinks.KnownLinkRow): LinkRecord {
  const isListening = link.direction === 'listen' && servingProcesses > 0
  const states: readonly (readonly [isSo: boolean, state: LinkState])[] = [
    [!link.active, 'disabled'],
    [signedOnSessions > 0, 'signed on'],
    [sessions > 0, 'connected'],
    [isListening, 'listening'],
    [fault !== null, 'failed'],
  ]
  const [, state] = states.find(([isSo]) => isSo) ?? [true, 'down']
  return {
    ...link,
    state,
    fault: link.active ? fault : null,
    connections: sessions,
    lastSignedOnAt: lastSignedOnAt?.toISOString() ?? null,
    createdAt: createdAt.toISOString(),
  }
}

/** The detail of a 404. */
export const noLink = 'No link has this linkName.'

/** Lists links after this name, by name, with their state in all processes. */
export const listLinks = async (
  { database }: LinkContext,
  afterName: string,
  limit: number,
): Promise<LinkRecord[]> =>
  (await storedLinks.listLinksAfter(database, afterName, limit)).map(linkRecord)

/** @throws `Problem` `not_found`. */
export async function findLinkRecord(
  { database }: LinkContext,
  linkName: string,
): Promise<LinkRecord> {
  const link = await storedLinks.findLink(database, linkName)
  if (!link) throw new Problem('not_found', { detail: noLink })
  return linkRecord(link)
}

/**
 * Whether a link is unencrypted and leaves this machine: anyone on the path can read PANs, and
 * answer.
 */
export const isPlainLink = ({ host, tls }: Pick<Link, 'host' | 'tls'>): boolean =>
  !tls && !/^127(?:\.[0-9]{1,3}){3}$/.test(host) && host !== '::1'

/** The maximum number of links of an installation: every process reads all of them. */
const linksMax = 1_000

/** Lists the links that should be connected. */
export const listLinksToRun = ({ database }: Pick<LinkContext, 'database'>): Promise<Link[]> =>
  storedLinks.listActiveLinks(database, linksMax)

/**
 * Registers a link of a card network.
 * @throws `Problem` `validation_failed` with every fault.
 */
export const createLink = (
  context: LinkContext,
  operator: Requester,
  draft: Link,
  request: RepeatableRequest | null,
): Promise<Answer<LinkRecord>> =>
  once(context, request, async (connection) => {
    const link = { ...draft, host: normalizeHost(draft.host) }
    await lockInstallation(connection)
    await refuseFaults(context, connection, link)
    if (!(await storedLinks.insertLink(connection, link))) {
      throw validationFailed({ pointer: '/linkName', detail: 'names a link that already exists' })
    }
    await recordAct(connection, operator, {
      act: 'link created',
      subjectKind: 'client',
      subject: link.networkId,
      details: link,
    })
    await recordPlainLink(connection, operator, link)
    return readBack(connection, link.linkName)
  })

/**
 * Changes the given members of a link: its connections end, and it reconnects with the new
 * settings. An inactive link has no connections.
 * @throws `Problem` `not_found`; `validation_failed` with every fault.
 */
export const changeLink = (
  context: LinkContext,
  operator: Requester,
  { linkName, ...draft }: Partial<Omit<Link, 'networkId'>> & Pick<Link, 'linkName'>,
  request: RepeatableRequest | null,
): Promise<Answer<LinkRecord>> =>
  once(context, request, async (connection) => {
    await lockInstallation(connection)
    const known = await storedLinks.findLink(connection, linkName)
    if (!known) throw new Problem('not_found', { detail: noLink })
    const {
      createdAt: _1,
      lastSignedOnAt: _2,
      sessions: _3,
      signedOnSessions: _4,
      servingProcesses: _5,
      fault: _6,
      ...before
    } = known
    const changed = { ...before, ...draft }
    const after: Link = { ...changed, host: normalizeHost(changed.host) }
    await refuseFaults(context, connection, after)
    await storedLinks.updateLink(connection, after)
    await recordAct(connection, operator, {
      act: `link ${nameChange(before, after, { on: 'enabled', off: 'disabled' })}`,
      subjectKind: 'client',
      subject: after.networkId,
      details: { linkName, ...differences(before, after) },
    })
    await recordPlainLink(connection, operator, after)
    return readBack(connection, linkName)
  })

/** Records an unencrypted link, which weakens the installation as a setting does. */
async function recordPlainLink(
  connection: Connection,
  { clientId, requestId }: Requester,
  link: Link,
): Promise<void> {
  if (!link.active || !isPlainLink(link)) return
  await insertAct(connection, {
    act: 'setting.weakened',
    subjectKind: 'setting',
    subject: `link ${link.linkName}`,
    details: JSON.stringify({ found: plainAt(link) }),
    clientId,
    requestId,
  })
}

const plainAt = ({ direction, host, port }: Pick<Link, 'direction' | 'host' | 'port'>): string =>
  direction === 'listen'
    ? `listens unencrypted at ${host}:${port}`
    : `dials ${host}:${port} unencrypted`

/** Lists the links that weaken this installation, for the record of a start. */
export const listPlainLinks = async ({
  database,
}: Pick<LinkContext, 'database'>): Promise<{ variable: string; found: string }[]> =>
  (await listLinksToRun({ database }))
    .filter(isPlainLink)
    .map((link) => ({ variable: `link ${link.linkName}`, found: plainAt(link) }))

async function readBack(connection: Connection, linkName: string): Promise<LinkRecord> {
  const link = await storedLinks.findLink(connection, linkName)
  if (!link) throw new Error('A link that was just written is not there.')
  return linkRecord(link)
}

/** Writes an address in its one form, so that duplicates are found. */
const normalizeHost = (host: string): string =>
  isIP(host) === 6 ? new URL(`http://[${host}]`).hostname.slice(1, -1) : host.toLowerCase()

async function refuseFaults(
  { allowsPlain, profiles, tls }: LinkContext,
  connection: Connection,
  link: Link,
): Promise<void> {
  const network = await findAdministeredClient(connection, link.networkId)
  const { certificates, direction, host, linkName, zoneMasterKey } = link
  const isListening = direction === 'listen'
  const hasKey = zoneMasterKey === null || (await findZoneMasterKey(connection, zoneMasterKey))
  const other =
    isListening && link.active && (await storedLinks.findListeningLink(connection, link))
  const rules: readonly (readonly [boolean, ProblemError])[] = [
    [network?.kind === 'network', { pointer: '/networkId', detail: 'must be a card network' }],
    [
      profiles.has(link.profile),
      { pointer: '/profile', detail: `must be one of ${[...profiles].join(', ')}` },
    ],
    [Boolean(hasKey), { pointer: '/zoneMasterKey', detail: 'must name a zone master key' }],
    [
      !link.tls || tls !== null,
      { pointer: '/tls', detail: 'needs PRIVATE_TLS_CERT_FILE and PRIVATE_TLS_KEY_FILE' },
    ],
    [
      allowsPlain || !link.active || !isPlainLink(link),
      {
        pointer: '/tls',
        detail:
          'must be true unless the host is loopback, because card numbers would be in clear on ' +
          'the network. ACCEPT_PLAIN_LINKS=yes accepts this',
      },
    ],
    [
      certificates.length === 0 || link.tls,
      { pointer: '/certificates', detail: 'must be combined with tls' },
    ],
    [
      certificates.length === 0 || !isListening || !tls || tls.knowsAuthority,
      { pointer: '/certificates', detail: 'needs PRIVATE_TLS_CLIENT_CA_FILE' },
    ],
    [
      isIP(host) !== 0 || (!isListening && link.tls),
      {
        pointer: '/host',
        detail:
          'must be an address, unless the link is dialled with TLS: a name does not ' +
          'authenticate the peer',
      },
    ],
    [
      !other || other === linkName,
      { pointer: '/port', detail: 'is the port of another link at the same address' },
    ],
    [
      link.peers.every(isCidr),
      { pointer: '/peers', detail: 'must be addresses, or blocks such as 10.1.0.0/24' },
    ],
  ]
  const faults = rules.filter(([isRight]) => !isRight).map(([, fault]) => fault)
  if (faults.length > 0) throw validationFailed(...faults)
}

type LinkSession = storedLinks.LinkSession

/** Creates the functions by which a process records the state of its links. */
export const createLinkUpkeep = (database: Database) => ({
  /**
   * Takes or extends the right to dial a link.
   * @returns the milliseconds for which this process has it, from now.
   */
  hold: async (linkName: string, holder: string): Promise<number> =>
    (await claimLease(database, `link ${linkName}`, holder, leaseSeconds))
      ? leaseSeconds * 1_000
      : 0,
  release: (linkName: string, holder: string): Promise<void> =>
    releaseLease(database, `link ${linkName}`, holder),
  note: (session: LinkSession): Promise<void> => storedLinks.noteLinkSession(database, session),
  deleteSession: (session: Pick<LinkSession, 'linkName' | 'sessionId'>): Promise<void> =>
    storedLinks.deleteLinkSession(database, session),
  noteProcess: (linkProcess: storedLinks.LinkProcess): Promise<void> =>
    storedLinks.noteLinkProcess(database, linkProcess),
  deleteProcess: (linkProcess: Pick<storedLinks.LinkProcess, 'linkName' | 'processId'>) =>
    storedLinks.deleteLinkProcess(database, linkProcess),
  deleteLost: (linkName: string): Promise<void> =>
    storedLinks.deleteLostLinkState(database, linkName),
})

export type LinkUpkeep = ReturnType<typeof createLinkUpkeep>

/** Renewed at every third of it. */
const leaseSeconds = 9
