import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { carryOut } from '../../operations/approvals/people.ts'
import { openReceiver, type Receiver } from '../../operations/webhooks/receiver.ts'
import { sql } from '../../support/service.ts'
import { openChromium, type Visit } from '../support/chromium.ts'
import {
  type Console,
  issueDeclinedCard,
  openConsole,
  readText,
  signIn,
  signInInstead,
} from '../support/console.ts'
import { askForAdministrator, openCeremony } from '../support/console-world.ts'

const chromium = await openChromium()

type Card = Awaited<ReturnType<typeof issueDeclinedCard>>

const signedInLongAgo =
  "update console_session set authenticated_at = clock_timestamp() - interval '6 minutes'"

/**
 * Who looks, and on what. The ways of working are the same without script: all but the live parts.
 */
const viewers = [
  { name: 'on a desktop', viewport: { width: 1280, height: 800 }, runsScripts: true },
  { name: 'on a telephone', viewport: { width: 390, height: 844 }, runsScripts: true },
  {
    name: 'on a telephone without script',
    viewport: { width: 390, height: 844 },
    runsScripts: false,
  },
]

suite('daily tasks of operators', { skip: chromium.leftOut }, () => {
  let service: Console
  let receiver: Receiver
  before(async () => {
    service = await openConsole({ REVEALS_PER_CARD_HOUR: '2', APPROVALS: 'administrator' })
    await openCeremony(service)
    receiver = await openReceiver(() => 500)
    await service.createWebhook(receiver.url, ['card.created'])
  })

  // One browser for all, in which one signs in after the other: each with a profile of its own
  // costs seconds.
  let visit: Visit
  let signedIn: string | null = null
  before(async () => {
    visit = await signIn(service, chromium, 'support')
  })

  for (const [at, { name, runsScripts, viewport }] of viewers.entries()) {
    suite(name, () => {
      let card: Card
      before(async () => {
        receiver.answer = () => 500
        card = await issueDeclinedCard(service, `Ref ${at}<b>`)
        await look(visit, viewport, runsScripts)
        signedIn = null
      })
      const as = async (role: string): Promise<Page> => {
        if (role !== signedIn) await signInInstead(service, visit, role)
        signedIn = role
        return visit.page
      }

      /**
       * It comes by itself where there is script, and where there is none, when somebody loads the
       * page again.
       */
      const untilShown = async (locator: Locator): Promise<void> => {
        for (let looks = 0; !runsScripts && looks < 1_000; looks += 1) {
          if ((await locator.count()) > 0) break
          await locator.page().reload()
        }
        await locator.waitFor()
      }

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
            await page.locator(`main a[href="/console/cards/${card.publicToken}"]`).first().click()
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

      test('a payment is found by the network’s transaction, and leads to its authorization', async () => {
        const networkTransactionId = `NT${at}${card.publicToken}`
        const { publicToken } = card
        const simulate = (path: string, amount: number) => {
          const merchant = path === 'authorizations' && { merchant: { name: 'Corner Bakery' } }
          const body = { publicToken, networkTransactionId, amount, currency: 'EUR', ...merchant }
          return service.call('POST', `/simulator/${path}`, { body })
        }
        const { paymentId } = (await simulate('authorizations', 12_345)).json
        await simulate('reversals', 2_345)
        const page = await as('support')
        for (const text of [networkTransactionId, paymentId]) {
          await search(page, text)
          await page.waitForURL(`**/payments/${paymentId}`)
        }
        assert.match(
          await readText(page),
          /Open 100\.00 EUR .* Reversal Took back Reference SIMULATOR −23\.45 EUR/,
        )
        await page.getByRole('link', { name: 'Authorization', exact: true }).click()
        await page.waitForURL(`**/authorizations/${paymentId}`)
        assert.match(await readText(page), /Amount 123\.45 EUR Merchant Corner Bakery/)
        await page.getByRole('link', { name: 'What is held and has moved' }).click()
        await page.waitForURL(`**/payments/${paymentId}`)
        await page.goto(service.url(`/console/cards/${publicToken}`))
        assert.match(await readText(page), /Corner Bakery Open 123\.45 EUR/)
        assert.doesNotMatch(await readText(page), /\[object/)
      })

      test('a card is frozen with a reason, which stays on record', async () => {
        const page = await as('support')
        await page.goto(service.url(`/console/cards/${card.publicToken}`))
        await page.getByText('Freeze', { exact: true }).first().click()
        await page.locator('#act-freeze').getByLabel('Reason').fill('Lost at the beach')
        await page.getByRole('button', { name: 'Freeze' }).click()
        await page.getByRole('status').getByText('The card is frozen').waitFor()
        assert.match(await readText(page), /Restricted.*Lost at the beach/)
      })

      test('a PIN is unblocked with a reason', async () => {
        const page = await as('support')
        await page.goto(service.url(`/console/cards/${card.publicToken}`))
        assert.match(await readText(page), /PIN Blocked/)
        await page.getByText('Unblock PIN', { exact: true }).first().click()
        await page.locator('#act-pin-unblock').getByLabel('Reason').fill('Cardholder identified')
        await page.getByRole('button', { name: 'Unblock PIN' }).click()
        await page.getByRole('status').getByText('The PIN is unblocked').waitFor()
        assert.match(await readText(page), /PIN Unblocked\s+3 tries left/)
      })

      test('what a webhook got is seen, and what it did not get is sent again with a reason', async () => {
        const page = await as('support')
        await page.goto(service.url('/console/webhooks'))
        await page.getByRole('link', { name: receiver.url }).click()
        await page.waitForURL(`**/console/webhooks/demo-client/*`)
        const row = page.getByRole('row', { name: /card\.created/ }).first()
        await untilShown(row.getByRole('cell', { name: 'status 500' }))
        receiver.answer = () => 204
        await row.getByText('Send again').first().click()
        await row.getByLabel('Reason').fill('Their server is back')
        await row.getByRole('button', { name: 'Send again' }).click()
        await page.getByRole('status').getByText('is sent again now').waitFor()
        await untilShown(row.getByText('Delivered', { exact: true }))
      })

      test('which limit holds is said, how much of it is used, until when, and where it comes from', async () => {
        const page = await as('support')
        await page.goto(service.url(`/console/cards/${card.publicToken}`))
        assert.match(
          await readText(page),
          /Disclosures an hour 2 of 2 Limit reached, resets in \d+ (minutes|seconds)\. REVEALS_PER_CARD_HOUR is set/,
        )
      })

      test('who saw this PIN is answered, with the entry of each disclosure and its receipt under a checkpoint', async () => {
        const page = await as('auditor')
        await search(page, card.publicToken)
        await page.getByRole('link', { name: 'Disclosures with receipts' }).click()
        await page.waitForURL('**/console/disclosures?*')
        const row = page.getByRole('row', { name: /PIN shown to the client/ }).first()
        assert.match(
          (await row.innerText()).replaceAll(/\s+/g, ' '),
          /Demo client system.*Shown \d+ of log 1 Receipt/,
        )
        await row.getByRole('link', { name: 'Receipt' }).click()
        await page.waitForURL('**/console/disclosures/*-*')
        const text = await readText(page)
        const receipt = (await page.locator('pre').textContent()) ?? ''
        const { size } = checkpointOf(receipt)
        assert.ok(text.includes(`Checkpoint ${size}`), text)
        const download = page.getByRole('link', { name: 'Download' })
        const href = (await download.getAttribute('href')) ?? ''
        const file = await page.request.get(new URL(href, page.url()).href)
        assert.match(file.headers()['content-disposition'] ?? '', /receipt-[0-9a-f-]+\.tlog-proof/)
        assert.equal(await file.text(), receipt)
        await page.getByRole('link', { name: 'Verify here' }).click()
        await page.waitForURL('**/audit*')
        if (runsScripts) await page.locator('#receipt-said.good').waitFor()
      })

      test('key ages are seen, and which ceremony awaits whose components', async () => {
        const page = await as('key-officer')
        await openScreen(page, 'Keys')
        await page.waitForURL('**/console/keys')
        assert.match(
          await readText(page),
          /zmk-console 0 of 2 awaited awaited.*pan-fingerprint version 1 in use 0 of 730 days/,
        )
      })

      test('whether it is us is said on the first page', async () => {
        const page = await as('viewer')
        assert.match(await readText(page), /The service works all \d+ checks pass/)
      })

      test('what another asked for is approved after a fresh sign-in, by its exact payload, and carried out', async () => {
        const clientId = `admin-${at}`
        await askForAdministrator(service, clientId)
        const page = await as('Sol Security')
        await sql(service.database, signedInLongAgo)
        await openScreen(page, 'Approvals')
        await page
          .getByRole('link', { name: /Register an administrator/ })
          .first()
          .click()
        await page.waitForURL('**/console/approvals/*')
        assert.ok((await readText(page)).includes(`Client ${clientId}`))
        await page.getByRole('link', { name: 'Sign in again to approve' }).click()
        await page.getByRole('button', { name: 'Sign in again as Sol Security' }).click()
        await page.waitForURL('**/console/approvals/*')
        await page.getByRole('button', { name: 'Approve' }).click()
        await page.getByText('It is approved, and will be executed shortly.').waitFor()
        await carryOut(service)
        await page.reload()
        assert.match(
          await readText(page),
          /Approved Sol Security .*Executed 201 .*It was approved and executed/,
        )
      })
    })
  }
})

/** Sees to it that the browser shows so much, and runs the scripts of pages or does not. */
async function look(
  { devtools, page }: Visit,
  viewport: { width: number; height: number },
  runsScripts: boolean,
): Promise<void> {
  await page.setViewportSize(viewport)
  await devtools.send('Emulation.setScriptExecutionDisabled', { value: !runsScripts })
  await page.goto('data:text/html,<title>none</title><script>document.title = "run"</script>')
  assert.equal(await page.title(), runsScripts ? 'run' : 'none')
}

/**
 * Opens a screen by the navigation, which a telephone shows after a press on its menu button. The
 * number of approvals that wait may follow a name.
 */
async function openScreen(page: Page, name: string): Promise<void> {
  const menu = page.getByRole('button', { name: 'Menu' })
  if (await menu.isVisible()) await menu.click()
  await page.getByRole('link', { name: new RegExp(`^${name}( \\d+)?$`) }).click()
}

async function search(page: Page, text: string): Promise<void> {
  await page.goto(new URL('/console/search', page.url()).href)
  await page.getByRole('searchbox').last().fill(text)
  // Without it, the page of the form may still be there, whose load is over.
  const answered = page.waitForEvent('framenavigated')
  await page.getByRole('main').getByRole('button', { name: 'Search' }).click()
  await answered
  await page.waitForLoadState()
}

/** The checkpoint that a receipt ends in (c2sp.org/tlog-proof, c2sp.org/tlog-checkpoint). */
function checkpointOf(receipt: string): { size: string } {
  const [, checkpoint = ''] = receipt.split('\n\n')
  const [, size = ''] = checkpoint.split('\n')
  return { size }
}
