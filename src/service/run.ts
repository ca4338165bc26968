import { readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { setTimeout as wait } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Connections } from '../listeners/http/connections.ts'
import { recordProcessStart, recordProcessStop } from '../operations/audit-log/processes.ts'
import { makeSlices } from '../operations/events/expire.ts'
import { listPlainLinks } from '../operations/links/links.ts'
import { sandboxLink } from '../sandbox/demo-data.ts'
import { type SandboxFile, writeSandboxFile } from '../sandbox/sandbox-file.ts'
import type { Database } from '../storage/engine/database.ts'
import { freeEveryLease } from '../storage/engine/leases.ts'
import { startBackground } from './background.ts'
import type { Config, Listener } from './config/config.ts'
import { openDatabases } from './database.ts'
import { findListeningRefusal } from './listening-refusal.ts'
import { canSharePorts, type Peers } from './processes/peers.ts'
import { createService, type Service } from './service.ts'
import type { RunningService } from './stop.ts'

/** How long requests may take to finish after the service is asked to stop. */
const finishTimeoutMs = 3_000
/** How long recording the stop may take. */
const recordStopWithinMs = 1_000
/** A clock of the sandbox that differs by more from the clock of the machine is printed. */
const clockToleranceMs = 60_000

/**
 * Opens everything and listens on both listeners.
 * @param peers the other processes of this command; null in a single process.
 */
export async function runService(
  config: Config,
  log: Logger,
  peers: Peers | null = null,
): Promise<RunningService> {
  const databases = await openDatabases(config, log)
  const { background: database } = databases
  try {
    // The service works without slices; outdated rows are then deleted more slowly.
    await makeSlices(database, config.delivery.retention.eventDays).catch((err: unknown) =>
      log.warn({ err }, 'no slices could be made for events'),
    )
    const service = await createService(config, databases, log, peers)
    // Recorded before the first answer.
    await recordProcessStart(database, await describeProcess(config, service, database))
    // Checked before the service reports ready, since its clients then read the file.
    const linkRefusal = await findLinkRefusal(config, service.sandbox)
    if (linkRefusal) log.warn(linkRefusal)
    // A terminal would reach the other program.
    const told =
      service.sandbox && linkRefusal ? { ...service.sandbox, link: null } : service.sandbox
    const file = told && (await writeSandboxFile(config.dataDir, told))
    await listen(service, config, peers !== null && canSharePorts)
    // The embedded database has one process, so all leases are those of an ended process.
    if (config.databaseUrl === null) await freeEveryLease(database)
    await service.links.start()
    const background = startBackground(service, database, config, log)
    return {
      welcome: welcome(config, service, file, linkRefusal),
      async stop() {
        service.stopping.abort()
        // Concurrently: a job with a backlog would take the time that requests need to finish.
        await Promise.all([
          finish(service.publicServer, service.connections.public),
          finish(service.privateServer, service.connections.private),
          background.stop(),
          service.links.stop(),
        ])
        service.deciding.asker.close()
        await service.deciding.calls.answers.close()
        // Their requests have ended, and the outcomes are recorded.
        const compared = service.deciding.shadows.idle()
        await Promise.race([compared, wait(finishTimeoutMs, undefined, { ref: false })])
        // During a database outage, the service stops without this record.
        const recorded = recordProcessStop(database, service.keys.processId).catch((err: unknown) =>
          log.warn({ err }, 'the stop could not be recorded'),
        )
        await Promise.race([recorded, wait(recordStopWithinMs, undefined, { ref: false })])
        await databases.close()
      },
    }
  } catch (error) {
    await databases.close()
    throw error
  }
}

/**
 * Describes in one sentence why the sandbox's own link cannot listen. With a database server,
 * another process of the same service may have the port.
 */
async function findLinkRefusal(
  { databaseUrl }: Config,
  sandbox: SandboxFile | null,
): Promise<string | null> {
  if (!sandbox?.link || databaseUrl !== null) return null
  const { host, port } = sandbox.link
  const code = await findListeningRefusal(host, port)
  if (code === null) return null
  return (
    `Another program uses ${host}:${port} (${code}): set LINK_PORT. The service has no link ` +
    'until the port is free.'
  )
}

/** Describes this process for the audit log. */
async function describeProcess(
  { databaseUrl, pkcs11, weakened }: Config,
  { keys }: Pick<Service, 'keys'>,
  database: Database,
) {
  const { version } = JSON.parse(
    await readFile(new URL('../../package.json', import.meta.url), 'utf8'),
  )
  return {
    processId: keys.processId,
    version: String(version),
    node: process.versions.node,
    host: hostname(),
    weakened: [...weakened, ...(await listPlainLinks({ database }))],
    hsm: pkcs11 ? 'pkcs11' : 'software',
    database: databaseUrl === null ? 'embedded' : 'server',
  } as const
}

async function listen(
  { privateServer, publicServer }: Service,
  { privateListener, publicListener }: Config,
  reusePort: boolean,
): Promise<void> {
  try {
    await privateServer.listen(selectAddress(privateListener, reusePort))
    await publicServer.listen(selectAddress(publicListener, reusePort))
  } catch (error) {
    await Promise.all([privateServer.close(), publicServer.close()])
    throw error
  }
}

const selectAddress = ({ host, port }: Listener, reusePort: boolean) => ({ host, port, reusePort })

/** Closes idle connections, which would delay the stop. */
async function finish(server: Service['publicServer'], connections: Connections): Promise<void> {
  const timer = setTimeout(() => connections.destroyAll(), finishTimeoutMs)
  await server.close()
  clearTimeout(timer)
}

/**
 * Composes the welcome message. It contains no secrets except a sandbox's sign-in links; the file
 * that it names has the others.
 */
function welcome(
  config: Config,
  { clock, links: gateway, sandbox }: Pick<Service, 'clock' | 'links' | 'sandbox'>,
  sandboxFile: string | null,
  linkRefusal: string | null,
): string {
  const { baseUrl, databaseUrl, dataDir, privateUrl, processes, processorPath } = config
  const database = databaseUrl === null ? `PostgreSQL in this process, in ${dataDir}` : 'PostgreSQL'
  // One person per role. The sandbox's file lists the others.
  const people = new Map(sandbox?.people.toReversed().map((each) => [each.role, each.signInUrl]))
  const lines = [...people].toReversed().map(([role, url]) => `  ${role.padEnd(17)} ${url}\n`)
  const links = people.size === 0 ? '' : `\nSign-in links of the console:\n\n${lines.join('')}`
  const several = processes > 1 ? `\n  Processes         ${processes}` : ''
  const hasDemo = sandboxFile !== null && config.outsideIssuer === null
  const demo = hasDemo ? `\n  Demo              ${baseUrl}/demo` : ''
  const isMoved = Math.abs(clock.aheadMs()) > clockToleranceMs
  const moved = isMoved ? `\n  Clock             ${clock.now().toISOString()} (sandbox)` : ''
  const link = listLinkLines(gateway, linkRefusal).map((line) => `\n  Link              ${line}`)
  const next =
    sandboxFile === null ? '' : `  Credentials       ${sandboxFile}\n\nNext: npx pinfold demo\n`
  return `
Pinfold is ready${sandboxFile === null ? '' : ' (sandbox: test keys, no real cards)'}.

  Clients call      ${baseUrl}/thr/${processorPath}
  Documents, API    ${baseUrl}/docs${demo}
  Networks, health  ${privateUrl}
  Database          ${database}${several}${moved}${link.join('')}
${next}${links}`
}

/** Links that a start lists; others are listed by `pinfold links list`. */
const listedLinksMost = 10

/** One line for each link of this process, and why the sandbox's own is not served. */
function listLinkLines(gateway: Service['links'], refusal: string | null): readonly string[] {
  const links = gateway
    .load()
    .filter(({ linkName }) => refusal === null || linkName !== sandboxLink.linkName)
  const lines = links
    .slice(0, listedLinksMost)
    .map(({ address, fault, linkName }) =>
      fault === null ? `${linkName} ${address}` : `${linkName}: ${fault}`,
    )
  const rest = links.length - lines.length
  return [
    ...(refusal === null ? [] : [refusal]),
    ...lines,
    ...(rest > 0 ? [`and ${rest} more: npx pinfold links list`] : []),
  ]
}
