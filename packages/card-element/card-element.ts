/**
 * The card element: importing it defines `<pinfold-card>`.
 *
 * ```ts
 * import { PinfoldCard, pinKeys } from 'pinfold-card-element'
 *
 * const card = new PinfoldCard()
 * card.service = pinKeys('https://cards.example', keysOfThisBuild)
 * card.setAttribute('public-token', '4820117360')
 * card.setAttribute('relay-url', '/my-relay/cards/4820117360/encrypted')
 * document.body.append(card)
 * ```
 */
export { pinKeys, type ServiceKey, type ServiceKeys } from '../sdk/device/device.ts'
export type { CardState, PinfoldCardAttributes } from './attributes.ts'
export type { CardWords, Counted, Failure } from './card-words.ts'
export { addLanguage } from './languages.ts'
export { PinfoldCard } from './pinfold-card.ts'
