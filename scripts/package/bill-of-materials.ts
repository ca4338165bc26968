import { type Lock, type LockedPackage, parsePackageName, runtimePackages } from './lock.ts'

/**
 * Accepted licences of redistributed packages, which require at most that their text is included.
 */
const accepted = ['Apache-2.0', 'BSD-3-Clause', 'BlueOak-1.0.0', 'ISC', 'MIT']

/**
 * Lists the content of the package, and the optional `pkcs11js`, as CycloneDX 1.6: from the lock
 * file alone, so that the result is the same on every machine. It has no time and no serial number:
 * the digest of a release identifies it.
 * @throws Error for a package without a digest, or with a licence that is not accepted.
 */
export function createBillOfMaterials(lock: Lock): string {
  const version = lock.packages['']?.version
  const own = `pkg:npm/pinfold@${version}`
  const found = runtimePackages(lock)
  // A package in two folders is one component.
  const components = new Map(
    found.map(([path, locked]) => [composeUrl(path, locked), [path, locked]] as const),
  )
  const dependsOn = new Map<string, ReadonlySet<string>>([[own, new Set(neededBy(lock, ''))]])
  for (const [path, locked] of found) {
    const url = composeUrl(path, locked)
    dependsOn.set(url, new Set([...(dependsOn.get(url) ?? []), ...neededBy(lock, path)]))
  }
  const sorted = [...components].sort(byName)
  const bill = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: {
        type: 'application',
        'bom-ref': own,
        name: 'pinfold',
        version,
        purl: own,
        licenses: [{ license: { id: 'Apache-2.0' } }],
      },
    },
    components: sorted.map(([url, [path, locked]]) => createComponent(url, path, locked)),
    dependencies: [...dependsOn]
      .sort(byName)
      .map(([ref, needed]) => ({ ref, dependsOn: [...needed].sort() })),
  }
  return `${JSON.stringify(bill, null, 2)}\n`
}

const byName = ([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number =>
  one < other ? -1 : 1

/** Composes the package URL, with which scanners identify a package. */
const composeUrl = (path: string, { version }: LockedPackage): string =>
  `pkg:npm/${parsePackageName(path).replace('@', '%40')}@${version}`

function createComponent(
  url: string,
  path: string,
  { integrity, license, optional }: LockedPackage,
) {
  const name = parsePackageName(path)
  const [algorithm, digest] = integrity?.split('-') ?? []
  if (algorithm !== 'sha512' || !digest) throw new Error(`The lock file has no digest of ${name}.`)
  if (!license || !accepted.includes(license)) {
    throw new Error(`${name} is under ${license ?? 'no licence'}: accept it here, or do without.`)
  }
  const [group, ownName] = name.startsWith('@') ? name.split('/') : [undefined, name]
  return {
    type: 'library',
    'bom-ref': url,
    ...(group && { group }),
    name: ownName,
    version: url.slice(url.lastIndexOf('@') + 1),
    scope: optional ? 'optional' : 'required',
    hashes: [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }],
    licenses: [{ license: { id: license } }],
    purl: url,
  }
}

/** Returns a package's dependencies as Node finds them: in its own folder, or in one around it. */
function neededBy({ packages }: Lock, path: string): string[] {
  const { dependencies, optionalDependencies, peerDependencies } = packages[path] ?? {}
  const names = Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })
  const folders = foldersAround(path)
  return names.flatMap((name) => {
    const found = folders
      .map((folder) => `${folder}node_modules/${name}`)
      .find((each) => packages[each])
    const locked = found === undefined ? undefined : packages[found]
    // A development dependency is not in the package, even if it is also a peer.
    return found === undefined || !locked || locked.dev || locked.link
      ? []
      : [composeUrl(found, locked)]
  })
}

/**
 * Lists the folder of a package, then its parent folders, with a trailing slash; the root is empty.
 */
function foldersAround(path: string): string[] {
  if (path === '') return ['']
  const around = path.lastIndexOf('/node_modules/')
  return [`${path}/`, ...foldersAround(around === -1 ? '' : path.slice(0, around))]
}
