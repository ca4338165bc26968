import { isCurrencyCode } from './currencies.ts'
import { freeTextFault } from './free-text.ts'
import { isProductId, type ProductId } from './identifiers.ts'
import { listSchemeRanges, matchesLength, matchesPrefix, PAN_LENGTH } from './pan.ts'
import { PIN_LENGTH_MAX, PIN_LENGTH_MIN } from './pin.ts'
import type { ProblemError } from './problem.ts'
import type { ProductChip } from './product-chip.ts'

/** The form of a card. */
export type CardType = 'Physical' | 'Virtual'

/** The types of cards, in the spelling of answers. */
export const cardTypes: readonly CardType[] = ['Physical', 'Virtual']

/** Parses the type of a card in any case; returns null for other texts. */
export const parseCardType = (text: string): CardType | null =>
  cardTypes.find((cardType) => cardType.toLowerCase() === text.toLowerCase()) ?? null

/** A card product as clients see it. */
export interface ListedProduct extends ProductRenewal {
  readonly productId: ProductId
  readonly productName: string
  readonly schemeName: string
  /** ISO 4217, three letters. */
  readonly currencyCode: string
  readonly cardTypes: readonly CardType[]
  readonly validityMonths: number
  readonly pinLength: number
  /** Whether the PIN is stored in a form that can be revealed; otherwise only a PVV is stored. */
  readonly pinRevealable: boolean
  readonly pinTryLimit: number
  readonly cvvTryLimit: number
}

/** How the cards of a product are renewed, unless a card has a type of its own. */
export type RenewalType = 'Manual' | 'Automatic'

/** The types of renewal, in the spelling of answers. */
export const renewalTypes: readonly RenewalType[] = ['Manual', 'Automatic']

/** The bounds of the settings of renewals, and their values by default. */
export const renewalBounds = {
  earliestDays: { minimum: 0, maximum: 366, default: 90 },
  leadDays: { minimum: 0, maximum: 366, default: 45 },
  graceMonths: { minimum: 0, maximum: 12, default: 3 },
} as const

/** The days before the expiry on which the client is notified that a renewal is due. */
export const renewalNoticeDays = [60, 30] as const

/** When and how the cards of a product are renewed. */
export interface ProductRenewal {
  readonly renewalType: RenewalType
  /** A client can order a renewal at most this many days before the expiry. */
  readonly renewalEarliestDays: number
  /** An automatic renewal of a physical card is ordered this many days before the expiry. */
  readonly renewalLeadDays: number
  /** An expired card can be renewed or replaced for this time. */
  readonly renewalGraceMonths: number
}

/** A card product with the members that clients do not see. */
export interface Product extends ListedProduct {
  /** The first 6 or 8 digits of its PANs. */
  readonly bin: string
  readonly refuseWeakPins: boolean
  /** Whether cards of it can be created. */
  readonly active: boolean
  /** References to the keys of CVVs and PVVs. */
  readonly cvk: string
  readonly pvk: string
  /** Of its physical cards; null if they have none. */
  readonly chip: ProductChip | null
}

/** The members of a product before validation: any type, or absent. */
export type ProductDraft = { readonly [Member in keyof Product]?: unknown }

/**
 * Lists every fault of a product, each with its member; empty if the product is valid. A rule runs
 * only if the schema accepts the members that it reads.
 */
export const productFaults = (draft: ProductDraft): readonly ProblemError[] =>
  rules
    .filter(({ beside, member }) =>
      [member, ...(beside ?? [])].every((name) => {
        const value = draft[name]
        return name === 'cardTypes'
          ? Array.isArray(value) && value.every((each) => typeof each === 'string')
          : typeof value === types[name] && !Array.isArray(value)
      }),
    )
    .filter(({ holds }) => !holds(draft as Product))
    .map(({ at, detail, member }) => ({ pointer: `/${member}${at ?? ''}`, detail }))

const types: Readonly<Record<Exclude<keyof Product, 'cardTypes'>, string>> = {
  productId: 'number',
  productName: 'string',
  schemeName: 'string',
  currencyCode: 'string',
  validityMonths: 'number',
  pinLength: 'number',
  pinRevealable: 'boolean',
  pinTryLimit: 'number',
  cvvTryLimit: 'number',
  bin: 'string',
  refuseWeakPins: 'boolean',
  active: 'boolean',
  cvk: 'string',
  pvk: 'string',
  chip: 'object',
  renewalType: 'string',
  renewalEarliestDays: 'number',
  renewalLeadDays: 'number',
  renewalGraceMonths: 'number',
}

interface ProductRule {
  readonly member: keyof Product
  /** The pointer of the faulty part, if it is not the whole member. */
  readonly at?: string
  /** The other members that the rule reads. */
  readonly beside?: readonly (keyof Product)[]
  readonly detail: string
  readonly holds: (product: Product) => boolean
}

const rules: readonly ProductRule[] = [
  {
    member: 'productId',
    detail: 'must be a whole number from 1 to 2147483647',
    holds: ({ productId }) => isProductId(productId),
  },
  {
    member: 'productName',
    detail: 'must have 1 to 50 characters',
    holds: ({ productName }) => isWithin(productName.length, 1, 50),
  },
  {
    member: 'productName',
    detail: 'must have no control characters, no unpaired surrogates and no card number in it',
    holds: ({ productName }) => freeTextFault(productName) === null,
  },
  {
    member: 'schemeName',
    detail: 'must have 1 to 30 characters',
    holds: ({ schemeName }) => isWithin(schemeName.length, 1, 30),
  },
  {
    member: 'schemeName',
    detail: 'must have no control characters, no unpaired surrogates and no card number in it',
    holds: ({ schemeName }) => freeTextFault(schemeName) === null,
  },
  {
    member: 'currencyCode',
    detail: 'must be an ISO 4217 code, such as EUR',
    holds: ({ currencyCode }) => isCurrencyCode(currencyCode),
  },
  {
    member: 'cardTypes',
    detail: 'must name Physical, Virtual or both, each once',
    holds: (product) =>
      product.cardTypes.length > 0 &&
      new Set(product.cardTypes).size === product.cardTypes.length &&
      product.cardTypes.every((cardType) => cardTypes.includes(cardType)),
  },
  {
    member: 'validityMonths',
    detail: 'must be a whole number from 1 to 240',
    holds: ({ validityMonths }) => isWithin(validityMonths, 1, 240),
  },
  {
    member: 'pinLength',
    detail: `must be a whole number from ${PIN_LENGTH_MIN} to ${PIN_LENGTH_MAX}`,
    holds: ({ pinLength }) => isWithin(pinLength, PIN_LENGTH_MIN, PIN_LENGTH_MAX),
  },
  {
    member: 'pinLength',
    beside: ['pinRevealable'],
    detail: 'must be 4 if the PIN is not revealable, because a PVV sees four digits only',
    holds: ({ pinLength, pinRevealable }) => pinRevealable || pinLength === 4,
  },
  {
    member: 'pinTryLimit',
    detail: 'must be a whole number from 1 to 15',
    holds: ({ pinTryLimit }) => isWithin(pinTryLimit, 1, 15),
  },
  {
    member: 'cvvTryLimit',
    detail: 'must be a whole number from 1 to 15',
    holds: ({ cvvTryLimit }) => isWithin(cvvTryLimit, 1, 15),
  },
  {
    member: 'bin',
    detail: 'must be 6 or 8 digits',
    holds: ({ bin }) => /^(?:[0-9]{6}|[0-9]{8})$/.test(bin),
  },
  {
    member: 'bin',
    beside: ['schemeName'],
    detail: `must be in a range of the scheme whose PANs have ${PAN_LENGTH} digits`,
    // Only schemes with published ranges are checked: a closed-loop scheme may use any BIN.
    holds: ({ bin, schemeName }) => {
      const ranges = listSchemeRanges(schemeName)
      const fits = ranges.some(
        (range) => matchesPrefix(range, bin) && matchesLength(range, PAN_LENGTH),
      )
      return ranges.length === 0 || fits
    },
  },
  {
    member: 'cvk',
    detail: 'must name a key',
    holds: ({ cvk }) => cvk !== '',
  },
  {
    member: 'pvk',
    detail: 'must name a key',
    holds: ({ pvk }) => pvk !== '',
  },
  {
    member: 'renewalType',
    detail: `must be ${renewalTypes.join(' or ')}`,
    holds: ({ renewalType }) => renewalTypes.includes(renewalType),
  },
  {
    member: 'renewalEarliestDays',
    detail: describeBounds(renewalBounds.earliestDays),
    holds: ({ renewalEarliestDays }) => isInBounds(renewalEarliestDays, renewalBounds.earliestDays),
  },
  {
    member: 'renewalLeadDays',
    detail: describeBounds(renewalBounds.leadDays),
    holds: ({ renewalLeadDays }) => isInBounds(renewalLeadDays, renewalBounds.leadDays),
  },
  {
    member: 'renewalLeadDays',
    beside: ['renewalEarliestDays'],
    detail: 'must be at most renewalEarliestDays',
    holds: ({ renewalEarliestDays, renewalLeadDays }) =>
      renewalLeadDays <= renewalEarliestDays ||
      !isInBounds(renewalLeadDays, renewalBounds.leadDays),
  },
  {
    member: 'renewalGraceMonths',
    detail: describeBounds(renewalBounds.graceMonths),
    holds: ({ renewalGraceMonths }) => isInBounds(renewalGraceMonths, renewalBounds.graceMonths),
  },
  {
    member: 'chip',
    beside: ['cardTypes'],
    detail: 'must be null unless cardTypes names Physical: only physical cards have a chip',
    holds: ({ cardTypes: types, chip }) => chip === null || types.includes('Physical'),
  },
  {
    member: 'chip',
    at: '/profile',
    detail: 'must be given, because the product does not have one',
    // The schema of a change accepts a chip without a profile: a product with a chip keeps its own.
    holds: ({ chip }) => chip === null || chip.profile !== undefined,
  },
  {
    member: 'chip',
    at: '/profile',
    beside: ['schemeName'],
    detail: 'must be a profile of the scheme of the product',
    // A scheme without published ranges may use any chip, as it may use any BIN. A profile that is
    // no text is a fault of the schema.
    holds: ({ chip, schemeName }) => {
      const [owner = ''] = typeof chip?.profile === 'string' ? chip.profile.split('-') : []
      const scheme = schemeName.toLowerCase()
      return [scheme, owner].some((name) => listSchemeRanges(name).length === 0) || owner === scheme
    },
  },
]

const isWithin = (number: number, low: number, high: number): boolean =>
  Number.isInteger(number) && number >= low && number <= high

interface Bounds {
  readonly minimum: number
  readonly maximum: number
}

const isInBounds = (number: number, { maximum, minimum }: Bounds): boolean =>
  isWithin(number, minimum, maximum)

function describeBounds({ maximum, minimum }: Bounds): string {
  return `must be a whole number from ${minimum} to ${maximum}`
}
