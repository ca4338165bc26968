import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../../src/config.ts'
import { StartRefusal } from '../../src/errors.ts'
import { startKeyKeeping } from '../../src/service/key-keeping.ts'
import { createLog } from '../../src/service/log.ts'
import { openDatabase } from '../../src/service/open-database.ts'
import { createService, type Service } from '../../src/service/service.ts'
import { readSandboxFile, type TokenRequest, tokenRequest } from './administrator.ts'
import type { Options } from './command.ts'
import type { Ask } from './run-command.ts'

/** The service, running elsewhere or opened here. */
export interface Reached {
  readonly ask: Ask
  close(): Promise<void>
}

/** No server could be reached, and the service could not be opened. */
export class Unreachable extends Error {}

/** One request, however it gets there. */
type Send = (
  listener: 'public' | 'private',
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  payload?: string,
) => Promise<{ status: number; text: string }>

/**
 * The server that holds the data directory, or with a database server the one that answers on the
 * private listener; where there is none, the service in this process on the same database.
 */
export async function reach(config: Config, options: Options): Promise<Reached> {
  if (config.databaseUrl !== null && (await isAlive(config.privateUrl))) {
    return overHttp(config, options, config.privateUrl)
  }
  try {
    return await inProcess(config, options)
  } catch (error) {
    if (!(error instanceof StartRefusal)) throw error
    // The lock decides: whoever holds it has written where it listens.
    const held = config.databaseUrl === null ? await holderUrl(config) : null
    if (held !== null && (await isAlive(held))) return overHttp(config, options, held)
    throw new Unreachable(error.message, { cause: error })
  }
}

async function holderUrl({ dataDir }: Config): Promise<string | null> {
  const text = await readFile(join(dataDir, 'holder.json'), 'utf8').catch(() => null)
  return text === null ? null : (JSON.parse(text) as { readonly privateUrl: string }).privateUrl
}

const isAlive = (url: string): Promise<boolean> =>
  fetch(`${url}/livez`, { signal: AbortSignal.timeout(2_000) }).then(
    ({ ok }) => ok,
    () => false,
  )

async function overHttp(config: Config, options: Options, privateUrl: string): Promise<Reached> {
  const sandbox = await readSandboxFile(config.dataDir)
  const baseUrl = sandbox?.privateUrl === privateUrl ? sandbox.baseUrl : config.baseUrl
  const request = await tokenRequest({ ...config, baseUrl }, options, sandbox)
  const send: Send = async (listener, method, path, headers, payload) => {
    const url = `${listener === 'public' ? baseUrl : privateUrl}${path}`
    const answer = await fetch(url, { method, headers, ...(payload && { body: payload }) })
    return { status: answer.status, text: await answer.text() }
  }
  return { ask: askWith(send, await askToken(send, request)), close: async () => {} }
}

async function inProcess(config: Config, options: Options): Promise<Reached> {
  const log = createLog('silent')
  const database = await openDatabase(config, log)
  const service = await createService(config, database, log).catch(async (error: unknown) => {
    await database.close()
    throw error
  })
  const keeping = startKeyKeeping(service.keys, log)
  const close = async () => {
    await keeping.stop()
    await Promise.all([service.publicServer.close(), service.privateServer.close()])
    await database.close()
  }
  try {
    const send = injecting(service, config)
    const token = await askToken(send, await tokenRequest(config, options, service.sandbox))
    return { ask: askWith(send, token), close }
  } catch (error) {
    await close()
    throw error
  }
}

const injecting =
  ({ privateServer, publicServer }: Service, { baseUrl }: Config): Send =>
  async (listener, method, path, headers, payload) => {
    const app = listener === 'public' ? publicServer : privateServer
    const answer = await app.inject({
      method: method as 'GET',
      url: path,
      headers: { host: new URL(baseUrl).host, ...headers },
      ...(payload !== undefined && { payload }),
    })
    return { status: answer.statusCode, text: answer.payload }
  }

async function askToken(send: Send, { form, headers }: TokenRequest): Promise<string> {
  const body = new URLSearchParams(form).toString()
  const type = { 'content-type': 'application/x-www-form-urlencoded' }
  const { status, text } = await send(
    'public',
    'POST',
    '/oauth/token',
    { ...type, ...headers },
    body,
  )
  if (status !== 200) throw new Error(`No token was given to the administrator: ${status}.`)
  return (JSON.parse(text) as { access_token: string }).access_token
}

const askWith =
  (send: Send, token: string): Ask =>
  async (method, path, body) => {
    const headers = {
      authorization: `Bearer ${token}`,
      ...(body && { 'content-type': 'application/json' }),
    }
    const payload = body && JSON.stringify(body)
    const { status, text } = await send('private', method, path, headers, payload)
    const answer = text === '' ? null : JSON.parse(text)
    if (status < 300) return answer
    throw new Error(refusalIn(answer))
  }

interface ProblemDocument {
  readonly title: string
  readonly detail?: string
  readonly errors?: readonly { readonly pointer: string; readonly detail: string }[]
}

const refusalIn = ({ detail, errors = [], title }: ProblemDocument): string =>
  [detail ?? title, ...errors.map((each) => `${each.pointer} ${each.detail}`)].join('\n  ')
