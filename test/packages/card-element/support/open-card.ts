import type { Page } from 'playwright-core'
import { untilState, type Visit } from '../../../web/support/chromium.ts'
import { issueCard, openDemo } from '../../../web/support/demo.ts'

/**
 * The demo with a card whose shadow tree is open, so that checkers and locators see into it, and
 * with a form for a PIN.
 */
export const openCard = async ({ page }: Visit, baseUrl: string, product?: string) => {
  await page.addInitScript(() => {
    const attach = Element.prototype.attachShadow
    Element.prototype.attachShadow = function attachOpen(options) {
      return attach.call(this, { ...options, mode: 'open' })
    }
  })
  await page.emulateMedia({ reducedMotion: 'reduce' })
  await openDemo(page, baseUrl)
  await issueCard(page, product)
  await setAttributes(page, {
    'set-pin-url': `/demo/relay/cards/${await tokenOf(page)}/pin`,
    'reveal-seconds': '60',
  })
}

export const tokenOf = async (page: Page): Promise<string> =>
  (await page.getAttribute('pinfold-card', 'public-token')) ?? ''

/** An attribute of null is removed. */
export const setAttributes = (
  page: Page,
  attributes: Readonly<Record<string, string | null>>,
): Promise<void> =>
  page.evaluate((given) => {
    const card = document.querySelector('pinfold-card')
    for (const [name, value] of Object.entries(given)) {
      if (value === null) card?.removeAttribute(name)
      else card?.setAttribute(name, value)
    }
  }, attributes)

/** Presses its first button by a pointer, wherever the focus is. */
export const pressShow = (page: Page): Promise<void> =>
  untilState(page, 'shown', () => page.locator('pinfold-card button.main').first().click())

/** The element's own text for its user, in its live region. */
export const statusOf = async (page: Page): Promise<string> =>
  (await page.textContent('pinfold-card .status')) ?? ''
