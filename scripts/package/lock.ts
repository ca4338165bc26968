import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from './program.ts'

/** A package in the lock file. */
export interface LockedPackage {
  readonly version: string
  /** `sha512-…`, of the registry's file. */
  readonly integrity?: string
  readonly license?: string
  /** Whether it is a development dependency. */
  readonly dev?: boolean
  readonly optional?: boolean
  /** A folder of this repository. */
  readonly link?: boolean
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

/** The lock file: packages by folder; the root is empty. */
export interface Lock {
  readonly packages: Readonly<Record<string, LockedPackage>>
}

export const readLock = async (): Promise<Lock> =>
  JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as Lock

const beforeName = 'node_modules/'

/** Parses the name of a package from its folder, which may be within another's. */
export const parsePackageName = (path: string): string =>
  path.slice(path.lastIndexOf(beforeName) + beforeName.length)

/** Returns the packages at run time, by folder. */
export const runtimePackages = ({ packages }: Lock): [path: string, LockedPackage][] =>
  Object.entries(packages).filter(
    ([path, { dev = false, link = false }]) => path.startsWith(beforeName) && !dev && !link,
  )
