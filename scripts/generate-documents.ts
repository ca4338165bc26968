import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { STATUS_CODES } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { ScenarioSchema } from '../src/cli/scenario/schema.ts'
import { lifeActs, listLifeMoves, listLifeStatuses } from '../src/domain/card-life.ts'
import { describeCardStatus } from '../src/domain/card-status.ts'
import {
  paymentEffects,
  paymentMessages,
  paymentRules,
  paymentSituations,
} from '../src/domain/payment.ts'
import { type ProblemKind, problemKinds } from '../src/domain/problem-kinds.ts'
import { statusObjections } from '../src/domain/response-code.ts'
import { readConfig } from '../src/service/config/config.ts'
import { refusals } from '../src/service/config/production.ts'
import { createLog } from '../src/service/log.ts'
import { createService } from '../src/service/service.ts'
import { type Database, undivided } from '../src/storage/engine/database.ts'
import { migrate } from '../src/storage/engine/migrate.ts'
import { openPglite } from '../src/storage/engine/pglite.ts'
import { generateAsyncapi } from './generate-asyncapi.ts'
import { generateConfiguration } from './generate-configuration.ts'
import { generateOperations } from './generate-operations.ts'
import { generateSdkTypes } from './generate-sdk-types.ts'
import { drawArrows } from './structure/arrows.ts'

/**
 * `npm run generate` writes each generated document from its source:
 *
 * - api/public.openapi.json and api/private.openapi.json from the routes of both listeners,
 * - api/events.asyncapi.json from the schemas of messages,
 * - api/scenario.schema.json from the schema of scenario files,
 * - docs/reference/configuration.md from the table of variables,
 * - docs/reference/errors.md from the table of failures,
 * - docs/reference/production.md from the table of refusals,
 * - the arrows of ARCHITECTURE.md from the table that the check of the structure reads,
 * - the states of docs/reference/card-life.md from the table of acts,
 * - the messages and states of docs/reference/payments.md from the table of effects,
 * - the types of the SDK from both OpenAPI documents, and its table of administrative operations.
 *
 * With `--check` it writes nothing, and fails if a file differs. The last argument names another
 * folder than the project.
 */

const root = resolve(import.meta.dirname, '..')
const migrations = new URL('../database/migrations/', import.meta.url)

/** The text of each generated file, by its path from the root folder. */
type Documents = Readonly<Record<string, string>>

/**
 * @param open a database with this program's schema instead of a new one, which takes seconds to
 *   create.
 */
export async function generateDocuments(
  folder: string = root,
  open: () => Promise<Database> = openMigrated,
): Promise<Documents> {
  const documents = await generateOpenapi(open)
  return {
    ...documents,
    'packages/sdk/admin/generated/operations.ts': generateOperations(
      documents['api/private.openapi.json'] ?? '',
    ),
    'api/events.asyncapi.json': generateAsyncapi(),
    'api/scenario.schema.json': generateScenarioSchema(),
    'docs/reference/configuration.md': generateConfiguration(),
    'docs/reference/errors.md': generateErrors(),
    'docs/reference/production.md': generateRefusals(),
    'ARCHITECTURE.md': await insertGenerated(folder, 'ARCHITECTURE.md', {
      name: 'arrows',
      source: 'scripts/structure/arrows.ts',
      text: `\`\`\`\n${drawArrows()}\n\`\`\``,
    }),
    'docs/reference/card-life.md': await insertGenerated(folder, 'docs/reference/card-life.md', {
      name: 'states',
      source: 'src/domain/card-life.ts',
      text: drawLifeStates(),
    }),
    'docs/reference/payments.md': await insertGenerated(folder, 'docs/reference/payments.md', {
      name: 'messages and states',
      source: 'src/domain/payment.ts',
      text: drawPaymentRules(),
    }),
  }
}

/** Returns the documents of the real servers, without configuration. */
async function generateOpenapi(open: () => Promise<Database>): Promise<Documents> {
  const dataDir = await mkdtemp(join(tmpdir(), 'pinfold-generate-'))
  const database = await open()
  try {
    const config = readConfig({ DATA_DIR: dataDir, LOG_LEVEL: 'silent' })
    const { privateServer, publicServer } = await createService(
      config,
      undivided(database),
      createLog('silent'),
    )
    const documents = [
      ['api/public.openapi.json', publicServer, config.baseUrl],
      ['api/private.openapi.json', privateServer, config.privateUrl],
    ] as const
    const texts: [string, string][] = []
    for (const [path, server, url] of documents) {
      const { host } = new URL(url)
      const { payload } = await server.inject({ url: '/openapi.json', headers: { host } })
      texts.push([path, `${JSON.stringify(JSON.parse(payload), null, 2)}\n`])
    }
    await Promise.all([publicServer.close(), privateServer.close()])
    return Object.fromEntries(texts)
  } finally {
    await database.close()
    await rm(dataDir, { recursive: true })
  }
}

function generateScenarioSchema(): string {
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Pinfold scenario file',
    ...ScenarioSchema,
  }
  return `${JSON.stringify(schema, null, 2)}\n`
}

async function openMigrated(): Promise<Database> {
  const database = await openPglite(null)
  await migrate(database, migrations)
  return database
}

const errorsIntroduction = `# Errors

Every error is a problem document (RFC 9457, \`application/problem+json\`):

\`\`\`json
{
  "type": "/problems/validation_failed",
  "title": "${problemKinds.validation_failed.title}",
  "status": ${problemKinds.validation_failed.status},
  "code": "validation_failed",
  "requestId": "6f1c1c1e-8d0a-4a39-9d1c-5b1f0f8f1d11",
  "errors": [{ "pointer": "/pin", "detail": "must have 4 digits" }]
}
\`\`\`

Switch on \`code\`, which is stable. \`title\` and \`detail\` are for people. \`errors\` lists
every wrong member. Give the \`requestId\` to the operator when you ask for help. The service
returns these explanations under \`/problems\`, too. The examples below show
neither \`detail\` nor further headers.

This file is generated from \`src/domain/problem-kinds.ts\` by \`npm run generate\`.
`

function generateErrors(): string {
  const kinds = Object.entries<ProblemKind>(problemKinds)
  const rows = kinds.map(
    ([code, { status, title }]) => `| ${status} | [\`${code}\`](#${code}) | ${title} |`,
  )
  const table = ['| status | code | title |', '|---|---|---|', ...rows].join('\n')
  return [errorsIntroduction, table, ...kinds.map(([code, kind]) => section(code, kind))].join('\n')
}

const section = (code: string, kind: ProblemKind): string => `
## ${code}

${kind.status}: ${kind.title}

${wrap(kind.explanation.replaceAll('<', '\\<'), 100)}

\`\`\`http
${exampleAnswer(code, kind)}
\`\`\`
`

/** An answer with a problem, as a caller gets it. */
function exampleAnswer(code: string, { retryAfterSeconds, status, title }: ProblemKind): string {
  const document = {
    type: `/problems/${code}`,
    title,
    status,
    code,
    requestId: '6f1c1c1e-8d0a-4a39-9d1c-5b1f0f8f1d11',
    ...(code === 'validation_failed' && {
      errors: [{ pointer: '/pin', detail: 'must have 4 digits' }],
    }),
  }
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/problem+json; charset=utf-8',
    ...(retryAfterSeconds === undefined ? [] : [`Retry-After: ${retryAfterSeconds}`]),
    '',
    JSON.stringify(document, null, 2),
  ].join('\n')
}

const refusalsIntroduction = `# Settings that production refuses

With \`SANDBOX=false\` the service refuses to start with any of these settings. It reports all of
them at once and opens no listener. To accept a setting, set the variable in the last column to
\`yes\`. Each acceptance in use is a log line at level \`warn\` at the start and a warning of
\`pinfold doctor\`. A setting without such a variable cannot be accepted.

File modes are those of Unix; on Windows, give only the service's account access to the files.
Certificates are checked when they are loaded ([TLS](tls.md)). [Decision
19](../decisions/0019-production.md) gives the reasons.

Links of card networks are registered while the service runs. A link in clear beyond loopback is
refused at registration and change, and does not run, unless \`ACCEPT_PLAIN_LINKS\` is \`yes\`
([iso8583.md](iso8583.md#links-in-clear)).

This file is generated from \`src/service/config/production.ts\` by \`npm run generate\`.
`

function generateRefusals(): string {
  const rows = refusals.map(({ acceptance, refused, remedy, variable, why = '' }) =>
    [
      '',
      `\`${variable}\``,
      `${refused}`,
      [why, remedy].filter(Boolean).join(' '),
      accepted(acceptance),
      '',
    ]
      .join(' | ')
      .trim(),
  )
  const heading =
    '| variable | refused if it | reason and remedy | accepted by |\n|---|---|---|---|'
  return [refusalsIntroduction, heading, ...rows, ''].join('\n')
}

const accepted = (acceptance: string | null): string =>
  acceptance === null ? '' : `\`${acceptance}\``

/** Draws which acts each status of a card allows. */
function drawLifeStates(): string {
  const allowances = {
    yes: 'yes',
    no: 'no',
    within_grace: 'within grace',
    after_unused_successor: 'if its successor was closed unused',
  } as const
  const rows = listLifeStatuses().map((status) => {
    const code = status === 'retired' ? '62' : status
    const acts = lifeActs[status]
    const name = `\`${code}\` ${describeCardStatus(code).status}`
    const moves = listLifeMoves(status).join(', ')
    return [
      status === 'retired' ? `${name}, *retired*` : name,
      ...[acts.renew, acts.replace, acts.convert].map((allowed) => allowances[allowed]),
      moves === '' ? '–' : moves,
      statusObjections[code] ?? 'checks decide',
    ]
  })
  const head = ['status', 'renew', 'replace', 'convert', 'can be set to', 'authorization']
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n')
}

/** Draws the table of the effects of each message on a payment in each state. */
function drawPaymentRules(): string {
  const rows = paymentMessages.map((message) => {
    const effects = paymentSituations.map((state) => {
      const effect = paymentRules[message][state]
      return `\`${effect}\`: ${paymentEffects[effect]}`
    })
    return `| \`${message}\` | ${effects.join(' | ')} |`
  })
  const states = paymentSituations.map((state) => (state === 'none' ? 'none' : `\`${state}\``))
  return [
    `| message | ${states.join(' | ')} |`,
    `|---|${states.map(() => '---|').join('')}`,
    ...rows,
  ].join('\n')
}

/** A generated part of a document that people write. */
interface GeneratedPart {
  readonly name: string
  readonly source: string
  readonly text: string
}

/** Inserts a part between its two marks in a document. */
async function insertGenerated(
  folder: string,
  path: string,
  { name, source, text }: GeneratedPart,
): Promise<string> {
  const begin = `<!-- ${name}: generated from ${source} by npm run generate -->`
  const end = `<!-- end of ${name} -->`
  const [before, old, ...others] = (await readFile(join(folder, path), 'utf8')).split(begin)
  const [, after] = (old ?? '').split(end)
  if (before === undefined || after === undefined || others.length > 0) {
    throw new Error(`${path} needs ${begin} and ${end}, once and in this order.`)
  }
  return `${before}${begin}\n\n${text}\n\n${end}${after}`
}

/** Breaks a text between words. */
function wrap(text: string, width: number): string {
  const lines: string[] = ['']
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? ''
    const longer = line === '' ? word : `${line} ${word}`
    if (longer.length <= width) lines[lines.length - 1] = longer
    else lines.push(word)
  }
  return lines.join('\n')
}

/** Returns the paths of generated files that differ from the code. */
export async function findStale(folder: string, documents: Documents): Promise<readonly string[]> {
  const stale: string[] = []
  for (const [path, text] of Object.entries(documents)) {
    const found = await readFile(join(folder, path), 'utf8').catch(() => '')
    if (found !== text) stale.push(path)
  }
  return stale
}

async function main(): Promise<void> {
  const folder = process.argv.slice(2).find((argument) => !argument.startsWith('--')) ?? root
  const documents = await generateDocuments(folder)
  if (process.argv.includes('--check')) {
    const stale = await findStale(folder, { ...documents, ...listTypes(folder) })
    for (const path of stale) {
      console.error(`${path} differs from the code: run npm run generate`)
      process.exitCode = 1
    }
    return
  }
  await writeDocuments(folder, documents)
  // They come from the documents that were just written.
  await writeDocuments(folder, listTypes(folder))
}

/** Lists the SDK's types, which only the project's own folder has. */
const listTypes = (folder: string): Documents => (folder === root ? generateSdkTypes(root) : {})

async function writeDocuments(folder: string, documents: Documents): Promise<void> {
  for (const [path, text] of Object.entries(documents)) {
    await writeFile(join(folder, path), text)
  }
}

if (import.meta.main) await main()
