/** Whether a text can be a client id: 1 to 64 visible ASCII characters. */
export const isClientId = (text: unknown): text is string =>
  typeof text === 'string' && /^[\x21-\x7e]{1,64}$/.test(text)
