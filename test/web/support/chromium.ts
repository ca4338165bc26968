/**
 * A real Chromium, headless, with a fresh profile. `TEST_CHROMIUM=required` turns a missing one into
 * an error; `CHROMIUM_PATH` names one that is not where Debian has it.
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
import { type BrowserContextOptions, type CDPSession, chromium, type Page } from 'playwright-core'

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

const paths = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
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
  const browser = await chromium.launch({ executablePath, args: flags })
  after(() => browser.close())
  await mkdir(artifacts, { recursive: true })
  return {
    leftOut: false,
    visit: async (options = {}) => {
      const context = await browser.newContext(options)
      const page = await context.newPage()
      const devtools = await context.newCDPSession(page)
      return { page, devtools, ...(await listen(page)) }
    },
  }
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

/** Does something, and waits until the card has told a state since. */
export const untilState = async (page: Page, state: string, act: () => Promise<unknown>) => {
  await page.evaluate(() => (window as unknown as { states: string[] }).states.splice(0))
  await act()
  const isTold = (awaited: string) =>
    (window as unknown as { states: string[] }).states.includes(awaited)
  await page.waitForFunction(isTold, state, { timeout: 20_000 })
}
