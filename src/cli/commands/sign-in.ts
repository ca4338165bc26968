import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { readSandboxFile } from '../../sandbox/sandbox-file.ts'
import { readConfig } from '../../service/config/config.ts'
import { type Call, type Command, findText, Refused, Unreachable, UsageError } from '../command.ts'
import { writePersonToken } from '../connection/person.ts'
import { line, printBeside } from '../output.ts'

/** The time limit of a sign-in. */
const waitMs = 600_000

export const signInCommand: Command = {
  words: 'sign-in',
  summary: 'signs you in with your identity provider, for commands with --as-person',
  description:
    'It prints a link to open in a browser on this machine, and waits until you have signed in ' +
    '(RFC 8252). The token is\nstored in DATA_DIR/person-token.json (0600) until it expires. ' +
    'The identity provider must have the command line as a\npublic client with the redirect ' +
    'URI http://127.0.0.1/callback, at any port.',
  options: {
    issuer: { type: 'string', value: 'URL', help: "CONSOLE_ISSUER, or the sandbox's own" },
    audience: { type: 'string', value: 'URI', help: 'the audience of the token: CONSOLE_AUDIENCE' },
    as: { type: 'string', value: 'ROLE', help: 'in the sandbox: a role, or the name of a person' },
  },
  connection: ['client'],
  example: 'pinfold sign-in --as key-officer && pinfold keys list --as-person',
  async run(call) {
    const { audience, clientId, hint, issuer } = await parseTarget(call)
    const oidc = await import('openid-client')
    const configuration = await oidc
      .discovery(new URL(issuer), clientId, {}, oidc.None(), {
        execute: issuer.startsWith('http:') ? [oidc.allowInsecureRequests] : [],
      })
      .catch((cause: unknown) => {
        throw new Unreachable(`The issuer ${issuer} does not answer.`, { cause })
      })
    const [state, verifier] = [randomBytes(32), randomBytes(32)].map((bytes) =>
      bytes.toString('base64url'),
    ) as [string, string]
    const callback = await listenOnce()
    const address = oidc.buildAuthorizationUrl(configuration, {
      redirect_uri: callback.redirectUri,
      scope: 'openid profile groups',
      state,
      resource: audience,
      prompt: 'login',
      code_challenge_method: 'S256',
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      ...(hint !== null && { login_hint: hint }),
    })
    printBeside(`Open this in a browser on this machine:\n\n  ${address}\n`)
    const answer = await callback.answer
    const tokens = await oidc
      .authorizationCodeGrant(
        configuration,
        answer,
        { expectedState: state, pkceCodeVerifier: verifier, idTokenExpected: true },
        { resource: audience },
      )
      .catch((cause: unknown) => {
        const detail = cause instanceof Error ? cause.message : 'no answer'
        throw new Refused(403, {
          code: 'not_signed_in',
          detail: `The sign-in failed: ${detail}.`,
        })
      })
    const lifeMs = (tokens.expires_in ?? 300) * 1_000
    const expiresAt = new Date(Date.now() + lifeMs).toISOString()
    const file = await writePersonToken({ accessToken: tokens.access_token, expiresAt })
    const name = String(tokens.claims()?.name ?? tokens.claims()?.sub)
    const text = line`Signed in as ${name} until ${expiresAt}. The token is in ${file}.`
    return { json: { name, issuer, expiresAt, file }, text }
  },
}

/** Returns the issuer and the audience of the sign-in. @throws UsageError without either. */
async function parseTarget(call: Call) {
  const config = readConfig()
  const sandbox = await readSandboxFile(config.dataDir)
  const configured = config.console.issuer
  const isOwn = configured === null && findText(call, 'issuer') === undefined
  const own = isOwn && sandbox ? sandbox.privateUrl : null
  const issuer = findText(call, 'issuer') ?? configured?.issuer ?? (own && `${own}/console/issuer`)
  const audience = findText(call, 'audience') ?? configured?.audience ?? own
  if (!issuer || !audience) {
    throw new UsageError('The sign-in needs --issuer URL and --audience URI.')
  }
  const as = findText(call, 'as')
  const person = sandbox?.people.find(({ name, role }) => name === as || role === as)
  if (as !== undefined && !person)
    throw new UsageError(`The sandbox has no person with the name ${as}.`)
  return {
    issuer,
    audience,
    clientId: findText(call, 'client') ?? 'pinfold-cli',
    hint: person ? new URL(person.signInUrl).searchParams.get('as') : null,
  }
}

/** Listens for one answer of a browser. */
async function listenOnce() {
  const { promise: answer, reject, resolve } = Promise.withResolvers<URL>()
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1')
    const isAnswer = url.pathname === '/callback' && url.searchParams.has('state')
    response
      .writeHead(isAnswer ? 200 : 404, {
        'content-type': 'text/plain; charset=utf-8',
        'cache-control': 'no-store',
        connection: 'close',
      })
      .end(isAnswer ? 'You can close this window. Continue at the command line.\n' : 'Not here.\n')
    if (isAnswer) resolve(new URL(`${redirectUri}${url.search}`))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const redirectUri = `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`
  const timer = setTimeout(() => {
    reject(
      new Refused(408, {
        code: 'not_signed_in',
        detail: 'The sign-in took too long. Run the command again.',
      }),
    )
  }, waitMs)
  return {
    redirectUri,
    answer: answer.finally(() => {
      clearTimeout(timer)
      server.close()
    }),
  }
}
