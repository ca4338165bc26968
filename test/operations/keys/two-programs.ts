import { randomInt } from 'node:crypto'
import type { Database } from '../../../src/storage/engine/database.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { makeFolder, type Program, startProgram } from '../../support/process.ts'
import { openServerDatabase } from '../../support/service.ts'
import type { LoadAnswer, Send } from './mixed-load.ts'
import type { Administer } from './rotating.ts'

/** Programs side by side on one PostgreSQL database, and what calls them. */

export type SharedInstallation = {
  database: Database
  dataDir: string
  /** Starts another program of the installation. */
  start: () => Promise<Program>
}

export const openInstallation = async (
  postgres: TestPostgres,
  keyRefreshMs: number,
): Promise<SharedInstallation> => {
  const { database, url } = await openServerDatabase(postgres)
  const dataDir = await makeFolder()
  const env = {
    DATABASE_URL: url,
    SANDBOX: 'true',
    RATE_LIMIT: 'off',
    LOG_LEVEL: 'warn',
    KEY_REFRESH_MS: String(keyRefreshMs),
  }
  return { database, dataDir, start: () => startProgram({ dataDir, env }) }
}

type Role = 'client' | 'network' | 'admin'

/** A token is kept for so many calls: tokens under old and new keys are then in use at once. */
const callsPerToken = 200
type KeptTokens = Map<Role, { token: Promise<string>; calls: number }>
// By program, not by address: a later one may have the port of an earlier one, and other keys.
const tokens = new WeakMap<Program, KeptTokens>()

const tokenOf = (program: Program, as: Role): Promise<string> => {
  const kept: KeptTokens = tokens.get(program) ?? new Map()
  tokens.set(program, kept)
  const known = kept.get(as)
  if (known && known.calls < callsPerToken) {
    known.calls += 1
    return known.token
  }
  const token = askToken(program, as)
  kept.set(as, { token, calls: 1 })
  return token
}

const askToken = async ({ sandbox }: Program, as: Role): Promise<string> => {
  const { clientId, clientSecret } = as === 'client' ? sandbox : sandbox[as]
  const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64')
  const response = await fetch(sandbox.tokenEndpoint, {
    method: 'POST',
    headers: { authorization: `Basic ${basic}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  })
  const answer = (await response.json()) as { access_token?: string }
  if (!answer.access_token) throw new Error(`No token was given: ${response.status}`)
  return answer.access_token
}

const call = async (
  program: Program,
  as: Role,
  method: string,
  path: string,
  body?: object,
  idempotencyKey?: string,
): Promise<LoadAnswer> => {
  const url = path.startsWith('//')
    ? `${program.privateUrl}${path.slice(1)}`
    : `${program.baseUrl}/thr/processor${path}`
  const response = await fetch(url, {
    method,
    headers: {
      authorization: `Bearer ${await tokenOf(program, as)}`,
      ...(body && { 'content-type': 'application/json' }),
      ...(idempotencyKey && { 'idempotency-key': idempotencyKey }),
    },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  const json = text === '' ? undefined : JSON.parse(text)
  return { status: response.status, text, json, header: (name) => response.headers.get(name) }
}

/** Each request goes to any of the programs. */
export const sendToAny =
  (programs: readonly Program[]): Send =>
  (as, method, path, body, idempotencyKey) => {
    const program = programs[randomInt(programs.length)]
    if (!program) throw new Error('There is no program.')
    return call(program, as, method, path, body, idempotencyKey)
  }

export const administerOf =
  (program: Program): Administer =>
  (method, path, body) =>
    call(program, 'admin', method, path, body)
