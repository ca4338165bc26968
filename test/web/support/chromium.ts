/**
 * A real Chromium, headless, with a fresh profile. `TEST_CHROMIUM=required` turns a missing one
 * into an error; `CHROMIUM_PATH` names one that is not where Debian has it.
 *
 * ```ts
 * const chromium = await openChromium()
 * test('…', { skip: chromium.leftOut }, async () => {
 *   const visit = await chromium.visit({ width: 360, height: 740 })
 * ```
 */
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { after } from 'node:test'
import { fileURLToPath } from 'node:url'
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type CDPSession,
  chromium,
  type Page,
} from 'playwright-core'
import { atEndOfFile } from '../../support/end-of-file.ts'

export type Visit = {
  page: Page
  devtools: CDPSession
  /** Everything that the page printed, threw, or was kept from by its policy. */
  complaints: string[]
  /** Addresses that were asked for. */
  requested: string[]
}

export type Chromium = {
  /** For `test(title, { skip: chromium.leftOut }, …)`: `false`, or why there is none. */
  leftOut: string | false
  visit: (options?: BrowserContextOptions) => Promise<Visit>
}

/** The first is the same browser without windows, and takes a fourth less of a processor. */
const paths = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
]
const flags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Where pictures of the pages are kept for whoever looks at a run. */
export const artifacts = fileURLToPath(new URL('../../../artifacts/', import.meta.url))

export const openChromium = async (): Promise<Chromium> => {
  const executablePath = [process.env.CHROMIUM_PATH ?? '', ...paths].find((path) =>
    existsSync(path),
  )
  if (executablePath === undefined) return without('no Chromium is installed')
  launched ??= launch(executablePath)
  const browser = await launched
  const contexts: BrowserContext[] = []
  after(() => Promise.all(contexts.map((context) => context.close())))
  await mkdir(artifacts, { recursive: true })
  return {
    leftOut: false,
    visit: async (options = {}) => {
      const context = await browser.newContext(options)
      contexts.push(context)
      // On a machine with much other work.
      context.setDefaultTimeout(60_000)
      const page = await context.newPage()
      const devtools = await context.newCDPSession(page)
      return { page, devtools, ...(await listen(page)) }
    },
  }
}

/** One for the whole file: each visit has a profile of its own. */
let launched: Promise<Browser> | undefined

const launch = async (executablePath: string): Promise<Browser> => {
  const browser = await chromium.launch({ executablePath, args: flags })
  atEndOfFile(() => {
    launched = undefined
    return browser.close()
  })
  return browser
}

const without = (reason: string): Chromium => {
  const leftOut = `Chromium leg left out: ${reason}`
  if (process.env.TEST_CHROMIUM === 'required') throw new Error(leftOut)
  console.log(leftOut)
  return { leftOut, visit: () => Promise.reject(new Error(leftOut)) }
}

const listen = async (page: Page): Promise<Pick<Visit, 'complaints' | 'requested'>> => {
  const complaints: string[] = []
  const requested: string[] = []
  page.on('console', (message) => complaints.push(`${message.type()}: ${message.text()}`))
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`))
  page.on('request', (request) => requested.push(request.url()))
  await page.addInitScript(() => {
    const states: string[] = []
    Object.assign(window, { states })
    document.addEventListener('pinfold-state', (event) => {
      states.push((event as CustomEvent<{ state: string }>).detail.state)
    })
    document.addEventListener('securitypolicyviolation', ({ blockedURI, violatedDirective }) => {
      console.error(`kept out by policy: ${violatedDirective} ${blockedURI}`)
    })
  })
  return { complaints, requested }
}

/** Somebody else at the same browser, which forgets who was there: a fresh one costs a second. */
export const visitInstead = async (
  { complaints, page, requested }: Visit,
  viewport: { width: number; height: number },
): Promise<void> => {
  await page.goto('about:blank')
  await page.context().clearCookies()
  await page.setViewportSize(viewport)
  for (const seen of [complaints, requested]) seen.length = 0
}

/** Does something, and waits until the card has told a state since. */
export const untilState = async (page: Page, state: string, act: () => Promise<unknown>) => {
  await page.evaluate(() => (window as unknown as { states: string[] }).states.splice(0))
  await act()
  const isTold = (awaited: string) =>
    (window as unknown as { states: string[] }).states.includes(awaited)
  await page.waitForFunction(isTold, state, { timeout: 60_000 })
}

/**
 * What is on a `<pinfold-card>`, seen through its closed shadow tree as the browser's own tools see
 * it: no script of a page can.
 */
export type ShownCard = {
  pan: string
  expiry: string
  cvv: string
  /** Empty unless it is shown. */
  pin: string
  /** What a screen reader was told last. */
  status: string
}

type DomNode = {
  nodeName: string
  nodeValue: string
  attributes?: string[]
  children?: DomNode[]
  shadowRoots?: DomNode[]
  backendNodeId: number
}

/** @throws Error unless there is one card in the page. */
export const readCard = async (devtools: CDPSession): Promise<ShownCard> => {
  const host = await cardNode(devtools)
  const [root] = host.shadowRoots ?? []
  if (!root) throw new Error('The card has no shadow tree.')
  const value = (field: string) => textOf(find(find(root, field), 'value'))
  return {
    pan: value('pan'),
    expiry: value('expiry'),
    cvv: value('cvv'),
    pin: value('pin'),
    status: textOf(find(root, 'status')),
  }
}

/** Every text and attribute of the page outside the card's shadow tree. */
export const readAround = async (devtools: CDPSession): Promise<string> => {
  const { root } = (await devtools.send('DOM.getDocument', { depth: -1 })) as { root: DomNode }
  return [...walk(root, false)]
    .flatMap(({ attributes = [], nodeValue }) => [nodeValue, ...attributes])
    .join('\n')
}

/** Every attribute inside the card's shadow tree. */
export const readCardAttributes = async (devtools: CDPSession): Promise<string> =>
  [...walk(await cardNode(devtools), true)].flatMap(({ attributes = [] }) => attributes).join('\n')

const cardNode = async (devtools: CDPSession): Promise<DomNode> => {
  const options = { depth: -1, pierce: true }
  const { root } = (await devtools.send('DOM.getDocument', options)) as { root: DomNode }
  const host = [...walk(root, true)].find(({ nodeName }) => nodeName === 'PINFOLD-CARD')
  if (!host) throw new Error('There is no card in the page.')
  return host
}

function* walk(node: DomNode, pierce: boolean): Generator<DomNode> {
  yield node
  const below = [...(node.children ?? []), ...(pierce ? (node.shadowRoots ?? []) : [])]
  for (const child of below) yield* walk(child, pierce)
}

const find = (node: DomNode, name: string): DomNode => {
  for (const each of walk(node, true)) {
    const { attributes = [] } = each
    const classes = attributes[attributes.indexOf('class') + 1] ?? ''
    if (attributes.includes('class') && classes.split(' ').includes(name)) return each
  }
  throw new Error(`The card has no ${name}.`)
}

const textOf = (node: DomNode): string =>
  [...walk(node, true)].map((each) => each.nodeValue).join('')
