import { type Config, readCallerConfig, readConfig } from '../../config.ts'
import { describeStartFailure } from '../../service/start-failure.ts'
import { isHeld, readHolder } from '../../storage/data-directory.ts'
import { Unreachable, UsageError } from '../cli-error.ts'
import { asking, type Send, tokensOf } from './ask.ts'
import { type NamedClient, type Role, readSandboxFile, tokenRequest } from './credentials.ts'
import { presentCertificate } from './present-certificate.ts'
import type { Reached } from './reached.ts'

/** Who and where, as the command line says it, before the environment is asked. */
export interface ReachOptions {
  readonly client?: string | undefined
  readonly 'jwk-file'?: string | undefined
  readonly url?: string | undefined
  readonly 'private-url'?: string | undefined
}

/**
 * The server that was named; the server that holds the data directory, or with a database server the one
 * that answers on the private listener; where there is none, the service in this process on the same
 * database.
 * @throws Unreachable, UsageError
 */
export async function reach(options: ReachOptions, role: Role): Promise<Reached> {
  const caller = readCallerConfig()
  await presentCertificate(caller)
  const named = namedClient(options)
  const baseUrl = options.url ?? caller.url
  const privateUrl = options['private-url'] ?? caller.privateUrl
  if (baseUrl !== null || privateUrl !== null) {
    if (baseUrl === null || (role === 'admin' && privateUrl === null)) throw new UsageError(where)
    if (!isUrl(baseUrl) || (privateUrl !== null && !isUrl(privateUrl))) {
      throw new UsageError(
        '--url and --private-url must be URLs that begin with http:// or https://.',
      )
    }
    const base = `/thr/${caller.processorPath ?? 'processor'}`
    return overHttp({ baseUrl, privateUrl: privateUrl ?? '', base }, role, named, null)
  }
  return reachConfigured(readConfig(), role, named)
}

const isUrl = (text: string): boolean => /^https?:/i.test(text) && URL.canParse(text)

const where =
  'Say where: --url and --private-url together, or PINFOLD_URL and PINFOLD_PRIVATE_URL (tokens come from the public one).'

function namedClient(options: ReachOptions): NamedClient {
  const caller = readCallerConfig()
  const jwkFile = options['jwk-file'] ?? caller.jwkFile
  return { ...caller, clientId: options.client ?? caller.clientId, jwkFile }
}

async function reachConfigured(config: Config, role: Role, named: NamedClient): Promise<Reached> {
  const url = config.databaseUrl === null ? await holderUrl(config) : config.privateUrl
  if (url !== null && (await isAlive(url))) return throughServer(config, url, role, named)
  // Only now: it is the whole service that is read in.
  const { openInProcess } = await import('./in-process.ts')
  return openInProcess(config, role, named).catch((error: unknown) => {
    const reason = describeStartFailure(error)
    throw typeof reason === 'string' ? new Unreachable(reason, { cause: error }) : error
  })
}

/** Where the server listens that holds the data directory, if one does: the lock says so. */
async function holderUrl({ dataDir }: Config): Promise<string | null> {
  if (!isHeld(dataDir)) return null
  return (await readHolder(dataDir))?.privateUrl ?? null
}

/** One that is busy is alive: where nobody listens, the refusal comes at once. */
const isAlive = (url: string): Promise<boolean> =>
  fetch(`${url}/livez`, { signal: AbortSignal.timeout(10_000) }).then(
    ({ ok }) => ok,
    () => false,
  )

async function throughServer(
  config: Config,
  privateUrl: string,
  role: Role,
  named: NamedClient,
): Promise<Reached> {
  const sandbox = await readSandboxFile(config.dataDir)
  const own = sandbox?.privateUrl === privateUrl ? sandbox : null
  const baseUrl = own?.baseUrl ?? config.baseUrl
  const base = `/thr/${own?.processorPath ?? config.processorPath}`
  return overHttp({ baseUrl, privateUrl, base }, role, named, sandbox)
}

interface Server {
  readonly baseUrl: string
  readonly privateUrl: string
  readonly base: string
}

function overHttp(
  { base, baseUrl, privateUrl }: Server,
  role: Role,
  named: NamedClient,
  sandbox: Parameters<typeof tokenRequest>[3],
): Reached {
  const send: Send = async (listener, method, path, headers, payload) => {
    const url = `${listener === 'public' ? baseUrl : privateUrl}${path}`
    const answer = await fetch(url, {
      method,
      headers,
      ...(payload !== undefined && { body: payload }),
      signal: AbortSignal.timeout(60_000),
    }).catch((cause: unknown) => {
      throw new Unreachable(`Nothing answers at ${new URL(url).origin}: is the server running?`, {
        cause,
      })
    })
    const { headers: given, status } = answer
    return { status, text: await answer.text(), link: given.get('link') }
  }
  const tokens = tokensOf(send, () => tokenRequest(baseUrl, role, named, sandbox))
  return { ...asking(send, role, tokens), base, live: { baseUrl, tokens }, close: async () => {} }
}
