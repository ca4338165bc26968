import { getAlpha3Codes } from 'i18n-iso-countries/index.js'

// Kosovo has no code of its own in the standard. The table has CLDR's, XKK; banks write XKX.
const codes: ReadonlySet<string> = new Set([...Object.keys(getAlpha3Codes()), 'XKX'])

/** Whether the text is an ISO 3166-1 alpha-3 code in capitals, or one in use for Kosovo. */
export const isCountryCode = (text: string): boolean => codes.has(text)
