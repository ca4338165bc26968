import { createHmac, randomBytes } from 'node:crypto'
import { readConsoleAssets } from '../../web/site/console-assets.ts'
import type { Scope } from '../domain/client.ts'
import { isRole, type Person, type Role } from '../domain/person.ts'
import { Problem } from '../domain/problem.ts'
import { mountConsole, type PersonCall } from '../listeners/console/console.ts'
import {
  createPeopleIssuer,
  type PeopleIssuer,
  type SandboxPerson,
} from '../listeners/console/people-issuer.ts'
import { createRelyingParty } from '../listeners/console/relying-party.ts'
import type { ApiAnswer } from '../listeners/console/screen.ts'
import { acts, screens } from '../listeners/console/screens.ts'
import type { Server } from '../listeners/http/server.ts'
import type { AccessTokenVerifier, Caller } from '../listeners/oauth/access-token-verifier.ts'
import type { SandboxFile } from '../sandbox/sandbox-file.ts'
import type { Database } from '../storage/engine/database.ts'
import type { Config } from './config/config.ts'

/** Calls of the private listener by this process, as people who are signed in. */
export interface PersonCalls {
  /** The listener's verifier, which also knows who this process calls as. */
  readonly verifier: AccessTokenVerifier
  callAs(app: Server, host: string, caller: PersonCaller, call: PersonCall): Promise<ApiAnswer>
}

interface PersonCaller {
  readonly person: Person
  readonly scopes: ReadonlySet<Scope>
}

const scheme = 'Person '

/**
 * Lets this process call its own private listener as a person. A call names the person by a handle of 256 random bits, which is
 * made for this one call and forgotten as it comes in: it never leaves this process, and nobody else has one.
 */
export function personCalls(verifier: AccessTokenVerifier): PersonCalls {
  const callers = new Map<string, Caller>()
  return {
    verifier: {
      async verify(header, presented) {
        if (!header?.startsWith(scheme)) return verifier.verify(header, presented)
        const caller = callers.get(header)
        callers.delete(header)
        if (!caller) throw new Problem('unauthenticated')
        return caller
      },
    },
    async callAs(app, host, { person, scopes }, call) {
      const { body, idempotencyKey, method, path, requestId } = call
      const authorization = `${scheme}${randomBytes(32).toString('base64url')}`
      callers.set(authorization, {
        ...{ clientId: person.personId, kind: 'admin', scopes, person, boundThumbprint: null },
        expiresAt: new Date(Date.now() + 60_000),
      })
      try {
        const answer = await app.inject({
          method,
          url: path,
          headers: {
            ...{ host, authorization, 'x-request-id': requestId },
            ...(idempotencyKey !== null && { 'idempotency-key': idempotencyKey }),
            ...(body && { 'content-type': 'application/json' }),
          },
          ...(body && { payload: JSON.stringify(body) }),
        })
        const isJson = /^application\/(?:problem\+)?json\b/.test(
          String(answer.headers['content-type']),
        )
        return {
          status: answer.statusCode,
          headers: Object.fromEntries(
            Object.entries(answer.headers).map(([name, value]) => [name, String(value)]),
          ),
          body: isJson ? answer.json() : answer.payload,
        }
      } finally {
        callers.delete(authorization)
      }
    },
  }
}

/** Who there is in a sandbox: two of each role whose acts another person approves. */
const sandboxPeople: readonly { readonly name: string; readonly role: Role }[] = [
  { name: 'Vera Viewer', role: 'viewer' },
  { name: 'Sam Support', role: 'support' },
  { name: 'Lea Lead', role: 'support-lead' },
  { name: 'Leo Lead', role: 'support-lead' },
  { name: 'Kim Keys', role: 'key-officer' },
  { name: 'Kai Keys', role: 'key-officer' },
  { name: 'Sue Security', role: 'security-officer' },
  { name: 'Sol Security', role: 'security-officer' },
  { name: 'Ada Auditor', role: 'auditor' },
  { name: 'Dan Developer', role: 'developer' },
]

/** The people of a sandbox, with the links that sign in as them: as secret as the secret that they are drawn from. */
export const peopleOfSandbox = (secret: string): readonly SandboxPerson[] =>
  sandboxPeople.map(({ name, role }) => {
    const subject = name.toLowerCase().replace(' ', '-')
    const link = createHmac('sha256', secret).update(`sign in ${subject}`).digest('base64url')
    return { subject, name, groups: [role], link }
  })

/** @returns what puts the console on the private listener; null where there is none. */
export async function createConsole(
  { privateUrl, sandbox: isSandbox }: Config,
  sandbox: SandboxFile | null,
  database: Database,
  calls: PersonCalls,
): Promise<((app: Server) => void) | null> {
  if (!sandbox) return null
  const issuer = `${privateUrl}/console/issuer`
  const registration = {
    clientId: 'pinfold-console',
    redirectUri: `${privateUrl}/console/sign-in/callback`,
  }
  const people = peopleOfSandbox(sandbox.admin.clientSecret)
  const peopleIssuer = await createPeopleIssuer({ ...registration, issuer, people })
  const relyingParty = createRelyingParty({
    ...registration,
    issuer,
    clientAuthentication: null,
    groupsClaim: 'groups',
    rolesOf: (groups) => groups.filter(isRole),
    fetch: (url, { body, headers, method }) =>
      askIssuer(peopleIssuer, url, { body, headers, method }),
  })
  const { host } = new URL(privateUrl)
  const assets = await readConsoleAssets()
  return (app) =>
    mountConsole(app, {
      people: { database },
      ...{ relyingParty, peopleIssuer, url: privateUrl, isSandbox, isReadOnly: false },
      ...{ screens, acts, assets },
      callAs: (person, scopes, call) => calls.callAs(app, host, { person, scopes }, call),
    })
}

/** Asks the issuer in this process what is asked of another one over the network. */
async function askIssuer(
  issuer: PeopleIssuer,
  url: string,
  { body, headers, method }: { method: string; headers: Record<string, string>; body?: unknown },
): Promise<Response> {
  const { pathname, search } = new URL(url)
  const answer = await issuer.answer({
    ...{ method, path: `${pathname}${search}`, headers },
    body: body === undefined || body === null ? '' : String(body),
  })
  return new Response(answer.body, {
    status: answer.status,
    headers: { 'content-type': String(answer.headers['content-type'] ?? 'text/plain') },
  })
}
