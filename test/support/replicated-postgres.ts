/**
 * A primary and a standby that each commit waits for, of Debian's PostgreSQL, and what may become
 * of them.
 *
 * ```ts
 * const pair = await openReplicated()
 * test('…', { skip: pair.leftOut }, async () => {
 *   const url = pair.requireUrl('cards')
 *   await pair.killPrimary()
 *   await pair.promote()
 *   await pair.addStandby()
 * ```
 */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { atEndOfFile } from './end-of-file.ts'
import { openPostgres } from './postgres.ts'
import type { TestPostgres } from './test-databases.ts'

export type Replicated = {
  leftOut: string | false
  /**
   * The primary and the standby, as `DATABASE_URL` names both: the first that was started stands
   * first.
   */
  composeUrl: (database: string) => string
  /** The superuser's URL of the server that is the primary now. */
  primary: () => string
  standby: () => string
  /** What the standby does stops, or goes on: commits wait for it. */
  signalStandby: (signal: 'SIGSTOP' | 'SIGCONT') => void
  signalPrimary: (signal: 'SIGSTOP' | 'SIGCONT') => void
  /**
   * The standby gets nothing more from the primary, as if the network between them were gone; it
   * can be promoted.
   */
  partStandby: () => Promise<void>
  /** Commits wait for no standby, as where somebody forgot to ask for it. */
  stopWaiting: () => Promise<void>
  /** Every process of it at once, as if its machine were gone. */
  killPrimary: () => void
  /** The standby takes over; nothing waits for another one until there is one. */
  promote: () => Promise<void>
  /** A new standby in the place of the server that is gone; resolves when commits wait for it. */
  addStandby: () => Promise<void>
  /** Resolves when the standby follows the primary, so that commits can be confirmed. */
  untilSynchronous: () => Promise<void>
}

export const openReplicated = async (): Promise<Replicated> => {
  const first = await openPostgres({ debian: true })
  if (first.leftOut) return leftOut(first.leftOut)
  const servers = new Set([first])
  atEndOfFile(() => Promise.all([...servers].map((server) => stop(server))))
  let primary = first
  let standby = first
  const hosts = [findHost(first)]

  const addStandby = async (): Promise<void> => {
    const gone = hosts.find((host) => host !== findHost(primary))
    const port = Number(gone?.split(':')[1])
    const standbyOf = { url: requireUrl(primary), ...(gone !== undefined && { port }) }
    standby = await openPostgres({ standbyOf })
    servers.add(standby)
    if (gone === undefined) hosts.push(findHost(standby))
    // It has the settings of the other, and is to wait for nobody when it takes over.
    await administer(requireUrl(standby), 'alter system reset synchronous_standby_names')
    await administer(requireUrl(standby), 'select pg_reload_conf()')
    await administer(requireUrl(primary), `alter system set synchronous_standby_names = '*'`)
    await administer(requireUrl(primary), 'select pg_reload_conf()')
    await untilSynchronous()
  }
  const untilSynchronous = async (): Promise<void> => {
    const isSynchronous = `select from pg_stat_replication where sync_state = 'sync'`
    while ((await administer(requireUrl(primary), isSynchronous)).length === 0) await sleep(20)
  }
  await addStandby()
  return {
    leftOut: false,
    composeUrl(database) {
      const { password } = new URL(requireUrl(first))
      const [one, other] = hosts
      return `postgresql://postgres:${password}@${one},${other}/${database}?target_session_attrs=read-write`
    },
    primary: () => requireUrl(primary),
    standby: () => requireUrl(standby),
    signalStandby: (signal) => signalAll(standby, signal),
    signalPrimary: (signal) => signalAll(primary, signal),
    async partStandby() {
      await administer(requireUrl(standby), `alter system set primary_conninfo = ''`)
      await administer(requireUrl(standby), 'select pg_reload_conf()')
      const receiving = 'select from pg_stat_wal_receiver where pid is not null'
      while ((await administer(requireUrl(standby), receiving)).length > 0) await sleep(20)
    },
    async stopWaiting() {
      await administer(requireUrl(primary), 'alter system reset synchronous_standby_names')
      await administer(requireUrl(primary), 'select pg_reload_conf()')
      const waiting = `select from pg_stat_replication where sync_state = 'sync'`
      while ((await administer(requireUrl(primary), waiting)).length > 0) await sleep(20)
    },
    killPrimary: () => signalAll(primary, 'SIGKILL'),
    async promote() {
      await administer(requireUrl(standby), 'select pg_promote(true, 60)')
      await administer(requireUrl(standby), 'alter system reset primary_conninfo')
      primary = standby
    },
    addStandby,
    untilSynchronous,
  }
}

/** Where there is no server: a test that asks for it all the same fails. */
const leftOut = (reason: string): Replicated => {
  const refuse = (): never => {
    throw new Error(reason)
  }
  const none = { composeUrl: refuse, primary: refuse, standby: refuse, signalStandby: refuse }
  const acts = { signalPrimary: refuse, killPrimary: refuse, promote: refuse, addStandby: refuse }
  const parting = { partStandby: refuse, stopWaiting: refuse }
  return { leftOut: reason, ...none, ...acts, ...parting, untilSynchronous: refuse }
}

const requireUrl = ({ url }: TestPostgres): string => {
  if (url === undefined) throw new Error('There is no server.')
  return url
}

const findHost = (server: TestPostgres): string => new URL(requireUrl(server)).host

/**
 * To all processes of a server; the first of them first, so that it starts no process in the place
 * of one that is gone.
 */
export const signalAll = (
  { pid }: TestPostgres,
  signal: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL',
): void => {
  // 0 names the processes of the tests themselves.
  if (!pid) return
  const first = signal === 'SIGKILL' ? 'SIGSTOP' : signal
  if (!trySignal(pid, first)) return
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
  for (const child of children.filter(Boolean)) trySignal(Number(child), signal)
  if (signal === 'SIGKILL') trySignal(pid, signal)
}

const trySignal = (pid: number, signal: NodeJS.Signals): boolean => {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}

const stop = async (server: TestPostgres): Promise<void> => {
  // One that was stopped cannot end.
  signalAll(server, 'SIGCONT')
  await server.stop()
}

/** Asks a server on a connection of its own. */
export const administer = async (connectionString: string, text: string): Promise<unknown[]> => {
  const client = new pg.Client({ connectionString })
  // A break shows in what was asked.
  client.on('error', () => undefined)
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}
