import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { type Connection, firstRow } from './database.ts'
import { loadStatements } from './statements.ts'

/**
 * The functions of the database, one per file: `<noun>/<act>.sql`
 * (docs/decisions/0037-functions.md).
 */
const functionFiles = new URL('../../../database/functions/', import.meta.url)

/** Stores the text of each file that was installed last. */
export const createFunctionTable = `create table if not exists installed_function (
  file_name text primary key,
  content_hash text not null,
  installed_at timestamptz not null default now()
)`

/** A file with the definition of one function of the same name. */
interface FunctionFile {
  /** `cards/change-card-status.sql` */
  readonly fileName: string
  /** `change_card_status` */
  readonly functionName: string
  readonly text: string
  readonly contentHash: string
  /**
   * The parameter whose value determines the node of a cluster on which the function runs; null for
   * the coordinator.
   */
  readonly distributedBy: string | null
  /** The table that the function is placed with. */
  readonly beside: string | null
}

/** The line in a file that states the placement of its function on a cluster. */
const distribution = /^-- Distributed by (p_\w+), beside (\w+)\.$/m

/** Reads all function files, by name. */
export async function readFunctionFiles(): Promise<readonly FunctionFile[]> {
  const paths = await readdir(functionFiles, { recursive: true })
  const fileNames = paths.filter((path) => path.endsWith('.sql')).sort()
  return Promise.all(
    fileNames.map(async (fileName) => {
      const text = await readFile(new URL(fileName, functionFiles), 'utf8')
      const [, distributedBy = null, beside = null] = distribution.exec(text) ?? []
      return {
        fileName,
        functionName: fileName.replace(/^.*\/|\.sql$/g, '').replaceAll('-', '_'),
        text,
        contentHash: createHash('sha256').update(text).digest('hex'),
        distributedBy,
        beside,
      }
    }),
  )
}

const declare = loadStatements(import.meta.url)

const selectInstalled = declare<object, { fileName: string; contentHash: string }>(
  'list_installed_functions',
)
const upsertInstalled = declare<{ fileName: string; contentHash: string }>(
  'record_installed_function',
)

/**
 * Installs the functions whose text differs from the installed one. The caller holds the lock of
 * the migrations.
 * @param isNewer whether a newer program migrated the database: its functions then stay, and only
 *   missing ones are installed.
 */
export async function installFunctions(connection: Connection, isNewer: boolean): Promise<void> {
  const installed = await readInstalled(connection)
  for (const file of await readFunctionFiles()) {
    const { contentHash, fileName, text } = file
    const known = installed.get(fileName)
    if (known === contentHash || (known !== undefined && isNewer)) continue
    await connection.script(text)
    await upsertInstalled(connection, { fileName, contentHash })
  }
}

/** Lists the functions of this program that are not installed. */
export async function listMissingFunctions(connection: Connection): Promise<readonly string[]> {
  const installed = await readInstalled(connection)
  const files = await readFunctionFiles()
  return files.map(({ fileName }) => fileName).filter((fileName) => !installed.has(fileName))
}

async function readInstalled(connection: Connection): Promise<ReadonlyMap<string, string>> {
  const rows = await selectInstalled(connection, {})
  return new Map(rows.map(({ contentHash, fileName }) => [fileName, contentHash]))
}

const selectSignature = declare<{ functionName: string }, { signature: string }>(
  'find_function_signature',
)
const distribute = declare<{ signature: string; distributedBy: string; beside: string }>(
  'distribute_function',
)
const copy = declare<{ signature: string }>('copy_function_to_nodes')

const selectIsSpread = declare<object, { isSpread: boolean }>('is_card_spread')

/** Distributes the installed functions if the tables of a cluster are already placed. */
export async function distributeInstalled(connection: Connection): Promise<void> {
  const isSpread = firstRow(await selectIsSpread(connection, {}))?.isSpread
  if (isSpread) await distributeFunctions(connection)
}

/**
 * Lists the functions that run on the nodes of a cluster, the distributed ones and those that they
 * call: each after the functions that it calls.
 */
export function listNodeFunctions(files: readonly FunctionFile[]): readonly FunctionFile[] {
  const visited = new Set<FunctionFile>()
  const listed: FunctionFile[] = []
  function visit(file: FunctionFile): void {
    if (visited.has(file)) return
    visited.add(file)
    for (const other of files) {
      if (new RegExp(`\\b${other.functionName}\\(`).test(file.text)) visit(other)
    }
    listed.push(file)
  }
  for (const file of files) if (file.distributedBy !== null) visit(file)
  return listed
}

/**
 * Creates the functions on each node of a cluster, and places those that belong to a row with the
 * row. All other functions run on the coordinator.
 */
export async function distributeFunctions(connection: Connection): Promise<void> {
  const files = listNodeFunctions(await readFunctionFiles())
  for (const { beside, distributedBy, functionName } of files) {
    const found = firstRow(await selectSignature(connection, { functionName }))
    if (!found) throw new Error(`The function ${functionName} is not installed.`)
    const { signature } = found
    if (distributedBy === null || beside === null) await copy(connection, { signature })
    else await distribute(connection, { signature, distributedBy, beside })
  }
}
