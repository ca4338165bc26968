import Type, { type Static } from 'typebox'
import { type EntryMode, selectCardRead } from '../../domain/entry-mode.ts'
import { parseCavv, parseTrack2 } from '../../domain/stripe.ts'
import type { BodyRule } from './request.ts'
import { closed, stringPatterns } from './validation.ts'

const secret = { 'x-secret': true } as const

/** The data that a terminal read from a card, and the result of a 3-D Secure authentication. */
export const cardDataMembers = {
  chip: Type.Optional(
    Type.Object(
      {
        data: Type.String({
          minLength: 2,
          maxLength: 510,
          pattern: stringPatterns.hexadecimalBytes,
          description: 'Field 55 of ISO 8583 in hexadecimal digits.',
          ...secret,
        }),
        panSequenceNumber: Type.Optional(
          Type.String({
            minLength: 2,
            maxLength: 2,
            pattern: stringPatterns.panSequenceNumber,
            description: 'For data without tag 5F34. Default: 00.',
            examples: ['01'],
          }),
        ),
      },
      { ...closed, description: 'The data of the chip.' },
    ),
  ),
  track2: Type.Optional(
    Type.String({
      maxLength: 38,
      pattern: stringPatterns.track2,
      description:
        'Track 2 of the stripe, or the equivalent data of the chip, without sentinels. With ' +
        '`entryMode` `contactless` and without `chip`: the track of a contactless stripe. With ' +
        '`atm` and without `chip`: of a stripe. Not with `ecommerce` and `moto`.',
      ...secret,
    }),
  ),
  fallback: Type.Optional(
    Type.Boolean({
      description:
        'The stripe was read at a terminal that can read chips. With `entryMode` `magstripe` ' +
        'or `atm`.',
    }),
  ),
  cavv: Type.Optional(
    Type.String({
      minLength: 40,
      maxLength: 40,
      pattern: stringPatterns.hexadecimal,
      description:
        'The value of a 3-D Secure authentication: 20 bytes in hexadecimal digits. Decode a ' +
        'value in base64 first.',
      ...secret,
    }),
  ),
}

const CardDataSchema = Type.Object(cardDataMembers)
type GivenCardData = Static<typeof CardDataSchema> & { readonly entryMode: EntryMode }

const hasFormOfTrack2 = new RegExp(stringPatterns.track2)

/** Entry modes in which nothing was read of a card. */
const modesWithoutCard: readonly unknown[] = ['ecommerce', 'moto']
/** Entry modes in which a stripe can be read by swiping. */
const modesOfStripes: readonly unknown[] = ['magstripe', 'atm']

/** A track was read, and names a card. */
export const cardDataRules: readonly BodyRule[] = [
  ({ entryMode, track2 }) =>
    track2 !== undefined && modesWithoutCard.includes(entryMode)
      ? { pointer: '/track2', detail: 'must be left out with ecommerce and moto' }
      : null,
  ({ entryMode, fallback }) =>
    fallback === true && !modesOfStripes.includes(entryMode)
      ? { pointer: '/fallback', detail: 'is allowed with magstripe and atm only' }
      : null,
  // The schema reports a text of another form.
  ({ track2 }) =>
    typeof track2 === 'string' && hasFormOfTrack2.test(track2) && parseTrack2(track2) === null
      ? { pointer: '/track2', detail: 'must be track 2 of a card' }
      : null,
]

/** Parses the card data of a body that its schema and its rules accepted. */
export function parseCardData({
  cavv,
  chip,
  entryMode,
  fallback = false,
  track2: text,
}: GivenCardData) {
  const track2 = text === undefined ? null : parseTrack2(text)
  const given = {
    hasChipData: chip !== undefined,
    hasTrack: track2 !== null,
    isFallback: fallback,
  }
  const cardRead = selectCardRead(entryMode, given)
  return {
    cardRead,
    ...(chip && { chip: { ...chip, data: Buffer.from(chip.data, 'hex') } }),
    ...(track2 && { track2 }),
    isFallback: cardRead === 'stripe' && fallback,
    ...(cavv !== undefined && { cavv: parseCavv(cavv) }),
  }
}
