import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from './program.ts'

/** A package as the lock file has it. */
export interface LockedPackage {
  readonly version: string
  /** `sha512-…`, of what the registry serves. */
  readonly integrity?: string
  readonly license?: string
  /** Only what builds and proves the program needs it. */
  readonly dev?: boolean
  readonly optional?: boolean
  /** A folder of this repository. */
  readonly link?: boolean
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

/** The lock file: packages by where they lie, the root by an empty text. */
export interface Lock {
  readonly packages: Readonly<Record<string, LockedPackage>>
}

export const readLock = async (): Promise<Lock> =>
  JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as Lock

const beforeName = 'node_modules/'

/** The name of a package, by where it lies: it may lie in the folder of another. */
export const parsePackageName = (path: string): string =>
  path.slice(path.lastIndexOf(beforeName) + beforeName.length)

/** What the program runs with, by where it lies. */
export const runtimePackages = ({ packages }: Lock): [path: string, LockedPackage][] =>
  Object.entries(packages).filter(
    ([path, { dev = false, link = false }]) => path.startsWith(beforeName) && !dev && !link,
  )
