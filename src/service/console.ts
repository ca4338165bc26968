import { createHmac } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { decodeJwt, type JWK } from 'jose'
import { readConsoleAssets } from '../../web/site/page-assets.ts'
import { answerBadUrl } from '../console/answers.ts'
import { mountConsole } from '../console/console.ts'
import {
  createOperatorIssuer,
  type OperatorIssuer,
  type SandboxPerson,
} from '../console/people-issuer.ts'
import {
  createRelyingParty,
  parsePerson,
  type RelyingPartyOptions,
} from '../console/relying-party.ts'
import { acts, listScreens } from '../console/screens.ts'
import { isRole, type Role } from '../domain/person.ts'
import { StartRefusal } from '../domain/problem.ts'
import { findRsaJwkFault } from '../domain/rsa-key.ts'
import type { CallerAddresses } from '../listeners/http/caller-address.ts'
import type { RateLimiter } from '../listeners/http/rate-limit.ts'
import type { AnswerBadUrl, Server } from '../listeners/http/server.ts'
import {
  type AccessTokenVerifier,
  createAccessTokenVerifier,
} from '../listeners/oauth/access-token-verifier.ts'
import type { SandboxFile } from '../sandbox/sandbox-file.ts'
import type { Database } from '../storage/engine/database.ts'
import type { Config } from './config/config.ts'
import type { ConsoleIssuer } from './config/console.ts'
import { isLoopback } from './config/exposure.ts'
import type { InProcessCalls } from './in-process-calls.ts'
import { identityFetcher } from './outbound.ts'
import type { Peers } from './processes/peers.ts'
import { sharedIssuer } from './processes/sharing.ts'

/** The people of a sandbox: two of each role whose acts need an approval. */
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

/**
 * Lists the people of a sandbox with their sign-in links, which are derived from a secret and as
 * sensitive as it.
 */
export const listSandboxOperators = (secret: string): readonly SandboxPerson[] =>
  sandboxPeople.map(({ name, role }) => {
    const subject = name.toLowerCase().replace(' ', '-')
    const link = createHmac('sha256', secret).update(`sign in ${subject}`).digest('base64url')
    return { subject, name, groups: [role], link }
  })

/** The dependencies of the console. */
interface ConsoleWiring {
  readonly sandbox: SandboxFile | null
  readonly database: Database
  /** Verifies clients' access tokens for the private listener. */
  readonly verifier: AccessTokenVerifier
  readonly callers: CallerAddresses
  readonly rate: RateLimiter | null
  readonly peers: Peers | null
}

/** People on the private listener: in a browser, or with access tokens of their own. */
interface Console {
  /** The listener's verifier, which also accepts people. */
  readonly verifier: AccessTokenVerifier
  /** Mounts the console on the listener that executes its calls; null without a console. */
  readonly mount: ((calls: InProcessCalls) => (app: Server) => void) | null
  /** Absent without a console. */
  readonly answerBadUrl?: AnswerBadUrl
}

/**
 * Creates the console; production without an issuer of identities has none.
 * @throws `StartRefusal` when the console's credentials cannot be read.
 */
export async function createConsole(config: Config, wiring: ConsoleWiring): Promise<Console> {
  const identities = await createIdentities(config, wiring)
  if (!identities) return { verifier: wiring.verifier, mount: null }
  const { fetch, peopleIssuer, sandboxPeople, tokens, ...party } = identities
  const { database, peers: _, sandbox: __, verifier, ...limits } = wiring
  const relyingParty = createRelyingParty({ ...party, fetch })
  const { host, hostname } = new URL(config.privateUrl)
  const isOfThisMachine = [config.privateListener.host, hostname].every(isLoopback)
  const { readOnly: isReadOnly } = config.console
  return {
    verifier: tokens ? withPeople(verifier, { ...party, ...tokens, fetch }) : verifier,
    answerBadUrl,
    mount: (calls) => (app) =>
      mountConsole(app, {
        people: { database },
        url: config.privateUrl,
        ...limits,
        relyingParty,
        peopleIssuer,
        listedPeople: isOfThisMachine ? sandboxPeople : null,
        isSandbox: config.sandbox,
        isReadOnly,
        screens: listScreens(config.sandbox),
        acts,
        readAssets: readConsoleAssets,
        callAs: (person, scopes, call) =>
          calls.callAs(
            app,
            host,
            {
              clientId: person.personId,
              kind: 'admin',
              scopes,
              person,
              boundThumbprint: null,
              expiresAt: new Date(Date.now() + 60_000),
            },
            { ...call, body: call.body ?? null },
          ),
      }),
  }
}

/** The issuer of identities and how this service reaches it. */
interface Identities extends RelyingPartyOptions {
  readonly peopleIssuer: OperatorIssuer | null
  /** The people of the sandbox; null with an outside issuer. */
  readonly sandboxPeople: readonly SandboxPerson[] | null
  /** The accepted access tokens of people; null accepts none. */
  readonly tokens: { readonly audience: string } | null
}

async function createIdentities(
  config: Config,
  { peers, sandbox }: ConsoleWiring,
): Promise<Identities | null> {
  const {
    console: { issuer: outside },
    privateUrl,
  } = config
  const redirectUri = `${privateUrl}/console/sign-in/callback`
  if (outside) {
    const { audience, clientId, groupsClaim, issuer, rolesOfGroups } = outside
    return {
      issuer,
      clientId,
      groupsClaim,
      redirectUri,
      peopleIssuer: null,
      sandboxPeople: null,
      credentials: await readCredentials(outside),
      listRoles: (groups) => [
        ...new Set(groups.flatMap((group) => rolesOfGroups.get(group) ?? [])),
      ],
      fetch: identityFetcher(config),
      tokens: audience === null ? null : { audience },
    }
  }
  if (!sandbox) return null
  const issuer = `${privateUrl}/console/issuer`
  const clientId = 'pinfold-console'
  const people = listSandboxOperators(sandbox.admin.clientSecret)
  const own = createOperatorIssuer({
    clientId,
    redirectUri,
    issuer,
    people,
    audience: privateUrl,
  })
  const peopleIssuer = peers ? sharedIssuer(own, peers) : own
  return {
    issuer,
    clientId,
    redirectUri,
    peopleIssuer,
    sandboxPeople: people,
    credentials: null,
    groupsClaim: 'groups',
    listRoles: (groups) => groups.filter(isRole),
    // Requests to an outside issuer.
    async fetch(url, { body, headers, method }) {
      const { pathname, search } = new URL(url)
      const answer = await peopleIssuer.answer({
        method,
        path: `${pathname}${search}`,
        headers,
        body: body === undefined || body === null ? '' : String(body),
      })
      return new Response(answer.body, {
        status: answer.status,
        headers: { 'content-type': String(answer.headers['content-type'] ?? 'text/plain') },
      })
    },
    tokens: { audience: privateUrl },
  }
}

/** Reads the console's credentials from the configured file. */
async function readCredentials({ jwkFile, secretFile }: ConsoleIssuer) {
  const file = secretFile ?? jwkFile ?? ''
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new StartRefusal(`${file} cannot be read.`, { cause })
  })
  if (secretFile !== null) return { secret: text.trim() }
  let jwk: JWK | null = null
  try {
    jwk = JSON.parse(text)
  } catch {
    // The parser's message quotes malformed JSON, and the file may contain another secret.
  }
  if (typeof jwk?.d !== 'string') {
    throw new StartRefusal(`${file} must contain the console's private key as a JWK.`)
  }
  const fault = findRsaJwkFault({ ...jwk })
  if (fault !== null) throw new StartRefusal(`${file} contains a weak key. ${fault}`)
  return { jwk }
}

/**
 * Accepts people's tokens beside clients'. The issuer in the token selects the verifier, which then
 * checks it.
 */
function withPeople(
  clients: AccessTokenVerifier,
  options: RelyingPartyOptions & { readonly audience: string },
): AccessTokenVerifier {
  const { audience, issuer } = options
  const people = createAccessTokenVerifier({
    audience,
    issuer,
    listener: 'private',
    keys: {
      discoverFrom: issuer,
      fetchJson: async (address) => {
        const answer = await options.fetch(address.href, jsonRequest)
        if (answer.status !== 200) throw new Error(`${address} answered ${answer.status}`)
        return answer.json()
      },
    },
    findClient: async () => null,
    findPerson: (claims) => parsePerson(claims, options),
  })
  return {
    async verify(header, presented) {
      let verifier = clients
      try {
        const claims = decodeJwt((header ?? '').slice('Bearer '.length).trim())
        const isPersons = claims.iss === issuer && [claims.aud].flat().includes(audience)
        if (isPersons) verifier = people
      } catch {
        // A malformed token is refused like any other.
      }
      return verifier.verify(header, presented)
    },
  }
}

/** Requests a document without following redirects. */
const jsonRequest = {
  method: 'GET',
  body: undefined,
  redirect: 'manual',
  headers: { accept: 'application/json, application/jwk-set+json' },
} as const
