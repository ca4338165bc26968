import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { type Connection, firstRow } from './database.ts'
import { loadStatements } from './statements.ts'

/**
 * The functions of the database, one a file: `<noun>/<act>.sql` (docs/decisions/0037-functions.md).
 */
const functionFiles = new URL('../../../database/functions/', import.meta.url)

/** Remembers which text of a file was installed last. */
export const createFunctionTable = `create table if not exists installed_function (
  file_name text primary key,
  content_hash text not null,
  installed_at timestamptz not null default now()
)`

/** A file with the definition of one function, which is called as the file is. */
interface FunctionFile {
  /** `cards/change-card-status.sql` */
  readonly fileName: string
  /** `change_card_status` */
  readonly functionName: string
  readonly text: string
  readonly contentHash: string
  /**
   * The parameter whose value says on which node of a cluster the function runs; null: where it is
   * called.
   */
  readonly distributedBy: string | null
  /** The table beside whose rows it runs. */
  readonly beside: string | null
}

/** How a file says where its function runs on a cluster. */
const distribution = /^-- Distributed by (p_\w+), beside (\w+)\.$/m

/** All of them, in the order of their names. */
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
 * Installs the functions whose text differs from what is installed. The caller holds the lock of
 * the migrations.
 * @param isNewer whether a newer program migrated the database: then its functions stay, and only
 *   what is missing is installed.
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

/** Which of this program's functions are not installed. */
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

/** Distributes what was installed where the tables of a cluster lie on its nodes already. */
export async function distributeInstalled(connection: Connection): Promise<void> {
  const isSpread = firstRow(await selectIsSpread(connection, {}))?.isSpread
  if (isSpread) await distributeFunctions(connection)
}

/**
 * The functions that run on the nodes of a cluster: those that are distributed, and whatever they
 * call.
 */
function listNodeFunctions(files: readonly FunctionFile[]): readonly FunctionFile[] {
  const needed = new Set(files.filter(({ distributedBy }) => distributedBy !== null))
  // What is added while the set is gone through is looked at, too.
  for (const { text } of needed) {
    for (const file of files) {
      if (new RegExp(`\\b${file.functionName}\\(`).test(text)) needed.add(file)
    }
  }
  return [...needed]
}

/**
 * Has each node of a cluster know the functions that run on it, and run those that belong to a row
 * beside that row. All others run where they are called, on the coordinator.
 */
export async function distributeFunctions(connection: Connection): Promise<void> {
  const files = listNodeFunctions(await readFunctionFiles())
  // Those that are called come first.
  for (const { beside, distributedBy, functionName } of files.toReversed()) {
    const found = firstRow(await selectSignature(connection, { functionName }))
    if (!found) throw new Error(`The function ${functionName} is not installed.`)
    const { signature } = found
    if (distributedBy === null || beside === null) await copy(connection, { signature })
    else await distribute(connection, { signature, distributedBy, beside })
  }
}
