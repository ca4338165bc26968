/** Whether the text has the form of an ISO 4217 code: three capital letters. */
export const isCurrencyCode = (text: string): boolean => /^[A-Z]{3}$/.test(text)
