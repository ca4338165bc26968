import { isCountryNumber } from '../../domain/countries.ts'
import { type CardRead, type EntryMode, selectCardRead } from '../../domain/entry-mode.ts'
import { type Cavv, parseCavv, parseTrack2, type Track2 } from '../../domain/stripe.ts'
import type {
  Authorization,
  AuthorizationRequest,
} from '../../operations/authorizations/authorization.ts'
import type { IsoMessage } from './codec/layout.ts'
import { findOptionalPart } from './codec/parts.ts'
import type { Profile } from './profile-schema.ts'

type Fields = IsoMessage['fields']

/** Chip data as they are in a message. */
interface SentChipData {
  readonly data: Uint8Array
  /** Whether a dataset, with its length, is before them. */
  readonly isInDataset: boolean
}

function findChipData({ chip }: Profile, fields: Fields): SentChipData | null {
  const value = chip && fields[chip.field]
  if (!value) return null
  const bytes = Buffer.from(value, 'hex')
  const isInDataset =
    chip.dataset !== undefined &&
    bytes.length >= datasetHeaderLength &&
    value.startsWith(chip.dataset) &&
    bytes.readUInt16BE(1) === bytes.length - datasetHeaderLength
  return { data: isInDataset ? bytes.subarray(datasetHeaderLength) : bytes, isInDataset }
}

/** The id of a dataset, and its length in two bytes. */
const datasetHeaderLength = 3

/**
 * Returns the chip data of a message, without the header of a dataset, with the sequence number of
 * the card, the country of the acquirer and the local date; null without any.
 */
export function parseChipField(
  profile: Profile,
  fields: Fields,
): NonNullable<AuthorizationRequest['chip']> | null {
  const sent = findChipData(profile, fields)
  if (!sent) return null
  const acquirerCountry = fields['19'] ?? ''
  const localDate = findLocalDate(profile, fields)
  const sequence = /^0([0-9]{2})$/.exec(fields[profile.chip?.panSequenceNumber ?? ''] ?? '')?.[1]
  return {
    data: sent.data,
    ...(sequence !== undefined && { panSequenceNumber: sequence }),
    ...(isCountryNumber(acquirerCountry) && { acquirerCountry }),
    ...(localDate !== undefined && { localDate }),
  }
}

/** Field 12 of the version 1993 has the date before the time. @returns `MMDD`. */
const findLocalDate = ({ version }: Profile, fields: Fields): string | undefined =>
  version === '1993' ? fields['12']?.slice(2, 6) : fields['13']

/** Composes the answer to the chip, with the header that the request had. */
export function composeChipField(
  profile: Profile,
  { fields }: IsoMessage,
  { chip: answer }: Pick<Authorization, 'chip'>,
): Readonly<Record<string, string>> {
  const { chip } = profile
  if (!chip || !answer) return {}
  const data = answer.data.toUpperCase()
  const length = (data.length / 2).toString(16).toUpperCase().padStart(4, '0')
  const isInDataset = findChipData(profile, fields)?.isInDataset
  return { [chip.field]: isInDataset ? `${chip.dataset}${length}${data}` : data }
}

/** The card data of a message, and the place of its terminal. */
interface SentCard {
  readonly entryMode: EntryMode
  readonly hasChipData: boolean
  readonly track2: Track2 | null
}

/** Selects what was read of the card, by the entry mode alone where it says that. */
export function parseCardRead(
  { entryMode: place, stripe }: Profile,
  fields: Fields,
  { entryMode, hasChipData, track2 }: SentCard,
): CardRead {
  const mode = cutEntryMode(place, fields)
  if (stripe.contactless.includes(mode)) return 'contactless_stripe'
  const named = place.values[mode]
  const read = named ? selectCardRead(named, { hasChipData: false, hasTrack: false }) : 'none'
  if (read !== 'none') return read
  if (entryMode === 'atm')
    return selectCardRead(entryMode, { hasChipData, hasTrack: track2 !== null })
  // No one types a track, so one that came was read, whatever the entry mode says.
  return track2 === null ? 'none' : 'stripe'
}

/** Returns the code of the entry mode. */
export const cutEntryMode = (
  { at, field, length }: Pick<Profile['entryMode'], 'at' | 'field' | 'length'>,
  fields: Fields,
): string => (fields[field] ?? '').slice(at, at + length)

/**
 * Returns track 2; null if the message has none. A malformed track must not count as an absent one,
 * because nothing would then be compared.
 */
export function parseTrackField({ stripe }: Profile, fields: Fields): Track2 | 'malformed' | null {
  const text = fields[stripe.field]
  return text ? (parseTrack2(text) ?? 'malformed') : null
}

/** Whether the stripe was read where the chip could have been. */
export function isFallback(
  { entryMode: place, stripe: { chipTerminal, fallback } }: Profile,
  fields: Fields,
  cardRead: CardRead,
): boolean {
  const capability = chipTerminal && (fields[chipTerminal.field] ?? '').slice(chipTerminal.at)
  const isChipTerminal = chipTerminal?.values.some((value) => capability?.startsWith(value))
  return (
    cardRead === 'stripe' &&
    (fallback.includes(cutEntryMode(place, fields)) || isChipTerminal === true)
  )
}

/** Returns the value of a 3-D Secure authentication; null if the message has none. */
export function parseCavvField({ cavv, layout }: Profile, fields: Fields): Cavv | null {
  const value = cavv && fields[cavv.field]
  const field = cavv && layout.fields[cavv.field]
  if (!value || !field) return null
  const { part } = cavv
  const whole = part === undefined ? value : findOptionalPart(cavv.field, field, part, value)
  return whole === undefined ? null : parseCavv(whole)
}
