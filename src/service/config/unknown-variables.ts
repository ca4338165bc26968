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
const foreign = /^(?:PINFOLD_ADDRESS_SOURCE|HOSTNAME|PG[A-Z]+|SSL_\w+|NODE_\w+|npm_\w+)$/

/**
 * Lists variables, one sentence each, that resemble this program's variables but are not read. Only
 * the name is repeated, since the value may be a secret.
 */
export const findUnknownVariables = (environment: Environment): readonly string[] =>
  Object.keys(environment).flatMap((name) => {
    if (!environment[name] || known.includes(name) || foreign.test(name)) return []
    const nearest = findNearestName(name, known)
    if (nearest !== null) return [`${name} is ignored: no such variable. Did you mean ${nearest}?`]
    return own.test(name) ? [`${name} is ignored: no such variable.`] : []
  })
