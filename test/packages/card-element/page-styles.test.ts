import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import type { Page } from 'playwright-core'
import { openChromium, untilState, type Visit } from '../../web/support/chromium.ts'
import { startSandbox } from '../../web/support/demo.ts'
import { openCard, pressShow, setAttributes } from './support/open-card.ts'

const chromium = await openChromium()

suite('the element in the styles of a page', { skip: chromium.leftOut }, () => {
  let visit: Visit
  before(async () => {
    const { baseUrl } = await startSandbox()
    visit = await chromium.visit({ viewport: { width: 1000, height: 900 } })
    await openCard(visit, baseUrl)
  })

  test('every text of the face is whole in each width from 16 to 27 rem', async () => {
    const { page } = visit
    await pressShow(page)
    for (const width of ['16rem', '18rem', '22rem', '27rem']) {
      await setStyle(page, '#card-slot', `width: 30rem; --pinfold-card-width: ${width}`)
      assert.deepEqual(await findCutOff(page), [], width)
      assert.equal(await widthOf(page, '.face'), Number.parseInt(width, 10) * 16)
    }
    await setStyle(page, '#card-slot', '')
    await untilState(page, 'masked', () => page.keyboard.press('Escape'))
  })

  test('a long name of the issuer is cut, and never the number, name of the cardholder, expiry or CVV', async () => {
    const { page } = visit
    const names = ['issuer-name', 'emboss-name', 'lang'] as const
    const before = await Promise.all(
      names.map((name) => page.getAttribute('pinfold-card', name).then((value) => [name, value])),
    )
    for (const lang of ['en', 'ar']) {
      await setAttributes(page, {
        lang,
        'issuer-name': 'Genossenschaftsbank Unterallgäu-Mittelschwaben eG',
        'emboss-name': 'MAXIMILIANA VONHOHENSTAUFE',
      })
      await pressShow(page)
      for (const width of ['16rem', '27rem']) {
        await setStyle(page, '#card-slot', `width: 30rem; --pinfold-card-width: ${width}`)
        assert.deepEqual(await findCutOff(page), ['issuer'], `${lang} ${width}`)
      }
      await untilState(page, 'masked', () => page.keyboard.press('Escape'))
    }
    await setStyle(page, '#card-slot', '')
    await setAttributes(page, Object.fromEntries(before))
  })

  test('alignment, spacing and capitals of the page do not reach its texts', async () => {
    const { page } = visit
    const before = await placesOfTexts(page)
    const style = 'text-align: center; letter-spacing: 3px; word-spacing: 9px; line-height: 3'
    await setStyle(page, '#card-slot', `${style}; text-transform: uppercase; font-style: italic`)
    assert.deepEqual(await placesOfTexts(page), before)
    await setStyle(page, '#card-slot', '')
  })

  test('in a row it is as wide as its token, and no wider than the row', async () => {
    const { page } = visit
    for (const [row, face] of [
      ['60rem', 432],
      ['20rem', 320],
    ] as const) {
      for (const display of ['flex', 'grid; place-items: center']) {
        await setStyle(page, '#card-slot', `width: ${row}; display: ${display}`)
        assert.equal(await widthOf(page, '.face'), face, `${display} of ${row}`)
      }
    }
    await setStyle(page, '#card-slot', '')
  })
})

/** The page's policy forbids attributes of style, and allows this. */
const setStyle = (page: Page, selector: string, style: string): Promise<void> =>
  page.locator(selector).evaluate((element, text) => {
    if (element instanceof HTMLElement) element.style.cssText = text
  }, style)

const widthOf = async (page: Page, selector: string): Promise<number> =>
  Math.round((await page.locator(`pinfold-card ${selector}`).boundingBox())?.width ?? 0)

/** The texts that the edge of the face cuts off. */
const findCutOff = (page: Page): Promise<string[]> =>
  page.locator('pinfold-card .face').evaluate((face) => {
    const limit = face.getBoundingClientRect()
    return [...face.querySelectorAll('.value, .holder, .issuer, .scheme')]
      .filter((each) => {
        const { bottom, left, right, top } = each.getBoundingClientRect()
        const isWhole = left >= limit.left && right <= limit.right && top >= limit.top
        return !(isWhole && bottom <= limit.bottom && each.scrollWidth <= each.clientWidth + 1)
      })
      .map(({ className }) => className)
  })

const placesOfTexts = (page: Page): Promise<string[]> =>
  page.locator('pinfold-card .face').evaluate((face) => {
    const places: string[] = []
    const walker = document.createTreeWalker(face, NodeFilter.SHOW_TEXT)
    while (walker.nextNode()) {
      const range = document.createRange()
      range.selectNodeContents(walker.currentNode)
      const { height, width, x, y } = range.getBoundingClientRect()
      places.push([walker.currentNode.textContent, x, y, width, height].join(' '))
    }
    return places
  })
