import { make } from '../../../packages/card-element/field.ts'
import { PinfoldCard } from '../../../packages/card-element/pinfold-card.ts'
import { plainWords } from '../../../packages/card-element/plain-words.ts'
import { byId, say } from '../../../web/elements.ts'
import { fetchServiceKeys } from '../page/card-panel.ts'
import {
  type Card,
  createCard,
  encryptedUrl,
  listCards,
  listProducts,
  pinUrl,
} from '../page/relay-panel.ts'
import { countSent, openShadowTrees, type SentRequest, startRecording } from './recorder.ts'
import { createEntry } from './request-entry.ts'
import { findSecrets, type Secret } from './secrets.ts'

const requests: SentRequest[] = []
/** In the memory of this page alone, for as long as it is open. */
const secrets: Secret[] = []
let keyIds: ReadonlySet<string> = new Set()
let typed = ''

startRecording((request) => {
  requests.push(request)
  showFindings()
})
openShadowTrees()

const isOfElement = ({ method, url }: SentRequest): boolean =>
  method === 'POST' && /\/(encrypted|pin)$/.test(url)

const textOf = ({ body, headers, method, url }: SentRequest): string =>
  [method, url, JSON.stringify(headers), body].join('\n')

function showFindings(): void {
  const own = requests.filter(isOfElement)
  const others = requests.filter((request) => !isOfElement(request))
  const entry = (request: SentRequest) =>
    createEntry(request, findSecrets(textOf(request), secrets), keyIds)
  byId('requests', HTMLOListElement).replaceChildren(...own.map(entry).reverse())
  byId('others', HTMLOListElement).replaceChildren(...others.map(entry).reverse())
  showVerdict()
}

function showVerdict(): void {
  const names = [...new Set(secrets.map(({ name }) => name))]
  if (names.length === 0) return
  const leaked = requests.filter((request) => findSecrets(textOf(request), secrets).length > 0)
  const verdict = byId('verdict', HTMLElement)
  if (leaked.length > 0) say(verdict, `${leaked.length} requests contain card data.`, 'bad')
  else
    say(
      verdict,
      `${requests.length} requests left this page: none contains ${list(names)}.`,
      'good',
    )
  // A search that finds nothing says nothing, unless it finds what is there.
  const control = JSON.stringify(secrets.map(({ digits }) => ({ value: btoa(` ${digits} `) })))
  const isSharp = names.every((name) => findSecrets(control, secrets).includes(name))
  const rows = [
    ['searched for', list(names)],
    ['the search finds them in a test text', isSharp ? 'yes' : 'NO'],
    ['requests recorded here', String(requests.length)],
    ['requests that the browser counted', String(countSent())],
    ['addresses that the page’s policy admits', 'its own server and the keys’ address'],
  ]
  byId('checks', HTMLElement).replaceChildren(
    ...rows.flatMap(([name = '', value = '']) => [make('dt', {}, name), make('dd', {}, value)]),
  )
}

const list = (names: readonly string[]): string =>
  new Intl.ListFormat('en', { type: 'disjunction' }).format(names.map((name) => `the ${name}`))

function remember(name: Secret['name'], digits: string): void {
  const isKnown = secrets.some((each) => each.name === name && each.digits === digits)
  if (digits !== '' && !isKnown) secrets.push({ name, digits })
}

/** Reads the digits on the screen, which are in the element alone. */
function rememberShown(element: PinfoldCard): void {
  const read = (field: string) =>
    element.shadowRoot?.querySelector(`.${field} .value`)?.textContent?.replaceAll(/\D/g, '') ?? ''
  remember('card number', read('pan'))
  remember('CVV', read('cvv'))
  remember('PIN', read('pin'))
}

async function findCard(): Promise<Card> {
  const [latest] = await listCards()
  if (latest) return latest
  const product = (await listProducts()).find(({ pinRevealable }) => pinRevealable)
  const cardProduct = product?.productId ?? 1001
  return createCard({ cardProduct, firstName: 'Ana', lastName: 'Lim' })
}

async function begin(): Promise<void> {
  const card = await findCard()
  const keys = await fetchServiceKeys()
  const product = (await listProducts()).find(({ productId }) => productId === card.cardProduct)
  keyIds = new Set(keys.keys.map(({ kid }) => kid))
  const element = new PinfoldCard()
  element.service = keys
  const attributes = {
    'public-token': card.publicToken,
    'relay-url': encryptedUrl(card.publicToken),
    'set-pin-url': pinUrl(card.publicToken),
    'pin-length': String(product?.pinLength ?? 4),
    'masked-pan': card.maskedPan,
    'emboss-name': card.embossName,
    'scheme-name': product?.schemeName ?? '',
    'issuer-name': 'Example Bank',
    'reveal-seconds': '60',
  }
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value)
  element.toggleAttribute('include-pin', product?.pinRevealable ?? false)
  element.addEventListener('input', (event) => {
    const [input] = event.composedPath()
    if (input instanceof HTMLInputElement) typed = input.value
  })
  element.addEventListener('pinfold-state', ({ detail }) => {
    if (detail.state === 'shown') rememberShown(element)
    if (detail.state === 'setting-pin') remember('PIN', typed)
    showFindings()
  })
  byId('card-slot', HTMLElement).replaceChildren(element)
}

begin()
  .catch((error: unknown) => say(byId('said', HTMLElement), plainWords(error), 'bad'))
  .finally(() => {
    document.documentElement.dataset.ready = 'true'
  })
