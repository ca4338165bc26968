import { computeCvc3, computeIvCvc3 } from '../../crypto/cvc3.ts'
import { generateCvv } from '../../crypto/cvv.ts'
import { generateDynamicCvv } from '../../crypto/dcvv.ts'
import { deriveCardKey } from '../../crypto/emv-keys.ts'
import { areEqualDigits, isDigits } from '../../crypto/refusal.ts'
import { using } from '../../crypto/secrets.ts'
import type { Pan } from '../../domain/pan.ts'
import { Track2 } from '../../domain/stripe.ts'
import type { ChipReference } from '../contract/chip.ts'
import type { StripeHsm, VirtualStripeHsm } from '../contract/stripe.ts'
import { findNamedKey, type KeyRing, type RingKey } from '../keys/key-ring.ts'
import { openPan } from './card-numbers.ts'

/** The digits of a CVV, a dynamic CVV and a CAVV. */
const valueLength = 3
/** The most digits of a CVC3. */
const cvc3LengthMost = 5

/** Verifies the values of magnetic stripes and of 3-D Secure, and makes a track. */
export function stripeVerbs(ring: KeyRing): StripeHsm & VirtualStripeHsm {
  /** Whether the card that was read is the card. */
  const isOf = (own: Pan, read: Pan): boolean => areEqualDigits(own.reveal(), read.reveal())

  const deriveKey = async (
    { panSequenceNumber, profile }: ChipReference,
    { key }: RingKey<'chip-dynamic'>,
    pan: Pan,
  ): Promise<Buffer> =>
    deriveCardKey(profile.cardKey, key, { pan: pan.reveal(), panSequenceNumber })

  return {
    verifyPan: async (card, read) => isOf(await openPan(ring, card), read),
    async verifyCvv(card, reference, { expiry, pan: read, serviceCode, value }) {
      const cvk = await findNamedKey(ring, 'cvk', reference)
      if (!cvk || !areDigits([expiry, 4], [serviceCode, 3], [value.reveal(), valueLength])) {
        return false
      }
      const pan = await openPan(ring, card)
      const due = await generateCvv(cvk.key, { pan: pan.reveal(), expiry, serviceCode })
      return isBoth(isOf(pan, read), areEqualDigits(due, value.reveal()))
    },
    async verifyDynamicCvv(chip, reference, { atc, expiry, pan: read, serviceCode, value }) {
      const issuerKey = await findNamedKey(ring, 'chip-dynamic', reference)
      const isFormed = areDigits(
        [expiry, 4],
        [serviceCode, 3],
        [atc, 4],
        [value.reveal(), valueLength],
      )
      if (!issuerKey || !isFormed) return false
      const pan = await openPan(ring, chip.card)
      const cardKey = await deriveKey(chip, issuerKey, pan)
      const inputs = { pan: pan.reveal(), expiry, serviceCode, atc }
      const due = await generateDynamicCvv(cardKey, inputs).finally(() => cardKey.fill(0))
      return isBoth(isOf(pan, read), areEqualDigits(due, value.reveal()))
    },
    async verifyCvc3(chip, reference, { atc, pan: read, track, unpredictableNumber, value }) {
      const issuerKey = await findNamedKey(ring, 'chip-dynamic', reference)
      const isFormed =
        atc.length === 2 &&
        unpredictableNumber.length === 4 &&
        isDigits(value.reveal(), 1, cvc3LengthMost)
      if (!issuerKey || !isFormed) return false
      const pan = await openPan(ring, chip.card)
      const cardKey = await deriveKey(chip, issuerKey, pan)
      const whole = using(cardKey, () =>
        computeCvc3(cardKey, computeIvCvc3(cardKey, track.reveal()), unpredictableNumber, atc),
      )
      const due = whole.slice(-value.reveal().length)
      return isBoth(isOf(pan, read), areEqualDigits(due, value.reveal()))
    },
    async verifyCavv(card, reference, { authenticationResult, unpredictableNumber, value }) {
      const key = await findNamedKey(ring, 'cavv', reference)
      const isFormed = areDigits(
        [unpredictableNumber, 4],
        [authenticationResult, 3],
        [value.reveal(), valueLength],
      )
      if (!key || !isFormed) return false
      const due = await generateCvv(key.key, {
        pan: (await openPan(ring, card)).reveal(),
        expiry: unpredictableNumber,
        serviceCode: authenticationResult,
      })
      return areEqualDigits(due, value.reveal())
    },
    async revealTrack2(card, reference, expiry, serviceCode) {
      const cvk = await findNamedKey(ring, 'cvk', reference)
      if (!cvk) throw new Error('The CVK of a card does not exist.')
      const pan = await openPan(ring, card)
      const made = { pan: pan.reveal(), expiry, serviceCode }
      // PIN verification data stand before the value, and nothing uses what follows it.
      const discretionary = `00000${await generateCvv(cvk.key, made)}00000`
      return new Track2({ pan, expiry, serviceCode, discretionary })
    },
  }
}

/** Both comparisons are made, whatever the first one found. */
const isBoth = (isOne: boolean, isOther: boolean): boolean => isOne && isOther

const areDigits = (...texts: readonly (readonly [text: string, length: number])[]): boolean =>
  texts.every(([text, length]) => isDigits(text, length, length))
