/**
 * Prepares every statement of `src/storage/<noun>/*.sql` on the schema of the migrations, and has the compiler compare its
 * parameters and columns with the types that the module beside it declares. Prints what differs.
 */
import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { PGlite } from '@electric-sql/pglite'
import { createMigrationTable } from '../src/storage/engine/migrate.ts'
import { numberParameters, splitStatements } from '../src/storage/engine/statements.ts'

const root = fileURLToPath(new URL('../', import.meta.url))

/** How the drivers give and take values of a type of the database, by its object identifier. A list may have nulls. */
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
  2950: 'string',
  2951: 'readonly (string | null)[]',
  3802: 'unknown',
}

/** What the drivers take where it differs from what they give: an instant may be given as the database writes it. */
const parameterTypesByOid: Readonly<Record<number, string>> = {
  ...typesByOid,
  1184: 'Date | string',
  1185: 'readonly (Date | string | null)[]',
}

/** What the compiler is asked of each statement. `Run` is what the module declares. */
const comparison = `
type Declared<Run> = Run extends (c: never, v: infer P) => Promise<readonly (infer R)[]> ? [P, R] : never
type Differing<A, B> = Exclude<keyof A, keyof B> | Exclude<keyof B, keyof A>
type WrongMember<Narrow, Wide> = {
  [K in keyof Narrow & keyof Wide]: NonNullable<Narrow[K]> extends Wide[K] ? never : K
}[keyof Narrow & keyof Wide]
/** Parameters of an unknown name, parameters of another type, columns of an unknown name, columns of another type. */
type Faults<Run, P, R> = [
  Differing<Declared<Run>[0], P>,
  WrongMember<Declared<Run>[0], P>,
  keyof Declared<Run>[1] extends never ? never : Differing<Declared<Run>[1], R>,
  WrongMember<Declared<Run>[1], R>,
]
`

const declaration = /const (\w+) = declare(?:<[\s\S]*?>)?\(\s*'(\w+)',?\s*\)/g

/** What statements name that only a cluster has (docs/cluster.md), of the same types. */
const clusterParts = `
create table pg_dist_node (noderole text, groupid integer, isactive boolean, shouldhaveshards boolean);
create table pg_dist_partition (logicalrelid regclass, partmethod "char", partkey text, repmodel "char");
create function column_to_column_name(regclass, text) returns text language sql as 'select null::text';
create function create_reference_table(regclass) returns text language sql as 'select null::text';
create function create_distributed_table(regclass, text, colocate_with text) returns text
  language sql as 'select null::text';
create function truncate_local_data_after_distributing_table(regclass) returns text
  language sql as 'select null::text';`

async function openSchema(): Promise<PGlite> {
  const engine = await PGlite.create()
  await engine.exec(createMigrationTable)
  await engine.exec(clusterParts)
  const folder = join(root, 'database/migrations')
  const files = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort()
  for (const file of files) await engine.exec(await readFile(join(folder, file), 'utf8'))
  return engine
}

const typeOf = (types: Readonly<Record<number, string>>, oid: number, where: string): string => {
  const type = types[oid]
  if (type === undefined) throw new Error(`${where}: no TypeScript type is known for type ${oid}.`)
  return type
}

/** The types of a statement's parameters and columns, as TypeScript. */
async function describeStatement(engine: PGlite, name: string, written: string) {
  const { parameters, text } = numberParameters(written)
  const { queryParams, resultFields } = await engine.describeQuery(text)
  const members = (
    types: Readonly<Record<number, string>>,
    entries: readonly (readonly [string, number])[],
  ) =>
    `{ ${entries.map(([key, oid]) => `${key}: ${typeOf(types, oid, `${name}, ${key}`)}`).join('; ')} }`
  const columns = resultFields.map(({ dataTypeID, name }) => [name, dataTypeID] as const)
  return {
    parameters: members(
      parameterTypesByOid,
      queryParams.map(({ dataTypeID }, at) => [parameters[at] ?? '', dataTypeID]),
    ),
    columns: members(typesByOid, columns),
  }
}

interface Comparison {
  readonly faults: readonly string[]
  readonly count: number
  /** The module with what the compiler is asked of its declarations. */
  readonly source: string
}

async function compareModule(engine: PGlite, sqlFile: string): Promise<Comparison> {
  const moduleFile = sqlFile.replace(/\.sql$/, '.ts')
  const source = await readFile(join(root, moduleFile), 'utf8')
  const texts = splitStatements(await readFile(join(root, sqlFile), 'utf8'))
  const declared = new Map([...source.matchAll(declaration)].map(([, as, name]) => [name, as]))
  const faults = [...texts.keys()]
    .filter((name) => !declared.has(name))
    .map((name) => `${sqlFile}: ${name} is declared by nothing in ${basename(moduleFile)}.`)
  const lines: string[] = []
  for (const [name, written] of texts) {
    try {
      const types = await describeStatement(engine, name, written)
      lines.push(
        `const differs_${name}: Faults<typeof ${declared.get(name)}, ${types.parameters}, ${types.columns}> = [] as never`,
        `differs_${name} satisfies [never, never, never, never]`,
      )
    } catch (error) {
      faults.push(`${sqlFile}: ${name}: ${error instanceof Error ? error.message : error}`)
    }
  }
  return { faults, count: texts.size, source: `${source}${comparison}${lines.join('\n')}\n` }
}

/** Compiles the modules, each with its questions, in a copy of the sources. @returns what the compiler finds. */
async function compile(sources: ReadonlyMap<string, string>): Promise<readonly string[]> {
  await mkdir(join(root, 'node_modules/.cache'), { recursive: true })
  const copy = await mkdtemp(join(root, 'node_modules/.cache/statements-'))
  try {
    for (const folder of ['src/storage', 'src/domain', 'sdk']) {
      await mkdir(dirname(join(copy, folder)), { recursive: true })
      if (folder === 'sdk') await symlink(join(root, folder), join(copy, folder))
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
