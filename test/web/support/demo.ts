import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Page } from 'playwright-core'
import type { SandboxFile } from '../../../src/sandbox/sandbox-file.ts'
import type { Database } from '../../../src/storage/engine/database.ts'
import { openCardDataService } from '../../operations/card-data/service.ts'
import { openPostgres } from '../../support/postgres.ts'
import { openEmbedded, openServerDatabase } from '../../support/service.ts'
import { untilState } from './chromium.ts'

/**
 * The demo: a sandbox that listens, with the keys of card data in it (drawing them would take
 * seconds), and what cardholders do on its page, with a pointer.
 */

export type Sandbox = {
  baseUrl: string
  /** What `sandbox.json` would tell. */
  file: SandboxFile
}

/** @param baseUrl where it is reached, if not at its own port. */
export const startSandbox = async (
  options: { port?: number; baseUrl?: string } = {},
): Promise<Sandbox> => {
  const port = options.port ?? (await freePort())
  const baseUrl = options.baseUrl ?? `http://127.0.0.1:${port}`
  const database = await openDatabase()
  const service = await openCardDataService({
    database,
    // The port that injected calls name is one of its own, too.
    env: {
      PORT: String(port),
      PRIVATE_PORT: '8080',
      BASE_URL: baseUrl,
      REVEALS_PER_CARD_HOUR: '1000',
    },
  })
  await service.publicServer.listen({ host: '127.0.0.1', port })
  if (!service.sandbox) throw new Error('This is no sandbox.')
  return { baseUrl, file: service.sandbox }
}

/**
 * On the server, where there is one: the embedded database would share this process with the
 * service.
 */
const openDatabase = async (): Promise<Database> => {
  const postgres = await openPostgres()
  return postgres.leftOut ? openEmbedded() : (await openServerDatabase(postgres)).database
}

/** A port of this machine that nobody listens on. */
export const freePort = async (): Promise<number> => {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  await once(server.close(), 'close')
  if (typeof address !== 'object' || !address) throw new Error('No port was given.')
  return address.port
}

export const openDemo = async (page: Page, baseUrl: string): Promise<void> => {
  await page.goto(`${baseUrl}/demo`)
  await page.waitForSelector('html[data-ready=true]')
}

export const issueCard = async (page: Page, product = '1001'): Promise<void> => {
  await page.selectOption('#product', product)
  await page.click('#issue-form button')
  await page.waitForSelector('pinfold-card')
  await page.waitForSelector('#attempts li')
}

export const reveal = (page: Page): Promise<void> =>
  untilState(page, 'shown', async () => {
    await page.focus('pinfold-card')
    await page.keyboard.press('Enter')
  })

export const choosePin = async (page: Page, pin: string): Promise<string> => {
  await page.fill('#new-pin', pin)
  await page.fill('#new-pin-again', pin)
  return untilSaid(page, '#pin-said', () => page.click('#pin-form button'))
}

export const payWithPin = async (page: Page, pin: string): Promise<string> => {
  await page.fill('#pay-pin', pin)
  return untilSaid(page, '#shop-said', () => page.click('#pay-pin-form button'))
}

export const payWithCvv = async (page: Page, cvv: string): Promise<string> => {
  await page.fill('#pay-cvv', cvv)
  return untilSaid(page, '#shop-said', () => page.click('#pay-cvv-form button'))
}

/** Does something, waits for what the page says of it, and for everything to be read again. */
export const untilSaid = async (page: Page, region: string, act: () => Promise<unknown>) => {
  await page.evaluate((selector) => {
    const element = document.querySelector(selector)
    if (element) element.textContent = ''
  }, region)
  // The relay's panel is what is read again last.
  const readAgain = page.waitForResponse((response) => response.url().endsWith('/journal'))
  await act()
  await page.waitForFunction(
    (selector) => document.querySelector(selector)?.textContent !== '',
    region,
  )
  await readAgain
  return (await page.textContent(region)) ?? ''
}

/** A text of the page without the blanks between its parts. */
export const textOf = async (page: Page, selector: string): Promise<string> =>
  ((await page.innerText(selector)) ?? '').replaceAll(/\s+/g, ' ').trim()
