import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import type { Link, LinkUpkeep } from '../../operations/links/links.ts'
import { managementMessage } from './answer.ts'
import { CodecError, type IsoMessage } from './codec/layout.ts'
import { decode, decodeReadable } from './codec/message.ts'
import * as connections from './connection.ts'
import {
  answerToUnreadable,
  type Conversation,
  changesConversation,
  findWork,
  handle,
  type LinkServices,
} from './handler.ts'
import { findMacKeyName, hasRightMac, sealed } from './message-mac.ts'
import { readFunction } from './network-messages.ts'
import type { LinkFault } from './observer.ts'
import type { Profile } from './profile-schema.ts'

/**
 * The consecutive faults after which a connection ends: unreadable messages without an answer, all
 * unreadable messages, and wrong MACs.
 */
const faultsMost = { message: 5, unreadable: 50, mac: 5 }
type CountedFault = keyof typeof faultsMost
/**
 * TCP probes a peer that is silent for this long, so that a lost peer does not hold a connection.
 */
const keepAliveMs = 30_000
/** The time limits of a sign-off, and of the last answers after it. */
const signOffMs = 1_000
const closeMs = 500
/**
 * The time limit of running work after the peer has closed its half, or has sent too many faults.
 */
const lastAnswersMs = 10_000

interface SessionOptions {
  readonly socket: Socket
  readonly link: Link
  readonly profile: Profile
  readonly services: LinkServices
  readonly load: connections.SharedLoad
  readonly work: connections.LinkWork
  /** Called after a sign-on or sign-off. */
  onSignedOn(): void
  /** Called at its end, with the reason. */
  onEnd(why: string): void
}

/** A running connection of a link. */
export interface RunningSession {
  /** Returns its recorded state. */
  state(): Parameters<LinkUpkeep['note']>[0]
  /**
   * Signs on, for a dialled connection.
   * @returns whether the peer accepted it.
   */
  signOn(): Promise<boolean>
  /** Checks with an echo whether the peer answers. */
  echo(): Promise<boolean>
  /** Signs off, finishes running work, and closes. */
  finish(withinMs: number): Promise<void>
  end(why: string): void
}

/** The shared parts of a session. */
interface Talk extends Conversation {
  readonly services: LinkServices
  readonly macParts: Parameters<typeof hasRightMac>[0]
  signedOnAt: Date | null
  isEnded: boolean
  /** Sends a message, with a MAC if required, in the frame of its request. */
  transmit(
    message: IsoMessage,
    asked: { message: IsoMessage; header: Buffer } | null,
  ): Promise<void>
  setSignedOn(isSignedOn: boolean): void
  /** Reports a fault of the peer, after which nothing is read. */
  fail(fault: LinkFault, detail?: string): void
}

/** Runs a connection. */
export function runSession(options: SessionOptions): RunningSession {
  const { link, load, onEnd, profile, services, socket, work } = options
  const { framing, timers } = profile
  const begun = { sessionId: randomUUID(), connectedAt: new Date() }
  const peer = socket.remoteAddress ?? ''
  let isFinishing = false

  const end = (why: string) => {
    if (talk.isEnded) return
    talk.isEnded = true
    for (const part of [input, output]) part.stop()
    queue.drop()
    socket.destroy()
    services.observe.ended(link.linkName, why)
    onEnd(why)
  }
  /** Stops reading, answers running work, and closes. */
  const endAnswered = async (why: string, withinMs: number) => {
    isFinishing = true
    input.stop()
    socket.pause()
    await connections.within(withinMs, queue.idle())
    if (!talk.isEnded) await closeGently(socket)
    end(why)
  }
  const endOnce = (why: string) => {
    if (!isFinishing && !talk.isEnded) void endAnswered(why, lastAnswersMs)
  }
  const onFault = (fault: LinkFault, detail?: string) => {
    services.observe.failed(link.linkName, fault, detail)
    const why = detail ?? fault
    if (fault === 'not reading') end(why)
    else endOnce(why)
  }
  const output = connections.createOutput({ socket, framing, onFault })
  const talk = createTalk(options, output, onFault)
  const requests = createRequests(talk)
  const queue = connections.createQueue({
    load,
    work,
    begin: answering(talk, requests.settle),
    read: (isWanted) => (isWanted && !isFinishing ? socket.resume() : socket.pause()),
  })
  const { frameMs } = timers
  const input = connections.createInput({ framing, frameMs, onFrames: queue.add, onFault })
  follow(socket, {
    receive: (bytes) => {
      if (!isFinishing) input.receive(bytes)
    },
    end,
    endOnce,
  })
  return {
    state: () => ({ ...begun, linkName: link.linkName, peer, signedOnAt: talk.signedOnAt }),
    signOn: requests.signOn,
    echo: () => requests.ask('echo'),
    async finish(withinMs) {
      const until = performance.now() + withinMs
      if (talk.signedOnAt && !talk.isEnded) {
        await connections.within(Math.min(signOffMs, withinMs), requests.ask('signOff'))
      }
      await endAnswered('the service is stopping', Math.max(0, until - performance.now()))
    },
    end,
  }
}

type Output = ReturnType<typeof connections.createOutput>

function createTalk(
  { link, onSignedOn, profile, services }: SessionOptions,
  output: Output,
  fail: Talk['fail'],
): Talk {
  const macParts = { macs: services.macs, profile, networkId: link.networkId }
  const talk: Talk = {
    link,
    profile,
    services,
    macParts,
    signedOnAt: null,
    isEnded: false,
    fail,
    async transmit(message, asked) {
      const bytes = await sealed(macParts, message, asked && findMacKeyName(profile, asked.message))
      if (!talk.isEnded) output.send(bytes, asked?.header ?? null)
    },
    setSignedOn(isSignedOn) {
      talk.signedOnAt = isSignedOn ? new Date() : null
      services.observe.signedOn(link.linkName, isSignedOn)
      onSignedOn()
    },
  }
  return talk
}

/** The handlers of a connection's events. */
interface Followed {
  receive(bytes: Buffer): void
  end(why: string): void
  /** Ends the connection after running work is answered. */
  endOnce(why: string): void
}

function follow(socket: Socket, { end, endOnce, receive }: Followed): void {
  socket.setNoDelay(true)
  socket.setKeepAlive(true, keepAliveMs)
  socket.on('data', receive)
  // The peer may still read: its earlier requests are answered.
  socket.on('end', () => endOnce('the peer closed its half'))
  socket.on('error', () => end('the connection broke'))
  socket.on('close', () => end('the peer closed it'))
}

/**
 * Ends a connection after its last answers are sent. Closing it at once, or with unread bytes,
 * would discard them.
 */
async function closeGently(socket: Socket): Promise<void> {
  if (socket.destroyed) return
  const flushed = once(socket, 'finish').catch(() => undefined)
  const left = socket.readableEnded ? null : once(socket, 'close').catch(() => undefined)
  socket.end()
  await connections.within(closeMs, flushed)
  socket.resume()
  await connections.within(closeMs, left)
}

/** Sends the service's own messages, and receives their answers. */
function createRequests(talk: Talk) {
  const { link, profile, services } = talk
  const asked = new Map<string, (answer: IsoMessage) => void>()

  /** @returns whether it was accepted in time. */
  async function ask(purpose: 'signOn' | 'signOff' | 'echo'): Promise<boolean> {
    const message = managementMessage(profile, purpose)
    const trace = message.fields['11'] ?? ''
    const due = profile.accepted['8'] ?? profile.responses['00'] ?? '00'
    const { promise, resolve } = Promise.withResolvers<boolean>()
    asked.set(trace, ({ fields }) => {
      const isAccepted = fields['39'] === due
      // At once, because a purchase may follow immediately.
      if (purpose === 'signOn' && isAccepted) talk.setSignedOn(true)
      resolve(isAccepted)
    })
    // A stop does not wait for it.
    const timer = setTimeout(() => resolve(false), profile.timers.answerMs).unref()
    try {
      await talk.transmit(message, null)
      return await promise
    } catch (error) {
      services.observe.faulted(link.linkName, error)
      return false
    } finally {
      clearTimeout(timer)
      asked.delete(trace)
    }
  }

  return {
    ask,
    signOn: () => ask('signOn'),
    /** Handles an answer. An unexpected answer does not end the connection. */
    settle(answer: IsoMessage): void {
      const waiter = asked.get(answer.fields['11'] ?? '')
      if (waiter) waiter(answer)
      else services.observe.failed(link.linkName, 'message', 'The answer matches no request.')
    },
  }
}

/** An unreadable message, with its readable part. */
interface UnreadableMessage {
  readonly readable: IsoMessage
  readonly refusal: IsoMessage
  /** From the codec: a field and an offset. */
  readonly detail: string
}

/** Counts consecutive faults, and ends the connection after too many. */
function createFaultCount({ fail, link, services: { observe } }: Talk) {
  const inARow = { message: 0, unreadable: 0, mac: 0 }
  return (counted: readonly CountedFault[], isWrong: boolean, detail?: string): void => {
    for (const each of counted) inARow[each] = isWrong ? inARow[each] + 1 : 0
    const fault = counted.includes('mac') ? 'mac' : 'message'
    if (counted.some((each) => inARow[each] >= faultsMost[each])) fail(fault, detail)
    else if (isWrong) observe.failed(link.linkName, fault, detail)
  }
}

/** Handles frames: reads, counts and answers them. */
function answering(
  talk: Talk,
  settle: (answer: IsoMessage) => void,
): Parameters<typeof connections.createQueue>[0]['begin'] {
  const { link, profile, services } = talk
  const { observe } = services
  const count = createFaultCount(talk)
  /** The messages behind a sign-on, or behind its answer, are handled after it. */
  let before: Promise<void> | null = null

  /** Answers an unreadable message if its readable part identifies it; null otherwise. */
  function refuse(
    frame: connections.ReceivedFrame,
    { message: detail }: CodecError,
  ): Promise<void> | null {
    const readable = decodeReadable(profile.layout, frame.message)
    const refusal = answerToUnreadable(talk, readable)
    if (readable && refusal) return answerUnreadable(frame, { readable, refusal, detail })
    count(['message', 'unreadable'], true, detail)
    return null
  }

  async function answerUnreadable(
    { at, header, message: bytes }: connections.ReceivedFrame,
    { detail, readable, refusal }: UnreadableMessage,
  ): Promise<void> {
    // An answer echoes fields: without this check, a peer without the key could obtain a MAC over
    // fields of its choice.
    if (!(await hasRightMac(talk.macParts, readable, bytes))) {
      count(['message', 'unreadable'], true, detail)
      return
    }
    count(['message'], false)
    count(['unreadable'], true, detail)
    observe.answered(link.linkName, { type: 'other', outcome: '30', replayed: false, at })
    await talk.transmit(refusal, { message: readable, header })
  }

  async function answer(
    { at, header, message: bytes }: connections.ReceivedFrame,
    message: IsoMessage,
    release: () => void,
  ): Promise<void> {
    const handled = await handle(services, talk, { message, bytes, at, release })
    if (handled.outcome === 'late') {
      observe.failed(link.linkName, 'deadline')
      return
    }
    const { isForged = false, outcome, replayed = false, signsOn } = handled
    if (signsOn !== undefined) talk.setSignedOn(signsOn)
    if (handled.answer) await talk.transmit(handled.answer, { message, header })
    const type = findWork(profile, message) ? message.mti : 'other'
    observe.answered(link.linkName, { type, outcome, replayed, at })
    count(['mac'], isForged)
  }

  async function take(
    frame: connections.ReceivedFrame,
    message: IsoMessage,
    release: () => void,
  ): Promise<void> {
    if (readFunction(message.mti) !== 'answer') return answer(frame, message, release)
    const isRight = await hasRightMac(talk.macParts, message, frame.message)
    count(['mac'], !isRight)
    if (isRight) settle(message)
  }

  return (frame, release) => {
    if (talk.isEnded) return null
    const faulted = (error: unknown) => observe.faulted(link.linkName, error)
    const read = decoded(profile, frame.message)
    if (read instanceof CodecError) return refuse(frame, read)?.catch(faulted) ?? null
    count(['message', 'unreadable'], false)
    const ready = before ?? Promise.resolve()
    const taken = ready.then(() => take(frame, read, release)).catch(faulted)
    if (changesConversation(profile, read)) {
      const settled = taken.finally(() => {
        if (before === settled) before = null
      })
      before = settled
    }
    return taken
  }
}

/** Decodes a message, or returns its fault. */
function decoded({ layout }: Profile, bytes: Buffer): IsoMessage | CodecError {
  try {
    return decode(layout, bytes)
  } catch (error) {
    if (!(error instanceof CodecError)) throw error
    return error
  }
}
