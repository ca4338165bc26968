import { plainWords } from '../../../packages/card-element/plain-words.ts'
import { byId, onSubmit, readMeta, say } from '../../../web/elements.ts'
import {
  askForCard,
  fetchServiceKeys,
  showCard,
  showProducts,
  startChoosingPin,
} from './card-panel.ts'
import {
  type Card,
  createCard,
  listCards,
  listProducts,
  type Product,
  refreshRelayPanel,
} from './relay-panel.ts'
import { refreshTries, startShop } from './tries-panel.ts'

const said = byId('card-said', HTMLElement)
let products: readonly Product[] = []
let card: Card | null = null

const currentToken = (): string => card?.publicToken ?? ''

/** Called after every change to read the changed data again. */
async function refresh(): Promise<void> {
  const product = products.find(({ productId }) => productId === card?.cardProduct)
  try {
    if (card && product) await refreshTries(card.publicToken, product, refresh)
    await refreshRelayPanel()
  } catch (error) {
    say(said, plainWords(error), 'bad')
  }
}

async function useCard(used: Card): Promise<void> {
  const product = products.find(({ productId }) => productId === used.cardProduct)
  if (!product) return
  card = used
  showCard(used, product, await fetchServiceKeys())
  said.textContent = ''
  await refresh()
}

async function issue(): Promise<void> {
  try {
    const issued = await createCard({
      cardProduct: Number(byId('product', HTMLSelectElement).value),
      firstName: byId('first-name', HTMLInputElement).value.trim(),
      lastName: byId('last-name', HTMLInputElement).value.trim(),
    })
    await useCard(issued)
  } catch (error) {
    say(said, plainWords(error), 'bad')
  }
}

async function begin(): Promise<void> {
  byId('shop', HTMLElement).hidden = readMeta('shop') !== 'true'
  onSubmit('issue-form', issue)
  startChoosingPin(currentToken, fetchServiceKeys, refresh)
  startShop(currentToken, refresh)
  byId('another', HTMLButtonElement).addEventListener('click', () => {
    askForCard()
    byId('first-name', HTMLInputElement).focus()
  })
  document.addEventListener('pinfold-state', (event) => {
    const { state } = (event as CustomEvent<{ state: string }>).detail
    if (state === 'shown' || state === 'failed') void refreshRelayPanel()
  })
  try {
    products = await listProducts()
    showProducts(products)
    byId('issue', HTMLButtonElement).disabled = false
    const [latest] = await listCards()
    if (latest) await useCard(latest)
    await refresh()
  } catch (error) {
    say(said, plainWords(error), 'bad')
  }
  document.documentElement.dataset.ready = 'true'
}

void begin()
