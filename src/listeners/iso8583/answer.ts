import { findCurrency } from '../../domain/currencies.ts'
import type { Authorization } from '../../operations/authorizations/authorization.ts'
import type { IsoMessage } from './codec/layout.ts'
import { writeParts } from './codec/parts.ts'
import { readClass, readFunction } from './network-messages.ts'
import type { addressVerdicts, LinkOutcome, Profile } from './profile-schema.ts'

/**
 * Composes the answer to a message: the key fields unchanged, the outcome, and its further fields.
 */
export function answerTo(
  profile: Profile,
  { fields, header, mti }: IsoMessage,
  outcome: LinkOutcome,
  others: Readonly<Record<string, string>> = {},
): IsoMessage {
  const echoed = profile.echoed.flatMap((field) => {
    const value = fields[field]
    return value === undefined ? [] : [[field, value] as const]
  })
  const [version = '', messageClass = '', purpose = '', origin = ''] = mti
  return {
    ...(header !== undefined && { header }),
    // An odd origin marks a repeat, which has the same answer.
    mti: `${version}${messageClass}${Number(purpose) + 1}${Number(origin) & ~1}`,
    fields: {
      ...Object.fromEntries(echoed),
      ...others,
      39: findResponseCode(profile, mti, outcome),
    },
  }
}

/** Returns field 39 of the answer to a message of this type. */
export function findResponseCode(profile: Profile, mti: string, outcome: LinkOutcome): string {
  const codes: Readonly<Record<string, string | undefined>> = profile.accepted
  // Reversals and network management messages have one code each, as requests and as advices.
  const isAdvice = readFunction(mti) === 'advice' && !['4', '8'].includes(readClass(mti))
  const accepted = codes[isAdvice ? 'advice' : readClass(mti)]
  const whole = profile.responses[outcome] ?? outcome
  return outcome === '00' ? (accepted ?? whole) : whole
}

/**
 * Composes the amounts of the answer that approves a part: the approved amount, and the requested
 * one as an additional amount. Nothing is composed for other answers.
 */
export function composeAmounts(
  { additionalAmounts, billing }: Profile,
  { fields }: IsoMessage,
  { approvedAmount }: Pick<Authorization, 'approvedAmount'>,
): Readonly<Record<string, string>> {
  if (approvedAmount === undefined) return {}
  const write = (amount: string | number): string => String(amount).padStart(12, '0')
  const accountType = (fields['3'] ?? '').slice(2, 4).padEnd(2, '0')
  const currency = findCurrency((fields['49'] ?? '').trim())?.number ?? '000'
  const requested = `${currency}D${write(fields['4'] ?? '')}`
  return {
    4: write(approvedAmount),
    // A part of a converted amount is never approved: both amounts are the same.
    ...(billing && fields[billing.amount] && { [billing.amount]: write(approvedAmount) }),
    ...(additionalAmounts && {
      [additionalAmounts.field]: `${accountType}${additionalAmounts.original}${requested}`,
    }),
  }
}

/** A result for the network, and its place in the answer. */
interface ShownResult {
  readonly place: {
    readonly field: string
    readonly part?: string
    readonly header?: string
    readonly at?: number
  }
  readonly code: string
}

/** Composes the results of checks for the network, when its profile has fields for them. */
export function composeResults(
  profile: Profile,
  authorization: Authorization,
): Readonly<Record<string, string>> {
  const shown = [
    selectCvv2Result(profile, authorization),
    selectAddressResult(profile, authorization),
  ]
  const byField = Map.groupBy(
    shown.filter((each) => each !== null),
    ({ place }) => place.field,
  )
  return Object.fromEntries(
    [...byField].map(([field, results]) => [field, writeResults(profile, field, results)] as const),
  )
}

function selectCvv2Result({ cvv2 }: Profile, { cvv }: Authorization): ShownResult | null {
  const place = cvv2?.result
  if (!cvv || !place) return null
  // A value that can no longer be compared does not match.
  const code = place.values[cvv.result === 'blocked' ? 'mismatch' : cvv.result]
  return code === undefined ? null : { place, code }
}

function selectAddressResult(
  { addressCheck }: Profile,
  { address }: Authorization,
): ShownResult | null {
  if (!addressCheck || !address) return null
  const place = addressCheck.result
  const code = place.values[selectAddressVerdict(address)]
  return code === undefined ? null : { place, code }
}

function selectAddressVerdict({
  addressLine,
  postalCode,
}: NonNullable<Authorization['address']>): (typeof addressVerdicts)[number] {
  if (postalCode === 'match') return addressLine === 'match' ? 'both' : 'postalCode'
  if (addressLine === 'match') return 'addressLine'
  const isChecked = postalCode === 'mismatch' || addressLine === 'mismatch'
  return isChecked ? 'neither' : 'unavailable'
}

/** Writes the results of one field: its parts, or characters at their places. */
function writeResults({ layout }: Profile, name: string, results: readonly ShownResult[]): string {
  const parts = new Map<string, string>()
  let text = ''
  for (const { code, place } of results) {
    if (place.header !== undefined) parts.set('header', place.header)
    if (place.part !== undefined) parts.set(place.part, code)
    else text = putAt(text, place.at ?? 0, code)
  }
  const field = layout.fields[name]
  return field && parts.size > 0 ? writeParts(name, field, parts) : text
}

const putAt = (text: string, at: number, code: string): string =>
  text.slice(0, at).padEnd(at) + code + text.slice(at + code.length)

let messages = 0

/** Composes a network management message of this service: a sign-on, a sign-off or an echo. */
export function managementMessage(
  { layout, management, version }: Profile,
  purpose: 'signOn' | 'signOff' | 'echo',
  now = new Date(),
): IsoMessage {
  messages = (messages % 999_999) + 1
  // `YYMMDDhhmmss`, in UTC.
  const instant = now.toISOString().replace(/[-:T]/g, '').slice(2, 14)
  return {
    ...(layout.header !== undefined && { header: '00'.repeat(layout.header) }),
    mti: version === '1993' ? '1804' : '0800',
    fields: {
      7: instant.slice(2),
      11: String(messages).padStart(6, '0'),
      ...(version === '1993' && { 12: instant }),
      [management.field]: management[purpose][0] ?? '',
    },
  }
}
