import { createCipheriv } from 'node:crypto'
import type { Socket } from 'node:net'
import { managementMessage } from './answer.ts'
import { describe } from './codec/describe.ts'
import { createFrameReader, frameOf } from './codec/frame.ts'
import type { IsoMessage } from './codec/layout.ts'
import { decode, encode } from './codec/message.ts'
import type { Profile } from './profile-schema.ts'

/** The other side of a link, to play with: it asks as a terminal behind a network does. */
interface Terminal {
  signOn(): Promise<IsoMessage>
  echo(): Promise<IsoMessage>
  /** Sends a message, and gives its answer. */
  ask(message: IsoMessage): Promise<IsoMessage>
  close(): void
}

/** What a terminal reads of a card, or its holder types. */
export interface PresentedCard {
  readonly pan: string
  /** `YYYY-MM`. */
  readonly expiry: string
}

/** How long an answer may take. */
const answerMs = 10_000

/**
 * Speaks a profile on a connection.
 * @param show is given both sides of the conversation, masked.
 */
export function openTerminal(
  { framing, layout, ...profile }: Profile,
  socket: Socket,
  show: (side: '→' | '←', lines: readonly string[]) => void,
): Terminal {
  const reader = createFrameReader(framing)
  const waiting = new Map<string, (answer: IsoMessage) => void>()
  const lines = (message: IsoMessage) =>
    describe(layout, profile.version, message).map(
      ({ field, name, value }) => `${field.padStart(7)}  ${value.padEnd(20)}  ${name}`,
    )
  let fault: Error | null = null
  socket.on('error', (error) => {
    fault ??= error
  })
  socket.on('data', (bytes) => {
    try {
      for (const { message } of reader.push(bytes)) {
        if (message.length === 0) continue
        const answer = decode(layout, message)
        show('←', lines(answer))
        waiting.get(answer.fields['11'] ?? '')?.(answer)
      }
    } catch (error) {
      // Of frames or messages that are not the profile's.
      socket.destroy(error as Error)
    }
  })

  async function ask(message: IsoMessage): Promise<IsoMessage> {
    const { promise, reject, resolve } = Promise.withResolvers<IsoMessage>()
    const trace = message.fields['11'] ?? ''
    const timer = setTimeout(() => reject(new Error('There was no answer in time.')), answerMs)
    const closed = () => reject(fault ?? new Error('The link was closed by the other side.'))
    socket.once('close', closed)
    waiting.set(trace, resolve)
    show('→', lines(message))
    socket.write(frameOf(framing, encode(layout, message)))
    return promise.finally(() => {
      clearTimeout(timer)
      waiting.delete(trace)
      socket.off('close', closed)
    })
  }

  const whole = { ...profile, framing, layout }
  return {
    signOn: () => ask(managementMessage(whole, 'signOn')),
    echo: () => ask(managementMessage(whole, 'echo')),
    ask,
    close: () => socket.end(),
  }
}

let purchases = 0

/** A purchase of ten units, without what says that it is the cardholder's. */
export function purchaseOf({ expiry, pan }: PresentedCard, now = new Date()): IsoMessage {
  purchases += 1
  const instant = now.toISOString().replace(/[-:T]/g, '').slice(4, 14)
  const trace = String((now.getTime() + purchases) % 1_000_000).padStart(6, '0')
  return {
    mti: '0200',
    fields: {
      ...{ 2: pan, 3: '000000', 4: '000000001000', 7: instant, 11: trace },
      ...{
        14: expiry.slice(2, 4) + expiry.slice(5),
        18: '5411',
        22: '051',
        25: '00',
        32: '123456',
      },
      ...{ 37: `${instant.slice(0, 6)}${trace}`, 41: 'TERM0001', 42: 'PINFOLDTERMINAL', 49: '978' },
    },
  }
}

/** The same with a PIN: an ISO format 0 block (ISO 9564-1, 9.3.2) under a zone key of TDES. */
export function withPin(message: IsoMessage, pin: string, zoneKey: Uint8Array): IsoMessage {
  const pinField = Buffer.from(`0${pin.length}${pin}`.padEnd(16, 'F'), 'hex')
  const pan = message.fields['2'] ?? ''
  const panField = Buffer.from(`0000${pan.slice(-13, -1)}`, 'hex')
  const clear = pinField.map((byte, at) => byte ^ (panField[at] ?? 0))
  const key = Buffer.concat([zoneKey, zoneKey.subarray(0, 8)])
  const block = createCipheriv('des-ede3', key, null).setAutoPadding(false).update(clear)
  const fields = { 52: block.toString('hex').toUpperCase(), 53: '2001010100000000' }
  return { ...message, fields: { ...message.fields, ...fields } }
}

/** The same without a card, with its CVV2, in the sandbox's tags of field 48. */
export const withCvv2 = (message: IsoMessage, cvv2: string): IsoMessage => ({
  ...message,
  fields: { ...message.fields, 22: '812', 48: `92${String(cvv2.length).padStart(2, '0')}${cvv2}` },
})

/** The message again, as its sender does that had no answer. */
export const repeatOf = ({ fields, mti }: IsoMessage): IsoMessage => ({
  mti: `${mti.slice(0, 3)}1`,
  fields,
})

/** What takes a purchase back. */
export function takingBack({ fields, mti }: IsoMessage): IsoMessage {
  const { 48: _, 52: __, 53: ___, ...numbers } = fields
  const acquirer = (fields['32'] ?? '').padStart(11, '0')
  const elements = `${mti}${fields['11'] ?? ''}${fields['7'] ?? ''}${acquirer}${'0'.repeat(11)}`
  const trace = String((Number(fields['11']) + 1) % 1_000_000).padStart(6, '0')
  return { mti: '0400', fields: { ...numbers, 11: trace, 90: elements } }
}
