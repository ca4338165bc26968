import { findNearestName } from '../../domain/nearest-name.ts'
import { variableGroups } from './variable-reference.ts'
import type { Environment } from './variables.ts'

/** Every variable that the program reads by its own name. */
const known = variableGroups.flatMap(({ variables }) => variables.map(([name]) => name))

/** The prefix of this program. Kubernetes sets similar variables for a service called pinfold. */
const own = /^PINFOLD_(?!SERVICE_|PORT$|PORT_)/

/**
 * Variables of the launcher, of containers and of libraries (SSL_ is OpenSSL) whose names resemble
 * ours.
 */
const foreign =
  /^(?:PINFOLD_ADDRESS_SOURCE|PINFOLD_FILE_VARIABLES|HOSTNAME|TZ|PG[A-Z]+|SSL_\w+|NODE_\w+|npm_\w+)$/

/**
 * Lists variables, one sentence each, that are not read although they resemble this program's
 * variables or are in `pinfold.env`. Only the name is repeated, since the value may be a secret.
 */
export function findUnknownVariables(environment: Environment): readonly string[] {
  const inFile = new Set(environment.PINFOLD_FILE_VARIABLES?.split(','))
  return Object.keys(environment).flatMap((name) => {
    if (!environment[name] || known.includes(name) || foreign.test(name)) return []
    const nearest = findNearestName(name, known)
    if (nearest !== null) return [`${name} is ignored: no such variable. Did you mean ${nearest}?`]
    const isOurs = own.test(name) || inFile.has(name)
    return isOurs ? [`${name} is ignored: no such variable.`] : []
  })
}
