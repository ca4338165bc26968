import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Hsm } from '../hsm/contract/hsm.ts'
import { recordLostBlocks } from '../operations/authorizations/settle.ts'
import type { CardOperations } from '../operations/cards/cards.ts'
import { sweep } from '../operations/cards/status.ts'
import type { KeyOperations } from '../operations/keys/keys.ts'
import { advanceKeys, followKeys } from '../operations/keys/rotate.ts'
import { recordUses } from '../operations/keys/uses.ts'
import { prunePinEnvelopes } from '../storage/cards/changes.ts'
import { pruneLimits } from '../storage/cards/limits.ts'
import { pruneWrongExpiries } from '../storage/cards/wrong-expiries.ts'
import { pruneAssertions } from '../storage/clients/assertions.ts'
import type { Connection, Database } from '../storage/engine/database.ts'
import { claimLease, releaseLease } from '../storage/engine/leases.ts'

const sweepIntervalMs = 30_000

/**
 * Sweeps now and then until it is stopped, which ends a sweep between two of its steps. A part that fails
 * is tried again at the next turn.
 */
export function startSweeping(issuing: CardOperations, log: Logger): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const parts: readonly ((stop: AbortSignal) => Promise<unknown>)[] = [
    (stop) => sweep(issuing, stop),
    (stop) => recordLostBlocks(issuing, stop),
    (stop) => forgetUsedOnce(issuing.database, new Date(), stop),
  ]
  const sweepAll = async () => {
    for (const part of parts) {
      if (stopping.signal.aborted) return
      await part(stopping.signal).catch((err: unknown) => log.warn({ err }, 'a sweep failed'))
    }
  }
  let running = Promise.resolve()
  const turn = () => {
    running = running.then(sweepAll)
  }
  const timer = setInterval(turn, sweepIntervalMs)
  turn()
  return {
    stop() {
      clearInterval(timer)
      stopping.abort()
      return running
    },
  }
}

/** Rows forgotten at a time, so that nobody is held up. */
const stepSize = 100
/** Steps of one turn; the next one goes on from there. */
const stepsMost = 1_000

/**
 * How far the clocks of two processes may be apart: what is over by this one's clock may still be
 * taken by another one, if nobody remembers it.
 */
const clockMarginMs = 5 * 60_000

const prunes: readonly ((connection: Connection, at: Date, limit: number) => Promise<number>)[] = [
  pruneAssertions,
  prunePinEnvelopes,
  pruneWrongExpiries,
  (connection, at, limit) => pruneLimits(connection, 'card', at, limit),
  (connection, at, limit) => pruneLimits(connection, 'client', at, limit),
]

/**
 * Forgets what was taken once and would be refused for its age by now: client assertions, and PINs that
 * were sealed on a device. And what counts no more: uses of limits, wrong expiries.
 * @param stop ends it between two steps.
 */
export async function forgetUsedOnce(
  connection: Connection,
  now: Date,
  stop: AbortSignal = new AbortController().signal,
): Promise<void> {
  const expiredBefore = new Date(now.getTime() - clockMarginMs)
  for (const prune of prunes) {
    for (let step = 0; step < stepsMost && !stop.aborted; step += 1) {
      if ((await prune(connection, expiredBefore, stepSize)) < stepSize) break
    }
  }
}

/**
 * Follows the keys, and brings rotations on, until it is stopped. What fails is tried again at the
 * next turn; while the keys cannot be read for long, the HSM refuses by itself.
 */
export function startKeyKeeping(keys: KeyOperations, log: Logger): { stop(): Promise<void> } {
  let isStopped = false
  const uses = recordUses(keys)
  const repeat = async (turn: () => Promise<void>, failure: string) => {
    while (!isStopped) {
      await turn().catch((err: unknown) => log.warn({ err }, failure))
      await rest()
    }
  }
  let wake = (): void => undefined
  const resting = new Promise<void>((resolve) => {
    wake = resolve
  })
  const rest = () => {
    let timer: NodeJS.Timeout | undefined
    const due = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, keys.timings.refreshMs)
    })
    return Promise.race([due, resting]).finally(() => clearTimeout(timer))
  }
  const running = Promise.all([
    repeat(() => followKeys(keys), 'the keys could not be read'),
    repeat(uses.setAside, 'the uses of keys could not be put on record'),
    // A pass may take long: it must not keep this process from following.
    repeat(() => advanceKeys(keys, () => isStopped), 'a rotation could not go on'),
  ])
  return {
    async stop() {
      isStopped = true
      wake()
      await running
      await uses.giveBack().catch((err: unknown) => log.warn({ err }, 'uses of keys are lost'))
    },
  }
}

const leaseName = 'make-card-data-keys'
const leaseSeconds = 30
const renewAfterMs = 10_000
/** How long a process waits that is not the one to make them. */
const standByMs = 1_000
const retryMs = 5_000

/** What makes the keys, and what says who does. */
interface KeyMaking {
  readonly database: Database
  readonly hsm: Hsm
  readonly log: Logger
}

/**
 * Makes the keys that take long to make, beside everything else, until they are there or it is
 * stopped. Where several processes start at once, one makes them, by lease. The lease spares work: were
 * it lost, two would make them, and the first one's be kept.
 */
export function startMakingKeys(making: KeyMaking): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const { signal } = stopping
  const running = makeUntilThere(making, signal).catch(() => undefined)
  return {
    async stop() {
      stopping.abort()
      await running
    },
  }
}

/** @throws AbortError when it is stopped. */
async function makeUntilThere(making: KeyMaking, signal: AbortSignal): Promise<void> {
  const holder = randomUUID()
  while (!signal.aborted) {
    const outcome = await tryToMake(making, holder, signal)
    if (outcome === 'made') return
    await wait(outcome === 'failed' ? retryMs : standByMs, undefined, { signal })
  }
}

async function tryToMake(
  making: KeyMaking,
  holder: string,
  signal: AbortSignal,
): Promise<'made' | 'failed' | 'another makes them'> {
  try {
    const isOurs = await claimLease(making.database, leaseName, holder, leaseSeconds)
    if (!isOurs) return 'another makes them'
    await makeUnderLease(making, holder, signal)
    return 'made'
  } catch (err) {
    if (!signal.aborted) making.log.warn({ err }, 'keys could not be made')
    return 'failed'
  }
}

async function makeUnderLease(
  { database, hsm }: KeyMaking,
  holder: string,
  signal: AbortSignal,
): Promise<void> {
  const renew = () => {
    // The next turn comes before it is over.
    claimLease(database, leaseName, holder, leaseSeconds).catch(() => undefined)
  }
  const timer = setInterval(renew, renewAfterMs)
  try {
    await hsm.generateCardDataKeys(signal)
  } finally {
    clearInterval(timer)
    await releaseLease(database, leaseName, holder).catch(() => undefined)
  }
}
