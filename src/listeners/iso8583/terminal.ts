import { createCipheriv } from 'node:crypto'
import type { Socket } from 'node:net'
import { findCurrency } from '../../domain/currencies.ts'
import type { Money } from '../../domain/money.ts'
import type { EntryMode } from '../../operations/authorizations/authorization.ts'
import { managementMessage } from './answer.ts'
import { describe } from './codec/describe.ts'
import { composeFrame, createFrameReader } from './codec/frame.ts'
import type { IsoMessage } from './codec/layout.ts'
import { decode, encode } from './codec/message.ts'
import { writeParts } from './codec/parts.ts'
import type { Profile } from './profile-schema.ts'

/** The network side of a link, for tests: it acts as a terminal behind a network. */
interface Terminal {
  signOn(): Promise<IsoMessage>
  echo(): Promise<IsoMessage>
  /** Sends a message, and returns its answer. */
  ask(message: IsoMessage): Promise<IsoMessage>
  close(): void
}

/** The card data that a terminal reads, or that the cardholder types. */
export interface PresentedCard {
  readonly pan: string
  /** `YYYY-MM`. */
  readonly expiry: string
}

/** The time limit of an answer. */
const answerMs = 10_000

/**
 * Uses a profile on a connection.
 * @param show receives both sides of the conversation, masked.
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
      // The peer's frames or messages do not match the profile.
      socket.destroy(error as Error)
    }
  })

  async function ask(message: IsoMessage): Promise<IsoMessage> {
    const { promise, reject, resolve } = Promise.withResolvers<IsoMessage>()
    const trace = message.fields['11'] ?? ''
    const timer = setTimeout(() => reject(new Error('There was no answer in time.')), answerMs)
    const closed = () => reject(fault ?? new Error('The peer closed the link.'))
    socket.once('close', closed)
    waiting.set(trace, resolve)
    show('→', lines(message))
    const header = '00'.repeat(layout.header ?? 0)
    socket.write(composeFrame(framing, encode(layout, { header, ...message })))
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

/** The default amount of a purchase. */
const usualPrice: Money = { amount: 1000, currency: 'EUR' }

/** Creates a purchase without cardholder authentication. */
export function createPurchase(
  { expiry, pan }: PresentedCard,
  { amount, currency }: Money = usualPrice,
  now = new Date(),
): IsoMessage {
  purchases += 1
  const instant = now.toISOString().replace(/[-:T]/g, '').slice(4, 14)
  const trace = String((now.getTime() + purchases) % 1_000_000).padStart(6, '0')
  return {
    mti: '0200',
    fields: {
      2: pan,
      3: '000000',
      4: String(amount).padStart(12, '0'),
      7: instant,
      11: trace,
      14: expiry.slice(2, 4) + expiry.slice(5),
      18: '5411',
      22: '051',
      25: '00',
      32: '123456',
      37: `${instant.slice(0, 6)}${trace}`,
      41: 'TERM0001',
      42: 'PINFOLDTERMINAL',
      49: findCurrency(currency)?.number ?? '',
    },
  }
}

/** Adds a merchant in Madrid to a message. */
export function withMerchant(
  { layout, merchantLocation }: Profile,
  { fields, mti }: IsoMessage,
  name: string,
): IsoMessage {
  const location = writeLocation(merchantLocation, name)
  const whole = location.padEnd(layout.fields['43']?.length ?? 0)
  return { mti, fields: { ...fields, 43: whole } }
}

function writeLocation(layout: Profile['merchantLocation'], name: string): string {
  if (layout.kind === 'backslashes') return `${name}\\\\Madrid\\${'28013'.padEnd(13)}ESP`
  const { city, country } = layout
  const before = `${name.slice(0, layout.name.length).padEnd(city.at)}Madrid`
  return before.padEnd(country.at) + 'ESP'.slice(0, country.length)
}

/** Adapts the message to a profile: its version, and how the card is presented. */
export function presentedOn(
  profile: Profile,
  { fields, mti }: IsoMessage,
  mode: EntryMode,
  now = new Date(),
): IsoMessage {
  const { entryMode, layout, version } = profile
  const { 18: merchantType = '', 22: _, 25: condition = '', ...common } = fields
  const isOld = version === '1987'
  return {
    mti: `${isOld ? '0' : '1'}${mti.slice(1)}`,
    fields: {
      ...common,
      [entryMode.atm.merchantField]: merchantType,
      [entryMode.field]: entryModeText(
        entryMode,
        mode,
        layout.fields[entryMode.field]?.length ?? 3,
      ),
      ...(isOld && { 25: condition }),
      ...(!isOld && { 12: now.toISOString().replace(/[-:T]/g, '').slice(2, 14) }),
    },
  }
}

/** Writes the code of an entry mode at its position. */
function entryModeText(
  { at, ecommerce, field, values }: Profile['entryMode'],
  mode: EntryMode,
  length: number,
): string {
  const ownCode = Object.keys(values).find((code) => values[code] === mode)
  const isNamedHere = mode === 'ecommerce' && ecommerce?.field === field
  const code = isNamedHere ? ecommerce.values[0] : ownCode
  return `${'0'.repeat(at)}${code ?? ''}`.padEnd(length, '0').slice(0, length)
}

/** Adds a PIN: an ISO format 0 block (ISO 9564-1, 9.3.2) under a TDES zone key with this index. */
export function withPin(
  message: IsoMessage,
  pin: string,
  zoneKey: Uint8Array,
  { control, field, formatAt, formats, indexAt }: PinPlace = usualPinPlace,
  index = '01',
): IsoMessage {
  const pinField = Buffer.from(`0${pin.length}${pin}`.padEnd(16, 'F'), 'hex')
  const pan = message.fields['2'] ?? ''
  const panField = Buffer.from(`0000${pan.slice(-13, -1)}`, 'hex')
  const clear = pinField.map((byte, at) => byte ^ (panField[at] ?? 0))
  const key = zoneKey.length === 16 ? Buffer.concat([zoneKey, zoneKey.subarray(0, 8)]) : zoneKey
  const block = createCipheriv('des-ede3', key, null).setAutoPadding(false).update(clear)
  const format = Object.keys(formats).find((code) => formats[code] === 'ISO_FORMAT_0') ?? ''
  const said = putAt(putAt('2001010100000000', formatAt, format), indexAt, index)
  const fields = { [field]: block.toString('hex').toUpperCase(), [control]: said }
  return { ...message, fields: { ...message.fields, ...fields } }
}

type PinPlace = Pick<Profile['pin'], 'control' | 'field' | 'formatAt' | 'formats' | 'indexAt'>

/** The place of a PIN block and its control information in most profiles. */
const usualPinPlace: PinPlace = {
  field: '52',
  control: '53',
  formatAt: 4,
  formats: { '01': 'ISO_FORMAT_0' },
  indexAt: 6,
}

const putAt = (text: string, at: number, part: string): string =>
  text.slice(0, at) + part + text.slice(at + part.length)

/** Adds a CVV2; null if the profile has no place for it. */
export function withCvv2(
  { cvv2, layout }: Profile,
  message: IsoMessage,
  digits: string,
): IsoMessage | null {
  const field = cvv2 && layout.fields[cvv2.field]
  if (!cvv2 || !field) return null
  const { at, part, presence, result } = cvv2
  const subfield = field.parts?.kind === 'bitmap' ? field.parts.fields[part ?? ''] : undefined
  // After an indicator, the place has its full length, and the digits are right-aligned.
  const placed = presence ? digits.padStart(cvv2.length) : digits
  const length = part === undefined ? field.length : subfield?.length
  const text = putAt(' '.repeat(length ?? at + placed.length), at, placed)
  const value = presence ? putAt(text, presence.at, presence.value) : text
  const header = field.parts?.kind === 'tlv' ? field.parts.header : undefined
  const before = header ? [['header', result?.header ?? ' '.repeat(header)] as const] : []
  const whole =
    part === undefined
      ? value
      : writeParts(cvv2.field, field, new Map([...before, [part, value] as const]))
  return { ...message, fields: { ...message.fields, [cvv2.field]: whole } }
}

/** Repeats a message, as its sender does without an answer. */
export const createRepeat = ({ fields, mti }: IsoMessage): IsoMessage => ({
  mti: `${mti.slice(0, 3)}1`,
  fields,
})

/** Composes the reversal of a purchase. */
export function takingBack(
  { cvv2, pin, version }: Profile,
  { fields, mti }: IsoMessage,
): IsoMessage {
  const secret = [pin.field, pin.control, ...(cvv2 ? [cvv2.field] : [])]
  const numbers = Object.fromEntries(
    Object.entries(fields).filter(([field]) => !secret.includes(field)),
  )
  const { 7: instant = '', 11: trace = '', 12: local = '', 32: acquirer = '' } = fields
  const length = String(acquirer.length).padStart(2, '0')
  const elements =
    version === '1993'
      ? { 56: `${mti}${trace}${local}${length}${acquirer}` }
      : { 90: `${mti}${trace}${instant}${acquirer.padStart(11, '0')}${'0'.repeat(11)}` }
  const next = String((Number(trace) + 1) % 1_000_000).padStart(6, '0')
  return { mti: `${mti.charAt(0)}400`, fields: { ...numbers, 11: next, ...elements } }
}
