/** How the card was presented. */
export const entryModes = ['chip', 'contactless', 'magstripe', 'atm', 'ecommerce', 'moto'] as const
export type EntryMode = (typeof entryModes)[number]
