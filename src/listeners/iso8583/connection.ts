import type { Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { composeFrame, createFrameReader, FrameError, type Framing } from './codec/frame.ts'
import type { LinkFault } from './observer.ts'

/**
 * Waits for a promise, but not longer than a time. The timer does not keep the process running, so
 * that a connection that ended does not delay a stop.
 */
export async function within(ms: number, done: Promise<unknown> | null): Promise<void> {
  await Promise.race([done, wait(ms, undefined, { ref: false })])
}

/** A received frame, and when it was read. */
export interface ReceivedFrame {
  readonly header: Buffer
  readonly message: Buffer
  readonly at: number
}

/** Reports a fault of the peer; the connection ends. */
type OnFault = (fault: LinkFault, detail?: string) => void

interface InputOptions {
  readonly framing: Framing
  /** The maximum time from the first byte of a frame to its last. */
  readonly frameMs: number
  onFrames(frames: readonly ReceivedFrame[]): void
  readonly onFault: OnFault
}

/** Splits the received bytes into frames. */
export function createInput({ frameMs, framing, onFault, onFrames }: InputOptions) {
  const reader = createFrameReader(framing)
  let timer: NodeJS.Timeout | null = null
  const stopTimer = () => {
    if (timer) clearTimeout(timer)
    timer = null
  }
  return {
    stop: stopTimer,
    receive(bytes: Buffer): void {
      try {
        const frames = reader.push(bytes)
        // A frame must be complete in time, however slowly its bytes arrive.
        if (frames.length > 0 || reader.waiting() === 0) stopTimer()
        if (reader.waiting() > 0) {
          const late = () =>
            onFault('slow frame', reader.suspicion() ?? 'A frame was not complete in time.')
          timer ??= setTimeout(late, frameMs)
        }
        const at = performance.now()
        // An empty frame is a keep-alive.
        const filled = frames.filter(({ message }) => message.length > 0)
        if (filled.length > 0) onFrames(filled.map((frame) => ({ ...frame, at })))
        // A fault behind these frames is detected now, not with the next bytes.
        if (frames.length > 0) reader.push(Buffer.alloc(0))
      } catch (error) {
        if (!(error instanceof FrameError)) throw error
        onFault('frame', error.message)
      }
    },
  }
}

/** The maximum time for which answers wait until the peer reads them, and their maximum size. */
const unreadMs = 10_000
const unreadBytesMax = 262_144

interface OutputOptions {
  readonly socket: Socket
  readonly framing: Framing
  readonly onFault: OnFault
}

/** Sends messages to a peer that reads them. */
export function createOutput({ framing, onFault, socket }: OutputOptions) {
  let timer: NodeJS.Timeout | null = null
  const stopTimer = () => {
    if (timer) clearTimeout(timer)
    timer = null
  }
  socket.on('drain', stopTimer)
  return {
    stop: stopTimer,
    send(message: Uint8Array, header: Buffer | null): void {
      // The answers of one turn are sent together.
      socket.cork()
      process.nextTick(() => socket.uncork())
      const isTaken = socket.write(
        composeFrame(framing, message, header?.length ? header : undefined),
      )
      if (socket.writableLength > unreadBytesMax) onFault('not reading')
      else if (!isTaken) timer ??= setTimeout(() => onFault('not reading'), unreadMs)
    },
  }
}

/** The running work of all links of a process. Links stop reading while it exceeds the limit. */
export interface SharedLoad {
  inFlight: number
  /** Called when capacity becomes free. */
  readonly waiting: Set<() => void>
}

/** The running work of all connections of one link. */
export interface LinkWork {
  inFlight: number
}

/** The limits of running messages of a link, and of all links. */
const inFlightMax = { link: 64, all: 256 } as const

interface QueueOptions {
  readonly load: SharedLoad
  readonly work: LinkWork
  /**
   * Begins a frame, which runs until the promise resolves; null if there is nothing to do.
   * @param release called when the frame waits for a card's client: it then counts in no limit.
   */
  begin(frame: ReceivedFrame, release: () => void): Promise<void> | null
  /** Sets whether the connection is read. */
  read(isWanted: boolean): void
}

/** Begins frames while capacity is free; otherwise the connection is not read. */
export function createQueue({ begin, load, read, work }: QueueOptions) {
  let waiting: readonly ReceivedFrame[] = []
  /** The number of waiting frames that have begun. */
  let begun = 0
  let inFlight = 0
  const count = (step: 1 | -1) => {
    work.inFlight += step
    load.inFlight += step
  }
  /** Counts a frame until the returned function is called, once or more often. */
  const enter = (): (() => void) => {
    let isCounted = true
    count(1)
    return () => {
      if (!isCounted) return
      isCounted = false
      count(-1)
      for (const goOn of [...load.waiting]) goOn()
    }
  }
  const pump = () => {
    const already = begun
    while (work.inFlight < inFlightMax.link && load.inFlight < inFlightMax.all) {
      const next = waiting[begun]
      if (!next) break
      begun += 1
      let leave: (() => void) | null = null
      const doing = begin(next, () => leave?.())
      if (!doing) continue
      inFlight += 1
      leave = enter()
      void doing.finally(() => {
        inFlight -= 1
        leave?.()
      })
    }
    const isIdle = begun === waiting.length
    // A connection that had its turn goes to the end, so that none waits forever.
    if (isIdle || begun > already) load.waiting.delete(pump)
    if (!isIdle) load.waiting.add(pump)
    read(isIdle)
  }
  return {
    /** Resolves when no frame is running or waiting. */
    async idle(): Promise<void> {
      while (inFlight > 0 || begun < waiting.length) await wait(20)
    },
    add(frames: readonly ReceivedFrame[]): void {
      waiting = [...waiting.slice(begun), ...frames]
      begun = 0
      pump()
    },
    drop(): void {
      waiting = []
      begun = 0
      load.waiting.delete(pump)
    },
  }
}
