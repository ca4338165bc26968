/**
 * A registry on this machine that has packages as they are installed in this project: so that
 * `npm install` can be run to the letter where there is no network.
 */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { atEndOfFile } from './end-of-file.ts'

type Dependencies = Readonly<Record<string, string>>

type Manifest = {
  name: string
  version: string
  dependencies?: Dependencies
  optionalDependencies?: Dependencies
}

type Installed = { folder: string; manifest: Manifest }

/** @param names what may be installed, with all that it depends on. @returns its address. */
export const openRegistry = async (root: string, names: readonly string[]): Promise<string> => {
  const packages = await collect(root, names)
  const server = createServer(async (request, response) => {
    const path = decodeURIComponent(request.url ?? '').slice(1)
    const [, name = '', version = ''] = /^(.+)\/-\/(.+)\.tgz$/.exec(path) ?? []
    const asked = packages.filter(({ manifest }) => manifest.name === (name || path))
    const [first] = asked
    if (!first) return response.writeHead(404).end()
    if (name !== '') {
      const found = asked.find(({ manifest }) => manifest.version === version) ?? first
      return response.end(await pack(found.folder))
    }
    const versions = asked.map(({ manifest }) => {
      const tarball = `http://${request.headers.host}/${manifest.name}/-/${manifest.version}.tgz`
      return [manifest.version, { ...manifest, dist: { tarball } }] as const
    })
    const latest = first.manifest.version
    return response.end(
      JSON.stringify({
        name: path,
        'dist-tags': { latest },
        versions: Object.fromEntries(versions),
      }),
    )
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  atEndOfFile(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/`
}

/** Walks over dependencies as Node resolves them; those of other platforms are not installed. */
const collect = async (root: string, names: readonly string[]): Promise<Installed[]> => {
  const found = new Map<string, Installed>()
  const wanted = names.map((name) => ({ name, from: root }))
  for (const { from, name } of wanted) {
    const folder = find(from, name)
    if (folder === null || found.has(folder)) continue
    const manifest: Manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
    const { optionalDependencies = {} } = manifest
    const installed = Object.entries(optionalDependencies).filter(([each]) => find(folder, each))
    found.set(folder, {
      folder,
      manifest: { ...manifest, optionalDependencies: Object.fromEntries(installed) },
    })
    const needed = { ...manifest.dependencies, ...optionalDependencies }
    for (const each of Object.keys(needed)) wanted.push({ name: each, from: folder })
  }
  return [...found.values()]
}

const find = (from: string, name: string): string | null => {
  const folder = join(from, 'node_modules', name)
  if (existsSync(join(folder, 'package.json'))) return folder
  return dirname(from) === from ? null : find(dirname(from), name)
}

const pack = async (folder: string): Promise<Buffer> => {
  const options = ['--transform', 's,^\\.,package,', '--exclude', './node_modules']
  const { stdout } = await promisify(execFile)(
    'tar',
    ['-C', folder, ...options, '-czf', '-', '.'],
    {
      encoding: 'buffer',
      maxBuffer: 2 ** 28,
    },
  )
  return stdout
}
