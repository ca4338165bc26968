/** Whether a text can be a card's reference: ten digits, the first not 0. */
export const isPublicToken = (text: unknown): text is string =>
  typeof text === 'string' && /^[1-9][0-9]{9}$/.test(text)
