import assert from 'node:assert/strict'
import { randomBytes, randomInt } from 'node:crypto'
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { openKeyRing } from '../../../src/hsm/keys/key-ring.ts'
import { openSoftwareKeyEngine } from '../../../src/hsm/software/key-engine.ts'
import { openMasterKeys, readMasterKeys } from '../../../src/hsm/software/master-keys.ts'
import { openPan } from '../../../src/hsm/verbs/card-numbers.ts'
import type { Database } from '../../../src/storage/engine/database.ts'
import { findMasterKeyCheckValue } from '../../../src/storage/engine/installation.ts'
import { listHsmKeys } from '../../../src/storage/keys/hsm-keys.ts'
import { parsePublicToken } from '../../support/identifiers.ts'
import { makeFolder, type Program, startProgram } from '../../support/process.ts'
import { openServerDatabase, sql, type TestService } from '../../support/service.ts'
import type { TestPostgres } from '../../support/test-databases.ts'
import type { LoadAnswer, Send } from './mixed-load.ts'

/**
 * Rotates every key of an installation, and waits until each rotation has come as far as it can: of
 * one service in this process, or of programs side by side.
 */

const movedKeys = ['pan', 'pan-fingerprint', 'pin-storage', 'personal-data'] as const
const rotatedKeys = [...movedKeys, 'request-fingerprint', 'token-signing', 'cvk', 'pvk'] as const

// biome-ignore lint/suspicious/noExplicitAny: a test asserts on what it expects to be there.
type Answered = { status: number; json: any; text: string }

/** Asks the private listener as the administrator. */
export type Administer = (method: string, path: string, body?: object) => Promise<Answered>

/** Asks for every rotation, of the master key too. */
export const rotateAll = async (administer: Administer, dataDir: string): Promise<void> => {
  for (const key of rotatedKeys) {
    const answer = await administer('POST', `//keys/${key}/rotate`)
    assert.equal(answer.status, 202, answer.text)
  }
  await appendFile(join(dataDir, 'master.key'), `${randomBytes(32).toString('hex')}\n`)
  const answer = await administer('POST', '//keys/master-key/rotate', {})
  assert.equal(answer.status, 200, answer.text)
}

export type KeyState = { key: string; version: number; state: string; examined: number }

export const keyStates = async (administer: Administer): Promise<KeyState[]> => {
  const { json } = await administer('GET', '//keys')
  return json.map(
    (row: Omit<KeyState, 'examined'> & { reEncryption: { examined: number } | null }) => ({
      key: row.key,
      version: row.version,
      state: row.state,
      examined: row.reEncryption?.examined ?? 0,
    }),
  )
}

/** Waits until everything lies under this version, and the one before it is retired. */
export const untilReEncrypted = async (
  administer: Administer,
  version: number,
  timeoutMs: number,
): Promise<void> => {
  const until = Date.now() + timeoutMs
  for (;;) {
    const states = await keyStates(administer)
    const stateOf = (key: string, of: number) =>
      states.find((row) => row.key === key && row.version === of)?.state
    const isMoved = movedKeys.every((key) => stateOf(key, version - 1) === 'retired')
    const isActive = rotatedKeys.every((key) => stateOf(key, version) === 'active')
    if (isMoved && isActive) return
    assert.ok(Date.now() < until, `the rotation takes too long: ${JSON.stringify(states)}`)
    await wait(200)
  }
}

/** What finds the PAN of a card: the bytes of the keys are read from the master key's file. */
export const panReader = async (database: Database, dataDir: string) => {
  const masterKeys = await openMasterKeys({
    read: () => readMasterKeys(join(dataDir, 'master.key')),
    current: () => findMasterKeyCheckValue(database),
  })
  const list = async () => {
    await masterKeys.refresh()
    return listHsmKeys(database)
  }
  const store = { list, add: async () => {} }
  const engine = openSoftwareKeyEngine(masterKeys)
  const ring = await openKeyRing(engine, store, { staleAfterMs: Number.POSITIVE_INFINITY })
  return async (publicToken: string): Promise<string> => {
    const [card] = await sql<{ encryptedPan: Uint8Array }>(
      database,
      'select encrypted_pan as "encryptedPan" from card where public_token = $1',
      [publicToken],
    )
    if (!card) throw new Error('There is no such card.')
    const open = () => openPan(ring, { publicToken: parsePublicToken(publicToken), ...card })
    // Under a version that this reader does not know yet, on a database that is busy.
    const pan = await open().catch(() => ring.refresh().then(open))
    return pan.reveal()
  }
}

/** How many things lie under a version of a key, counted in the tables themselves. */
export const countUnder = async (database: Database, version: number): Promise<number[]> => {
  const [row] = await sql<Record<string, number>>(
    database,
    `select
       (select count(*)::int from card
        where get_byte(encrypted_pan, 1) * 256 + get_byte(encrypted_pan, 2) = $1) as pan,
       (select count(*)::int from card
        where get_byte(personal_data, 1) * 256 + get_byte(personal_data, 2) = $1) as person,
       (select count(*)::int from card where pin_key = 'pin-storage/' || $1::text) as pin,
       (select count(*)::int from event
        where get_byte(note, 1) * 256 + get_byte(note, 2) = $1) as note,
       (select count(*)::int from idempotency_record
        where get_byte(answer, 1) * 256 + get_byte(answer, 2) = $1) as answer,
       (select count(*)::int from webhook
        where get_byte(secret, 1) * 256 + get_byte(secret, 2) = $1
          or get_byte(description, 1) * 256 + get_byte(description, 2) = $1) as webhook`,
    [version],
  )
  return Object.values(row ?? {})
}

/** One service in this process, called by inject, as a load and an administrator call it. */
export const subjectOf = (service: TestService) => {
  const send: Send = async (as, method, path, body, key) => {
    const listener = as === 'network' ? 'private' : 'public'
    const headers = key === undefined ? {} : { 'idempotency-key': key }
    const answer = await service.call(method, path, {
      as,
      listener,
      headers,
      ...(body && { body }),
    })
    return { ...answer, header: (name) => String(answer.headers[name] ?? '') || null }
  }
  const administer: Administer = (method, path, body) =>
    service.call(method, path, { as: 'admin', listener: 'private', ...(body && { body }) })
  const zoneKey = Buffer.from(service.sandbox?.network.zoneKeys[0]?.value ?? '', 'hex')
  return { dataDir: service.dataDir, send, administer, zoneKey }
}

/** Programs side by side on one PostgreSQL database, and what calls them. */
export type SharedInstallation = {
  database: Database
  dataDir: string
  /** Starts another program of the installation, with what it has otherwise in its environment. */
  start: (others?: Readonly<Record<string, string>>) => Promise<Program>
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
  return {
    database,
    dataDir,
    start: (others) => startProgram({ dataDir, env: { ...env, ...others } }),
  }
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
  if (!answer.access_token) throw new Error(`No token was issued: ${response.status}`)
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
