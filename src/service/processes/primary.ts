import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { Logger } from 'pino'
import { Counter, Gauge, Registry } from 'prom-client'
import { StartRefusal } from '../../domain/problem.ts'
import type { Config } from '../config/config.ts'
import { type RunningService, stopAllTimeoutMs, stopOnce } from '../stop.ts'
import { canSharePorts, type FromWorker } from './peers.ts'
import { createRelay, type Relay, sendTo } from './relay.ts'

const program = fileURLToPath(new URL('worker.ts', import.meta.url))

/** A numbered process, across restarts. */
interface Slot {
  readonly number: number
  worker: Worker | null
  isReady: boolean
  /** Consecutive ends within a minute of the start. */
  failures: number
  timer: NodeJS.Timeout | undefined
}

/** After this time, a process counts as started successfully. */
const steadyAfterMs = 60_000
/**
 * The first pause before a restart. Pauses grow, so that a failing process takes no time from the
 * others.
 */
const pauseLeastMs = 500
const pauseMostMs = 30_000

/**
 * Runs the service in several processes on the same ports. This process starts the others and
 * forwards their requests to each other; it has no keys and no database, and serves no client.
 * @throws `StartRefusal` with the reason of the first process that could not start.
 */
export async function runProcesses(config: Config, log: Logger): Promise<RunningService> {
  const slots = Array.from({ length: config.processes }, (_, at): Slot => {
    return { number: at + 1, worker: null, isReady: false, failures: 0, timer: undefined }
  })
  const metrics = watchProcesses(slots)
  const ready = (from?: Worker) =>
    slots.flatMap(({ isReady, worker }) => (worker && isReady && worker !== from ? worker : []))
  const relay = createRelay(ready, { metrics: () => metrics.registry.getMetricsAsJSON() })
  const running: Running = { slots, relay, ready, log, onEnd: metrics.count, isStopping: false }
  if (canSharePorts) await requireFreePorts(config)
  // No process outlives this one.
  process.once('exit', () => {
    for (const { worker } of slots) worker?.process.kill('SIGKILL')
  })
  const stop = () => stopAll(running)
  // Installed now, so that a signal also stops processes that are starting.
  stopOnce({ stop }, () => process.exit(), stopAllTimeoutMs)
  try {
    const welcome = await startAll(running)
    for (const worker of ready()) sendTo(worker, { kind: 'all-ready' })
    for (const slot of slots) keepUp(running, slot)
    return { welcome, stop }
  } catch (error) {
    const { isStopping } = running
    await stop()
    if (isStopping) process.exit()
    throw error
  }
}

/**
 * Processes of another command could silently share the port. A port in use is found by listening
 * exclusively for a moment. A command that starts at the same time is found by an abstract socket,
 * which the system gives to one process at a time.
 */
async function requireFreePorts({ privateListener, publicListener }: Config): Promise<void> {
  for (const { host, port } of [privateListener, publicListener]) {
    const name = createServer().listen(`\0pinfold ${host}:${port}`)
    await once(name.unref(), 'listening').catch((cause: unknown) => {
      throw new StartRefusal(
        `Another Pinfold server is starting on ${host}:${port}: set PORT or PRIVATE_PORT.`,
        {
          cause,
        },
      )
    })
    const server = createServer().listen({ host, port })
    await once(server, 'listening')
    server.close()
    await once(server, 'close')
  }
}

/** How long a starting process is asked to stop, since it may be about to serve. */
const stopStartingMs = 500

interface Running {
  readonly slots: readonly Slot[]
  readonly relay: Relay
  readonly ready: (from?: Worker) => readonly Worker[]
  readonly log: Logger
  readonly onEnd: () => void
  isStopping: boolean
}

/**
 * Starts the first process alone: it migrates the schema and creates the master key, and its faults
 * are reported once.
 */
async function startAll(running: Running): Promise<string> {
  const [first, ...others] = running.slots
  if (!first) throw new Error('There is no process to start.')
  const { welcome } = await start(running, first)
  await Promise.all(others.map((slot) => start(running, slot)))
  return welcome
}

/** Starts a process. @throws `StartRefusal` when it ends before it is ready. */
async function start(running: Running, slot: Slot): Promise<{ readonly welcome: string }> {
  const { isStopping, log, ready, relay } = running
  if (isStopping) throw new StartRefusal('It was stopped while it started.')
  cluster.setupPrimary({ exec: program, args: [String(slot.number)] })
  const worker = cluster.fork()
  slot.worker = worker
  const { promise, reject, resolve } = Promise.withResolvers<{ readonly welcome: string }>()
  worker.on('message', (message: FromWorker) => {
    if (message.kind === 'ready') {
      slot.isReady = true
      log.info({ process: slot.number, pid: worker.process.pid }, 'a process is ready')
      resolve(message)
    } else if (message.kind === 'failed') reject(new StartRefusal(message.reason))
    else if (message.kind === 'request') void relay.forward(worker, message)
    else if (message.kind === 'answer') relay.answer(worker, message.id, message.content)
    else for (const other of ready(worker)) sendTo(other, message)
  })
  worker.once('exit', (code, signal) => {
    if (slot.worker === worker) Object.assign(slot, { worker: null, isReady: false })
    relay.ended(worker)
    // A reported reason has arrived before.
    reject(new StartRefusal(`Process ${slot.number} ended while it started (${signal ?? code}).`))
  })
  return promise
}

/** Restarts a process whenever it ends. */
function keepUp(running: Running, slot: Slot): void {
  const { log, onEnd } = running
  const { worker } = slot
  const upSinceMs = performance.now()
  const again = (ended: object, wasSteady = false) => {
    if (running.isStopping) return
    onEnd()
    slot.failures = wasSteady ? 1 : slot.failures + 1
    const pauseMs = Math.min(pauseMostMs, pauseLeastMs * 2 ** (slot.failures - 1))
    log.error({ process: slot.number, ...ended, pauseMs }, 'a process ended and is restarted')
    slot.timer = setTimeout(async () => {
      const started = await start(running, slot).catch((err: unknown) => ({ err }))
      if ('err' in started) return again(started)
      if (slot.worker) sendTo(slot.worker, { kind: 'all-ready' })
      keepUp(running, slot)
    }, pauseMs)
  }
  const ended = (code: number | null, signal: string | null) =>
    again(
      { pid: worker?.process.pid, code, signal },
      performance.now() - upSinceMs >= steadyAfterMs,
    )
  // It may have ended after it was ready.
  if (!worker || worker.isDead()) ended(null, null)
  else worker.once('exit', ended)
}

/**
 * Stops all processes concurrently. If one could not finish, the command did not. A starting
 * process has nothing to finish and may react late, so it is killed, as a start may be at any
 * moment.
 */
async function stopAll(running: Running): Promise<void> {
  running.isStopping = true
  const ends = running.slots.map(async ({ isReady, timer, worker }) => {
    clearTimeout(timer)
    if (!worker || worker.isDead()) return
    const exit = once(worker, 'exit')
    sendTo(worker, { kind: 'stop' })
    if (!isReady) setTimeout(() => worker.process.kill('SIGKILL'), stopStartingMs).unref()
    const [code] = await exit
    if (isReady && code !== 0) process.exitCode = 1
  })
  await Promise.all(ends)
}

/** Registers the metrics of the processes. */
function watchProcesses(slots: readonly Slot[]) {
  const registry = new Registry()
  new Gauge({
    name: 'pinfold_processes',
    help: 'Processes of this command that serve (ready) or are starting (starting).',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      const ready = slots.filter(({ isReady }) => isReady).length
      this.set({ state: 'ready' }, ready)
      this.set({ state: 'starting' }, slots.length - ready)
    },
  })
  const ends = new Counter({
    name: 'pinfold_process_ends_total',
    help: 'Processes of this command that ended unexpectedly and were restarted.',
    registers: [registry],
  })
  return { registry, count: () => ends.inc() }
}
