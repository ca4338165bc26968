import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { listScreens } from '../../../src/console/screens.ts'
import { roles } from '../../../src/domain/person.ts'
import { openChromium, type Visit } from '../support/chromium.ts'
import { type Console, openConsole, signIn, signInInstead } from '../support/console.ts'
import { openWorld, type World } from '../support/console-world.ts'

/** Screens whose texts are as long, as many and as foreign as they may be. */

const chromium = await openChromium()
const cardCount = 1_000

/** Right-to-left letters and one word that no line can be broken in. */
const longName = `${'شركة البطاقات المتحدة '.repeat(3)}${'W'.repeat(34)}`.slice(0, 100)

const longUrl = (base: string): string => `${base}/${'a'.repeat(300 - base.length - 1)}`

suite('texts of the greatest length, and a thousand cards', { skip: chromium.leftOut }, () => {
  let service: Console
  let world: World
  let visit: Visit
  before(async () => {
    service = await openConsole({ APPROVALS: 'administrator' })
    world = await openWorld(service, {
      reference: 'WWWWWWWWWWWW',
      merchant: 'مخبز الزاوية القديمة مدريد',
      client: longName,
      product: longName.slice(0, 50),
      webhookUrl: longUrl('http://127.0.0.1:9'),
      query: 'q'.repeat(280),
    })
    for (let made = 0; made < cardCount; made += 1) {
      await service.createCard({ customerReference: 'WWWWWWWWWWWW' })
    }
    visit = await signIn(service, chromium, 'support')
  })

  /** Each screen, as the role that the fewest roles see it before. */
  const open = async (path: string, width: number) => {
    const { page } = visit
    await page.setViewportSize({ width, height: 844 })
    for (const role of roles) {
      const answer = await page.goto(service.url(world.addresses.get(path) ?? '/'))
      if (answer?.status() === 200) return page
      await signInInstead(service, visit, role)
    }
    throw new Error(`No role may open ${path}.`)
  }

  for (const { path } of listScreens(true)) {
    for (const width of [1280, 390]) {
      test(`leave nothing out of its place on ${path}, ${width} pixels wide`, async () => {
        const page = await open(path, width)
        assert.deepEqual(await page.evaluate(findMisplaced), [])
      })
    }
  }

  test('cut a name at its end, also one that is read from the right', async () => {
    for (const path of ['/console/clients', '/console/webhooks', '/console/disclosures']) {
      const page = await open(path, 1280)
      const name = page.locator('.cut bdi', { hasText: longName }).first()
      assert.deepEqual(await name.evaluate(listVisibleEnds), { first: true, last: false }, path)
    }
  })
})

/** Whether the first and the last letter of a text are inside its box. */
function listVisibleEnds(element: Element): { first: boolean; last: boolean } {
  const text = element.firstChild as Text
  const box = element.closest('.cut')?.getBoundingClientRect()
  const isInside = (at: number): boolean => {
    const range = document.createRange()
    range.setStart(text, at)
    range.setEnd(text, at + 1)
    const { left, right } = range.getBoundingClientRect()
    return box !== undefined && left >= box.left - 1 && right <= box.right + 1
  }
  return { first: isInside(0), last: isInside(text.length - 1) }
}

/**
 * Names what reaches out of the window, or out of the box that it stands in: neither can be read,
 * unless that box scrolls or cuts it. Parts that are shown on demand are opened before.
 */
function findMisplaced(): string[] {
  const faults: string[] = []
  const page = document.documentElement
  if (page.scrollWidth > innerWidth) faults.push(`the page: ${page.scrollWidth} pixels`)
  const tables = [...document.querySelectorAll('.scroll:has(> .list)')]
  const wide = tables.filter(({ clientWidth, scrollWidth }) => scrollWidth > clientWidth)
  faults.push(...wide.map(({ ariaLabel, scrollWidth }) => `${ariaLabel}: ${scrollWidth} pixels`))
  for (const details of document.querySelectorAll('details')) details.open = true
  const isOwnWindow = (element: Element) => getComputedStyle(element).overflowX !== 'visible'
  for (const element of document.querySelectorAll('main *, header *')) {
    if (!(element instanceof HTMLElement) || !element.checkVisibility()) continue
    if (getComputedStyle(element).display === 'inline' || isOwnWindow(element)) continue
    // A table that scrolls reaches to both borders of its section.
    if (element.querySelector('.scroll')) continue
    if (element.scrollWidth > element.clientWidth + 1) {
      const text = element.innerText.slice(0, 40).replaceAll('\n', ' ')
      faults.push(`${element.tagName}.${element.className} ${text}: ${element.scrollWidth} pixels`)
    }
  }
  return faults
}
