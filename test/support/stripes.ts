import { generateCvv } from '../../src/crypto/cvv.ts'
import { generateDynamicCvv } from '../../src/crypto/dcvv.ts'
import { deriveCardKey } from '../../src/crypto/emv-keys.ts'
import { encipherTdesEcb } from '../../src/crypto/tdes.ts'
import { clearCvkPair } from '../reference/keys.ts'
import { type IssuedCard, unwrapKey } from './network.ts'
import type { TestService } from './service.ts'

/** Plays the stripes of cards, and the access control server of 3-D Secure. */

const yymm = ({ expiry }: IssuedCard): string => expiry.slice(2, 4) + expiry.slice(5)

const findKey = async (service: TestService, reference: string): Promise<Buffer> => {
  const key = await unwrapKey(service, reference)
  if (!key) throw new Error(`There is no key ${reference}.`)
  return Buffer.from(key)
}

const computeCvv = async (
  service: TestService,
  card: IssuedCard,
  serviceCode: string,
): Promise<string> => {
  const pair = clearCvkPair(await findKey(service, 'cvk/1'))
  return generateCvv(pair, { pan: card.pan, expiry: yymm(card), serviceCode })
}

/**
 * Track 2 of a card, with its CVV.
 * @param madeWith the service code of the value: 999 in the track of a chip.
 */
export const makeTrack = async (
  service: TestService,
  card: IssuedCard,
  serviceCode = '101',
  madeWith = serviceCode,
): Promise<string> => {
  const cvv = await computeCvv(service, card, madeWith)
  return `${card.pan}=${yymm(card)}${serviceCode}00000${cvv}00000`
}

/** Issues a card whose iCVV is not its CVV, as that of one card of a thousand is. */
export const issueWithOwnIcvv = async (
  service: TestService,
  issue: () => Promise<IssuedCard>,
): Promise<IssuedCard> => {
  const card = await issue()
  const [cvv, icvv] = [
    await makeTrack(service, card, '201'),
    await makeTrack(service, card, '201', '999'),
  ]
  return cvv === icvv ? issueWithOwnIcvv(service, issue) : card
}

/** Track 2 of a Visa contactless stripe. */
export const makeContactlessTrack = async (
  service: TestService,
  card: IssuedCard,
  counter: number,
): Promise<string> => {
  const issuerKey = await findKey(service, 'chip-dynamic/1')
  const cardKey = await deriveCardKey(
    'A',
    { encipher: async (blocks) => encipherTdesEcb(issuerKey, blocks) },
    { pan: card.pan, panSequenceNumber: '00' },
  )
  const atc = String(counter).padStart(4, '0')
  const made = { pan: card.pan, expiry: yymm(card), serviceCode: '201', atc }
  const value = await generateDynamicCvv(cardKey, made)
  return `${card.pan}=${yymm(card)}20100000${value}${atc}1`
}

/** A CAVV of 20 bytes, as the access control server of Visa Secure makes it. */
export const makeCavv = async (service: TestService, { pan }: IssuedCard): Promise<string> => {
  const pair = clearCvkPair(await findKey(service, 'cavv/1'))
  const value = await generateCvv(pair, { pan, expiry: '7993', serviceCode: '000' })
  return `0000010${value}7993${'96022310347279930000000000'}`
}
