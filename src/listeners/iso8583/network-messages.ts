import { createHash } from 'node:crypto'
import { Cvv2 } from '../../domain/cvv2.ts'
import { holdsPanPart, type Pan, parsePan } from '../../domain/pan.ts'
import { Secret } from '../../domain/secret.ts'
import type { Cavv } from '../../domain/stripe.ts'
import type { EntryMode } from '../../operations/authorizations/authorization.ts'
import type { NetworkRequest } from '../../operations/links/authorization-requests.ts'
import type { NetworkAdvice, NetworkReversal } from '../../operations/links/reversals.ts'
import type { TransactionNumbers } from '../../operations/links/transactions.ts'
import {
  cutEntryMode,
  isFallback,
  parseCardRead,
  parseCavvField,
  parseChipField,
  parseTrackField,
} from './card-data.ts'
import type { FieldLayout, IsoMessage } from './codec/layout.ts'
import { readOptionalParts, readParts } from './codec/parts.ts'
import type { Version } from './codec/versions.ts'
import type { Profile } from './profile-schema.ts'
import { keyFields } from './profile-schema.ts'
import {
  isPartialAllowed,
  parseAddress,
  parseRemaining,
  parseReport,
  parseTransaction,
  selectRaise,
  selectType,
} from './transaction.ts'

/** The link and the network that a message came from. */
export interface Origin {
  readonly linkName: string
  readonly networkId: string
  readonly requestId: string
}

type Fields = IsoMessage['fields']

/** The value of a field. An empty value counts as an absent one. */
const findValue = (fields: Fields, field: string): string | undefined => fields[field] || undefined

/** `1` authorization, `2` financial, `4` reversal, `8` network management. */
export const readClass = (mti: string): string => mti.charAt(1)

/** The function that the third digit of a message type names; an odd digit is an answer. */
export function readFunction(
  mti: string,
): 'request' | 'advice' | 'notification' | 'other' | 'answer' {
  const digit = Number(mti.charAt(2))
  if (digit % 2 === 1) return 'answer'
  return ({ 0: 'request', 2: 'advice', 4: 'notification' } as const)[digit] ?? 'other'
}

/** The idempotency key, which a message and its repeats share. */
const composeKey = ({ fields, mti }: IsoMessage): string =>
  JSON.stringify([readClass(mti), ...keyFields.map((field) => fields[field] ?? '')])

/** Whether a message requests a service that is authorized; `unsaid`: field 3 is absent. */
export function selectService(
  profile: Profile,
  { fields }: IsoMessage,
): 'authorized' | 'declined' | 'unsaid' {
  if (fields['3'] === undefined) return 'unsaid'
  return selectType(profile, fields) === 'declined' ? 'declined' : 'authorized'
}

/** Returns the authorization request, or null when its amount, track or CVV2 is malformed. */
export function parseRequest(
  profile: Profile,
  { networkId, requestId }: Origin,
  message: IsoMessage,
): NetworkRequest | null {
  const { fields, mti } = message
  const cvv2 = parseCvv2(profile, fields)
  const pan = findSentDigits(fields)
  const transaction = parseTransaction(profile, fields, pan)
  const track2 = parseTrackField(profile, fields)
  if (cvv2 === 'malformed' || track2 === 'malformed' || !transaction) return null
  const yymm = findValue(fields, '14') ?? parseTrack(fields)?.expiry
  const pinBlock = parsePinBlock(profile, fields)
  const cardholderAddress = parseAddress(profile, fields)
  const entryMode = parseEntryMode(profile, fields)
  const chip = parseChipField(profile, fields)
  const sentCard = { entryMode, hasChipData: chip !== null, track2 }
  const cardRead = parseCardRead(profile, fields, sentCard)
  const cavv = parseCavvField(profile, fields)
  return {
    networkId,
    requestId,
    pan: parseSentPan(fields),
    // An invalid month counts as given, and no card has it.
    ...(yymm !== undefined && { expiryDate: `20${yymm.slice(0, 2)}-${yymm.slice(2)}` }),
    entryMode,
    cardRead,
    reference: parseReference(fields, pan),
    transaction,
    raise: selectRaise(profile, fields),
    isPartialAllowed: isPartialAllowed(profile, fields),
    ...(pinBlock && { pinBlock }),
    ...(cvv2 && { cvv2 }),
    ...(chip && { chip }),
    ...(track2 && { track2 }),
    isFallback: isFallback(profile, fields, cardRead),
    ...(cavv && { cavv }),
    ...(cardholderAddress && { cardholderAddress }),
    key: composeKey(message),
    content: composeContent(profile, message, { pinBlock, cvv2, cavv }),
    numbers: pickNumbers(fields),
    original: {
      messageClass: readClass(mti),
      trace: fields['11'] ?? '',
      transmittedAt: fields[originals[profile.version].instant] ?? '',
      acquirer: withoutZeros(fields['32']),
    },
  }
}

/** The values of a request that are compared with those of the card. */
interface ComparedValues {
  readonly pinBlock: NetworkRequest['pinBlock'] | null
  readonly cvv2: Cvv2 | null
  readonly cavv: Cavv | null
}

/** PIN block formats without random digits: equal for the same PIN, card and key. */
const steadyFormats: readonly string[] = ['ISO_FORMAT_0']

/**
 * Composes the content that a repeat shares with its first message, in canonical form. The message
 * type, times and the enciphered PIN may differ.
 */
function composeContent(
  { repeats }: Profile,
  { fields, mti }: IsoMessage,
  { cavv, cvv2, pinBlock }: ComparedValues,
): Secret<string> {
  const kept = repeats.kept.map((field) => [field, findValue(fields, field) ?? null])
  const isSteady = pinBlock && steadyFormats.includes(pinBlock.format)
  const pin = isSteady ? pinBlock.data : (pinBlock?.format ?? null)
  const said = JSON.stringify([
    ...kept,
    ['pin', pin],
    ['cvv2', cvv2?.reveal() ?? null],
    ['cavv', cavv?.reveal() ?? null],
  ])
  return new Secret(`ISO8583 ${readClass(mti)}\n${said}`)
}

/** Returns the advice, or null when its amount is malformed. */
export function parseAdvice(
  profile: Profile,
  { linkName, networkId, requestId }: Origin,
  message: IsoMessage,
): NetworkAdvice | null {
  const { fields, mti } = message
  const pan = findSentDigits(fields)
  const transaction = parseReport(profile, fields, pan)
  if (!transaction) return null
  return {
    networkId,
    requestId,
    linkName,
    messageType: mti,
    key: composeKey(message),
    trace: fields['11'] ?? null,
    transmittedAt: fields['7'] ?? null,
    reference: fields['37'] === undefined ? null : parseReference(fields, pan),
    amount: fields['4'] ?? null,
    currency: fields['49'] ?? null,
    responseCode: fields['39'] ?? null,
    pan: parseSentPan(fields),
    numbers: pickNumbers(fields),
    isApproved: isApproval(profile, fields['39']),
    transaction,
    chip: parseChipField(profile, fields),
  }
}

/** Whether the network approved on behalf of the issuer: 08, 10 and 11 are approvals, too. */
const isApproval = ({ version }: Profile, code = ''): boolean =>
  code === '' ||
  (version === '1993' ? code.startsWith('0') : ['00', '08', '10', '11'].includes(code))

/** Returns the reversal, or null when an amount of it is malformed. */
export function parseReversal(
  profile: Profile,
  origin: Origin,
  message: IsoMessage,
): NetworkReversal | null {
  const remaining = parseRemaining(profile, message.fields)
  const advice = parseAdvice(profile, origin, message)
  if (remaining === 'malformed' || !advice) return null
  return { ...advice, original: parseOriginal(profile.version, message.fields), remaining }
}

/** The field and form of the original data elements in each version. */
const originals = {
  '1987': { field: '90', instant: '7', form: /^(.{4})(.{6})(.{10})(.{11}).{11}$/ },
  // The acquirer before it has a length of its own.
  '1993': { field: '56', instant: '12', form: /^(.{4})(.{6})(.{12})(?:..(.*))?$/ },
} as const satisfies Record<Version, object>

function parseOriginal(version: Version, fields: Fields): NetworkReversal['original'] {
  const { field, form } = originals[version]
  const [, mti = '', trace = '', transmittedAt = '', acquirer] =
    form.exec(fields[field] ?? '') ?? []
  const known = (text: string): string => (/^0*$/.test(text) ? '' : text)
  if (known(trace) === '') return null
  return {
    messageClass: known(mti) === '' ? '' : readClass(mti),
    trace,
    transmittedAt: known(transmittedAt),
    acquirer: withoutZeros(acquirer),
  }
}

const withoutZeros = (digits: string | undefined): string => (digits ?? '').replace(/^0+/, '')

/** Parses track 2: the PAN, a separator, the expiry (ISO/IEC 7813). */
const parseTrack = (fields: Fields): { readonly pan: string; readonly expiry: string } | null => {
  const [, pan, expiry] = /^([0-9]{12,19})[=D]([0-9]{4})/.exec(fields['35'] ?? '') ?? []
  return pan !== undefined && expiry !== undefined ? { pan, expiry } : null
}

const findSentDigits = (fields: Fields): string =>
  findValue(fields, '2') ?? parseTrack(fields)?.pan ?? ''

const parseSentPan = (fields: Fields): Pan | null => parsePan(findSentDigits(fields))

function parseEntryMode({ entryMode }: Profile, fields: Fields): EntryMode {
  const { atm, ecommerce, otherwise, values } = entryMode
  const isAtm =
    atm.merchantTypes.includes(fields[atm.merchantField] ?? '') &&
    atm.processingCodes.includes((fields['3'] ?? '').slice(0, 2))
  if (isAtm) return 'atm'
  const named = ecommerce && (fields[ecommerce.field] ?? '').slice(ecommerce.at ?? 0)
  if (named && ecommerce.values.some((value) => named.startsWith(value))) return 'ecommerce'
  return values[cutEntryMode(entryMode, fields)] ?? otherwise
}

/** Returns the PIN block with the key and format that the control information names. */
function parsePinBlock({ pin }: Profile, fields: Fields): NetworkRequest['pinBlock'] | null {
  const data = fields[pin.field]
  if (data === undefined) return null
  const control = findValue(fields, pin.control)
  const index = control?.slice(pin.indexAt, pin.indexAt + 2) ?? pin.without.index
  const named = control?.slice(pin.formatAt, pin.formatAt + 2)
  const format = named === undefined ? pin.without.format : pin.formats[named]
  return {
    data,
    // No key is for an unknown format.
    format: (format ?? 'none') as NonNullable<NetworkRequest['pinBlock']>['format'],
    key: composePinKeyName({ pin }, index),
  }
}

/** Returns the name of the zone key with an index. */
export const composePinKeyName = ({ pin }: Pick<Profile, 'pin'>, index: string): string =>
  pin.keys?.[index] ?? pin.keyName.replace('{index}', index)

/**
 * Returns the CVV2, or null when the message has none by its profile. A malformed value must not
 * count as an absent one.
 */
function parseCvv2(profile: Profile, fields: Fields): Cvv2 | 'malformed' | null {
  const { cvv2, layout } = profile
  const field = cvv2 && layout.fields[cvv2.field]
  const whole = cvv2 && fields[cvv2.field]
  if (!cvv2 || !field || whole === undefined || whole === null) return null
  const { at, length, part, presence } = cvv2
  const isThere = presentCard.includes(parseEntryMode(profile, fields))
  const value = part === undefined ? whole : findPart(cvv2.field, field, part, whole, isThere)
  if (value === null) return 'malformed'
  if (value === undefined) return null
  if (presence && !value.slice(presence.at).startsWith(presence.value)) return null
  const digits = value.slice(at, at + length).trim()
  if (digits === '' && !presence) return null
  return /^[0-9]{3,4}$/.test(digits) ? new Cvv2(digits) : 'malformed'
}

/** Entry modes in which the card is present and needs no CVV2. */
const presentCard: readonly EntryMode[] = ['chip', 'contactless', 'magstripe', 'atm']

/** Returns a part of a field; undefined when it is absent, null when it may be unreadable. */
function findPart(
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
  // A field that begins with tags and is then incomplete may have contained a CVV2.
  const beginsWithParts = parts.size > 0 || value.startsWith(part, layout.parts.header ?? 0)
  return beginsWithParts && !isCardPresent ? null : undefined
}

const pickNumbers = (fields: Fields): TransactionNumbers => ({
  reference: fields['37'] ?? '',
  terminal: fields['41'] ?? '',
  merchant: fields['42'] ?? '',
})

/** Returns the network's reference, or a substitute when it holds digits of the card number. */
function parseReference(fields: Fields, pan: string): string {
  const reference = (fields['37'] ?? '').trim()
  if (/^[A-Za-z0-9-]{1,35}$/.test(reference) && !holdsPanPart(pan, reference)) return reference
  return `trace-${fields['11'] ?? 'none'}`
}

/** Returns the approval code: six characters, the same for a message and its repeats. */
export function computeApprovalCode({ networkId }: Origin, message: IsoMessage): string {
  const hash = createHash('sha256')
    .update(`${networkId}\n${composeKey(message)}`)
    .digest()
  const number = hash.readUIntBE(0, 6) % 36 ** 6
  return number.toString(36).toUpperCase().padStart(6, '0')
}
