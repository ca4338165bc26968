import type { Session } from '../site/session.ts'

/** What the page asks for. The rest of a cardholder is made up: this is a demo. */
interface NewCard {
  readonly cardProduct: number
  readonly firstName: string
  readonly lastName: string
}

/** The body of Create Card, or null unless it was asked for in this form. */
export function newCardBody(given: string, { reference }: Session): string | null {
  const card = parseNewCard(given)
  if (!card) return null
  const { cardProduct, firstName, lastName } = card
  return JSON.stringify({
    cardType: 'Virtual',
    cardProduct,
    customerReference: reference,
    cardHolder: { firstName, lastName, dateOfBirth: '1990-04-17' },
    address: { addressLine1: 'Calle Mayor 1', city: 'Madrid', postCode: '28013', country: 'ESP' },
  })
}

function parseNewCard(given: string): NewCard | null {
  try {
    const card: unknown = JSON.parse(given)
    return isNewCard(card) ? card : null
  } catch {
    return null
  }
}

const isNewCard = (card: unknown): card is NewCard =>
  typeof card === 'object' &&
  card !== null &&
  'cardProduct' in card &&
  typeof card.cardProduct === 'number' &&
  'firstName' in card &&
  typeof card.firstName === 'string' &&
  'lastName' in card &&
  typeof card.lastName === 'string'
