import type { Page } from 'playwright-core'
import type { SandboxFile } from '../../../src/sandbox/sandbox-file.ts'
import { keepRsaKeys } from '../../operations/card-data/service.ts'
import {
  type DeliveryService,
  openDeliveryService,
} from '../../operations/webhooks/delivery-service.ts'
import { enterAll, signAll } from '../../support/audit.ts'
import { freePorts } from '../../support/free-ports.ts'
import { ask, type IssuedCard, issueCard, otherDigits, pinTry } from '../../support/network.ts'
import type { Chromium, Visit } from './chromium.ts'

/** The console of a sandbox that listens, and the people who sign in to it. */
export type Console = DeliveryService & {
  sandbox: SandboxFile
  /** A path of the private listener, as a browser reaches it. */
  url: (path: string) => string
}

export const openConsole = async (env: Readonly<Record<string, string>> = {}): Promise<Console> => {
  const [port, privatePort] = await freePorts()
  const privateUrl = `http://127.0.0.1:${privatePort}`
  const service = await openDeliveryService({
    env: {
      // The port that injected calls name is one of its own, too.
      PORT: '8080',
      BASE_URL: `http://127.0.0.1:${port}`,
      PRIVATE_BASE_URL: privateUrl,
      RATE_LIMIT: 'on',
      RATE_PER_SECOND: '100000',
      RATE_BURST: '100000',
      ...env,
    },
  })
  await service.privateServer.listen({ port: privatePort, host: '127.0.0.1' })
  // The page of the audit log reads the keys of the log there.
  await service.publicServer.listen({ port, host: '127.0.0.1' })
  await keepRsaKeys(service)
  const { sandbox } = service
  if (!sandbox) throw new Error('This is no sandbox.')
  return { ...service, sandbox, url: (path) => `${privateUrl}${path}` }
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
  await signInInstead(service, visit, who)
  return visit
}

/**
 * Somebody else in the same browser, which knows nothing of who was there: a fresh one costs
 * seconds.
 */
export const signInInstead = async (
  service: Console,
  { page }: Visit,
  who: string,
): Promise<void> => {
  await page.context().clearCookies()
  await page.goto(linkOf(service, who))
  await page.waitForURL('**/console')
}

export type DeclinedCard = IssuedCard & {
  customerReference: string
  /** Of the authorization that was declined last. */
  reference: string
  /** The entry of the audit log that says who was shown the PIN. */
  disclosureId: string
}

/**
 * A card whose cardholder has called: three wrong PINs at a till, the last of them under a
 * reference; and its PIN was shown.
 * @param transaction of the last one
 */
export const issueDeclinedCard = async (
  service: Console,
  customerReference: string,
  members: object = {},
  transaction: object = {},
): Promise<DeclinedCard> => {
  const card = await issueCard(service, { customerReference, ...members })
  const shown = await service.call('GET', `/card-pin/${card.publicToken}/pin`)
  const disclosureId = String(shown.headers['audit-entry'])
  for (const step of [1, 2, 3, 4, 5]) {
    await ask(service, pinTry(service, card, otherDigits(card.pin, step)))
  }
  const reference = `RRN-${card.publicToken}`
  await ask(service, { ...pinTry(service, card), ...transaction, reference })
  await enterAll(service.database)
  await signAll(service.audit)
  return { ...card, reference, customerReference, disclosureId }
}

/** The text of a part of a page, without the blanks between its parts. */
export const readText = async (page: Page, selector = 'main'): Promise<string> =>
  (await page.innerText(selector)).replaceAll(/\s+/g, ' ').trim()
