import { make } from '../../../packages/card-element/field.ts'
import { PinfoldCard } from '../../../packages/card-element/pinfold-card.ts'
import { plainWords } from '../../../packages/card-element/plain-words.ts'
import {
  DeviceError,
  pinKeys,
  type ServiceKeys,
  sealPin,
} from '../../../packages/sdk/device/device.ts'
import { byId, consumeValue, onSubmit, readMeta, say } from '../../../web/elements.ts'
import { type Card, encryptedUrl, type Product, setPin } from './relay-panel.ts'

/** Shows a card in a new element, with the controls that its product allows. */
export function showCard(card: Card, product: Product, keys: ServiceKeys): void {
  const element = new PinfoldCard()
  element.service = keys
  const attributes = {
    'public-token': card.publicToken,
    'relay-url': encryptedUrl(card.publicToken),
    'masked-pan': card.maskedPan,
    'emboss-name': card.embossName,
    'scheme-name': product.schemeName,
    'issuer-name': 'Example Bank',
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

/** Removes the card and shows the form for a new one. */
export function askForCard(): void {
  byId('card-slot', HTMLElement).replaceChildren()
  byId('card-view', HTMLElement).hidden = true
  byId('rest', HTMLElement).hidden = true
  byId('issue-form', HTMLElement).hidden = false
}

/** Shows the products, each with a description as its name. */
export function showProducts(products: readonly Product[]): void {
  const options = products.map(({ pinLength, pinRevealable, productId, productName }) => {
    const pin = pinRevealable ? `${pinLength}-digit PIN` : 'PIN never shown'
    return make('option', { value: String(productId) }, `${productName}, ${pin}`)
  })
  byId('product', HTMLSelectElement).replaceChildren(...options)
}

/** Lets the cardholder choose a PIN, which is sealed before it is sent. */
export function startChoosingPin(
  currentToken: () => string,
  fetchKeys: () => Promise<ServiceKeys>,
  afterChange: () => Promise<void>,
): void {
  const said = byId('pin-said', HTMLElement)
  const first = byId('new-pin', HTMLInputElement)
  const second = byId('new-pin-again', HTMLInputElement)
  onSubmit('pin-form', async () => {
    const pin = consumeValue(first)
    if (consumeValue(second) !== pin) {
      say(said, 'The two PINs differ. Enter both again.', 'bad')
      first.focus()
      return
    }
    try {
      const sealed = await sealPin(await fetchKeys(), currentToken(), pin)
      await setPin(currentToken(), sealed)
      say(said, 'Your new PIN is set.', 'good')
    } catch (error) {
      say(said, plainWords(error), 'bad')
    }
    await afterChange()
  })
}

/** Sets the length of the PIN fields to that of the card's product. */
function askForLength(digits: number): void {
  for (const id of ['new-pin', 'new-pin-again', 'pay-pin']) {
    const input = byId(id, HTMLInputElement)
    input.minLength = digits
    input.maxLength = digits
    input.pattern = `[0-9]{${digits}}`
    input.title = `${digits} digits`
    input.value = ''
  }
}

/**
 * Fetches the keys that verify card data and seal PINs. This page fetches them from the service
 * itself, never through the relay.
 * A real application contains them from its build, because the server of the page could replace
 * keys together with the page.
 */
export async function fetchServiceKeys(): Promise<ServiceKeys> {
  const answer = await fetch(readMeta('keys'), {
    redirect: 'error',
    credentials: 'omit',
    cache: 'no-store',
    signal: AbortSignal.timeout(10_000),
  }).catch(() => {
    throw new DeviceError('keys_unavailable')
  })
  if (!answer.ok) throw new DeviceError('keys_unavailable')
  return pinKeys(readMeta('issuer'), await answer.json())
}
