/**
 * Prepares every statement of `src/storage/<noun>/*.sql` on the migrated schema with the functions,
 * and has the compiler compare its parameters and columns with the types that its module declares.
 * Prints the differences.
 */
import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { PGlite } from '@electric-sql/pglite'
import { createFunctionTable, readFunctionFiles } from '../src/storage/engine/functions.ts'
import { createMigrationTable } from '../src/storage/engine/migrate.ts'
import { numberParameters, pluralize, splitStatements } from '../src/storage/engine/statements.ts'

const root = fileURLToPath(new URL('../', import.meta.url))

/** The TypeScript types of the database's types, by object identifier. A list may contain nulls. */
const typesByOid: Readonly<Record<number, string>> = {
  16: 'boolean',
  17: 'Uint8Array',
  19: 'string',
  20: 'string | number | bigint',
  21: 'number',
  23: 'number',
  25: 'string',
  26: 'number',
  114: 'unknown',
  701: 'number',
  1000: 'readonly (boolean | null)[]',
  1001: 'readonly (Uint8Array | null)[]',
  1005: 'readonly (number | null)[]',
  1007: 'readonly (number | null)[]',
  1009: 'readonly (string | null)[]',
  1016: 'readonly (string | number | bigint | null)[]',
  1022: 'readonly (number | null)[]',
  1043: 'string',
  1082: 'string',
  1182: 'readonly (string | null)[]',
  1184: 'Date',
  1185: 'readonly (Date | null)[]',
  1700: 'string | number',
  2205: 'string',
  2278: 'unknown',
  2950: 'string',
  2951: 'readonly (string | null)[]',
  3802: 'unknown',
}

/** The types of parameters that differ: an instant may be given as text. */
const parameterTypesByOid: Readonly<Record<number, string>> = {
  ...typesByOid,
  1184: 'Date | string',
  1185: 'readonly (Date | string | null)[]',
}

/** The type test of each statement. `Run` is the module's declaration. */
const comparison = `
type Declared<Run> =
  Run extends (c: never, v: infer P) => Promise<readonly (infer R)[]> ? [P, R]
  : Run extends (d: never, key: infer P) => Promise<infer R> ? [P, NonNullable<R>]
  : Run extends (d: never, subject: never, v: infer P) => Promise<infer R> ? [P, NonNullable<R>]
  : never
type Differing<A, B> = Exclude<keyof A, keyof B> | Exclude<keyof B, keyof A>
type WrongMember<Narrow, Wide> = {
  [K in keyof Narrow & keyof Wide]: NonNullable<Narrow[K]> extends Wide[K] ? never : K
}[keyof Narrow & keyof Wide]
/**
 * Parameters of an unknown name, parameters of another type, columns of an unknown name, columns of
 * another type.
 */
type Faults<Run, P, R> = [
  Differing<Declared<Run>[0], P>,
  WrongMember<Declared<Run>[0], P>,
  keyof Declared<Run>[1] extends never ? never : Differing<Declared<Run>[1], R>,
  WrongMember<Declared<Run>[1], R>,
]
`

const declaration =
  /const (\w+) = (declare|shared\.declareRead|shared\.declareAct)(?:<[\s\S]*?>)?\(\s*'(\w+)',?\s*\)/g

/**
 * Stand-ins for objects that only a cluster has (docs/reference/cluster.md), with the same types.
 */
const clusterParts = `
create table pg_dist_node (noderole text, groupid integer, isactive boolean, shouldhaveshards boolean);
create table pg_dist_partition (logicalrelid regclass, partmethod "char", partkey text, repmodel "char");
create function column_to_column_name(regclass, text) returns text language sql as 'select null::text';
create function create_reference_table(regclass) returns text language sql as 'select null::text';
create function create_distributed_table(regclass, text, colocate_with text) returns text
  language sql as 'select null::text';
create function create_distributed_function(regprocedure, distribution_arg_name text, colocate_with text)
  returns text language sql as 'select null::text';
create function create_distributed_function(regprocedure) returns text
  language sql as 'select null::text';
create function truncate_local_data_after_distributing_table(regclass) returns text
  language sql as 'select null::text';`

async function openSchema(): Promise<PGlite> {
  const engine = await PGlite.create()
  await engine.exec(createMigrationTable)
  await engine.exec(createFunctionTable)
  await engine.exec(clusterParts)
  const folder = join(root, 'database/migrations')
  const files = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort()
  for (const file of files) await engine.exec(await readFile(join(folder, file), 'utf8'))
  for (const { text } of await readFunctionFiles()) await engine.exec(text)
  return engine
}

const findType = (types: Readonly<Record<number, string>>, oid: number, where: string): string => {
  const type = types[oid]
  if (type === undefined) throw new Error(`${where}: no TypeScript type is known for type ${oid}.`)
  return type
}

/** A name with the object identifier of its type. */
type Typed = readonly [name: string, oid: number]

/** A statement's parameters and columns in the database. */
interface Described {
  readonly parameters: readonly Typed[]
  readonly columns: readonly Typed[]
}

async function describeStatement(engine: PGlite, written: string): Promise<Described> {
  const { parameters, text } = numberParameters(written)
  const { queryParams, resultFields } = await engine.describeQuery(text)
  return {
    parameters: queryParams.map(({ dataTypeID }, at) => [parameters[at] ?? '', dataTypeID]),
    columns: resultFields.map(({ dataTypeID, name }) => [name, dataTypeID]),
  }
}

/** Composes the type test of a statement. */
function writeTypeTest(as: string | undefined, name: string, { columns, parameters }: Described) {
  const members = (types: Readonly<Record<number, string>>, entries: readonly Typed[]): string => {
    const listed = entries.map(([key, oid]) => `${key}: ${findType(types, oid, `${name}, ${key}`)}`)
    return `{ ${listed.join('; ')} }`
  }
  const given = members(parameterTypesByOid, parameters)
  return `const differs_${name}: Faults<typeof ${as}, ${given}, ${members(typesByOid, columns)}> = [] as never
differs_${name} satisfies [never, never, never, never]`
}

const listTypeText = 'select typarray::integer as "list" from pg_type where oid = $1'

const formatEntries = (entries: readonly Typed[]): string =>
  entries
    .map(([name, oid]) => `${name} ${oid}`)
    .sort()
    .join(', ')

/**
 * Compares a statement for several callers with that for one: it has lists as parameters and
 * returns ordinals.
 */
async function compareShared(
  engine: PGlite,
  where: string,
  several: Described,
  one: Described,
): Promise<readonly string[]> {
  const parameters = one.parameters.map(async ([name, oid]): Promise<Typed> => {
    const { rows } = await engine.query<{ list: number }>(listTypeText, [oid])
    return [pluralize(name), rows[0]?.list ?? 0]
  })
  const due: Described = {
    parameters: await Promise.all(parameters),
    columns: [['ordinal', 23], ...one.columns],
  }
  return (['parameters', 'columns'] as const)
    .filter((part) => formatEntries(several[part]) !== formatEntries(due[part]))
    .map((part) => {
      const given = formatEntries(several[part])
      const expected = formatEntries(due[part])
      return `${where} has the ${part} ${given}, not ${expected}.`
    })
}

interface Comparison {
  readonly faults: readonly string[]
  readonly count: number
  /** The module with its type tests. */
  readonly source: string
}

async function compareModule(engine: PGlite, sqlFile: string): Promise<Comparison> {
  const moduleFile = sqlFile.replace(/\.sql$/, '.ts')
  const source = await readFile(join(root, moduleFile), 'utf8')
  const texts = splitStatements(await readFile(join(root, sqlFile), 'utf8'))
  const declared = new Map<string, string>()
  const shared = new Map<string, string>()
  for (const [, as = '', by, name = ''] of source.matchAll(declaration)) {
    declared.set(name, as)
    if (by !== 'declare') shared.set(`${name}_several`, name)
  }
  const faults: string[] = []
  const lines: string[] = []
  const described = new Map<string, Described>()
  for (const [name, written] of texts) {
    const where = `${sqlFile}: ${name}`
    try {
      const found = await describeStatement(engine, written)
      described.set(name, found)
      const one = described.get(shared.get(name) ?? '')
      if (one) faults.push(...(await compareShared(engine, where, found, one)))
      else if (declared.has(name)) lines.push(writeTypeTest(declared.get(name), name, found))
      else faults.push(`${where} is declared by nothing in ${basename(moduleFile)}.`)
    } catch (error) {
      faults.push(`${where}: ${error instanceof Error ? error.message : error}`)
    }
  }
  return { faults, count: texts.size, source: `${source}${comparison}${lines.join('\n')}\n` }
}

/**
 * Compiles the modules with their type tests, in a copy of the sources.
 * @returns the compiler's errors.
 */
async function compile(sources: ReadonlyMap<string, string>): Promise<readonly string[]> {
  await mkdir(join(root, 'node_modules/.cache'), { recursive: true })
  const copy = await mkdtemp(join(root, 'node_modules/.cache/statements-'))
  try {
    for (const folder of ['src/storage', 'src/domain', 'packages']) {
      await mkdir(dirname(join(copy, folder)), { recursive: true })
      if (folder === 'packages') await symlink(join(root, folder), join(copy, folder))
      else await cp(join(root, folder), join(copy, folder), { recursive: true })
    }
    for (const [file, source] of sources) await writeFile(join(copy, file), source)
    const { compilerOptions } = JSON.parse(await readFile(join(root, 'tsconfig.json'), 'utf8'))
    const options = { ...compilerOptions, noUnusedLocals: false, preserveSymlinks: true }
    const config = { compilerOptions: options, files: [...sources.keys()] }
    await writeFile(join(copy, 'tsconfig.json'), JSON.stringify(config))
    const compiler = join(root, 'node_modules/typescript/bin/tsc')
    const compiled = promisify(execFile)(process.execPath, [compiler, '--noEmit', '-p', copy])
    const output = await compiled.then(
      () => '',
      ({ stdout }: { stdout: string }) => stdout,
    )
    return output.split('\n').filter((line) => line !== '')
  } finally {
    await rm(copy, { recursive: true })
  }
}

const engine = await openSchema()
const files = globSync('src/storage/*/*.sql', { cwd: root })
const compared = new Map<string, Comparison>()
for (const file of files.sort()) {
  compared.set(file.replace(/\.sql$/, '.ts'), await compareModule(engine, file))
}
await engine.close()
const sources = new Map([...compared].map(([file, { source }]) => [file, source]))
const faults = [
  ...[...compared.values()].flatMap(({ faults }) => faults),
  ...(await compile(sources)),
]
const count = [...compared.values()].reduce((sum, each) => sum + each.count, 0)
for (const fault of faults) process.stderr.write(`${fault}\n`)
process.stdout.write(
  `${count} statements in ${files.length} files prepared, ${faults.length} faults.\n`,
)
process.exitCode = faults.length > 0 ? 1 : 0
