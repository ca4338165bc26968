import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { findRsaFault } from '../../domain/rsa-key.ts'
import { Secret } from '../../domain/secret.ts'
import type { VariableReader } from './variables.ts'

/** Whether a listener asks its callers for a certificate, and whether it does without. */
const clientCertificateModes = ['off', 'optional', 'required'] as const
type ClientCertificates = (typeof clientCertificateModes)[number]

/** How a listener speaks TLS. */
export interface TlsConfig {
  readonly files: TlsFiles
  readonly clientCertificates: ClientCertificates
}

const variables = {
  public: {
    certificate: 'TLS_CERT_FILE',
    key: 'TLS_KEY_FILE',
    clientCa: 'TLS_CLIENT_CA_FILE',
    clientCertificates: 'TLS_CLIENT_CERT',
  },
  private: {
    certificate: 'PRIVATE_TLS_CERT_FILE',
    key: 'PRIVATE_TLS_KEY_FILE',
    clientCa: 'PRIVATE_TLS_CLIENT_CA_FILE',
    clientCertificates: 'PRIVATE_TLS_CLIENT_CERT',
  },
} as const

/**
 * Reads whether a listener speaks TLS, and opens its files once, so that what is wrong with them is
 * reported with everything else. Null: plain HTTP.
 */
export function readTls(
  read: VariableReader,
  listener: keyof typeof variables,
  now = new Date(),
): TlsConfig | null {
  const names = variables[listener]
  const certificate = read.text(names.certificate)
  const key = read.text(names.key)
  const clientCa = read.text(names.clientCa)
  const otherwise = clientCa === null ? 'off' : 'required'
  const mode = read.parseChoice(names.clientCertificates, clientCertificateModes, otherwise)
  const lacks: readonly (readonly [boolean, string])[] = [
    [certificate === null && key !== null, `${names.certificate} requires ${names.key}.`],
    [certificate !== null && key === null, `${names.key} requires ${names.certificate}.`],
    [
      certificate === null && key === null && (clientCa !== null || mode !== 'off'),
      `${names.clientCa} and ${names.clientCertificates} require ${names.certificate} and ` +
        `${names.key}.`,
    ],
    [
      clientCa === null && mode !== 'off',
      `${names.clientCertificates}=${mode} requires ${names.clientCa}.`,
    ],
    [
      clientCa !== null && mode === 'off',
      `${names.clientCa} has no effect with ${names.clientCertificates}=off.`,
    ],
  ]
  read.faults.push(...lacks.filter(([isLacking]) => isLacking).map(([, fault]) => fault))
  if (certificate === null || key === null) return null
  const files: TlsFiles = {
    certificate: { variable: names.certificate, path: certificate },
    key: { variable: names.key, path: key },
    clientCa: clientCa === null ? null : { variable: names.clientCa, path: clientCa },
  }
  const opened = openTlsFiles(files, now)
  if ('faults' in opened) read.faults.push(...opened.faults)
  return { files, clientCertificates: mode }
}

/** The files of a listener, and the variables that name them: a fault names its variable. */
interface TlsFiles {
  readonly certificate: NamedFile
  readonly key: NamedFile
  /** Who issues the certificates of callers. Null where none is asked for. */
  readonly clientCa: NamedFile | null
}

interface NamedFile {
  readonly variable: string
  readonly path: string
}

/** What a listener proves itself with, fit for use. */
export interface TlsMaterial {
  /** PEM: the listener's own certificate first, then those between it and its authority. */
  readonly certificates: string
  /** PEM. */
  readonly privateKey: Secret<string>
  readonly clientAuthorities: string | null
  /** When the listener's own certificate ends. */
  readonly notAfter: Date
}

/** Fit for use, or everything that is wrong, a sentence each. */
export type OpenedTls = { readonly material: TlsMaterial } | { readonly faults: readonly string[] }

/** Reads the files, and compares them with each other and the time. */
export function openTlsFiles({ certificate, clientCa, key }: TlsFiles, now: Date): OpenedTls {
  const faults: string[] = []
  const certificates = readCertificates(certificate, faults)
  const privateKey = readPrivateKey(key, faults)
  const authorities = clientCa && readCertificates(clientCa, faults)
  const [leaf] = certificates?.list ?? []
  if (leaf && leaf.validToDate <= now) {
    const end = leaf.validToDate.toISOString()
    faults.push(`${certificate.variable}: the certificate has expired, on ${end}.`)
  }
  if (leaf && leaf.validFromDate > now) {
    const start = leaf.validFromDate.toISOString()
    faults.push(`${certificate.variable}: the certificate is not valid before ${start}.`)
  }
  if (authorities && clientCa && authorities.list.every(({ validToDate }) => validToDate <= now)) {
    faults.push(`${clientCa.variable}: every certificate in the file has expired.`)
  }
  faults.push(
    ...weakKeyFaults(certificate, certificates?.list.slice(0, 1)),
    ...weakKeyFaults(clientCa, authorities?.list),
  )
  if (leaf && privateKey && !leaf.checkPrivateKey(privateKey.object)) {
    faults.push(
      `The key in ${key.variable} does not belong to the certificate in ${certificate.variable}.`,
    )
  }
  if (faults.length > 0 || !leaf || !certificates || !privateKey) return { faults }
  const material: TlsMaterial = {
    certificates: certificates.pem,
    privateKey: privateKey.pem,
    clientAuthorities: authorities?.pem ?? null,
    notAfter: leaf.validToDate,
  }
  const refusal = findRefusal(material)
  return refusal === null
    ? { material }
    : { faults: [`${certificate.variable} cannot be used for TLS: ${refusal}.`] }
}

/**
 * With a weak key anybody can seem to be whom the certificate names, or issue what its authority
 * issues.
 */
function weakKeyFaults(file: NamedFile | null, list: readonly X509Certificate[] = []): string[] {
  const faults = list.map(({ publicKey }) => findRsaFault(publicKey))
  const fault = faults.find((each) => each !== null)
  return file && fault ? [`${file.variable}: a certificate has a weak key. ${fault}`] : []
}

function readText({ path, variable }: NamedFile, faults: string[]): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    faults.push(`The file in ${variable} cannot be read: ${findErrorCode(error)}.`)
    return null
  }
}

const pemCertificate = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

function readCertificates(file: NamedFile, faults: string[]) {
  const text = readText(file, faults)
  if (text === null) return null
  try {
    const blocks = text.match(pemCertificate) ?? []
    const list = blocks.map((each) => new X509Certificate(each))
    // Set apart once more: OpenSSL leaves out, without a word, what has no line end between.
    if (list.length > 0) return { pem: blocks.join('\n'), list }
  } catch {
    // Reported below, as a file without any.
  }
  faults.push(`${file.variable} must name a file of certificates as PEM.`)
  return null
}

function readPrivateKey(
  file: NamedFile,
  faults: string[],
): { readonly pem: Secret<string>; readonly object: KeyObject } | null {
  const pem = readText(file, faults)
  if (pem === null) return null
  try {
    return { pem: new Secret(pem, '[private key]'), object: createPrivateKey(pem) }
  } catch {
    // Nothing of the reason is shown: it may quote the key.
    faults.push(`${file.variable} must name a file of a private key as PEM, without a passphrase.`)
    return null
  }
}

/** What OpenSSL has against it, such as a key that is too short; null where it takes it. */
function findRefusal({ certificates, clientAuthorities, privateKey }: TlsMaterial): string | null {
  try {
    createSecureContext({
      cert: certificates,
      key: privateKey.reveal(),
      ...(clientAuthorities !== null && { ca: clientAuthorities }),
    })
    return null
  } catch (error) {
    return findErrorCode(error)
  }
}

const findErrorCode = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason'
