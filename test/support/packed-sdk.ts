/**
 * The SDK as a reader of a guide gets it: built, packed, and installed into a clean folder by npm.
 *
 * ```ts
 * const project = await openProject()
 * await project.run('npm pack --workspace @pinfold/sdk')
 * ```
 */
import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, rename, rm, symlink } from 'node:fs/promises'
import { delimiter, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cacheFolder } from './folders.ts'
import { openRegistry } from './local-registry.ts'
import { makeFolder } from './process.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** What a reader of the documents installs from a registry. */
const registered = [
  '@noble/hashes',
  'jose',
  'vite',
  'react',
  'react-dom',
  'vue',
  '@vitejs/plugin-vue',
]

export type Project = {
  /** The environment of a reader. */
  env: NodeJS.ProcessEnv
  /** As a clone of the project, with its dependencies; its neighbours are empty. */
  folder: string
  /** Runs a script of bash there, as a reader would. @returns what it printed. */
  run: (script: string, folder?: string) => Promise<string>
}

/**
 * A copy of what the SDK is made of, in a folder of its own, so that tests do not build over one
 * another.
 */
export const openProject = async (): Promise<Project> => {
  const folder = join(await makeFolder(), 'pinfold')
  const isSource = (path: string) => !/[\\/](node_modules|dist)$/.test(path)
  await mkdir(folder)
  await cp(join(root, 'packages'), join(folder, 'packages'), { recursive: true, filter: isSource })
  for (const file of ['package.json', 'tsconfig.json'])
    await cp(join(root, file), join(folder, file))
  for (const modules of ['node_modules', 'packages/sdk/node_modules']) {
    await symlink(join(root, modules), join(folder, modules))
  }
  const env = await environment()
  return {
    env,
    folder,
    run: (script, cwd = folder) => runScript(script, cwd, env),
  }
}

/** Builds and packs it, unless a run before has packed these very sources. @returns the file. */
export const packSdk = async ({ folder, run }: Project): Promise<string> => {
  const kept = await keep('sdk', await sdkVersion(folder), async () => {
    const printed = await run('npm pack --silent --workspace @pinfold/sdk')
    return join(folder, printed.trim().split('\n').at(-1) ?? '')
  })
  const { name, version } = JSON.parse(
    await readFile(join(folder, 'packages/sdk/package.json'), 'utf8'),
  )
  const file = join(folder, `${name.replace('@', '').replace('/', '-')}-${version}.tgz`)
  await cp(kept, file)
  return file
}

/** Builds and packs the card element. @returns the file. */
export const packCardElement = async ({ folder, run }: Project): Promise<string> => {
  const printed = await run('npm pack --silent --workspace pinfold-card-element')
  return join(folder, printed.trim().split('\n').at(-1) ?? '')
}

/**
 * Changes with whatever it is made of: its files, its compiler, what it depends on, npm with its
 * Node.
 */
const sdkVersion = async (folder: string): Promise<string> => {
  const hash = createHash('sha256').update(process.version)
  const modules = join(root, 'node_modules')
  const others = [
    join(root, 'package.json'),
    join(root, 'tsconfig.json'),
    join(modules, '@noble/hashes/package.json'),
    join(modules, 'jose/package.json'),
    join(root, 'packages/sdk/node_modules/typescript/package.json'),
    fileURLToPath(import.meta.url),
  ]
  const entries = await readdir(join(folder, 'packages'), { recursive: true, withFileTypes: true })
  const own = entries
    .filter((entry) => entry.isFile() && !entry.parentPath.includes('node_modules'))
    .map(({ name, parentPath }) => join(parentPath, name))
  for (const file of [...own.sort(), ...others]) {
    hash
      .update(`${file.startsWith(folder) ? relative(folder, file) : relative(root, file)}\n`)
      .update(await readFile(file))
  }
  return hash.digest('hex').slice(0, 16)
}

/**
 * What is made once for as long as its version stays the same.
 * @returns a file to be copied, not changed.
 */
const keep = async (name: string, version: string, make: () => Promise<string>) => {
  const folder = await cacheFolder('packed')
  const kept = join(folder, `${name}-${version}.tgz`)
  if (existsSync(kept)) return kept
  const made = await make()
  for (const other of await readdir(folder)) {
    if (other.startsWith(`${name}-`)) await rm(join(folder, other), { force: true })
  }
  // Another process may have made the same one: a rename replaces it whole, and does no harm.
  const draft = join(folder, `draft-${randomBytes(6).toString('hex')}`)
  await cp(made, draft)
  await rename(draft, kept)
  return kept
}

const runScript = async (script: string, cwd: string, env: NodeJS.ProcessEnv): Promise<string> => {
  const child = spawn('bash', ['--norc', '-euo', 'pipefail'], { cwd, env, stdio: 'pipe' })
  const printed: Buffer[] = []
  const complained: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => printed.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => complained.push(chunk))
  child.stdin.end(script)
  const [code] = await once(child, 'close')
  const text = Buffer.concat(printed).toString()
  if (code !== 0) throw new Error(`${code}: ${text}\n${Buffer.concat(complained)}`)
  return text
}

/**
 * A reader's: the Node.js of the machine, not that of this project, and nothing that npm has set.
 */
const environment = async (): Promise<NodeJS.ProcessEnv> => {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return {
    PATH: folders.filter((folder) => !folder.includes('node_modules')).join(delimiter),
    HOME: await makeFolder(),
    npm_config_registry: await openRegistry(root, registered),
    npm_config_audit: 'false',
    npm_config_fund: 'false',
    npm_config_update_notifier: 'false',
    npm_config_loglevel: 'error',
  }
}
