/** A value that must not leave the device: one on the screen, or the PIN that was typed. */
export interface Secret {
  readonly name: 'card number' | 'CVV' | 'PIN'
  readonly digits: string
}

/** Returns the names of the secrets that are in a text, in clear or merely encoded. */
export function findSecrets(text: string, secrets: readonly Secret[]): readonly Secret['name'][] {
  const texts = [text, ...decodeRuns(text)]
  const found = secrets.filter(({ digits, name }) =>
    texts.some((each) => (name === 'card number' ? hasNumber : hasAlone)(each, digits)),
  )
  return [...new Set(found.map(({ name }) => name))]
}

/** A card number is long enough that digits are never it by chance, however they are written. */
function hasNumber(text: string, digits: string): boolean {
  const joined = text.replaceAll(/(?<=[0-9])[ -](?=[0-9])/g, '')
  const reversed = [...digits].reverse().join('')
  const hex = [...digits].map((digit) => `3${digit}`).join('')
  return [digits, reversed, hex].some((each) => joined.includes(each))
}

/** Three or four digits are in any long ciphertext by chance: they count where they stand alone. */
const hasAlone = (text: string, digits: string): boolean =>
  new RegExp(`(?<![A-Za-z0-9_+/-])${digits}(?![A-Za-z0-9_+/-])`).test(text)

/** Decodes each run of base64 or base64url: a value may be wrapped without being encrypted. */
const decodeRuns = (text: string): string[] =>
  [...text.matchAll(/[A-Za-z0-9_+/-]{4,}/g)].map(([run]) => decodeBase64(run))

/** Returns the bytes as characters, or an empty text for what is not base64. */
export function decodeBase64(text: string): string {
  try {
    return atob(text.replaceAll('-', '+').replaceAll('_', '/'))
  } catch {
    return ''
  }
}
