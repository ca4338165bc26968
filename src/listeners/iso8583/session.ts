import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import type { Link, LinkUpkeep } from '../../operations/links/links.ts'
import { managementMessage } from './answer.ts'
import { CodecError, type IsoMessage } from './codec/layout.ts'
import { decode } from './codec/message.ts'
import * as connections from './connection.ts'
import { type Conversation, handle, type LinkServices, workOf } from './handler.ts'
import { hasRightMac, macKeyOf, sealed } from './message-mac.ts'
import type { LinkFault } from './observer.ts'
import type { Profile } from './profile.ts'
import { functionOf } from './question.ts'

/** Messages in a row that cannot be read, and MACs in a row that are wrong. */
const faultsMax = 5
/** A peer that is silent for so long is asked by TCP whether it is there: one that is gone keeps no place. */
const keepAliveMs = 30_000
/** How long a sign-off may take, and then the last answers to be read. */
const signOffMs = 1_000
const closeMs = 500

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
  const onFault = (fault: LinkFault, detail?: string) => {
    services.observe.failed(link.linkName, fault, detail)
    end(detail ?? fault)
  }
  const output = connections.createOutput({ socket, framing, onFault })
  const macParts = { macs: services.macs, profile, networkId: link.networkId }
  const talk: Talk = {
    ...{ link, profile, services, macParts, signedOnAt: null, isEnded: false, fail: onFault },
    async transmit(message, asked) {
      const bytes = await sealed(macParts, message, asked && macKeyOf(profile, asked.message))
      if (!talk.isEnded) output.send(bytes, asked?.header ?? null)
    },
    setSignedOn(isSignedOn) {
      talk.signedOnAt = isSignedOn ? new Date() : null
      services.observe.signedOn(link.linkName, isSignedOn)
      options.onSignedOn()
    },
  }
  const requests = createRequests(talk)
  const queue = connections.createQueue({
    ...{ load, work, begin: answering(talk, requests.settle) },
    read: (isWanted) => (isWanted && !isFinishing ? socket.resume() : socket.pause()),
  })
  const { frameMs } = timers
  const input = connections.createInput({ framing, frameMs, onFrames: queue.add, onFault })
  follow(socket, input.receive, end)
  return {
    state: () => ({ ...begun, linkName: link.linkName, peer, signedOnAt: talk.signedOnAt }),
    signOn: requests.signOn,
    echo: () => requests.ask('echo'),
    async finish(withinMs) {
      const until = performance.now() + withinMs
      if (talk.signedOnAt && !talk.isEnded) {
        await Promise.race([requests.ask('signOff'), wait(Math.min(signOffMs, withinMs))])
      }
      isFinishing = true
      socket.pause()
      await Promise.race([queue.idle(), wait(Math.max(0, until - performance.now()))])
      if (!talk.isEnded) await closeGently(socket)
      end('this side stops')
    },
    end,
  }
}

function follow(
  socket: Socket,
  receive: (bytes: Buffer) => void,
  end: (why: string) => void,
): void {
  socket.setNoDelay(true)
  socket.setKeepAlive(true, keepAliveMs)
  socket.on('data', receive)
  socket.on('error', () => end('the connection broke'))
  socket.on('close', () => end('the other side closed it'))
}

/** Ends a connection once its last answers are on their way: destroyed at once, it would take them with it. */
async function closeGently(socket: Socket): Promise<void> {
  if (socket.destroyed) return
  const flushed = once(socket, 'finish').catch(() => undefined)
  socket.end()
  await Promise.race([flushed, wait(closeMs)])
}

/** Messages of this side's own, and their answers. */
function createRequests(talk: Talk) {
  const { link, profile, services } = talk
  const asked = new Map<string, (answer: IsoMessage) => void>()

  /** @returns whether it was accepted in time. */
  async function ask(purpose: 'signOn' | 'signOff' | 'echo'): Promise<boolean> {
    const message = managementMessage(profile, purpose)
    const trace = message.fields['11'] ?? ''
    const { promise, resolve } = Promise.withResolvers<IsoMessage | null>()
    asked.set(trace, resolve)
    const timer = setTimeout(() => resolve(null), profile.timers.answerMs)
    try {
      await talk.transmit(message, null)
      const response = (await promise)?.fields['39']
      return response === (profile.accepted['8'] ?? profile.responses['00'] ?? '00')
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
    async signOn(): Promise<boolean> {
      const isAccepted = await ask('signOn')
      if (isAccepted) talk.setSignedOn(true)
      return isAccepted
    },
    /** Takes an answer. One that nothing was asked for ends nothing. */
    settle(answer: IsoMessage): void {
      const waiter = asked.get(answer.fields['11'] ?? '')
      if (waiter) waiter(answer)
      else
        services.observe.failed(link.linkName, 'message', 'An answer that nothing was asked for.')
    },
  }
}

/** How frames are taken: read, counted, answered. */
function answering(
  talk: Talk,
  settle: (answer: IsoMessage) => void,
): Parameters<typeof connections.createQueue>[0]['begin'] {
  const { link, profile, services } = talk
  const { observe } = services
  const inARow = { message: 0, mac: 0 }

  /** Counts what is wrong in a row: too much of it ends the connection. */
  function count(fault: 'message' | 'mac', isWrong: boolean, detail?: string): void {
    inARow[fault] = isWrong ? inARow[fault] + 1 : 0
    if (inARow[fault] >= faultsMax) talk.fail(fault, detail)
    else if (isWrong) observe.failed(link.linkName, fault, detail)
  }

  function decoded(bytes: Buffer): IsoMessage | null {
    try {
      const message = decode(profile.layout, bytes)
      count('message', false)
      return message
    } catch (error) {
      if (!(error instanceof CodecError)) throw error
      count('message', true, error.message)
      return null
    }
  }

  async function answer(
    { at, header, message: bytes }: connections.ReceivedFrame,
    message: IsoMessage,
  ): Promise<void> {
    const handled = await handle(services, talk, { message, bytes, at })
    if (!handled.answer) {
      observe.failed(link.linkName, 'deadline')
      return
    }
    const { isForged = false, outcome, replayed = false, signsOn } = handled
    if (signsOn !== undefined) talk.setSignedOn(signsOn)
    await talk.transmit(handled.answer, { message, header })
    const type = workOf(profile, message) ? message.mti : 'other'
    observe.answered(link.linkName, { type, outcome, replayed, at })
    count('mac', isForged)
  }

  async function take(frame: connections.ReceivedFrame, message: IsoMessage): Promise<void> {
    if (functionOf(message.mti) !== 'answer') return answer(frame, message)
    const isRight = await hasRightMac(talk.macParts, message, frame.message)
    count('mac', !isRight)
    if (isRight) settle(message)
  }

  return (frame) => {
    const message = talk.isEnded ? null : decoded(frame.message)
    if (!message) return null
    return take(frame, message).catch((error) => observe.faulted(link.linkName, error))
  }
}
