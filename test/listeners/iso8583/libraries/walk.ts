import type { Profile } from '../../../../src/listeners/iso8583/profile-schema.ts'
import type { IssuedCard } from '../../../support/network.ts'
import { otherDigits } from '../../../support/network.ts'
import type { TestService } from '../../../support/service.ts'
import { nextTrace, purchase } from '../../../support/switch.ts'

/**
 * The messages that a library sends over a link of a profile, and what each answer must be. A step
 * has values, never bytes: the library packs them, so that no code of ours says how they are on the
 * wire.
 */

/** A whole value, or the parts that make it. */
export type WalkValue = string | { header?: string; parts: Record<string, string> }
type Fields = Readonly<Record<string, WalkValue>>

export type Outcome = keyof typeof codes1987

export type WalkStep = {
  name: string
  mti: string
  fields: Fields
  /** Bytes that are taken off the end of the packed message. */
  cut: number
  outcome: Outcome
  /** The step whose answer this one gets, to the last byte. */
  repeats: string | null
  /** What the answer shows of a CVV2. */
  shownFields: Fields
  /** The tags of the answer to a chip; null without one. */
  shownTags: readonly string[] | null
}

const codes1987 = {
  approved: '00',
  partlyApproved: '10',
  accepted: '00',
  reversed: '00',
  managed: '00',
  unknownMessage: '12',
  withoutOriginal: '25',
  unreadable: '30',
  wrongPin: '55',
  notAuthorized: '57',
  wrongChip: '88',
  notSignedOn: '91',
  otherContent: '94',
  wrongCvv2: 'N7',
} as const

const codes1993: Readonly<Record<Outcome, string>> = {
  approved: '000',
  partlyApproved: '002',
  accepted: '000',
  reversed: '400',
  managed: '800',
  unknownMessage: '902',
  withoutOriginal: '914',
  unreadable: '904',
  wrongPin: '117',
  notAuthorized: '119',
  wrongChip: '122',
  notSignedOn: '912',
  otherContent: '913',
  wrongCvv2: '122',
}

/** Field 39 as the documents have it, and not as the code has it. */
export const findResponseCode = (profile: Profile, outcome: Outcome): string => {
  if (profile.version === '1993') return codes1993[outcome]
  const isMastercard = profile.name === 'mastercard-public'
  if (profile.name === 'visa-public' && outcome === 'wrongChip') return '82'
  return isMastercard && outcome === 'wrongCvv2' ? '05' : codes1987[outcome]
}

/** Field 22 of a chip, a swipe and a card that is not there. */
const entryModesOf = ({ name, version }: Profile) => {
  if (version === '1993') {
    return { chip: '510101500140', swipe: '210101200140', keyed: '100510S00140' }
  }
  return name === 'visa-public'
    ? { chip: '0510', swipe: '9010', keyed: '8120' }
    : { chip: '051', swipe: '901', keyed: '812' }
}

/** A CVV2 in the place that each profile has for it. */
const cvv2Fields = (profile: Profile, cvv2: string): Fields => {
  if (profile.name === 'visa-public') return { 126: { parts: { 10: `10 ${cvv2}` } } }
  const parts = { 92: cvv2 }
  return { 48: profile.name === 'mastercard-public' ? { header: 'T', parts } : { parts } }
}

/** What an answer shows of a CVV2, in the place that each profile has for it. */
const shownFields = (profile: Profile, shown: 'M' | 'N'): Fields => {
  if (profile.name === 'visa-public') return { 44: `${' '.repeat(10)}${shown}` }
  const parts = { 87: shown }
  return { 48: profile.name === 'mastercard-public' ? { header: 'T', parts } : { parts } }
}

/** Fields without parts, for a library whose own table has none. Chip data is in hexadecimal. */
export const wholeFields = (fields: Fields): Record<string, string> =>
  Object.fromEntries(
    Object.entries(fields).map(([field, value]) => [field, wholeValue(field, value)] as const),
  )

const wholeValue = (field: string, value: WalkValue): string => {
  if (typeof value === 'string') return value
  const lengthOf = (part: string): string =>
    field === '55' ? (part.length / 2).toString(16) : String(part.length)
  const parts = Object.entries(value.parts).map(
    ([tag, part]) => tag + lengthOf(part).padStart(2, '0') + part,
  )
  return (value.header ?? '') + parts.join('')
}

/** By field, the tags of the messages and of their answers: the library has to know each. */
export const tagsOf = (profile: Profile, steps: readonly WalkStep[]): Record<string, string[]> => {
  const values = [
    ...steps.flatMap(({ fields }) => Object.entries(fields)),
    ...Object.entries(shownFields(profile, 'M')),
    ...Object.entries({ 55: chipFieldOf(profile, { 71: '', 72: '', 91: '' }) }),
  ]
  const tags: Record<string, string[]> = {}
  for (const [field, value] of values) {
    if (typeof value === 'string') continue
    tags[field] = [...new Set([...(tags[field] ?? []), ...Object.keys(value.parts)])]
  }
  return tags
}

/** Chip data by tag, where a profile has tags in field 55. */
export const chipFieldOf = (profile: Profile, parts: Record<string, string>): WalkValue =>
  profile.layout.fields[55]?.parts === undefined ? wholeValue('55', { parts }) : { parts }

type StepOthers = {
  cut?: number
  repeats?: string
  shown?: 'M' | 'N'
  amounts?: Fields
  tags?: readonly string[]
}

export type Walker = {
  profile: Profile
  step: (
    name: string,
    outcome: Outcome,
    mti: string,
    fields: Fields,
    others?: StepOthers,
  ) => WalkStep
  /** A purchase with a chip; its acquirer has an odd number of digits. */
  purchase: (pin: string) => Record<string, string>
  card: IssuedCard
}

type Numbers = { trace: string; sentAt: string; reference: string }

const numbersIn = ({ trace, sentAt, reference }: Numbers): Record<string, string> => ({
  7: sentAt,
  11: trace,
  37: reference,
})

const nextNumbers = (): Numbers => {
  const trace = nextTrace()
  return { trace, sentAt: `1126${trace}`, reference: trace.padStart(12, '0') }
}

export const createStep = (
  profile: Profile,
  name: string,
  outcome: Outcome,
  mti: string,
  fields: Fields,
  others: StepOthers = {},
): WalkStep => ({
  name,
  mti: profile.version === '1993' ? `1${mti.slice(1)}` : mti,
  fields,
  outcome,
  cut: others.cut ?? 0,
  repeats: others.repeats ?? null,
  shownFields: {
    ...others.amounts,
    ...(others.shown && shownFields(profile, others.shown)),
  },
  shownTags: others.tags ?? null,
})

export const createWalker = (service: TestService, profile: Profile, card: IssuedCard): Walker => ({
  profile,
  card,
  step: (...words) => createStep(profile, ...words),
  purchase(pin) {
    const { 18: merchantType, 25: condition, ...standard } = purchase(service, card, { pin })
    const { trace, sentAt, reference } = nextNumbers()
    const is1993 = profile.version === '1993'
    return {
      ...standard,
      ...(is1993
        ? { 12: `26${sentAt}`, 24: '200', 26: '5411' }
        : { 12: '170000', 13: '1126', 18: merchantType ?? '', 19: '276', 25: condition ?? '' }),
      7: sentAt,
      11: trace,
      22: entryModesOf(profile).chip,
      23: '001',
      32: '1234567',
      37: reference,
    }
  },
})

/**
 * Every message of the walk, in its order.
 * @param track track 2 of the card, with its CVV.
 */
export const walkSteps = (
  service: TestService,
  profile: Profile,
  card: IssuedCard,
  track: string,
): readonly WalkStep[] => {
  const walker = createWalker(service, profile, card)
  return [
    walker.step('a purchase before the sign-on', 'notSignedOn', '0200', walker.purchase(card.pin)),
    ...manage(walker, 'signOn'),
    ...manage(walker, 'echo'),
    ...purchases(walker, track),
    ...cvv2s(walker),
    ...unsupported(walker),
    ...reversals(walker),
    ...advices(walker),
    ...payments(walker),
    ...partialApprovals(walker),
    ...manage(walker, 'signOff'),
    walker.step('a purchase after the sign-off', 'notSignedOn', '0200', walker.purchase(card.pin)),
  ]
}

export const manage = (walker: Walker, purpose: 'signOn' | 'signOff' | 'echo'): WalkStep[] => {
  const { management, version } = walker.profile
  return management[purpose].map((code) => {
    const { sentAt, trace } = nextNumbers()
    const instant = version === '1993' ? { 12: `26${sentAt}` } : {}
    const fields = { 7: sentAt, 11: trace, ...instant, [management.field]: code }
    return walker.step(`${purpose} ${code}`, 'managed', '0800', fields)
  })
}

const purchases = (walker: Walker, track: string): WalkStep[] => {
  const { card, profile } = walker
  const right = walker.purchase(card.pin)
  const wrong = walker.purchase(otherDigits(card.pin))
  const chip = { parts: { 82: '5C00', '9F02': '000000001000' } }
  const isTagged = profile.layout.fields[55]?.parts !== undefined
  const { 2: _, 14: __, 52: ___, 53: ____, ...others } = walker.purchase(card.pin)
  const separator = profile.layout.fields[35]?.encoding === 'bcd' ? 'D' : '='
  const swipe = {
    ...others,
    22: entryModesOf(profile).swipe,
    35: track.replace('=', separator),
  }
  return [
    walker.step('a purchase with the right PIN and chip data', 'approved', '0200', {
      ...right,
      55: isTagged ? chip : '82025C00',
    }),
    walker.step('an authorization with a wrong PIN', 'wrongPin', '0100', wrong),
    walker.step('its repeat', 'wrongPin', '0101', wrong, {
      repeats: 'an authorization with a wrong PIN',
    }),
    walker.step('another amount under its numbers', 'otherContent', '0101', {
      ...wrong,
      4: '000000002000',
    }),
    walker.step('a swipe by track 2 alone', 'approved', '0100', swipe),
    walker.step('a swipe whose PAN is empty', 'approved', '0100', {
      ...swipe,
      ...numbersIn(nextNumbers()),
      2: '',
    }),
  ]
}

const cvv2s = (walker: Walker): WalkStep[] => {
  const { card, profile } = walker
  const keyed = (cvv2: string): Fields => {
    const { 52: _, 53: __, ...others } = walker.purchase(card.pin)
    return { ...others, 22: entryModesOf(profile).keyed, ...cvv2Fields(profile, cvv2) }
  }
  const wrong = keyed(otherDigits(card.cvv2))
  return [
    walker.step('the right CVV2', 'approved', '0100', keyed(card.cvv2), {
      shown: 'M',
    }),
    walker.step('a wrong CVV2', 'wrongCvv2', '0100', wrong, { shown: 'N' }),
    walker.step('its repeat', 'wrongCvv2', '0101', wrong, {
      repeats: 'a wrong CVV2',
      shown: 'N',
    }),
  ]
}

const unsupported = (walker: Walker): WalkStep[] => {
  const { card, profile } = walker
  const { sentAt, trace } = nextNumbers()
  const inquiry = { ...walker.purchase(card.pin), 3: '310000' }
  const byFunction = { ...walker.purchase(card.pin), 24: '108' }
  const whole = walker.purchase(card.pin)
  return [
    walker.step('a balance inquiry', 'notAuthorized', '0100', inquiry),
    ...(profile.version === '1993'
      ? [walker.step('an inquiry by its function code', 'notAuthorized', '0100', byFunction)]
      : []),
    walker.step('a file update', 'unknownMessage', '0300', { 7: sentAt, 11: trace }),
    walker.step('a purchase whose last byte is missing', 'unreadable', '0200', whole, { cut: 1 }),
  ]
}

/** The elements of an original, where each version has them. */
const originalElements = ({ profile }: Walker, mti: string, fields: Fields): Fields => {
  const { 7: sentAt, 11: trace, 12: instant } = fields
  return profile.version === '1993'
    ? { 24: '400', 56: `1${mti.slice(1)}${trace}${instant}071234567` }
    : { 90: `${mti}${trace}${sentAt}${'1234567'.padStart(11, '0')}${'0'.repeat(11)}` }
}

const reversals = (walker: Walker): WalkStep[] => {
  const original = walker.purchase(walker.card.pin)
  const { 52: _, 53: __, ...withoutPin } = original
  const reversal = (of: Fields): Fields => {
    const { sentAt, trace } = nextNumbers()
    return { ...withoutPin, ...originalElements(walker, '0200', of), 7: sentAt, 11: trace }
  }
  const first = reversal(original)
  const advice = reversal(original)
  const unknown = { ...reversal(walker.purchase('0000')), 37: nextNumbers().reference }
  return [
    // Without a PIN, so that the try that was spent stays spent.
    walker.step('a purchase that is reversed', 'approved', '0200', withoutPin),
    walker.step('its reversal', 'reversed', '0400', first),
    walker.step('a repeat of the reversal', 'reversed', '0401', first, {
      repeats: 'its reversal',
    }),
    walker.step('a reversal advice', 'reversed', '0420', advice),
    walker.step('its repeat', 'reversed', '0421', advice, {
      repeats: 'a reversal advice',
    }),
    walker.step('a reversal of what was never asked', 'withoutOriginal', '0400', unknown),
  ]
}

const advices = (walker: Walker): WalkStep[] => {
  const { 52: _, 53: __, ...asked } = walker.purchase(walker.card.pin)
  const advice = { ...asked, 38: 'ABC123', 39: findResponseCode(walker.profile, 'approved') }
  return [
    walker.step('an advice', 'accepted', '0220', advice),
    walker.step('its repeat', 'accepted', '0221', advice, { repeats: 'an advice' }),
  ]
}

/** The network's id of a transaction, in the place that a profile has for it. */
const networkIdFields = ({ name }: Profile, id: string): Fields => {
  if (name === 'visa-public') return { 62: { parts: { 2: id } } }
  return ['sandbox', 'mastercard-public'].includes(name) ? { 63: id } : {}
}

/** What makes a request an increment, where a profile has that. */
const incrementFields = ({ increment, name }: Profile): Fields | null => {
  if (name === 'visa-public') return { 63: { parts: { 3: '3900' } } }
  return increment && { [increment.field]: increment.added[0] ?? '' }
}

/** Where a reversal says that 4.00 of an amount remain. */
const remainingFields = ({ version }: Profile): Fields =>
  version === '1993' ? { 4: '000000000400', 24: '401' } : { 95: '000000000400'.padEnd(42, '0') }

/**
 * A purchase of 10.00 that is raised, reversed in part, completed and refunded: what its payment
 * comes to is in `walkedPayment`.
 */
const payments = (walker: Walker): WalkStep[] => {
  const { card, profile } = walker
  const { 52: _, 53: __, ...numbered } = walker.purchase(card.pin)
  const bought = { ...numbered, ...networkIdFields(profile, '261126000000471') }
  const next = (fields: Fields): Fields => {
    const { sentAt, trace } = nextNumbers()
    return { ...bought, 7: sentAt, 11: trace, ...fields }
  }
  const increment = incrementFields(profile)
  const raised = increment && next({ ...increment, 4: '000000000500' })
  const partial = next({
    ...originalElements(walker, '0200', bought),
    ...remainingFields(profile),
  })
  const completion = next({ 4: '000000000300' })
  const refund = next({ 3: '200000', 4: '000000000100' })
  return [
    walker.step('a purchase that holds its amount', 'approved', '0200', bought),
    ...(raised
      ? [
          walker.step('its increment', 'approved', '0100', raised),
          walker.step('the repeat of it', 'approved', '0101', raised, { repeats: 'its increment' }),
        ]
      : []),
    walker.step('a reversal of which 4.00 remain', 'reversed', '0400', partial),
    walker.step('the repeat of that', 'reversed', '0401', partial, {
      repeats: 'a reversal of which 4.00 remain',
    }),
    walker.step('a completion of 3.00', 'accepted', '0220', completion),
    walker.step('a refund of 1.00', 'accepted', '0220', refund),
    walker.step('the repeat of the refund', 'accepted', '0221', refund, {
      repeats: 'a refund of 1.00',
    }),
  ]
}

/** The sums of the payment of these messages: approved, reversed and refunded. */
export const walkedPayment = (profile: Profile): Readonly<Record<string, number>> => {
  const asked = incrementFields(profile) ? 1500 : 1000
  const reversed = asked - 400
  return { approved: reversed + 300, reversed, refunded: 100 }
}

/** The most that a card of a walk may be charged at once: more than any other step asks for. */
export const walkedLimit = 5_000

/** A purchase of 60.00 by a terminal that can take a part, where a profile has a place for that. */
const partialApprovals = (walker: Walker): WalkStep[] => {
  const { card, profile } = walker
  if (!profile.partialApproval) return []
  const { 52: _, 53: __, ...numbered } = walker.purchase(card.pin)
  const whole = { ...numbered, ...partialFields(profile), 4: '000000006000' }
  const amounts = { 4: '000000005000', 54: '0057978D000000006000' }
  return [
    walker.step('a purchase in part', 'partlyApproved', '0200', whole, { amounts }),
    walker.step('the repeat of the part', 'partlyApproved', '0201', whole, {
      amounts,
      repeats: 'a purchase in part',
    }),
  ]
}

/** What a terminal says that can take a part, in the place that a profile has for it. */
const partialFields = ({ name }: Profile): Fields => {
  if (name === 'visa-public') return { 60: '000000000001' }
  const parts = { 61: '1' }
  return { 48: name === 'mastercard-public' ? { header: 'R', parts } : { parts } }
}
