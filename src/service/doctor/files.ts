import { access, constants, readFile, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { readMasterKeys } from '../../hsm/software/master-keys.ts'
import { parseFirstAdministrators } from '../../operations/clients/credentials.ts'
import { findSecretFileFault, octal } from '../config/exposure.ts'
import { openTlsFiles, type TlsConfig } from '../config/tls.ts'
import {
  type Check,
  describeError,
  type Examined,
  type Finding,
  fault,
  good,
  warning,
} from './finding.ts'

const roomLeastBytes = 256 * 1024 * 1024

/**
 * Checks the data directory: it exists, is writable, is private to its owner, and has free space.
 */
export const checkDataDirectory: Check = async ({ config: { dataDir } }) => {
  const folder = await stat(dataDir).catch(() => null)
  if (!folder) return [good('data-directory', `The first start creates ${dataDir}.`)]
  if (!folder.isDirectory()) {
    return [
      fault(
        'data-directory',
        `${dataDir} is not a directory.`,
        cannotStart,
        'Set DATA_DIR to a directory.',
      ),
    ]
  }
  const isWritable = await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  )
  const findings: Finding[] = []
  if (!isWritable) {
    const remedy = `Give it to the user that runs the service: chown USER ${dataDir}.`
    findings.push(fault('data-directory', `${dataDir} cannot be written to.`, cannotStart, remedy))
  }
  if ((folder.mode & 0o077) !== 0) {
    findings.push(
      fault(
        'data-directory',
        `${dataDir} has mode ${octal(folder.mode)}: other users on this machine can read it.`,
        'It contains the database, the credentials and the master key of a sandbox.',
        `chmod 700 ${dataDir}`,
      ),
    )
  }
  const { bavail, bsize } = await statfs(dataDir)
  const free = bavail * bsize
  if (free < roomLeastBytes) {
    const found = `${Math.round(free / 1024 / 1024)} MB are free on the disk of ${dataDir}.`
    const why = 'A full disk stops every change.'
    findings.push(warning('data-directory', found, why, 'Free some space, or move DATA_DIR.'))
  }
  return findings.length > 0 ? findings : [good('data-directory', `${dataDir} is fit.`)]
}

const cannotStart = 'The service cannot start without it.'
/**
 * Checks that only their owner can read files of secrets. In production, the table of refusals
 * covers this.
 */
export const checkSecretFiles: Check = async ({ config }) => {
  const files = [
    config.masterKeyFile ?? join(config.dataDir, 'master.key'),
    join(config.dataDir, 'sandbox.json'),
    ...(config.pkcs11 ? [config.pkcs11.pinFile] : []),
  ]
  const open = config.sandbox ? files.flatMap((file) => findSecretFileFault(file) ?? []) : []
  if (open.length === 0) {
    return [good('secret-files', 'Only their owner can read the files of secrets.')]
  }
  return open.map((found) =>
    fault(
      'secret-files',
      `${found}: other accounts on this machine can read it.`,
      'It protects every key, card and PIN.',
      'Run chmod 600 on it. If other accounts exist on this machine, rotate its content.',
    ),
  )
}

/** Checks that the master key's file exists and is well-formed. Its content is never shown. */
export const checkMasterKeyFile: Check = async ({ config: { masterKeyFile, pkcs11 } }) => {
  if (masterKeyFile === null || pkcs11 !== null) return []
  try {
    const { length } = await readMasterKeys(masterKeyFile)
    return [
      good('master-key', `${masterKeyFile} holds ${length === 1 ? 'a key' : `${length} keys`}.`),
    ]
  } catch (error) {
    return [
      fault(
        'master-key',
        `The master key cannot be read: ${describeError(error)}`,
        'Without it no key, card or PIN in the database can be used.',
        'Point MASTER_KEY_FILE to the file, with keys of 64 hexadecimal digits, one per line, ' +
          'readable by this user.',
      ),
    ]
  }
}

/** Checks the first administrators' keys, which are public. */
export const checkAdministrator: Check = async ({ config: { adminJwkFile } }: Examined) => {
  if (adminJwkFile === null) return []
  try {
    parseFirstAdministrators(JSON.parse(await readFile(adminJwkFile, 'utf8')))
    return [good('administrator', `${adminJwkFile} contains a public key.`)]
  } catch (error) {
    const reason = error instanceof SyntaxError ? 'it is not JSON' : describeError(error)
    return [
      fault(
        'administrator',
        `${adminJwkFile} is not the public key of an administrator: ${reason}`,
        'Without it, no administrator can call the service.',
        'Write the public JWK to it (EC P-256, Ed25519, or RSA of 2048 bits or more), without ' +
          'its d.',
      ),
    ]
  }
}

const dayMs = 24 * 3_600_000
const renewDays = 14

/** Checks the listeners' certificates; unfit ones are reported with the configuration. */
export const checkTls: Check = async ({ config, now }) => {
  const listeners = [config.publicListener, config.privateListener]
  return listeners.flatMap(({ tls }) => (tls ? checkFiles(tls, config.sandbox, now()) : []))
}

/** In production, the table of refusals covers the key's permissions. */
function checkFiles({ files }: TlsConfig, isSandbox: boolean, now: Date): Finding[] {
  const opened = openTlsFiles(files, now)
  const { path, variable } = files.key
  const findings: Finding[] = []
  if (isSandbox && findSecretFileFault(path) !== null) {
    findings.push(
      fault(
        'tls',
        `${path}, the key of ${variable}, can be read by other accounts on this machine.`,
        'A reader of the key can impersonate this service.',
        `Run chmod 600 ${path}. If other accounts exist on this machine, have the certificate ` +
          'reissued for a new key.',
      ),
    )
  }
  if ('material' in opened) {
    findings.push(timeFinding(files.certificate.variable, opened.material.notAfter, now))
  }
  return findings
}

function timeFinding(variable: string, notAfter: Date, now: Date): Finding {
  const days = Math.floor((notAfter.getTime() - now.getTime()) / dayMs)
  if (days >= renewDays)
    return good('tls', `The certificate of ${variable} is valid for ${days} days.`)
  return warning(
    'tls',
    `The certificate of ${variable} expires in ${days} days, on ${notAfter.toISOString()}.`,
    'After that, clients refuse to connect.',
    'Renew it, and replace the files. The service loads them without a restart.',
  )
}
