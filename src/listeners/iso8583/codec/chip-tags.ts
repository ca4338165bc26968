/**
 * The tags of chip data by their meaning (EMV Book 3, annex A), and whether a display shows the
 * value. Values that may identify the cardholder or contain an enciphered PIN are not shown.
 */
export const chipTags: ReadonlyMap<string, { readonly name: string; readonly isShown: boolean }> =
  new Map(
    Object.entries({
      '71': { name: 'commands before the decision', isShown: false },
      '72': { name: 'commands after the decision', isShown: false },
      '82': { name: 'application interchange profile', isShown: true },
      '84': { name: 'application name', isShown: true },
      '8A': { name: 'response code for the chip', isShown: true },
      '91': { name: 'answer to the chip', isShown: true },
      '95': { name: 'terminal verification results', isShown: true },
      '9A': { name: 'transaction date', isShown: true },
      '9C': { name: 'transaction type', isShown: true },
      '5F2A': { name: 'transaction currency', isShown: true },
      '5F34': { name: 'PAN sequence number', isShown: true },
      '9F02': { name: 'amount', isShown: true },
      '9F03': { name: 'other amount', isShown: true },
      '9F09': { name: 'application version', isShown: true },
      '9F10': { name: 'issuer application data', isShown: false },
      '9F1A': { name: 'terminal country', isShown: true },
      '9F26': { name: 'cryptogram', isShown: true },
      '9F27': { name: 'cryptogram information', isShown: true },
      '9F33': { name: 'terminal capabilities', isShown: true },
      '9F34': { name: 'cardholder verification results', isShown: true },
      '9F35': { name: 'terminal type', isShown: true },
      '9F36': { name: 'transaction counter', isShown: true },
      '9F37': { name: 'unpredictable number', isShown: true },
      '9F41': { name: 'sequence counter of the terminal', isShown: true },
      '9F5B': { name: 'results of commands', isShown: false },
    }),
  )
