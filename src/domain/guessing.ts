/**
 * How many mistakes within a period count as guessing. A wrong expiry, cryptogram or value of a
 * stripe is a mistake that spends no try; otherwise anyone with a PAN could block the card.
 */
export const guessing = { mistakes: 10, windowSeconds: 86_400 } as const
