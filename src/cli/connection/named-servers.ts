import { describeError, type Finding, fault, good } from '../../service/doctor/finding.ts'
import { healthFindings } from '../../service/doctor/health.ts'
import { readBody } from './bounded-body.ts'

/** The URLs of servers: of their public and private listeners. */
export interface ServerAddresses {
  readonly url: string | null
  readonly privateUrl: string | null
}

/** The title of each listener's OpenAPI document. */
const titles = {
  'public listener': 'Pinfold',
  'private listener': 'Pinfold, private listener',
} as const
type ListenerTitle = keyof typeof titles

const answerTimeoutMs = 5_000
const mostBytes = 16_777_216

/** Checks the servers at these addresses. No secret is sent. */
export async function examineServers({
  privateUrl,
  url,
}: ServerAddresses): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  if (url !== null) findings.push(await identify(url, 'public listener'))
  if (privateUrl === null) return findings
  const identity = await identify(privateUrl, 'private listener')
  findings.push(identity)
  if (identity.verdict !== 'good') return findings
  const health = await readJson(`${privateUrl}/health`).catch(() => null)
  return [...findings, await readinessFinding(privateUrl), ...healthFindings(health?.json ?? null)]
}

/** Checks that a Pinfold server's intended listener answers at an address. */
async function identify(url: string, listener: ListenerTitle): Promise<Finding> {
  const lacking = (reason: string): Finding =>
    fault(
      'server',
      `No Pinfold server answered at ${url}: ${reason}`,
      'Commands with this address reach no service.',
      `Check the address of the ${listener}, that the server is running, and that this machine ` +
        'can connect to it.',
    )
  try {
    const { json, status } = await readJson(`${url}/openapi.json`)
    const title = findTitle(json)
    if (title === titles[listener]) return good('server', `A Pinfold server answers at ${url}.`)
    if (title !== titles['public listener'] && title !== titles['private listener']) {
      return lacking(`another program answered, with status ${status}.`)
    }
    return fault(
      'server',
      `${url} is not the ${listener} of a Pinfold server, but its other listener.`,
      'Each listener has its own paths: a call to the wrong listener returns 404.',
      'Exchange the addresses: --url is the public listener, --private-url the private one.',
    )
  } catch (error) {
    return lacking(describeError(error))
  }
}

function findTitle(document: Readonly<Record<string, unknown>> | null): unknown {
  const described = document?.info
  return typeof described === 'object' && described !== null
    ? Reflect.get(described, 'title')
    : undefined
}

async function readinessFinding(url: string): Promise<Finding> {
  const status = await readJson(`${url}/readyz`).then(
    (answer) => answer.status,
    () => null,
  )
  if (status === 200) return good('server', `The service at ${url} is ready.`)
  return fault(
    'server',
    `The service at ${url} is not ready (${status ?? 'no answer'}).`,
    'Every call is answered 503 until its database and its HSM answer.',
    "Read the findings on health, and the service's log.",
  )
}

/** An answer with its JSON object; null without one. */
async function readJson(url: string) {
  const signal = AbortSignal.timeout(answerTimeoutMs)
  const answer = await fetch(url, { signal, redirect: 'manual' })
  const text = new TextDecoder().decode(await readBody(answer.body, mostBytes))
  return { status: answer.status, json: parseObject(text) }
}

function parseObject(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? { ...value } : null
  } catch {
    return null
  }
}
