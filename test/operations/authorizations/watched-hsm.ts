import { Problem } from '../../../src/domain/problem.ts'
import type { Hsm } from '../../../src/hsm/contract/hsm.ts'
import type { TestService } from '../../support/service.ts'

/** The service's own HSM, watched: what it compares is counted, and can be kept waiting or fail. */

export type Kind = 'pin' | 'cvv'

type Comparison = { kind: Kind; publicToken: string; matches: boolean }

export type WatchedHsm = {
  /** Every comparison that was made, in the order in which they ended. */
  compared: Comparison[]
  /** The token, or the PAN, of each card that a PIN block was deciphered for, in that order. */
  deciphered: string[]
  /** Called before each comparison: it may wait, or throw what the HSM would throw. */
  before: (kind: Kind, cvv2?: string) => Promise<void> | void
  countOf: (kind: Kind, publicToken: string) => number
}

/** Decorates the real HSM of these services, which go on using it. */
export const watchHsm = (services: readonly TestService[]): WatchedHsm => {
  const compared: Comparison[] = []
  const watched: WatchedHsm = {
    compared,
    deciphered: [],
    before: () => {},
    countOf: (kind, publicToken) =>
      compared.filter((each) => each.kind === kind && each.publicToken === publicToken).length,
  }
  for (const { issuing } of services) decorate(issuing.hsm, watched)
  return watched
}

const decorate = (hsm: Hsm, watched: WatchedHsm): void => {
  const { openPinBlock, verifyCvv2, verifyPin } = hsm
  hsm.openPinBlock = async (card, pinBlock) => {
    watched.deciphered.push('pan' in card ? card.pan.reveal() : card.publicToken)
    return openPinBlock(card, pinBlock)
  }
  hsm.verifyPin = async (card, ...others) => {
    await watched.before('pin')
    const matches = await verifyPin(card, ...others)
    watched.compared.push({ kind: 'pin', publicToken: card.publicToken, matches })
    return matches
  }
  hsm.verifyCvv2 = async (card, cvk, expiry, cvv2) => {
    await watched.before('cvv', cvv2.reveal())
    const matches = await verifyCvv2(card, cvk, expiry, cvv2)
    watched.compared.push({ kind: 'cvv', publicToken: card.publicToken, matches })
    return matches
  }
}

/** What an HSM throws that is away. */
export const hsmAway = (): Problem => new Problem('unavailable')

/** Comparisons that wait at the HSM, in the order of their arrival. */
export type Gate = {
  /** Resolves when so many have arrived. */
  arrived: (count: number) => Promise<void>
  /** Lets the one that came at this place (from 0) go on, or fail. */
  release: (place: number, error?: Error) => void
  /** Those that come from now on pass. */
  open: () => void
}

/** Makes the HSM keep every comparison from now on waiting, until it is released. */
export const delayComparisons = (hsm: WatchedHsm): Gate => {
  const waiting: PromiseWithResolvers<void>[] = []
  let arrived = Promise.withResolvers<void>()
  hsm.before = () => {
    const place = Promise.withResolvers<void>()
    waiting.push(place)
    arrived.resolve()
    arrived = Promise.withResolvers()
    return place.promise
  }
  return {
    arrived: async (count) => {
      while (waiting.length < count) await arrived.promise
    },
    release: (place, error) => {
      const comparison = waiting[place]
      if (!comparison) throw new Error(`No comparison has come at place ${place}.`)
      if (error) comparison.reject(error)
      else comparison.resolve()
    },
    open: () => {
      hsm.before = () => {}
    },
  }
}
