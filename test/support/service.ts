import { createHash } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import type { OutgoingHttpHeaders } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PublicToken } from '../../src/domain/identifiers.ts'
import { listPersonScopes, type Person } from '../../src/domain/person.ts'
import { readConfig } from '../../src/service/config/config.ts'
import { createLog } from '../../src/service/log.ts'
import { createService, type Service } from '../../src/service/service.ts'
import { prepareCluster } from '../../src/storage/engine/cluster.ts'
import {
  type Connection,
  type Database,
  type Databases,
  statement,
  undivided,
} from '../../src/storage/engine/database.ts'
import { readFunctionFiles } from '../../src/storage/engine/functions.ts'
import { migrate } from '../../src/storage/engine/migrate.ts'
import { placement } from '../../src/storage/engine/placement.ts'
import { openPostgres as openPool } from '../../src/storage/engine/postgres.ts'
import { atEndOfFile, closeAll } from './end-of-file.ts'
import { openTestPglite } from './pglite.ts'
import { openPostgres } from './postgres.ts'
import type { TestPostgres } from './test-databases.ts'

/**
 * The whole service in this process, called by inject: real routes, real tokens, a real database.
 *
 * ```ts
 * const service = await openTestService()
 * const card = await service.createCard()
 * const answer = await service.call('GET', `/card-pin/${card.publicToken}/pin/status`)
 * ```
 */

export type TestServiceOptions = {
  /** One that is at this program's schema; without it an embedded one, or what is in its place. */
  database?: Database
  /** Connections for each who uses it; without them all share the one. */
  databases?: Databases
  /** What the service reads as its environment, beside what keeps tests apart. */
  env?: Readonly<Record<string, string>>
  /** Where the lines of the log go; without it they go nowhere. */
  onLogLine?: (line: string) => void
  /** A folder to share with another service: its master key lies there. */
  dataDir?: string
}

/** Who asks for a token: names of `sandbox.json`. */
export type CallerName = 'client' | 'otherClient' | 'network' | 'admin'

/** A person that may approve, for a sandbox without people in `sandbox.json`. */
const approver = {
  personId: `person-${'7'.repeat(40)}`,
  issuer: 'https://people.test',
  subject: 'approver',
  name: 'Approver',
  roles: ['security-officer'],
} as const

export type CallOptions = {
  /** Sent as JSON. */
  body?: unknown
  /** Sent as it is, with the content type of `headers`. */
  payload?: string | Buffer
  headers?: Readonly<Record<string, string>>
  /** Null: no Authorization header. Without it, a token of `as` with all its scopes. */
  token?: string | null
  as?: CallerName | 'approver'
  listener?: 'public' | 'private'
}

export type Answer = {
  status: number
  headers: OutgoingHttpHeaders
  text: string
  /** The body as JSON; undefined where there is none. */
  // biome-ignore lint/suspicious/noExplicitAny: a test asserts on what it expects to be there.
  json: any
}

export type TestService = Service & {
  database: Database
  dataDir: string
  call: (method: string, path: string, options?: CallOptions) => Promise<Answer>
  token: (scope?: string, as?: CallerName) => Promise<string>
  createCard: (members?: object, options?: CallOptions) => Promise<CreatedCard>
  close: () => Promise<void>
}

export type CreatedCard = {
  publicToken: PublicToken
  maskedPan: string
  expiryDate: string
} & Record<string, unknown>

const migrations = new URL('../../database/migrations/', import.meta.url)
const host = '127.0.0.1:8080'
const closers = new Set<() => Promise<void>>()

atEndOfFile(() => closeAll([...closers]))

/** An embedded database at this program's schema. */
export const openEmbedded = (): Promise<Database> => openTestPglite({ image: 'migrated' })

/**
 * Why there is no embedded database, or false. For programs that run the same tests again and
 * again: a server that is there already costs a test file half the time of a processor.
 */
export const pgliteLeftOut: string | false = process.env.TEST_PGLITE_LEFT_OUT ?? false

/** A database at this program's schema, on whichever engine is there. */
export const openTestDatabase = async (): Promise<Database> =>
  pgliteLeftOut ? (await openServerDatabase(await openPostgres())).database : openEmbedded()

/** A pool on a database of a PostgreSQL server, at this program's schema. */
export const openServerDatabase = async (
  postgres: TestPostgres,
  poolSize = 10,
): Promise<{ database: Database; url: string }> => {
  const files = (await readdir(migrations)).sort().map((name) => new URL(name, migrations))
  const functions = (await readFunctionFiles()).map(({ text }) => text)
  const texts = [...(await Promise.all(files.map((file) => readFile(file, 'utf8')))), ...functions]
  const spread = postgres.isCluster ? JSON.stringify(placement) : ''
  const template = await postgres.template(`schema ${spread}${texts.join('')}`, async (url) => {
    const fresh = pool(url, 1)
    await migrate(fresh, migrations)
    if (postgres.isCluster) await prepareCluster(fresh)
    await fresh.close()
  })
  const { close, url } = await postgres.createDatabase({ template })
  const database = pool(url, poolSize)
  onClose(async () => {
    await database.close()
    await close()
  })
  return { database, url }
}

export const pool = (connectionString: string, poolSize: number): Database =>
  openPool({ connectionString, poolSize, onIdleError: () => undefined })

/** Closed after the last test of the file, in the reverse order of opening. */
const onClose = (close: () => Promise<void>): (() => Promise<void>) => {
  const once = async () => {
    if (closers.delete(once)) await close()
  }
  const others = [...closers]
  closers.clear()
  for (const each of [once, ...others]) closers.add(each)
  return once
}

/** Removed after the last test of the file, also where the service refuses to start on it. */
const makeDataDir = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'pinfold-test-'))
  onClose(() => rm(folder, { recursive: true, force: true }))
  return folder
}

export const openTestService = async (options: TestServiceOptions = {}): Promise<TestService> => {
  const dataDir = options.dataDir ?? (await makeDataDir())
  const database = options.database ?? options.databases?.background ?? (await openTestDatabase())
  const config = readConfig({
    // A witness on a busy machine takes longer than receipts may take in production.
    AUDIT_WITNESS_TIMEOUT_MS: '60000',
    SANDBOX: 'true',
    DATA_DIR: dataDir,
    LOG_LEVEL: options.onLogLine ? 'trace' : 'silent',
    LINK_PORT: '0',
    CALL_WAIT_MS: '60000',
    TOKEN_RATE_PER_SECOND: '100000',
    TOKEN_RATE_BURST: '100000',
    OPEN_RATE_PER_SECOND: '100000',
    OPEN_RATE_BURST: '100000',
    ...options.env,
  })
  const databases = options.databases ?? undivided(database)
  const { onLogLine } = options
  const log = onLogLine
    ? createLog(config.logLevel, { write: onLogLine })
    : createLog(config.logLevel)
  const service = await createService(config, databases, log)
  const close = onClose(async () => {
    await service.links.stop()
    await Promise.all([service.publicServer.close(), service.privateServer.close()])
    service.deciding.asker.close()
  })
  const tokens = new Map<string, Promise<string>>()
  const token: TestService['token'] = (scope, as = 'client') => {
    const key = `${as} ${scope ?? ''}`
    const asked = tokens.get(key) ?? askToken(service, as, scope)
    tokens.set(key, asked)
    return asked
  }
  const call: TestService['call'] = async (method, path, given = {}) => {
    const send = (authorization: string | null) =>
      inject(service, config.processorPath, method, path, given, authorization)
    if (given.token === undefined && given.as === 'approver') {
      const person = { ...approver, authenticatedAt: new Date() }
      return send(service.calls.createAuthorization(createPersonCaller(person)))
    }
    const as = given.as === 'approver' ? undefined : given.as
    const bearer = given.token === undefined ? await token(undefined, as) : given.token
    return send(bearer === null ? null : `Bearer ${bearer}`)
  }
  const createCard: TestService['createCard'] = async (members = {}, given = {}) => {
    const answer = await call('POST', '/cards', { body: newCard(members), ...given })
    if (answer.status !== 201) throw new Error(`No card was made: ${answer.text}`)
    return answer.json
  }
  return { ...service, database, dataDir, call, token, createCard, close }
}

/** The body of a card that can be made, with what a test wants otherwise; undefined leaves out. */
export const newCard = (members: object = {}): Record<string, unknown> => ({
  cardType: 'Virtual',
  cardProduct: 1001,
  cardHolder: { firstName: 'Ana', lastName: 'Lim', dateOfBirth: '1990-04-17' },
  address: { addressLine1: 'Calle Mayor 1', postCode: '28013', country: 'ESP' },
  ...members,
})

/**
 * PINs that no rule finds weak for this card: none of them holds what its masked PAN shows.
 * @param maskedPan or the whole PAN, or its last digits.
 */
export const strongPins = (
  { maskedPan }: { maskedPan: string },
  length: 4 | 6 = 4,
): [string, string, string] => {
  const candidates = {
    4: ['7193', '0739', '6284', '8406'],
    6: ['719340', '628416', '805372', '340957'],
  }
  const [first = '', second = '', third = ''] = candidates[length].filter(
    (pin) => !pin.includes(maskedPan.slice(-4)),
  )
  return [first, second, third]
}

/** Paths of the specification are written without `/thr/processor`; others begin with `//`. */
const composeUrl = (processorPath: string, path: string): string =>
  path.startsWith('//') ? path.slice(1) : `/thr/${processorPath}${path}`

const inject = async (
  { privateServer, publicServer }: Service,
  processorPath: string,
  method: string,
  path: string,
  { body, headers = {}, listener = 'public', payload }: CallOptions,
  authorization: string | null,
): Promise<Answer> => {
  const app = listener === 'public' ? publicServer : privateServer
  const sent = payload ?? (body === undefined ? undefined : JSON.stringify(body))
  const answer = await app.inject({
    method: method as 'GET',
    url: composeUrl(processorPath, path),
    headers: {
      host,
      ...(authorization !== null && { authorization }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(sent !== undefined && { payload: sent }),
  })
  const isJson =
    /[/+]json(;|$)/.test(String(answer.headers['content-type'])) && answer.payload !== ''
  return {
    status: answer.statusCode,
    headers: answer.headers,
    text: answer.payload,
    json: isJson ? JSON.parse(answer.payload) : undefined,
  }
}

/** A person as the private listener knows one who is signed in. */
export const createPersonCaller = (person: Person) => ({
  ...({
    clientId: person.personId,
    kind: 'admin',
    scopes: listPersonScopes(person),
    person,
  } as const),
  boundThumbprint: null,
  expiresAt: new Date(Date.now() + 60_000),
})

const askToken = async (service: Service, as: CallerName, scope?: string): Promise<string> => {
  const { sandbox, publicServer } = service
  if (!sandbox) throw new Error('Only a sandbox tells its secrets.')
  const { clientId, clientSecret } = as === 'client' ? sandbox : sandbox[as]
  const answer = await publicServer.inject({
    method: 'POST',
    url: '/oauth/token',
    headers: {
      host,
      authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    payload: new URLSearchParams({
      grant_type: 'client_credentials',
      ...(scope !== undefined && { scope }),
    }).toString(),
  })
  if (answer.statusCode !== 200) throw new Error(`No token was issued: ${answer.payload}`)
  return answer.json().access_token
}

/** What a test asks a database beside the service: the name follows from the text. */
export const sql = <Row = Record<string, unknown>>(
  database: Connection,
  text: string,
  values: Parameters<Connection['query']>[1] = [],
): Promise<Row[]> => {
  const name = `test_${createHash('sha256').update(text).digest('hex').slice(0, 16)}`
  return database.query<Row>(statement(name, text), values)
}
