import { execFileSync } from 'node:child_process'
import { chownSync, cpSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from './program.ts'

/** The last stage of `deploy/container/Containerfile`, as a container engine reads it. */
export interface ImageDescription {
  readonly user: number
  readonly workingFolder: string
  readonly environment: Readonly<Record<string, string>>
  /** The entry point with its command. */
  readonly words: readonly string[]
  readonly healthCheck: readonly string[]
  readonly copied: readonly (readonly [from: string, to: string])[]
}

function readContainerfile(): ImageDescription {
  const text = readFileSync(join(root, 'deploy/container/Containerfile'), 'utf8')
  const said = (name: string) =>
    [...text.matchAll(new RegExp(`^${name} (.*)$`, 'gm'))].map(([, value = '']) => value)
  const [user = ''] = said('USER')
  const [workingFolder = ''] = said('WORKDIR')
  const words = [...said('ENTRYPOINT'), ...said('CMD')].flatMap(
    (each) => JSON.parse(each) as string[],
  )
  const [, healthCheck = '[]'] = /^HEALTHCHECK .* CMD (.*)$/m.exec(text) ?? []
  const pairs = said('ENV').flatMap((line) => line.split(' ').map((pair) => pair.split('=')))
  const copied = said('COPY').map((line) => line.split(' ') as [string, string])
  return {
    user: Number(user.split(':')[0]),
    workingFolder,
    environment: Object.fromEntries(pairs),
    words,
    healthCheck: JSON.parse(healthCheck),
    copied,
  }
}

/**
 * Builds the root folder of the image: Node with its linked libraries, and the files that the
 * Containerfile copies. Everything belongs to root except the data directory. No container engine
 * is needed.
 * @param context the package, as npm installed it.
 */
export function buildImageRoot(folder: string, context: string): ImageDescription {
  const image = readContainerfile()
  const put = (from: string, to: string) => {
    mkdirSync(dirname(join(folder, to)), { recursive: true })
    cpSync(from, join(folder, to), { recursive: true, dereference: true })
  }
  put(process.execPath, '/usr/local/bin/node')
  const libraries = execFileSync('ldd', [process.execPath], { encoding: 'utf8' })
  for (const [path] of libraries.matchAll(/\/\S+/g)) put(path, path)
  for (const [from, to] of image.copied) put(join(context, from), to)
  for (const path of ['tmp', 'proc', 'dev', 'etc', image.workingFolder]) {
    mkdirSync(join(folder, path), { recursive: true })
  }
  execFileSync('chown', ['-R', '0:0', folder])
  execFileSync('chmod', ['-R', 'go-w', folder])
  chownSync(join(folder, image.workingFolder), image.user, image.user)
  execFileSync('chmod', ['700', join(folder, image.workingFolder)])
  return image
}
