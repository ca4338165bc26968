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
  /** The links that are to be up now. */
  listLinks(): Promise<readonly Link[]>
  /**
   * What this side proves itself with now: the same object until it is replaced. Null where it has
   * no certificate.
   */
  tlsIdentity(): TlsIdentity | null
  readonly dial: Dial
}

/** The links of this process. */
export interface Gateway {
  /** Brings the links up, and from now on keeps them as they are configured. */
  start(): Promise<void>
  /** Looks at the configuration now. */
  refresh(): Promise<void>
  /** Signs off, finishes what is in work, and closes. */
  stop(): Promise<void>
  load(): readonly LinkLoad[]
}

/** One link as this process runs it. */
interface RunningLink {
  readonly described: string
  readonly sessions: ReadonlyMap<RunningSession, SessionRecord>
  readonly work: LinkWork
  /** Takes a certificate that was replaced. */
  renew(): void
  stop(): Promise<void>
}

/** How often each process looks whether links were changed, and says that its sessions live. */
const refreshMs = 2_000
const upkeepMs = 5_000
/** How long connections have to finish what is in work, and then what is on record of them. */
const finishMs = 2_500
const recordMs = 500

/**
 * Runs links: those that networks connect to, and those that this side dials while it holds their
 * lease.
 */
export function createGateway(options: GatewayOptions): Gateway {
  const { services, upkeep } = options
  const running = new Map<string, RunningLink>()
  const load: SharedLoad = { inFlight: 0, waiting: new Set() }
  const timers: NodeJS.Timeout[] = []
  const stopping = new AbortController()
  let refreshing: Promise<void> = Promise.resolve()
  const faulted = (error: unknown) => services.observe.faulted('', error)

  /** One after the other: two that look at once would each start what is new. */
  const refresh = () => {
    refreshing = refreshing
      .then(() => followLinks(options, { running, load }, stopping.signal))
      .catch(faulted)
    return refreshing
  }
  const noteSessions = async () => {
    for (const [name, { sessions }] of running) {
      for (const record of sessions.values()) await record.note()
      await upkeep.forgetLost(name)
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
      [...running].map(([linkName, { sessions, work }]) => ({
        linkName,
        connections: sessions.size,
        signedOn: [...sessions.keys()].filter((each) => each.state().signedOnAt !== null).length,
        inFlight: work.inFlight,
      })),
  }
}

/** Stops what is not as it is configured any more, and starts what is new. */
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
    const profile = options.profiles.get(link.profile)
    // Another process may have profiles that this one has not.
    if (!profile || running.has(name) || stopping.aborted) continue
    running.set(name, runLink(options, load, link, profile))
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

  const common = { link, observe, tlsIdentity, begin }
  const connections = () => sessions.size
  const { renew, stop } =
    link.direction === 'listen'
      ? listen({ ...common, connections })
      : { renew: () => undefined, stop: keepDialled({ ...common, profile, upkeep, dial }) }
  return {
    described: JSON.stringify(link),
    sessions,
    work,
    renew,
    async stop() {
      const stopped = stop()
      await Promise.all([...sessions.keys()].map((session) => session.finish(finishMs)))
      await stopped
      await within(recordMs, Promise.all(forgetting))
    },
  }
}

/** What everybody may see of a session, while it lives. */
interface SessionRecord {
  note(): Promise<void>
  deleteRecord(): Promise<void>
}

/** Written one after the other: what is written last is how it stays. */
function createSessionRecord(
  session: RunningSession,
  upkeep: LinkUpkeep,
  faulted: (error: unknown) => void,
): SessionRecord {
  let written: Promise<void> = Promise.resolve()
  const write = (work: () => Promise<void>) => {
    written = written.then(work).catch(faulted)
    return written
  }
  return {
    note: () => write(() => upkeep.note(session.state())),
    deleteRecord: () => write(() => upkeep.deleteSession(session.state())),
  }
}
