import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import type { Page } from 'playwright-core'
import { openChromium } from '../support/chromium.ts'
import {
  type Console,
  issueDeclinedCard,
  openConsole,
  readText,
  signIn,
} from '../support/console.ts'

const chromium = await openChromium()

type Card = Awaited<ReturnType<typeof issueDeclinedCard>>

/** Who looks, and on what. The ways of working are the same without script: all but the live parts. */
const viewers = [
  { name: 'on a desktop', viewport: { width: 1280, height: 800 }, javaScriptEnabled: true },
  { name: 'on a telephone', viewport: { width: 390, height: 844 }, javaScriptEnabled: true },
  {
    name: 'on a telephone without script',
    viewport: { width: 390, height: 844 },
    javaScriptEnabled: false,
  },
]

suite('what operators do all day', { skip: chromium.leftOut }, () => {
  let service: Console
  before(async () => {
    service = await openConsole({ REVEALS_PER_CARD_HOUR: '2' })
  })

  for (const [at, { name, ...options }] of viewers.entries()) {
    suite(name, () => {
      let card: Card
      before(async () => {
        card = await issueDeclinedCard(service, `Ref ${at}<b>`)
      })
      const as = async (role: string): Promise<Page> =>
        (await signIn(service, chromium, role, options)).page

      test('a card is found by token, reference, last four, authorization reference and whole number', async () => {
        const page = await as('support')
        const lastFour = card.pan.slice(-4)
        for (const text of [
          card.publicToken,
          card.customerReference,
          lastFour,
          card.reference,
          card.pan,
        ]) {
          await search(page, text)
          if (!page.url().includes('/cards/'))
            await page.getByRole('link', { name: lastFour }).first().click()
          await page.waitForURL(`**/console/cards/${card.publicToken}*`)
          assert.ok((await readText(page)).includes(card.customerReference))
        }
      })

      test('why it was declined is said, check by check, with what to tell the cardholder', async () => {
        const page = await as('support')
        await search(page, card.reference)
        await page.getByRole('link', { name: card.reference }).click()
        await page.waitForURL('**/authorizations/*')
        assert.match(await readText(page), /PIN is blocked/i)
      })

      test('a card is frozen with a reason, which stays on record', async () => {
        const page = await as('support')
        await page.goto(service.url(`/console/cards/${card.publicToken}`))
        await page.getByText('Freeze', { exact: true }).first().click()
        await page.getByLabel('Reason').first().fill('Lost at the beach')
        await page.getByRole('button', { name: 'Freeze' }).click()
        await page.getByRole('status').getByText('The card is frozen').waitFor()
        assert.match(await readText(page), /Restricted.*Lost at the beach/)
      })

      test('a PIN is unblocked with a reason', async () => {
        const page = await as('support')
        await page.goto(service.url(`/console/cards/${card.publicToken}`))
        assert.match(await readText(page), /PIN Blocked/)
        await page.getByText('Unblock PIN', { exact: true }).first().click()
        await page.getByLabel('Reason').nth(1).fill('Cardholder identified by telephone')
        await page.getByRole('button', { name: 'Unblock PIN' }).click()
        await page.getByRole('status').getByText('The PIN is unblocked').waitFor()
        assert.match(await readText(page), /PIN Unblocked 3 tries left/)
      })
    })
  }
})

async function search(page: Page, text: string): Promise<void> {
  await page.goto(new URL('/console/search', page.url()).href)
  await page.getByRole('searchbox').last().fill(text)
  await page.getByRole('main').getByRole('button', { name: 'Search' }).click()
  await page.waitForLoadState()
}
