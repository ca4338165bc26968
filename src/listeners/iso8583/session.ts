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
 * How many faults in a row end a connection: messages that cannot be read and are not answered,
 * messages that cannot be read at all, answered or not, and wrong MACs.
 */
const faultsMost = { message: 5, unreadable: 50, mac: 5 }
type CountedFault = keyof typeof faultsMost
/**
 * A peer that is silent for so long is asked by TCP whether it is there: one that is gone keeps no
 * place.
 */
const keepAliveMs = 30_000
/** How long a sign-off may take, and then the last answers to be read. */
const signOffMs = 1_000
const closeMs = 500
/**
 * How long what is in work may take when the other side has closed its half, or has sent too much
 * that is wrong.
 */
const lastAnswersMs = 10_000

interface SessionOptions {
  readonly socket: Socket
  readonly link: Link
  readonly profile: Profile
  readonly services: LinkServices
  readonly load: connections.SharedLoad
  readonly work: connections.LinkWork
  /** Called when it was signed on or off. */
  onSignedOn(): void
  /** Called when it is over, with why. */
  onEnd(why: string): void
}

/** A connection of a link, from its beginning to its end. */
export interface RunningSession {
  /** What is on record of it. */
  state(): Parameters<LinkUpkeep['note']>[0]
  /** Signs on as the one that connected. @returns whether the other side accepts it. */
  signOn(): Promise<boolean>
  /** Asks whether the other side is there. */
  echo(): Promise<boolean>
  /** Signs off, finishes what is in work, and closes. */
  finish(withinMs: number): Promise<void>
  end(why: string): void
}

/** What the parts of a session have in common. */
interface Talk extends Conversation {
  readonly services: LinkServices
  readonly macParts: Parameters<typeof hasRightMac>[0]
  signedOnAt: Date | null
  isEnded: boolean
  /** Sends a message, under a MAC where there are some, in the frame of what it answers. */
  transmit(
    message: IsoMessage,
    asked: { message: IsoMessage; header: Buffer } | null,
  ): Promise<void>
  setSignedOn(isSignedOn: boolean): void
  /** Reports a fault of the other side, after which nothing more is read. */
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
  /** Reads nothing more, answers what is in work, and closes. */
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

/** What is done with what happens on a connection. */
interface Followed {
  receive(bytes: Buffer): void
  end(why: string): void
  /** Ends it once what is in work is answered. */
  endOnce(why: string): void
}

function follow(socket: Socket, { end, endOnce, receive }: Followed): void {
  socket.setNoDelay(true)
  socket.setKeepAlive(true, keepAliveMs)
  socket.on('data', receive)
  // It may read on: what it asked before is answered.
  socket.on('end', () => endOnce('the peer closed its half'))
  socket.on('error', () => end('the connection broke'))
  socket.on('close', () => end('the peer closed it'))
}

/**
 * Ends a connection once its last answers are on their way. Destroyed at once, or with bytes that
 * were not read, it would take them with it.
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

/** Messages of this side's own, and their answers. */
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
      // At once: a purchase may come right behind it.
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
    /** Takes an answer. One that nothing was asked for ends nothing. */
    settle(answer: IsoMessage): void {
      const waiter = asked.get(answer.fields['11'] ?? '')
      if (waiter) waiter(answer)
      else services.observe.failed(link.linkName, 'message', 'The answer matches no request.')
    },
  }
}

/** A message that cannot be read, with what can be read of it. */
interface UnreadableMessage {
  readonly readable: IsoMessage
  readonly refusal: IsoMessage
  /** Of the codec: a field and a place. */
  readonly detail: string
}

/** Counts what is wrong in a row: too much of it ends the connection. */
function createFaultCount({ fail, link, services: { observe } }: Talk) {
  const inARow = { message: 0, unreadable: 0, mac: 0 }
  return (counted: readonly CountedFault[], isWrong: boolean, detail?: string): void => {
    for (const each of counted) inARow[each] = isWrong ? inARow[each] + 1 : 0
    const fault = counted.includes('mac') ? 'mac' : 'message'
    if (counted.some((each) => inARow[each] >= faultsMost[each])) fail(fault, detail)
    else if (isWrong) observe.failed(link.linkName, fault, detail)
  }
}

/** How frames are taken: read, counted, answered. */
function answering(
  talk: Talk,
  settle: (answer: IsoMessage) => void,
): Parameters<typeof connections.createQueue>[0]['begin'] {
  const { link, profile, services } = talk
  const { observe } = services
  const count = createFaultCount(talk)
  /** What comes behind it is understood as it is after it: a sign-on, or the answer to one. */
  let before: Promise<void> | null = null

  /**
   * Answers a message that cannot be read, where what can be read of it says which one it is; null
   * where not.
   */
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
    // An answer echoes fields: a peer without the key would get a MAC over fields of its choice.
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
  ): Promise<void> {
    const handled = await handle(services, talk, { message, bytes, at })
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

  async function take(frame: connections.ReceivedFrame, message: IsoMessage): Promise<void> {
    if (readFunction(message.mti) !== 'answer') return answer(frame, message)
    const isRight = await hasRightMac(talk.macParts, message, frame.message)
    count(['mac'], !isRight)
    if (isRight) settle(message)
  }

  return (frame) => {
    if (talk.isEnded) return null
    const faulted = (error: unknown) => observe.faulted(link.linkName, error)
    const read = decoded(profile, frame.message)
    if (read instanceof CodecError) return refuse(frame, read)?.catch(faulted) ?? null
    count(['message', 'unreadable'], false)
    const ready = before ?? Promise.resolve()
    const taken = ready.then(() => take(frame, read)).catch(faulted)
    if (changesConversation(profile, read)) {
      const settled = taken.finally(() => {
        if (before === settled) before = null
      })
      before = settled
    }
    return taken
  }
}

/** The message of these bytes, or what is wrong with them. */
function decoded({ layout }: Profile, bytes: Buffer): IsoMessage | CodecError {
  try {
    return decode(layout, bytes)
  } catch (error) {
    if (!(error instanceof CodecError)) throw error
    return error
  }
}
