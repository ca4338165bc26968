import type { Page } from 'playwright-core'
import { enterAll, signAll } from '../../support/audit.ts'
import { ask, type IssuedCard, issueCard, otherDigits, pinTry } from '../../support/network.ts'
import { openServedService, type ServedService } from '../../support/served-service.ts'
import type { Chromium, Visit } from './chromium.ts'

/** The console of a sandbox that listens, and the people who sign in to it. */
export type Console = ServedService & {
  /** A path of the private listener, as a browser reaches it. */
  url: (path: string) => string
}

export const openConsole = async (env: Readonly<Record<string, string>> = {}): Promise<Console> => {
  const limits = { RATE_LIMIT: 'on', RATE_PER_SECOND: '100000', RATE_BURST: '100000' }
  const service = await openServedService({ ...limits, ...env })
  return { ...service, url: (path) => `${service.sandbox.privateUrl}${path}` }
}

/** The link that signs in somebody. @param who a name, or a role of which anybody is taken */
export const linkOf = ({ sandbox }: Console, who: string): string => {
  const person = sandbox.people.find(({ name, role }) => name === who || role === who)
  if (!person) throw new Error(`The sandbox has no ${who}.`)
  return person.signInUrl
}

/** A browser in which somebody has signed in. */
export const signIn = async (
  service: Console,
  chromium: Chromium,
  who: string,
  options: Parameters<Chromium['visit']>[0] = {},
): Promise<Visit> => {
  const visit = await chromium.visit(options)
  visit.page.setDefaultTimeout(20_000)
  await visit.page.goto(linkOf(service, who))
  await visit.page.waitForURL('**/console')
  return visit
}

/** A card whose cardholder has called: three wrong PINs at a till, the last of them under a reference; and its PIN was shown. */
export const issueDeclinedCard = async (
  service: Console,
  customerReference: string,
  members: object = {},
): Promise<IssuedCard & { reference: string; customerReference: string }> => {
  const card = await issueCard(service, { customerReference, ...members })
  for (const step of [1, 2, 3, 4, 5]) {
    await ask(service, pinTry(service, card, otherDigits(card.pin, step)))
  }
  const reference = `RRN-${card.publicToken}`
  await ask(service, { ...pinTry(service, card), reference })
  await enterAll(service.database)
  await signAll(service.audit)
  return { ...card, reference, customerReference }
}

/** The text of a part of a page, without the blanks between its parts. */
export const readText = async (page: Page, selector = 'main'): Promise<string> =>
  (await page.innerText(selector)).replaceAll(/\s+/g, ' ').trim()
