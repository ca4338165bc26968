import type { ServiceKeys } from '../../sdk/device/device.ts'
import { make } from '../pinfold-card/make.ts'
import { PinfoldCard } from '../pinfold-card/pinfold-card.ts'
import { askForLength } from './choosing-pin.ts'
import { byId } from './elements.ts'
import { type Card, encryptedUrl, type Product } from './relay-calls.ts'

/** Puts a card into the page: a new element for it, and what its product allows. */
export function showCard(card: Card, product: Product, keys: ServiceKeys): void {
  const element = new PinfoldCard()
  element.service = keys
  const attributes = {
    'public-token': card.publicToken,
    'relay-url': encryptedUrl(card.publicToken),
    'masked-pan': card.maskedPan,
    'emboss-name': card.embossName,
    'scheme-name': product.schemeName,
  }
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value)
  byId('card-slot', HTMLElement).replaceChildren(element)
  showPinChoice(element, product)
  askForLength(product.pinLength)
  byId('issue-form', HTMLElement).hidden = true
  byId('card-view', HTMLElement).hidden = false
  byId('rest', HTMLElement).hidden = false
}

function showPinChoice(element: PinfoldCard, { pinRevealable }: Product): void {
  const box = byId('with-pin', HTMLInputElement)
  const label = box.closest('label')
  box.checked = false
  if (label) label.hidden = !pinRevealable
  byId('pin-note', HTMLElement).hidden = pinRevealable
  box.onchange = () => element.toggleAttribute('include-pin', box.checked)
}

/** Takes the card out of the page, and asks for another one. */
export function askForCard(): void {
  byId('card-slot', HTMLElement).replaceChildren()
  byId('card-view', HTMLElement).hidden = true
  byId('rest', HTMLElement).hidden = true
  byId('issue-form', HTMLElement).hidden = false
}

/** What each product is like, in its name. */
export function showProducts(products: readonly Product[]): void {
  const options = products.map(({ pinLength, pinRevealable, productId, productName }) => {
    const pin = pinRevealable ? `${pinLength}-digit PIN` : 'PIN never shown'
    return make('option', { value: String(productId) }, `${productName}, ${pin}`)
  })
  byId('product', HTMLSelectElement).replaceChildren(...options)
}
