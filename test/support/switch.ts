import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { composeFrame, createFrameReader } from '../../src/listeners/iso8583/codec/frame.ts'
import type { IsoMessage } from '../../src/listeners/iso8583/codec/layout.ts'
import { decode, encode } from '../../src/listeners/iso8583/codec/message.ts'
import { loadProfiles } from '../../src/listeners/iso8583/profile.ts'
import type { Profile } from '../../src/listeners/iso8583/profile-schema.ts'
import { atEndOfFile } from './end-of-file.ts'
import { type IssuedCard, pinBlock } from './network.ts'
import type { TestService } from './service.ts'

/**
 * Plays a network's switch on a link: sends messages, and finds the answer to each by its trace
 * number.
 *
 * ```ts
 * const link = await openLink(service, { profile: 'ascii-1987' })
 * const wire = await connectSwitch(link)
 * await wire.signOn()
 * const answer = await wire.ask(purchase(service, card))
 * ```
 */

export type Switch = {
  profile: Profile
  socket: Socket
  /** Sends fields; what every message has is there unless it is said otherwise. */
  ask: (mti: string, fields?: Record<string, string>) => Promise<IsoMessage>
  /** The same, without an answer: resolves to null after so many milliseconds. */
  askWithin: (
    ms: number,
    mti: string,
    fields?: Record<string, string>,
  ) => Promise<IsoMessage | null>
  /** The answer to a message that is sent by its bytes. */
  awaitTrace: (trace: string) => Promise<IsoMessage>
  send: (bytes: Uint8Array) => void
  signOn: () => Promise<string>
  /** Messages that nothing here asked for. */
  received: IsoMessage[]
  /** Resolves when the other side has closed. */
  closed: Promise<unknown>
  close: () => void
}

const profiles = await loadProfiles(null)
const open = new Set<Socket>()
atEndOfFile(() => {
  for (const socket of open) socket.destroy()
})

export const findProfile = (name: string): Profile => {
  const profile = profiles.get(name)
  if (!profile) throw new Error(`There is no profile ${name}.`)
  return profile
}

let traces = 0
/** A trace number of its own for each message. */
export const nextTrace = (): string => {
  traces += 1
  return String(traces % 1_000_000).padStart(6, '0')
}

/** A free port of loopback. */
export const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address ? address.port : 0
}

export type TestLink = { linkName: string; port: number; profile: string }

let links = 0

/** Registers a link of the demo network, which networks connect to, and brings it up. */
export const openLink = async (
  service: TestService,
  { profile = 'sandbox', ...members }: Record<string, unknown> & { profile?: string } = {},
): Promise<TestLink> => {
  links += 1
  const port = await freePort()
  const linkName = `link-${process.pid}-${links}`
  const body = {
    linkName,
    networkId: 'demo-network',
    direction: 'listen',
    host: '127.0.0.1',
    port,
    profile,
    ...members,
  }
  const answer = await service.call('POST', '//links', { as: 'admin', listener: 'private', body })
  if (answer.status !== 201) throw new Error(`No link was made: ${answer.text}`)
  await service.links.refresh()
  return { linkName, port, profile }
}

/** Connects as the network. */
export const connectSwitch = async (
  { port, profile: name }: { port: number; profile: string },
  given?: Socket,
): Promise<Switch> => {
  const profile = findProfile(name)
  const socket = given ?? connect({ port, host: '127.0.0.1' })
  open.add(socket)
  if (!given) await once(socket, 'connect')
  socket.setNoDelay(true)
  // One for each request that waits.
  socket.setMaxListeners(0)
  return playSwitch(profile, socket)
}

export const playSwitch = (profile: Profile, socket: Socket): Switch => {
  const reader = createFrameReader(profile.framing)
  // One for each request that waits.
  socket.setMaxListeners(0)
  const waiting = new Map<string, (answer: IsoMessage) => void>()
  const received: IsoMessage[] = []
  socket.on('error', () => undefined)
  socket.on('data', (bytes) => {
    for (const { message: raw } of reader.push(bytes)) {
      const message = decode(profile.layout, raw)
      const waiter = waiting.get(message.fields['11'] ?? '')
      if (waiter && Number(message.mti[2]) % 2 === 1) waiter(message)
      else received.push(message)
    }
  })
  const send = (bytes: Uint8Array) => {
    socket.write(bytes)
  }
  const awaitTrace = (trace: string): Promise<IsoMessage> => {
    const { promise, reject, resolve } = Promise.withResolvers<IsoMessage>()
    waiting.set(trace, resolve)
    if (socket.destroyed) reject(new Error('The link is closed.'))
    socket.once('close', () => reject(new Error('The link was closed.')))
    return promise
  }
  const ask = (mti: string, fields: Record<string, string> = {}): Promise<IsoMessage> => {
    const trace = fields['11'] ?? nextTrace()
    const answer = awaitTrace(trace)
    const whole = { 7: instant(), ...fields, 11: trace }
    send(composeFrame(profile.framing, encode(profile.layout, { mti, fields: whole })))
    return answer
  }
  return {
    profile,
    awaitTrace,
    socket,
    ask,
    async askWithin(ms, mti, fields) {
      const timeOut = new Promise<null>((resolve) => setTimeout(resolve, ms, null))
      return Promise.race([ask(mti, fields), timeOut])
    },
    send,
    async signOn() {
      const code = profile.management.signOn[0] ?? ''
      const is1993 = profile.version === '1993'
      const answer = await ask(is1993 ? '1804' : '0800', {
        [profile.management.field]: code,
        ...(is1993 && { 12: `26${instant()}` }),
      })
      return answer.fields['39'] ?? ''
    },
    received,
    closed: once(socket, 'close'),
    close: () => socket.destroy(),
  }
}

/** `MMDDhhmmss`. */
const instant = (): string => new Date().toISOString().replace(/[-:T]/g, '').slice(4, 14)

/** A purchase with a chip, with the card's own PIN unless it is said otherwise. */
export const purchase = (
  service: TestService,
  card: IssuedCard,
  fields: Record<string, string> & { pin?: string } = {},
): Record<string, string> => {
  const { pin = card.pin, ...others } = fields
  const { data } = pinBlock(service, { pan: card.pan, pin })
  return {
    2: card.pan,
    3: '000000',
    4: '000000001000',
    14: `${card.expiry.slice(2, 4)}${card.expiry.slice(5)}`,
    18: '5411',
    22: '051',
    25: '00',
    32: '123456',
    37: `R${nextTrace()}`.padStart(12, '0'),
    41: 'TERM0001',
    42: 'MERCHANT0000001',
    49: '978',
    52: data.toUpperCase(),
    53: '2001010100000000',
    ...others,
  }
}

/** The same without a PIN, with a CVV2. */
export const cardNotPresent = (
  service: TestService,
  card: IssuedCard,
  cvv2: string,
  fields: Record<string, string> = {},
): Record<string, string> => {
  const { 52: _, 53: __, ...others } = purchase(service, card)
  return { ...others, 22: '812', 48: `92${String(cvv2.length).padStart(2, '0')}${cvv2}`, ...fields }
}
