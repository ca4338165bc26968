/** How a version comes to have nothing under it, so that it may retire. */
export type RotationRule =
  /** Everything under it is moved to its successor. */
  | { readonly by: 'pass' }
  /** What is under it is of no use after so many seconds. */
  | { readonly by: 'time'; readonly seconds: number }
  /** Cards keep what they were issued with: an operator retires it when none is left. */
  | { readonly by: 'word' }

const daySeconds = 24 * 3_600
/** Access tokens live an hour (contract, section 2); clocks may differ by a minute. */
const tokenSeconds = 3_600 + 60

const rules: Readonly<Record<string, RotationRule>> = {
  pan: { by: 'pass' },
  'pan-fingerprint': { by: 'pass' },
  'pin-storage': { by: 'pass' },
  'personal-data': { by: 'pass' },
  'request-fingerprint': { by: 'time', seconds: daySeconds },
  'token-signing': { by: 'time', seconds: tokenSeconds },
  cvk: { by: 'word' },
  pvk: { by: 'word' },
}

/** A key that is not in the table stays until an operator retires it. */
export const rotationRule = (keyName: string): RotationRule => rules[keyName] ?? { by: 'word' }
