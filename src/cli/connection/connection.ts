import { readFile } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import { readSandboxFile, type SandboxFile } from '../../sandbox/sandbox-file.ts'
import {
  type CallerConfig,
  type Config,
  readCallerConfig,
  readConfig,
} from '../../service/config/config.ts'
import { isLocked, readHolder } from '../../storage/engine/data-directory.ts'
import { type Call, type ConnectionOptions, refuseStart, UsageError } from '../command.ts'
import { type ClientRole, type NamedClient, readCredentials } from './credentials.ts'
import { readPersonToken } from './person.ts'
import { createRequests, type ServiceAddress, type ServiceConnection } from './requests.ts'

/**
 * Connects to the named server; otherwise to the server that has locked the data directory, or that
 * answers on the private listener of a database server; otherwise opens the service in this process
 * on the same database.
 * @throws Unreachable, UsageError
 */
async function connect(options: ConnectionOptions, role: ClientRole): Promise<ServiceConnection> {
  const caller = readCallerConfig()
  await presentCertificate(caller)
  const named = await nameCaller(options, caller)
  const baseUrl = options.url ?? caller.url
  const privateUrl = options['private-url'] ?? caller.privateUrl
  if (baseUrl === null && privateUrl === null) return connectConfigured(readConfig(), role, named)
  if (baseUrl === null || (role === 'admin' && privateUrl === null)) {
    throw new UsageError(
      'The address of the service is incomplete: give --url and --private-url together, or set ' +
        'PINFOLD_URL and PINFOLD_PRIVATE_URL (tokens come from the public one).',
    )
  }
  const address = { baseUrl, privateUrl: privateUrl ?? baseUrl }
  if (!isUrl(address.baseUrl) || !isUrl(address.privateUrl)) {
    throw new UsageError(
      '--url and --private-url must be URLs that begin with http:// or https://.',
    )
  }
  const base = `/thr/${caller.processorPath ?? 'processor'}`
  return overHttp(address, role, named, { base, sandbox: null })
}

/** @throws UsageError for a key without a client. */
async function nameCaller(options: ConnectionOptions, caller: CallerConfig) {
  const clientId = options.client ?? caller.clientId
  if (options['jwk-file'] !== undefined && clientId === null) {
    throw new UsageError('--jwk-file has no effect without --client or PINFOLD_CLIENT_ID.')
  }
  return {
    ...caller,
    clientId,
    jwkFile: options['jwk-file'] ?? caller.jwkFile,
    personToken: options['as-person'] ? await readPersonToken() : null,
  }
}

const isUrl = (text: string): boolean => /^https?:/i.test(text) && URL.canParse(text)

async function connectConfigured(
  config: Config,
  role: ClientRole,
  named: NamedClient,
): Promise<ServiceConnection> {
  // The lock of the data directory contains the listener's address.
  const holder =
    config.databaseUrl === null && isLocked(config.dataDir)
      ? await readHolder(config.dataDir)
      : null
  const url = config.databaseUrl === null ? holder?.privateUrl : config.privateUrl
  // A long limit, since a busy server is running, and a missing one refuses at once.
  const signal = AbortSignal.timeout(10_000)
  const answer =
    url === undefined ? null : await fetch(`${url}/livez`, { signal }).catch(() => null)
  if (url !== undefined && answer?.ok) {
    // In production, the file can only be that of a former sandbox in the same folder.
    const sandbox = config.sandbox ? await readSandboxFile(config.dataDir) : null
    const own = sandbox?.privateUrl === url ? sandbox : null
    const baseUrl = own?.baseUrl ?? config.baseUrl
    const base = `/thr/${own?.processorPath ?? config.processorPath}`
    return overHttp({ baseUrl, privateUrl: url }, role, named, { base, sandbox })
  }
  // Imported late, since it loads the whole service.
  const { openInProcess } = await import('./in-process.ts')
  return openInProcess(config, role, named).catch(refuseStart)
}

const overHttp = async (
  address: ServiceAddress,
  role: ClientRole,
  named: NamedClient,
  { base, sandbox }: { readonly base: string; readonly sandbox: SandboxFile | null },
): Promise<ServiceConnection> => {
  const credentials = await readCredentials(role, named, sandbox)
  return { ...createRequests(address, role, credentials), base, close: async () => {} }
}

/**
 * Presents the certificate to servers that request one (RFC 8446, 4.4.2), from now on.
 * @throws UsageError when one of the two files is missing or unreadable, or they do not match.
 */
export async function presentCertificate({
  certificateFile,
  keyFile,
}: CallerConfig): Promise<void> {
  if (certificateFile === null && keyFile === null) return
  if (certificateFile === null || keyFile === null) {
    throw new UsageError('PINFOLD_CERT_FILE and PINFOLD_KEY_FILE must be set together.')
  }
  const [cert, key] = await Promise.all(
    [certificateFile, keyFile].map((path) =>
      readFile(path, 'utf8').catch((cause: unknown) => {
        throw new UsageError(`${path} cannot be read.`, { cause })
      }),
    ),
  )
  try {
    createSecureContext({ cert, key })
  } catch (cause) {
    throw new UsageError(
      `The key in ${keyFile} does not belong to the certificate in ${certificateFile}.`,
      {
        cause,
      },
    )
  }
  // The fetch of Node.js uses the dispatcher that the undici package sets.
  const { Agent, setGlobalDispatcher } = await import('undici')
  setGlobalDispatcher(new Agent({ connect: { cert, key } }))
}

/** Runs the work with a service that is closed afterwards. */
async function withService<Result>(
  { options }: Call,
  role: ClientRole,
  work: (service: ServiceConnection) => Promise<Result>,
): Promise<Result> {
  const service = await connect(options, role)
  try {
    return await work(service)
  } finally {
    await service.close()
  }
}

/** Calls the private listener as the administrator. */
export const asAdministrator = <Result>(
  call: Call,
  work: (service: ServiceConnection) => Promise<Result>,
): Promise<Result> => withService(call, 'admin', work)

/** Calls the public listener as a client system. */
export const asClient = <Result>(
  call: Call,
  work: (service: ServiceConnection) => Promise<Result>,
): Promise<Result> => withService(call, 'client', work)
