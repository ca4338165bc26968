import { type Content, type Html, html } from '../listeners/http/html.ts'
import { path } from './screen.ts'

/** Returns the address of a card's page. */
export const cardPath = (publicToken: string): string => path`/console/cards/${publicToken}`

/** Returns the address of the list of a card's payments. */
export const paymentsPath = (publicToken: string): string => `${cardPath(publicToken)}/payments`

/** Returns the address of a payment's page. */
export const paymentPath = (publicToken: string, paymentId: string): string =>
  path`/console/cards/${publicToken}/payments/${paymentId}`

/** Returns the address of an authorization's page. */
export const authorizationPath = (publicToken: string, authorizationId: string): string =>
  path`/console/cards/${publicToken}/authorizations/${authorizationId}`

/** Renders a link to a card's page, by default under its token. */
export const cardLink = (publicToken: string, text: Content = publicToken): Html =>
  html`<a href="${cardPath(publicToken)}">${text}</a>`

/** The list of cards, in the trail of a page. */
export const cardsPlace = { name: 'Cards', path: '/console/search' }

/** A card in the trail of a page. */
export const cardPlace = (publicToken: string) => ({
  name: publicToken,
  path: cardPath(publicToken),
})
