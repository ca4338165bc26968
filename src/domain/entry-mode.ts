/** How the card was presented. */
export const entryModes = ['chip', 'contactless', 'magstripe', 'atm', 'ecommerce', 'moto'] as const
export type EntryMode = (typeof entryModes)[number]

/**
 * What a terminal read of a card, wherever the terminal is: `stripe` by swiping,
 * `contactless_stripe` a track that the chip makes anew for each transaction.
 */
export type CardRead = 'chip' | 'contactless' | 'stripe' | 'contactless_stripe' | 'none'

/** Card reads of a chip, which makes chip data. */
export const isChipRead = (cardRead: CardRead): boolean =>
  cardRead === 'chip' || cardRead === 'contactless'

/** Card reads of a stripe, which have a track. */
export const isStripeRead = (cardRead: CardRead): boolean =>
  cardRead === 'stripe' || cardRead === 'contactless_stripe'

/** The card data that a request in JSON has. */
interface GivenCard {
  readonly hasChipData: boolean
  readonly hasTrack: boolean
  /** The stripe was read at a terminal that can read chips. */
  readonly isFallback?: boolean
}

/** Selects what was read of a card by the entry mode and the data of a request in JSON. */
export function selectCardRead(entryMode: EntryMode, given: GivenCard): CardRead {
  const hasOnlyTrack = given.hasTrack && !given.hasChipData
  const isSwiped = !given.hasChipData && (given.hasTrack || given.isFallback === true)
  const byMode = {
    chip: 'chip',
    contactless: hasOnlyTrack ? 'contactless_stripe' : 'contactless',
    magstripe: 'stripe',
    // A cash machine reads the chip of a card that has one, unless it says otherwise.
    atm: isSwiped ? 'stripe' : 'chip',
    ecommerce: 'none',
    moto: 'none',
  } as const satisfies Record<EntryMode, CardRead>
  return byMode[entryMode]
}
