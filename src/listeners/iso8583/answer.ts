import type { Authorization } from '../../operations/authorizations/authorization.ts'
import type { IsoMessage } from './codec/layout.ts'
import { writeParts } from './codec/parts.ts'
import { readClass, readFunction } from './network-messages.ts'
import type { LinkOutcome, Profile } from './profile-schema.ts'

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

/** Composes the result of a CVV2 check for the network, when its profile has a field for it. */
export function composeCvv2Result(
  { cvv2, layout }: Profile,
  { cvv }: Authorization,
): Readonly<Record<string, string>> {
  const result = cvv2?.result
  const field = result && layout.fields[result.field]
  if (!cvv || !field) return {}
  // A value that can no longer be compared does not match.
  const code = result.values[cvv.result === 'blocked' ? 'mismatch' : cvv.result]
  if (code === undefined) return {}
  if (result.part === undefined) return { [result.field]: ' '.repeat(result.at ?? 0) + code }
  const header = result.header === undefined ? [] : [['header', result.header] as const]
  const parts = new Map([...header, [result.part, code] as const])
  return { [result.field]: writeParts(result.field, field, parts) }
}

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
