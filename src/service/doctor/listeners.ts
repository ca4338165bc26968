import { request as requestInClear } from 'node:http'
import { request as requestByTls } from 'node:https'
import { text } from 'node:stream/consumers'
import { toMembers } from '../../domain/members.ts'
import { sandboxLink } from '../../sandbox/demo-data.ts'
import type { Config } from '../config/config.ts'
import { findListeningRefusal } from '../listening-refusal.ts'
import { type Check, type Finding, fault, good, warning } from './finding.ts'

/** Checks that both listeners' ports are free, or in use by a Pinfold that is ready. */
export const checkListeners: Check = async ({ config }) => {
  const { privateListener, publicListener } = config
  return [
    await checkOne('PORT', publicListener, () => servesPublic(config)),
    await checkOne('PRIVATE_PORT', privateListener, () => servesPrivate(config)),
    ...(await checkSandboxLink(config)),
  ]
}

/** Checks the port of the sandbox's own link. A link does not identify its program. */
async function checkSandboxLink(config: Config): Promise<readonly Finding[]> {
  const { sandbox, sandboxLinkPort: port } = config
  if (!sandbox || port === 0) return []
  const { host } = sandboxLink
  const refusal = await findListeningRefusal(host, port)
  if (refusal === null) return [good('listeners', `${host}:${port}, the sandbox's link, is free.`)]
  if ((await servesPrivate(config)) !== null) {
    return [good('listeners', `Another Pinfold server uses ${host}:${port}, the sandbox's link.`)]
  }
  return [
    warning(
      'listeners',
      `Another program uses ${host}:${port}, the sandbox's link (${refusal}).`,
      'The service starts without its link, and a terminal would reach the other program.',
      'Stop that program, or set LINK_PORT to a free port.',
    ),
  ]
}

type Listener = Config['publicListener']

const formatAddress = ({ host, port }: Listener): string => `${host}:${port}`

async function checkOne(
  variable: string,
  listener: Listener,
  served: () => Promise<Finding | null>,
): Promise<Finding> {
  const address = formatAddress(listener)
  const refusal = await findListeningRefusal(listener.host, listener.port)
  if (refusal === null) return good('listeners', `${address} is free.`)
  if (refusal !== 'EADDRINUSE') {
    return fault(
      'listeners',
      `The service cannot listen on ${address}: ${refusal}.`,
      'The service cannot start.',
      refusal === 'EACCES'
        ? `Only root can use ports below 1024: set ${variable} to a higher port, and put a proxy ` +
            'in front.'
        : `Set ${variable.replace('PORT', 'HOST')} to an address of this machine.`,
    )
  }
  if (listener.tls?.clientCertificates === 'required') {
    // A listener with mutual TLS refuses this request, so its program is unknown.
    const found = `The server on ${address} requires a client certificate and cannot be identified.`
    return good('listeners', found)
  }
  return (
    (await served()) ??
    fault(
      'listeners',
      `A program other than Pinfold uses ${address}.`,
      'The service cannot start.',
      `Stop that program, or set ${variable} to a free port.`,
    )
  )
}

/** Reads the report of the Pinfold at the private listener; null if another program answers. */
async function servesPrivate({ privateListener }: Config): Promise<Finding | null> {
  const base = localUrl(privateListener)
  const alive = await readJson(`${base}/livez`)
  if (alive?.json.status !== 'alive') return null
  const ready = await readJson(`${base}/readyz`)
  if (ready?.status === 200) return good('listeners', `A Pinfold server on ${base} is ready.`)
  return fault(
    'listeners',
    `A Pinfold server on ${base} is not ready (${ready?.status ?? 'no answer'}).`,
    'Its database or HSM does not answer: every call returns 503.',
    "See the findings on database and HSM, and the server's log.",
  )
}

async function servesPublic({ baseUrl, publicListener }: Config): Promise<Finding | null> {
  const base = localUrl(publicListener)
  const metadata = await readJson(`${base}/.well-known/oauth-authorization-server`)
  const issuer = metadata?.json.issuer
  if (typeof issuer !== 'string') return null
  if (issuer === baseUrl) return good('listeners', `A Pinfold server on ${base} has this BASE_URL.`)
  return fault(
    'listeners',
    `The Pinfold server on ${base} has the issuer ${issuer}, but here BASE_URL is ${baseUrl}.`,
    'Each rejects the tokens of the other.',
    'Give every process the same BASE_URL, and start it again.',
  )
}

const localUrl = ({ host, port, tls }: Listener): string => {
  const address = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  const name = address.includes(':') ? `[${address}]` : address
  return `${tls ? 'https' : 'http'}://${name}:${port}`
}

const answerTimeoutMs = 3_000

/** A JSON document and its status; null without either. */
interface JsonAnswer {
  readonly status: number
  readonly json: Readonly<Record<string, unknown>>
}

/**
 * Fetches JSON from a program on this machine. The request contains no secret, so a certificate for
 * another name than this address is accepted.
 */
export const readJson = (url: string): Promise<JsonAnswer | null> =>
  new Promise((resolve) => {
    const isSafe = url.startsWith('https:')
    const options = { signal: AbortSignal.timeout(answerTimeoutMs), agent: false as const }
    const ask = isSafe
      ? requestByTls(url, { ...options, rejectUnauthorized: false })
      : requestInClear(url, options)
    ask.once('error', () => resolve(null))
    ask.once('response', (answer) => {
      text(answer)
        .then((body) =>
          resolve({ status: answer.statusCode ?? 0, json: toMembers(JSON.parse(body)) }),
        )
        .catch(() => resolve(null))
    })
    ask.end()
  })
