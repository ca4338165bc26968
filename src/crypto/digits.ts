/** Whether `text` is `least` to `most` decimal digits and nothing else. */
export function isDigits(text: string, least: number, most: number): boolean {
  return text.length >= least && text.length <= most && /^[0-9]+$/.test(text)
}

/** Whether `text` is `least` to `most` hexadecimal digits and nothing else. */
export function isHexDigits(text: string, least: number, most: number): boolean {
  return text.length >= least && text.length <= most && /^[0-9A-Fa-f]+$/.test(text)
}

/** Whether `pin` is a PIN of ISO 9564-1 clause 8.1: 4 to 12 decimal digits. */
export function isPin(pin: string): boolean {
  return isDigits(pin, 4, 12)
}
