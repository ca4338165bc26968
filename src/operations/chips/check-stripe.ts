import type { ChipFinding } from '../../domain/chip-findings.ts'
import { chipProfiles } from '../../domain/chip-profile.ts'
import { type CardRead, isChipRead } from '../../domain/entry-mode.ts'
import { Secret } from '../../domain/secret.ts'
import type { Cavv, Track2 } from '../../domain/stripe.ts'
import {
  completeAtc,
  type ReadDynamicValue,
  readCardValue,
  readDynamicValue,
  stripeProfiles,
} from '../../domain/stripe-profile.ts'
import { callHsm } from '../../hsm/contract/outage.ts'
import type { StripeHsm } from '../../hsm/contract/stripe.ts'
import type { FoundChip } from '../../storage/chips/find-chip.ts'
import type { ChipCheck, PresentedChip, StripeUse } from './presented-chip.ts'

/** The stripe of a request, as it was read before the authorization began. */
interface PresentedStripe {
  readonly checks: readonly ChipCheck[]
  /** The counter of a contactless stripe with the right value; null for other stripes. */
  readonly use: StripeUse | null
}

/** The dependencies of reading a stripe. */
interface StripeReader {
  readonly hsm: StripeHsm
  readonly observe: { hsmFaulted(error: unknown): void }
}

/** A request with a stripe or a 3-D Secure value. */
interface StripeMessage {
  readonly cardRead: CardRead
  readonly chip?: object
  readonly track2?: Track2
  readonly isFallback?: boolean
  readonly cavv?: Cavv
}

/** Verifies the values of a stripe and of a 3-D Secure authentication. Nothing is recorded. */
export async function checkStripe(
  context: StripeReader,
  request: StripeMessage,
  found: FoundChip,
): Promise<PresentedStripe> {
  const fallback = checkFallback(request, found)
  if (fallback?.responseCode) return { checks: [fallback], use: null }
  const { check, use } = await checkTrack(context, request, found)
  const checks = [fallback, check].filter((each) => each !== null)
  if (check?.responseCode) return { checks, use: null }
  const cavv = await checkCavv(context, request, found)
  return { checks: cavv ? [...checks, cavv] : checks, use: cavv?.responseCode ? null : use }
}

/** Adds the checks of a stripe, before that of the PIN in the chip. */
export function addStripeChecks(
  chip: PresentedChip | null,
  { checks: found, use }: PresentedStripe,
): PresentedChip {
  const ofPin = chip?.checks.filter(({ check }) => check === 'offline_pin') ?? []
  const ofChip = chip?.checks.filter(({ check }) => check !== 'offline_pin') ?? []
  const isDeclined = found.at(-1)?.responseCode !== undefined
  const checks = [...ofChip, ...found, ...(isDeclined ? [] : ofPin)]
  const objection = checks.at(-1)?.responseCode ?? null
  if (chip) return { ...chip, checks, objection }
  return {
    checks,
    panSequenceNumber: null,
    objection,
    use,
    reported: null,
    answer: async () => null,
  }
}

/** Service codes that begin with these digits say that the card has a chip (ISO/IEC 7813). */
const chipServiceCodes = /^[26]/

/** Checks whether the stripe was read where the chip could have been. */
function checkFallback(
  { isFallback, track2 }: StripeMessage,
  { cardType, chip }: FoundChip,
): ChipCheck | null {
  if (!isFallback || !track2 || cardType !== 'Physical') return null
  if (!chipServiceCodes.test(track2.reveal().serviceCode)) return null
  const findings: ChipFinding[] = ['fallback']
  return chip.fallback === 'decline'
    ? { check: 'chip', result: 'failed', findings, responseCode: '57' }
    : { check: 'chip', result: 'passed', findings }
}

interface CheckedTrack {
  readonly check: ChipCheck | null
  readonly use: StripeUse | null
}

async function checkTrack(
  context: StripeReader,
  request: StripeMessage,
  found: FoundChip,
): Promise<CheckedTrack> {
  const { track2 } = request
  // The issuer makes no stripe of a virtual card, so a track of one must prove itself, too.
  if (!track2) return { check: null, use: null }
  if (!isStripeOf(found, track2)) return { check: declineValue('data_disagreement'), use: null }
  const profile = stripeProfiles[found.chip.profile]
  if (request.cardRead === 'contactless_stripe') {
    // Without a dynamic value, a CVV that was overheard once would pass each time.
    const read = profile.dynamic && readDynamicValue(profile.dynamic, track2)
    return read
      ? checkDynamic(context, found, track2, read)
      : { check: await composeMissingCheck(context, request, found, track2), use: null }
  }
  const value = readCardValue(profile, track2)
  if (value === null) {
    return { check: await composeMissingCheck(context, request, found, track2), use: null }
  }
  // Guesses at the stripe do not stop the chip, whose cryptogram is too long for a guess.
  if (found.isCardValueGuessed && !request.chip)
    return { check: declineValue('guessing'), use: null }
  const { expiry, pan, serviceCode } = track2.reveal()
  const isRight = await callHsm(context, () =>
    context.hsm.verifyCvv(found, found.cvk, {
      pan,
      expiry,
      serviceCode: isChipRead(request.cardRead) ? chipServiceCode : serviceCode,
      value: new Secret(value),
    }),
  )
  return { check: await composeTrackCheck(context, found, track2, isRight), use: null }
}

/** The service code of an iCVV, the value in the track 2 of a chip. */
const chipServiceCode = '999'

/**
 * The service codes of an iCVV and of a CVV2. No track has them: it would make a CVV of either
 * value.
 */
const unusedServiceCodes: readonly string[] = [chipServiceCode, '000']

/** Whether a stripe of the card can have the track, except for its PAN. */
function isStripeOf({ expiry: own }: FoundChip, track2: Track2): boolean {
  const { expiry, serviceCode } = track2.reveal()
  return expiry === own && !unusedServiceCodes.includes(serviceCode)
}

/** Verifies the value of a contactless stripe, which is accepted once. */
async function checkDynamic(
  context: StripeReader,
  found: FoundChip,
  track2: Track2,
  read: ReadDynamicValue,
): Promise<CheckedTrack> {
  const { atcJump, atcWindow } = found.chip
  const atc = completeAtc(read, { highestAtc: found.highestCardAtc, atcJump, atcWindow })
  if (typeof atc !== 'number') {
    const finding = atc === 'too_low' ? 'cryptogram_replayed' : 'atc_jump'
    return { check: declineValue(finding), use: null }
  }
  if (found.isCardValueGuessed) return { check: declineValue('guessing'), use: null }
  const isRight = await callHsm(context, () => verifyDynamic(context, found, track2, read, atc))
  const check = await composeTrackCheck(context, found, track2, isRight)
  if (!isRight) return { check, use: null }
  return {
    check: { ...check, atc },
    use: { panSequenceNumber: null, atc, atcWindow },
  }
}

/** A value that is declined without a comparison, whatever the product says. */
const declineValue = (
  finding: ChipFinding,
  check: 'card_value' | 'cavv' = 'card_value',
): ChipCheck => ({ check, result: 'failed', findings: [finding], responseCode: '88' })

/**
 * A track without a value that can be verified. The product decides, as for a wrong value; the
 * track of a chip with a right cryptogram needs none.
 */
async function composeMissingCheck(
  context: StripeReader,
  { chip }: StripeMessage,
  found: FoundChip,
  track2: Track2,
): Promise<ChipCheck> {
  const missing = { check: 'card_value', result: 'not_given' } as const
  if (!chip && found.chip.wrongCardValue === 'decline') return { ...missing, responseCode: '88' }
  return (await objectToPan(context, found, track2)) ?? missing
}

/** The check of a value; the track of another card declines, whatever the product says. */
async function composeTrackCheck(
  context: StripeReader,
  found: FoundChip,
  track2: Track2,
  isRight: boolean | null,
): Promise<ChipCheck> {
  const check = composeValueCheck('card_value', isRight, found)
  if (check.result !== 'failed' || check.responseCode) return check
  return (await objectToPan(context, found, track2)) ?? check
}

/** Returns the check that declines a track with another PAN, or null. */
async function objectToPan(
  context: StripeReader,
  found: FoundChip,
  track2: Track2,
): Promise<ChipCheck | null> {
  const isOwn = await callHsm(context, () => context.hsm.verifyPan(found, track2.reveal().pan))
  if (isOwn === null) return composeValueCheck('card_value', null, found)
  return isOwn ? null : declineValue('data_disagreement')
}

/**
 * A track does not name the version of its key: it is that of the chip's last cryptogram, or the
 * newest that the product lists.
 */
const findKeyVersion = ({ chip, newestKeyVersion }: FoundChip): number =>
  newestKeyVersion ?? Math.max(1, ...Object.values(chip.keyVersions))

function verifyDynamic(
  { hsm }: StripeReader,
  found: FoundChip,
  track2: Track2,
  read: ReadDynamicValue,
  atc: number,
): Promise<boolean> {
  const { expiry, pan, serviceCode } = track2.reveal()
  const key = `chip-dynamic/${findKeyVersion(found)}`
  const profile = chipProfiles[found.chip.profile]
  const value = new Secret(read.value)
  if (read.kind === 'dcvv') {
    // The key of a dynamic CVV does not depend on the sequence number.
    const chip = { card: found, panSequenceNumber: '00', profile }
    return hsm.verifyDynamicCvv(chip, key, { pan, expiry, serviceCode, value, atc: read.atcDigits })
  }
  const counter = Buffer.alloc(2)
  counter.writeUInt16BE(atc)
  const { track, unpredictableNumber } = read
  const panSequenceNumber = found.newestPanSequenceNumber ?? '00'
  const chip = { card: found, panSequenceNumber, profile }
  return hsm.verifyCvc3(chip, key, {
    pan,
    track: new Secret(track),
    unpredictableNumber,
    atc: counter,
    value,
  })
}

async function checkCavv(
  context: StripeReader,
  { cavv }: StripeMessage,
  found: FoundChip,
): Promise<ChipCheck | null> {
  if (!cavv || !stripeProfiles[found.chip.profile].hasCavv) return null
  const content = cavv.reveal()
  if (content === null) return composeValueCheck('cavv', false, found)
  if (found.isCavvGuessed) return declineValue('guessing', 'cavv')
  const { authenticationResult, keyVersion, unpredictableNumber, value } = content
  const isRight = await callHsm(context, () =>
    context.hsm.verifyCavv(found, `cavv/${keyVersion}`, {
      authenticationResult,
      unpredictableNumber,
      value: new Secret(value),
    }),
  )
  return composeValueCheck('cavv', isRight, found)
}

const findingsByCheck = { card_value: 'wrong_card_value', cavv: 'wrong_cavv' } as const

/** @param isRight null during an outage of the HSM. */
function composeValueCheck(
  check: 'card_value' | 'cavv',
  isRight: boolean | null,
  { chip }: FoundChip,
): ChipCheck {
  if (isRight) return { check, result: 'passed' }
  if (isRight === null) return { check, result: 'unresolved', responseCode: '96' }
  return chip.wrongCardValue === 'decline'
    ? { check, result: 'failed', responseCode: '88' }
    : { check, result: 'failed', findings: [findingsByCheck[check]] }
}
