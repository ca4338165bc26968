import { enterAll } from '../../support/audit.ts'
import { type IssuedCard, issueCard } from '../../support/network.ts'
import { openServedService, type ServedService } from '../../support/served-service.ts'
import type { Chromium, Visit } from './chromium.ts'

/** The console of a sandbox that listens, and the people who sign in to it. */
export type Console = ServedService & {
  /** A path of the private listener, as a browser reaches it. */
  url: (path: string) => string
}

export const openConsole = async (
  env: Readonly<Record<string, string>> = {},
): Promise<Console> => {
  const service = await openServedService(env)
  return { ...service, url: (path) => `${service.sandbox.privateUrl}${path}` }
}

/** A browser in which somebody has signed in by a link of the sandbox. @param name their name, or a role of which somebody is taken. */
export const signIn = async (
  { sandbox }: Console,
  chromium: Chromium,
  who: string,
  options: Parameters<Chromium['visit']>[0] = {},
): Promise<Visit> => {
  const person = sandbox.people.find(({ name, role }) => name === who || role === who)
  if (!person) throw new Error(`The sandbox has no ${who}.`)
  const visit = await chromium.visit(options)
  await visit.page.goto(person.signInUrl)
  return visit
}
