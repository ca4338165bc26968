import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { before, suite, test } from 'node:test'
import type { Page } from 'playwright-core'
import { root } from '../../../scripts/package/program.ts'
import { openReceiver } from '../../operations/webhooks/receiver.ts'
import { openChromium, type Visit } from '../support/chromium.ts'
import {
  type Console,
  type DeclinedCard,
  issueDeclinedCard,
  openConsole,
  readText,
  signIn,
  signInInstead,
} from '../support/console.ts'
import { askForAdministrator, openCeremony } from '../support/console-world.ts'

/**
 * How many clicks the daily tasks take from the first page on. The Enter key that sends a form is a
 * click, too. The documents have the same numbers: docs/reference/console.md.
 */

const chromium = await openChromium()

interface Task {
  readonly name: string
  readonly role: string
  readonly work: (page: Page) => Promise<void>
}

suite('the clicks of daily tasks', { skip: chromium.leftOut }, () => {
  let service: Console
  let visit: Visit
  let card: DeclinedCard
  let clicks = 0
  let isTelephone = false
  before(async () => {
    service = await openConsole({ REVEALS_PER_CARD_HOUR: '2', APPROVALS: 'administrator' })
    await openCeremony(service)
    const receiver = await openReceiver(() => 500)
    await service.createWebhook(receiver.url, ['card.created'])
    visit = await signIn(service, chromium, 'support')
    await visit.page.exposeFunction('countClick', () => {
      clicks += 1
    })
    await visit.page.addInitScript(
      "addEventListener('click', (event) => event.isTrusted && countClick(), true)",
    )
  })

  const findCard = async (page: Page): Promise<void> => {
    await page.getByRole('searchbox').first().fill(card.publicToken)
    await page.keyboard.press('Enter')
    await page.waitForURL('**/console/cards/*')
  }
  const act = async (page: Page, name: string, form: string, told: string): Promise<void> => {
    await page.getByText(name, { exact: true }).first().click()
    await page.locator(form).getByLabel('Reason').fill('Cardholder identified')
    await page.locator(form).getByRole('button', { name }).click()
    await page.getByRole('status').getByText(told).waitFor()
  }
  const openScreen = async (page: Page, name: string): Promise<void> => {
    if (isTelephone) await page.getByRole('button', { name: 'Menu' }).click()
    await page.getByRole('link', { name: new RegExp(`^${name}( \\d+)?$`) }).click()
  }

  const tasks: readonly Task[] = [
    { name: 'Find a card by its token', role: 'support', work: findCard },
    {
      name: 'Say why its last payment was declined',
      role: 'support',
      async work(page) {
        await findCard(page)
        assert.match(await readText(page), /PIN is blocked/i)
      },
    },
    {
      name: 'Say which limit holds, and until when',
      role: 'support',
      async work(page) {
        await findCard(page)
        assert.match(await readText(page), /Limit reached, resets in/)
      },
    },
    {
      name: 'Unblock its PIN',
      role: 'support',
      async work(page) {
        await findCard(page)
        await act(page, 'Unblock PIN', '#act-pin-unblock', 'The PIN is unblocked')
      },
    },
    {
      name: 'Freeze it',
      role: 'support',
      async work(page) {
        await findCard(page)
        await act(page, 'Freeze', '#act-freeze', 'The card is frozen')
      },
    },
    {
      name: 'Send a failed delivery of a webhook again',
      role: 'support',
      async work(page) {
        await openScreen(page, 'Webhooks')
        await page.getByRole('main').getByRole('link', { name: '127.0.0.1' }).first().click()
        await page.waitForURL('**/console/webhooks/demo-client/*')
        const row = page.getByRole('row', { name: /card\.created/ }).first()
        await row.getByText('Send again').first().click()
        await row.getByLabel('Reason').fill('Their server is back')
        await row.getByRole('button', { name: 'Send again' }).click()
        await page.getByRole('status').getByText('is sent again now').waitFor()
      },
    },
    {
      name: 'Show who saw a PIN, with its receipt',
      role: 'auditor',
      async work(page) {
        await findCard(page)
        await page.getByRole('link', { name: 'Disclosures with receipts' }).click()
        await page.getByRole('link', { name: 'Receipt' }).first().click()
        await page.waitForURL('**/console/disclosures/*-*')
      },
    },
    {
      name: 'See key ages, and which ceremony waits for components',
      role: 'key-officer',
      async work(page) {
        await openScreen(page, 'Keys')
        await page.waitForURL('**/console/keys')
        assert.match(await readText(page), /zmk-console/)
      },
    },
    {
      name: 'Say whether the service is well',
      role: 'viewer',
      async work(page) {
        assert.match(await readText(page), /The service works/)
      },
    },
    {
      name: 'Approve what another person asked for',
      role: 'Sol Security',
      async work(page) {
        await page.getByRole('link', { name: 'Review' }).click()
        await page
          .getByRole('link', { name: /Register an administrator/ })
          .first()
          .click()
        await page.getByRole('button', { name: 'Approve' }).click()
        await page.getByText('It is approved').waitFor()
      },
    },
  ]

  for (const [column, width] of [1280, 390].entries()) {
    suite(`at ${width} pixels`, () => {
      before(async () => {
        card = await issueDeclinedCard(service, `Ref ${width}`)
        await askForAdministrator(service, `admin-${width}`)
        isTelephone = width === 390
        await visit.page.setViewportSize({ width, height: 844 })
      })
      for (const { name, role, work } of tasks) {
        test(`${name}: as many as the documents say`, async () => {
          await signInInstead(service, visit, role)
          clicks = 0
          await work(visit.page)
          assert.equal(clicks, readDocumented(name)[column])
        })
      }
    })
  }
})

const documented = readFileSync(`${root}docs/reference/console.md`, 'utf8')

/** @returns the clicks at 1280 and at 390 pixels that the table has for a task */
function readDocumented(name: string): number[] {
  const row = documented.split('\n').find((line) => line.startsWith(`| ${name} |`)) ?? ''
  return row.split('|').slice(-3, -1).map(Number)
}
