/** A sentence for each plural category of a language; `other` stands for each missing one. */
export type Counted = Readonly<Partial<Record<Intl.LDMLPluralRule, string>>> & {
  readonly other: string
}

/** A failure, as far as a cardholder has to know. */
export type Failure =
  | 'offline'
  | 'noAnswer'
  | 'starting'
  | 'keysUnavailable'
  | 'keysInvalid'
  | 'insecurePage'
  | 'wrongPage'
  | 'wrongClock'
  | 'cardClosed'
  | 'cardNotFound'
  | 'sessionEnded'
  | 'pinNotShown'
  | 'weakPin'
  | 'pinNotOpened'
  | 'invalidValue'
  | 'changed'
  | 'other'

/**
 * Every word of the element in one language. `{count}` and `{digits}` are replaced by a number and
 * by the last four digits of the card.
 */
export interface CardWords {
  readonly direction: 'ltr' | 'rtl'
  /** The name of the element for screen readers. */
  readonly card: string
  readonly number: string
  readonly expires: string
  readonly cvv: string
  readonly pin: string
  /** Read for a masked value. */
  readonly hidden: string
  /** Read for a masked number: `{digits}`. */
  readonly endsIn: string
  readonly show: string
  readonly hide: string
  readonly copy: string
  readonly busy: string
  /** Beside the bar: `{count}` seconds, abbreviated. */
  readonly hiddenIn: string
  readonly detailsHidden: string
  readonly shownFor: Counted
  /** `{count}` is 30. */
  readonly copied: string
  readonly cleared: string
  readonly cannotCopy: string
  readonly cannotClear: string
  readonly setPin: string
  readonly newPin: string
  readonly repeatPin: string
  readonly savePin: string
  readonly cancel: string
  /** Above the fields of a new PIN: `{count}` digits, 4 to 12. */
  readonly pinRule: Counted
  /** The rule of a PIN as an error. */
  readonly pinLength: Counted
  readonly pinsDiffer: string
  readonly pinSet: string
  readonly tooOften: string
  /** `{count}` minutes. */
  readonly tooOftenFor: Counted
  readonly failures: Readonly<Record<Failure, string>>
}
