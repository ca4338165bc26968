import type { Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { composeFrame, createFrameReader, FrameError, type Framing } from './codec/frame.ts'
import type { LinkFault } from './observer.ts'

/**
 * Waits for something, but no longer than this. The timer does not keep the process: a connection
 * that ended long before a stop would hold that stop up.
 */
export async function within(ms: number, done: Promise<unknown> | null): Promise<void> {
  await Promise.race([done, wait(ms, undefined, { ref: false })])
}

/** A frame that waits to be looked at, and when it was read. */
export interface ReceivedFrame {
  readonly header: Buffer
  readonly message: Buffer
  readonly at: number
}

/** Says what is wrong with the other side; the connection ends. */
type OnFault = (fault: LinkFault, detail?: string) => void

interface InputOptions {
  readonly framing: Framing
  /** How long a frame may take from its first byte to its last. */
  readonly frameMs: number
  onFrames(frames: readonly ReceivedFrame[]): void
  readonly onFault: OnFault
}

/** Takes what comes on a connection apart. */
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
        // A frame that has begun must be whole in time, however slowly its bytes come.
        if (frames.length > 0 || reader.waiting() === 0) stopTimer()
        if (reader.waiting() > 0) {
          const late = () =>
            onFault('slow frame', reader.suspicion() ?? 'A frame was not complete in time.')
          timer ??= setTimeout(late, frameMs)
        }
        const at = performance.now()
        // An empty one only says that its sender is there.
        const filled = frames.filter(({ message }) => message.length > 0)
        if (filled.length > 0) onFrames(filled.map((frame) => ({ ...frame, at })))
        // What is wrong behind them is found now, not with what comes next.
        if (frames.length > 0) reader.push(Buffer.alloc(0))
      } catch (error) {
        if (!(error instanceof FrameError)) throw error
        onFault('frame', error.message)
      }
    },
  }
}

/** For how long answers may wait for the other side to read them, and how many bytes of them. */
const unreadMs = 10_000
const unreadBytesMax = 262_144

interface OutputOptions {
  readonly socket: Socket
  readonly framing: Framing
  readonly onFault: OnFault
}

/** Sends messages, to a peer that reads them. */
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
      // Answers of one turn go out together.
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

/** What is in work on all links of a process, so that none is read while there is too much. */
export interface SharedLoad {
  inFlight: number
  /** Those that go on when less is in work. */
  readonly waiting: Set<() => void>
}

/** What is in work on all connections of one link. */
export interface LinkWork {
  inFlight: number
}

/** In work at once on a link, and in all. */
const inFlightMax = { link: 64, all: 256 } as const

interface QueueOptions {
  readonly load: SharedLoad
  readonly work: LinkWork
  /** Begins with a frame, which is in work until it resolves; null: there is nothing to do. */
  begin(frame: ReceivedFrame): Promise<void> | null
  /** Whether more is to be read. */
  read(isWanted: boolean): void
}

/** Lets frames begin while not too much is in work; else the connection is not read any further. */
export function createQueue({ begin, load, read, work }: QueueOptions) {
  let waiting: readonly ReceivedFrame[] = []
  /** Of those that wait, how many have begun. */
  let begun = 0
  let inFlight = 0
  const count = (step: 1 | -1) => {
    inFlight += step
    work.inFlight += step
    load.inFlight += step
  }
  const done = () => {
    count(-1)
    for (const goOn of [...load.waiting]) goOn()
  }
  const pump = () => {
    const already = begun
    while (work.inFlight < inFlightMax.link && load.inFlight < inFlightMax.all) {
      const next = waiting[begun]
      if (!next) break
      begun += 1
      const doing = begin(next)
      if (!doing) continue
      count(1)
      void doing.finally(done)
    }
    const isIdle = begun === waiting.length
    // Whoever had a turn goes to the end, so that none waits for the same others for ever.
    if (isIdle || begun > already) load.waiting.delete(pump)
    if (!isIdle) load.waiting.add(pump)
    read(isIdle)
  }
  return {
    /** Resolves when nothing is in work, and nothing waits. */
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
