import { createHash } from 'node:crypto'
import { Cvv2 } from '../../domain/cvv2.ts'
import { holdsPan, type Pan, parsePan } from '../../domain/pan.ts'
import { Secret } from '../../domain/secret.ts'
import type { EntryMode } from '../../operations/authorizations/authorization.ts'
import type { NetworkRequest } from '../../operations/links/authorization-requests.ts'
import type { NetworkAdvice, NetworkReversal } from '../../operations/links/reversals.ts'
import type { TransactionNumbers } from '../../operations/links/transactions.ts'
import type { FieldLayout, IsoMessage } from './codec/layout.ts'
import { readOptionalParts, readParts } from './codec/parts.ts'
import type { Version } from './codec/versions.ts'
import type { Profile } from './profile-schema.ts'
import { keyFields } from './profile-schema.ts'

/** Which link of which network a message came on. */
export interface Origin {
  readonly linkName: string
  readonly networkId: string
  readonly requestId: string
}

type Fields = IsoMessage['fields']

/** The value of a field. One of no characters says nothing, as if it were not there. */
const saidIn = (fields: Fields, field: string): string | undefined => fields[field] || undefined

/** `1` of authorizations, `2` of financial messages, `4` of reversals, `8` of the network's own. */
export const classOf = (mti: string): string => mti.charAt(1)

/** What the third digit of a message type says that it is: an odd one answers what is before it. */
export function functionOf(
  mti: string,
): 'request' | 'advice' | 'notification' | 'other' | 'answer' {
  const digit = Number(mti.charAt(2))
  if (digit % 2 === 1) return 'answer'
  return ({ 0: 'request', 2: 'advice', 4: 'notification' } as const)[digit] ?? 'other'
}

/** The same for a message and its repeats. */
const keyOf = ({ fields, mti }: IsoMessage): string =>
  JSON.stringify([classOf(mti), ...keyFields.map((field) => fields[field] ?? '')])

/**
 * Whether a message asks for what is authorized here; `unsaid`: it does not say what it asks for.
 */
export function serviceOf(
  { processing }: Profile,
  { fields }: IsoMessage,
): 'authorized' | 'declined' | 'unsaid' {
  const { codes, declinedFunctions } = processing
  const code = fields['3']
  if (code === undefined) return 'unsaid'
  const named = declinedFunctions && fields[declinedFunctions.field]
  if (named !== undefined && declinedFunctions?.values.includes(named)) return 'declined'
  return codes[code.slice(0, 2)] ?? 'declined'
}

/** What a message asks; null where a CVV2 is said to be there, and none is. */
export function questionOf(
  profile: Profile,
  { networkId, requestId }: Origin,
  message: IsoMessage,
): NetworkRequest | null {
  const { fields, mti } = message
  const cvv2 = cvv2Of(profile, fields)
  if (cvv2 === 'malformed') return null
  const yymm = saidIn(fields, '14') ?? trackOf(fields)?.expiry
  const pinBlock = pinBlockOf(profile, fields)
  return {
    networkId,
    requestId,
    pan: panOf(fields),
    // One that is no month is given, and no card has it.
    ...(yymm !== undefined && { expiryDate: `20${yymm.slice(0, 2)}-${yymm.slice(2)}` }),
    entryMode: entryModeOf(profile, fields),
    reference: referenceOf(fields),
    ...(pinBlock && { pinBlock }),
    ...(cvv2 && { cvv2 }),
    key: keyOf(message),
    content: keptOf(profile, message, pinBlock, cvv2),
    transaction: numbersOf(fields),
    original: {
      messageClass: classOf(mti),
      trace: fields['11'] ?? '',
      transmittedAt: fields[originals[profile.version].instant] ?? '',
      acquirer: withoutZeros(fields['32']),
    },
  }
}

/** PIN blocks that are the same for the same PIN, card and key; the others have random digits. */
const steadyFormats: readonly string[] = ['ISO_FORMAT_0']

/**
 * What a repeat has as the first message had it, in one spelling: its type, times and enciphered
 * PIN may differ.
 */
function keptOf(
  { repeats }: Profile,
  { fields, mti }: IsoMessage,
  pinBlock: NetworkRequest['pinBlock'] | null,
  cvv2: Cvv2 | null,
): Secret<string> {
  const kept = repeats.kept.map((field) => [field, saidIn(fields, field) ?? null])
  const isSteady = pinBlock && steadyFormats.includes(pinBlock.format)
  const pin = isSteady ? pinBlock.data : (pinBlock?.format ?? null)
  const said = JSON.stringify([...kept, ['pin', pin], ['cvv2', cvv2?.reveal() ?? null]])
  return new Secret(`ISO8583 ${classOf(mti)}\n${said}`)
}

/** What an advice says that was done. */
export function adviceOf({ linkName, networkId }: Origin, message: IsoMessage): NetworkAdvice {
  const { fields, mti } = message
  return {
    networkId,
    linkName,
    messageType: mti,
    key: keyOf(message),
    trace: fields['11'] ?? null,
    transmittedAt: fields['7'] ?? null,
    reference: fields['37'] ?? null,
    amount: fields['4'] ?? null,
    currency: fields['49'] ?? null,
    responseCode: fields['39'] ?? null,
    pan: panOf(fields),
    transaction: numbersOf(fields),
  }
}

/** What a reversal takes back. */
export const reversalOf = (
  { version }: Profile,
  origin: Origin,
  message: IsoMessage,
): NetworkReversal => ({
  ...adviceOf(origin, message),
  original: originalOf(version, message.fields),
})

/** Where each version has the elements of an original, and which instant is among them. */
const originals = {
  '1987': { field: '90', instant: '7', form: /^(.{4})(.{6})(.{10})(.{11}).{11}$/ },
  // The acquirer has a length of its own before it.
  '1993': { field: '56', instant: '12', form: /^(.{4})(.{6})(.{12})(?:..(.*))?$/ },
} as const satisfies Record<Version, object>

function originalOf(version: Version, fields: Fields): NetworkReversal['original'] {
  const { field, form } = originals[version]
  const [, mti = '', trace = '', transmittedAt = '', acquirer] =
    form.exec(fields[field] ?? '') ?? []
  const known = (text: string): string => (/^0*$/.test(text) ? '' : text)
  if (known(trace) === '') return null
  return {
    messageClass: known(mti) === '' ? '' : classOf(mti),
    trace,
    transmittedAt: known(transmittedAt),
    acquirer: withoutZeros(acquirer),
  }
}

const withoutZeros = (digits: string | undefined): string => (digits ?? '').replace(/^0+/, '')

/** Track 2: the PAN, a separator, the expiry (ISO/IEC 7813). */
const trackOf = (fields: Fields): { readonly pan: string; readonly expiry: string } | null => {
  const [, pan, expiry] = /^([0-9]{12,19})[=D]([0-9]{4})/.exec(fields['35'] ?? '') ?? []
  return pan !== undefined && expiry !== undefined ? { pan, expiry } : null
}

const panOf = (fields: Fields): Pan | null =>
  parsePan(saidIn(fields, '2') ?? trackOf(fields)?.pan ?? '')

function entryModeOf({ entryMode }: Profile, fields: Fields): EntryMode {
  const { at, atm, ecommerce, field, length, otherwise, values } = entryMode
  const isAtm =
    atm.merchantTypes.includes(fields[atm.merchantField] ?? '') &&
    atm.processingCodes.includes((fields['3'] ?? '').slice(0, 2))
  if (isAtm) return 'atm'
  const named = ecommerce && (fields[ecommerce.field] ?? '').slice(ecommerce.at ?? 0)
  if (named && ecommerce.values.some((value) => named.startsWith(value))) return 'ecommerce'
  return values[(fields[field] ?? '').slice(at, at + length)] ?? otherwise
}

/** The block of field 52, under the key and in the format that the control information names. */
function pinBlockOf({ pin }: Profile, fields: Fields): NetworkRequest['pinBlock'] | null {
  const data = fields[pin.field]
  if (data === undefined) return null
  const control = saidIn(fields, pin.control)
  const index = control?.slice(pin.indexAt, pin.indexAt + 2) ?? pin.without.index
  const named = control?.slice(pin.formatAt, pin.formatAt + 2)
  const format = named === undefined ? pin.without.format : pin.formats[named]
  return {
    data,
    // A format that is not known is one that no key is for.
    format: (format ?? 'none') as NonNullable<NetworkRequest['pinBlock']>['format'],
    key: pinKeyOf({ pin }, index),
  }
}

/** The name of the zone key of an index. */
export const pinKeyOf = ({ pin }: Pick<Profile, 'pin'>, index: string): string =>
  pin.keys?.[index] ?? pin.keyName.replace('{index}', index)

/**
 * The CVV2; null where the profile says that none is present. What stands in its place and is none
 * must not pass for none.
 */
function cvv2Of(profile: Profile, fields: Fields): Cvv2 | 'malformed' | null {
  const { cvv2, layout } = profile
  const field = cvv2 && layout.fields[cvv2.field]
  const whole = cvv2 && fields[cvv2.field]
  if (!cvv2 || !field || whole === undefined || whole === null) return null
  const { at, length, part, presence } = cvv2
  const isThere = presentCard.includes(entryModeOf(profile, fields))
  const value = part === undefined ? whole : partOf(cvv2.field, field, part, whole, isThere)
  if (value === null) return 'malformed'
  if (value === undefined) return null
  if (presence && !value.slice(presence.at).startsWith(presence.value)) return null
  const digits = value.slice(at, at + length).trim()
  if (digits === '' && !presence) return null
  return /^[0-9]{3,4}$/.test(digits) ? new Cvv2(digits) : 'malformed'
}

/** How a card is presented whose CVV2 is not asked for. */
const presentCard: readonly EntryMode[] = ['chip', 'contactless', 'magstripe', 'atm']

/** A part of a field; undefined where it is not there, null where it may be and cannot be read. */
function partOf(
  name: string,
  layout: FieldLayout,
  part: string,
  value: string,
  isCardPresent: boolean,
): string | undefined | null {
  if (layout.parts?.kind !== 'tlv' || !layout.parts.optional) {
    return readParts(name, layout, value).get(part)
  }
  const { isWhole, parts } = readOptionalParts(layout.parts, value)
  if (isWhole) return parts.get(part)
  // Text of another form is none of tags; what begins with tags and does not hold together may have
  // held a CVV2.
  const beginsWithParts = parts.size > 0 || value.startsWith(part, layout.parts.header ?? 0)
  return beginsWithParts && !isCardPresent ? null : undefined
}

const numbersOf = (fields: Fields): TransactionNumbers => ({
  reference: fields['37'] ?? '',
  terminal: fields['41'] ?? '',
  merchant: fields['42'] ?? '',
})

/**
 * As attempts have it on record: the network's own reference, or what stands for one that cannot be
 * kept.
 */
function referenceOf(fields: Fields): string {
  const reference = (fields['37'] ?? '').trim()
  const isFit = /^[A-Za-z0-9-]{1,35}$/.test(reference)
  if (isFit && (/^[0-9]{12}$/.test(reference) || !holdsPan(reference))) return reference
  return `trace-${fields['11'] ?? 'none'}`
}

/** Six characters that an approval is known by: a repeat gets the same. */
export function approvalCodeOf({ networkId }: Origin, message: IsoMessage): string {
  const hash = createHash('sha256')
    .update(`${networkId}\n${keyOf(message)}`)
    .digest()
  const number = hash.readUIntBE(0, 6) % 36 ** 6
  return number.toString(36).toUpperCase().padStart(6, '0')
}
