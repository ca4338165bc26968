/**
 * Reads `pinfold.env` in the current folder. The folder may be another person's, such as a clone,
 * so the file can configure the service, but neither which code runs nor where a secret of the
 * environment is sent.
 */
import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync } from 'node:fs'
import * as util from 'node:util'

const fileName = 'pinfold.env'

/** A file of variables has a few thousand bytes. */
const mostBytes = 1_048_576

/** A verifier of an audit log must not trust the folder. */
const commandsWithout = ['audit', 'witness']

/** Variables that load code or redirect connections or trust. Only the environment can set them. */
const forbidden =
  /^(?:NODE_|LD_|DYLD_|NPM_|OPENSSL_|SSL_|PATH$|HOME$|SHELL$|BASH_ENV$|ENV$|PKCS11_MODULE$|SOFTHSM2_CONF$|(?:HTTPS?|ALL|NO)_PROXY$)/i

const callerRule = 'the address and the credentials must have the same source'
const installationRule = 'the database, its keys and its callers must have the same source'

/**
 * Pairs of an address and a secret or store that depends on it: the environment sets both, or the
 * file sets both.
 */
const pairs = [
  {
    rule: callerRule,
    addresses: [
      'PINFOLD_URL',
      'PINFOLD_PRIVATE_URL',
      'BASE_URL',
      'PRIVATE_BASE_URL',
      'HOST',
      'PRIVATE_HOST',
    ],
    secrets: [
      'PINFOLD_CLIENT_ID',
      'PINFOLD_CLIENT_SECRET',
      'PINFOLD_JWK_FILE',
      'PINFOLD_PERSON_TOKEN',
      'PINFOLD_CERT_FILE',
      'PINFOLD_KEY_FILE',
    ],
  },
  {
    rule: callerRule,
    addresses: ['DATABASE_URL', 'PGHOST', 'PGPORT'],
    secrets: ['PGUSER', 'PGPASSWORD', 'PGPASSFILE', 'PGSERVICE', 'PGSERVICEFILE'],
  },
  {
    rule: installationRule,
    addresses: ['DATABASE_URL', 'PGHOST', 'PGPORT', 'PGSERVICE', 'PGSERVICEFILE'],
    secrets: ['MASTER_KEY_FILE', 'PKCS11_PIN_FILE'],
  },
  {
    rule: callerRule,
    addresses: ['CONSOLE_ISSUER', 'CONSOLE_AUDIENCE', 'CONSOLE_GROUPS_CLAIM', 'CONSOLE_ROLES'],
    secrets: ['CONSOLE_CLIENT_ID', 'CONSOLE_CLIENT_SECRET_FILE', 'CONSOLE_CLIENT_JWK_FILE'],
  },
  {
    rule: installationRule,
    addresses: [
      'AUTH_ISSUER',
      'AUTH_AUDIENCE',
      'AUTH_CLIENT_CLAIM',
      'PRIVATE_AUTH_ISSUER',
      'PRIVATE_AUTH_AUDIENCE',
      'PRIVATE_AUTH_CLIENT_CLAIM',
      'CONSOLE_ISSUER',
      'CONSOLE_ROLES',
      'ADMIN_JWK_FILE',
    ],
    secrets: ['DATABASE_URL', 'PGHOST', 'PGSERVICE', 'MASTER_KEY_FILE', 'PKCS11_PIN_FILE'],
  },
]

/**
 * The variable that names the file which sets the service's address (read in
 * `src/service/config/config.ts`).
 */
const addressSource = 'PINFOLD_ADDRESS_SOURCE'

/** The variable that lists the names from the file, for warnings about unknown ones. */
const fileNames = 'PINFOLD_FILE_VARIABLES'

/**
 * Adds the variables of the file to the environment, whose own variables take precedence.
 * @param {readonly string[]} words the arguments of `pinfold`
 * @returns {string | null} the reason why the command cannot run, as a sentence
 */
export function loadEnvFile(words, environment = process.env) {
  delete environment[addressSource]
  delete environment[fileNames]
  const command = words.find((word) => !word.startsWith('-'))
  const found = lstatSync(fileName, { throwIfNoEntry: false })
  if (!found || command === undefined || !util.parseEnv) return null
  if (commandsWithout.includes(command)) return null
  const refusal = findRefusal(found)
  if (refusal !== null) return refusal
  const { fault, text } = readText()
  if (fault !== undefined) return fault
  return addVariables(util.parseEnv(text), environment)
}

/**
 * Returns the reason why a file is refused; null for a regular file that only its owner, the user
 * of this process, can write.
 */
function findRefusal(found) {
  if (!found.isFile()) return `${fileName} is not a regular file: replace or remove it.`
  const user = process.getuid?.()
  // Windows has neither such owners nor such modes.
  if (user === undefined) return null
  if (found.uid !== user) {
    return (
      `${fileName} belongs to another user (${found.uid}): take ownership with chown, or remove ` +
      'it.'
    )
  }
  if ((found.mode & 0o022) !== 0) {
    return `Other users can write ${fileName}: run chmod 600 ${fileName}.`
  }
  if (found.size > mostBytes) return `${fileName} exceeds the limit of ${mostBytes} bytes.`
  return null
}

function readText() {
  // Checked again after opening, since another file may replace it meanwhile.
  const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)
  let file
  try {
    file = openSync(fileName, flags)
    const fault = findRefusal(fstatSync(file))
    if (fault !== null) return { fault }
    const bytes = readFileSync(file)
    if (bytes[0] === 0xff || bytes[0] === 0xfe || bytes.includes(0)) {
      return { fault: `${fileName} is not UTF-8 text: save it as UTF-8.` }
    }
    // A byte order mark is not part of the first name.
    return { text: bytes.toString().replace(/^\ufeff/, '') }
  } catch (error) {
    return { fault: `${fileName} cannot be read: ${error.code ?? error.message}.` }
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

function addVariables(variables, environment) {
  const names = Object.keys(variables)
  const loading = names.filter((name) => forbidden.test(name))
  if (loading.length > 0) {
    return (
      `${fileName} sets ${loading.join(', ')}, which must be set in the environment: remove it ` +
      'from the file.'
    )
  }
  const has = (name) => Boolean(environment[name])
  const left = new Set(names.filter((name) => environment[name] === undefined))
  for (const { addresses, rule, secrets } of pairs) {
    const members = [...addresses, ...secrets]
    const own = members.filter(has)
    const added = members.filter((name) => left.has(name) && leadsElsewhere(variables[name]))
    if (own.length === 0 || added.length === 0) continue
    if (!addresses.some(has) || !secrets.some(has)) {
      return `${own[0]} is set in the environment, and ${added[0]} in ${fileName}: ${rule}.`
    }
    for (const name of added) left.delete(name)
  }
  for (const name of left) environment[name] = variables[name]
  if (left.size > 0) environment[fileNames] = [...left].join(',')
  const [{ addresses }] = pairs
  if (addresses.some((name) => left.has(name) && leadsElsewhere(variables[name]))) {
    environment[addressSource] = fileName
  }
  return null
}

/** Whether a value is set and is not an address of this machine. */
const leadsElsewhere = (value) =>
  value !== '' &&
  !/^(?:https?:\/\/)?(?:127\.0\.0\.1|\[?::1\]?|localhost)(?::[0-9]+)?\/*$/i.test(value)
