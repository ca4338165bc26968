/** What cardholders do on the demo's page, with a pointer. */
import type { Page } from 'playwright-core'
import { untilState } from './chromium.ts'

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
