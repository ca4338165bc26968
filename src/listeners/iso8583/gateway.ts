import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import type { Link, LinkUpkeep } from '../../operations/links/links.ts'
import type { TlsIdentity } from '../http/tls.ts'
import { type LinkWork, type SharedLoad, within } from './connection.ts'
import { type Dial, keepDialled } from './dialled.ts'
import type { LinkServices } from './handler.ts'
import { listen } from './listening.ts'
import type { LinkLoad } from './observer.ts'
import type { Profile, Profiles } from './profile-schema.ts'
import { type RunningSession, runSession } from './session.ts'

interface GatewayOptions {
  readonly services: LinkServices
  readonly profiles: Profiles
  readonly upkeep: LinkUpkeep
  /** Lists the links that should be connected. */
  listLinks(): Promise<readonly Link[]>
  /** Why a link may not be served here; null where it may. */
  findRefusal(link: Link): string | null
  /** The present TLS identity: the same object until it is replaced. Null without a certificate. */
  tlsIdentity(): TlsIdentity | null
  readonly dial: Dial
}

/** The links of this process. */
export interface Gateway {
  /** Connects the links, and follows their configuration. */
  start(): Promise<void>
  /** Reads the configuration now. */
  refresh(): Promise<void>
  /** Signs off, finishes running work, and closes. */
  stop(): Promise<void>
  load(): readonly LinkLoad[]
}

/** A link in this process. */
interface RunningLink {
  readonly described: string
  readonly address: string
  readonly sessions: ReadonlyMap<RunningSession, SessionRecord>
  readonly work: LinkWork
  /** The record of this process. */
  readonly record: ProcessRecord
  /** Uses a replaced certificate. */
  renew(): void
  stop(): Promise<void>
}

/** How often each process reads the links and renews its sessions. */
const refreshMs = 2_000
const upkeepMs = 5_000
/** How long connections have to finish their work, and then their records. */
const finishMs = 2_500
const recordMs = 500

/**
 * Runs links: those to which networks connect, and those that this process dials while it holds
 * their lease.
 */
export function createGateway(options: GatewayOptions): Gateway {
  const { services, upkeep } = options
  const running = new Map<string, RunningLink>()
  const load: SharedLoad = { inFlight: 0, waiting: new Set() }
  const timers: NodeJS.Timeout[] = []
  const stopping = new AbortController()
  let refreshing: Promise<void> = Promise.resolve()
  const faulted = (error: unknown) => services.observe.faulted('', error)

  /** One at a time: two concurrent calls would each start a new link. */
  const refresh = () => {
    refreshing = refreshing
      .then(() => followLinks(options, { running, load }, stopping.signal))
      .catch(faulted)
    return refreshing
  }
  const noteSessions = async () => {
    for (const [name, { record, sessions }] of running) {
      await record.note()
      for (const session of sessions.values()) await session.note()
      await upkeep.deleteLost(name)
    }
  }
  return {
    async start() {
      await refresh()
      timers.push(setInterval(refresh, refreshMs))
      timers.push(setInterval(() => noteSessions().catch(faulted), upkeepMs))
    },
    refresh,
    async stop() {
      stopping.abort()
      for (const timer of timers) clearInterval(timer)
      await refreshing
      await Promise.all([...running.values()].map((link) => link.stop()))
      running.clear()
    },
    load: () =>
      [...running].map(([linkName, { address, record, sessions, work }]) => ({
        linkName,
        address,
        fault: record.fault(),
        connections: sessions.size,
        signedOn: [...sessions.keys()].filter((each) => each.state().signedOnAt !== null).length,
        inFlight: work.inFlight,
      })),
  }
}

/**
 * Stops what is not as it is configured any more, and starts what is new. Resolves when it is on
 * record which links are served.
 */
async function followLinks(
  options: GatewayOptions,
  { load, running }: { readonly running: Map<string, RunningLink>; readonly load: SharedLoad },
  stopping: AbortSignal,
): Promise<void> {
  if (stopping.aborted) return
  const links = new Map((await options.listLinks()).map((link) => [link.linkName, link]))
  const isCurrent = ([name, { described }]: [string, RunningLink]) =>
    JSON.stringify(links.get(name)) === described
  const changed = [...running].filter((link) => !isCurrent(link))
  for (const [name] of changed) running.delete(name)
  for (const link of running.values()) link.renew()
  await Promise.all(changed.map(([, link]) => link.stop()))
  for (const [name, link] of links) {
    if (running.has(name) || stopping.aborted) continue
    const profile = options.profiles.get(link.profile)
    const refusal = options.findRefusal(link)
    running.set(
      name,
      profile && refusal === null
        ? runLink(options, load, link, profile)
        : // Another process may have profiles that this one has not.
          refuseLink(options, link, refusal ?? `There is no profile ${link.profile}.`),
    )
  }
  await Promise.all([...running.values()].map(({ record }) => record.known))
}

const describeLink = (link: Link) => ({
  described: JSON.stringify(link),
  address: `${link.direction === 'listen' ? 'listens on' : 'dials'} ${link.host}:${link.port}`,
})

/** A link that this process does not serve, with the reason on record. */
function refuseLink(
  { services, upkeep }: GatewayOptions,
  link: Link,
  refusal: string,
): RunningLink {
  const record = createProcessRecord(link.linkName, upkeep, (error) =>
    services.observe.faulted(link.linkName, error),
  )
  record.report(refusal)
  return {
    ...describeLink(link),
    sessions: new Map(),
    work: { inFlight: 0 },
    record,
    renew: () => undefined,
    stop: record.deleteRecord,
  }
}

function runLink(
  options: GatewayOptions,
  load: SharedLoad,
  link: Link,
  profile: Profile,
): RunningLink {
  const sessions = new Map<RunningSession, SessionRecord>()
  const forgetting = new Set<Promise<void>>()
  const work: LinkWork = { inFlight: 0 }
  const { dial, services, tlsIdentity, upkeep } = options
  const { observe } = services
  const { linkName } = link
  const ownRecord = createProcessRecord(linkName, upkeep, (error) =>
    observe.faulted(linkName, error),
  )

  function begin(socket: Socket, onEnd: () => void = () => undefined): RunningSession {
    const session: RunningSession = runSession({
      socket,
      link,
      profile,
      services,
      load,
      work,
      onSignedOn: () => void record.note(),
      onEnd() {
        sessions.delete(session)
        const forgotten = record.deleteRecord().finally(() => forgetting.delete(forgotten))
        forgetting.add(forgotten)
        onEnd()
      },
    })
    const record = createSessionRecord(session, upkeep, (error) => observe.faulted(linkName, error))
    sessions.set(session, record)
    observe.connected(linkName, session.state().peer)
    void record.note()
    return session
  }

  const common = { link, observe, tlsIdentity, begin, report: ownRecord.report }
  const connections = () => sessions.size
  // Until a connection fails, nothing is known to be wrong.
  if (link.direction === 'dial') ownRecord.report(null)
  const { renew, stop } =
    link.direction === 'listen'
      ? listen({ ...common, connections })
      : { renew: () => undefined, stop: keepDialled({ ...common, profile, upkeep, dial }) }
  return {
    ...describeLink(link),
    sessions,
    work,
    record: ownRecord,
    renew,
    async stop() {
      const stopped = stop()
      await Promise.all([...sessions.keys()].map((session) => session.finish(finishMs)))
      await stopped
      await within(recordMs, Promise.all([...forgetting, ownRecord.deleteRecord()]))
    },
  }
}

/** The public part of a session, while it is open. */
interface SessionRecord {
  note(): Promise<void>
  deleteRecord(): Promise<void>
}

function createSessionRecord(
  session: RunningSession,
  upkeep: LinkUpkeep,
  faulted: (error: unknown) => void,
): SessionRecord {
  const write = createWriter(faulted)
  return {
    note: () => write(() => upkeep.note(session.state())),
    deleteRecord: () => write(() => upkeep.deleteSession(session.state())),
  }
}

/** Whether this process serves a link, as published to all processes. */
interface ProcessRecord extends SessionRecord {
  /** Records that the process serves the link (null), or the reason why it does not. */
  report(fault: string | null): void
  fault(): string | null
  /** Resolves when it is recorded for the first time. */
  readonly known: Promise<void>
}

function createProcessRecord(
  linkName: string,
  upkeep: LinkUpkeep,
  faulted: (error: unknown) => void,
): ProcessRecord {
  const processId = randomUUID()
  const write = createWriter(faulted)
  const { promise: known, resolve } = Promise.withResolvers<void>()
  let fault: string | null = null
  let isKnown = false
  let isOver = false
  const note = () => write(() => upkeep.noteProcess({ linkName, processId, fault }))
  return {
    known,
    fault: () => fault,
    report(found) {
      if (isOver || (isKnown && found === fault)) return
      fault = found
      isKnown = true
      void note().then(resolve)
    },
    note: async () => {
      if (isKnown && !isOver) await note()
    },
    async deleteRecord() {
      isOver = true
      await write(() => upkeep.deleteProcess({ linkName, processId }))
    },
  }
}

/** Writes one after the other: what is written last is how it stays. */
function createWriter(faulted: (error: unknown) => void) {
  let written: Promise<void> = Promise.resolve()
  return (work: () => Promise<void>): Promise<void> => {
    written = written.then(work).catch(faulted)
    return written
  }
}
