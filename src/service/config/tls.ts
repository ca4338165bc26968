import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { findRsaFault } from '../../domain/rsa-key.ts'
import { Secret } from '../../domain/secret.ts'
import type { VariableReader } from './variables.ts'

/** Whether a listener requests a client certificate, and whether it requires one. */
const clientCertificateModes = ['off', 'optional', 'required'] as const
type ClientCertificates = (typeof clientCertificateModes)[number]

/** The TLS settings of a listener. */
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
 * Reads whether a listener uses TLS and opens its files once, so that their faults are reported
 * with all others. Null for plain HTTP.
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
    [certificate === null && key !== null, `${names.key} requires ${names.certificate}.`],
    [certificate !== null && key === null, `${names.certificate} requires ${names.key}.`],
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

/** The files of a listener and their variables, for messages about faults. */
interface TlsFiles {
  readonly certificate: NamedFile
  readonly key: NamedFile
  /** The issuer of client certificates. Null if none is requested. */
  readonly clientCa: NamedFile | null
}

interface NamedFile {
  readonly variable: string
  readonly path: string
}

/** The validated certificate and key of a listener. */
export interface TlsMaterial {
  /** PEM: the listener's certificate first, then the intermediate certificates. */
  readonly certificates: string
  /** PEM. */
  readonly privateKey: Secret<string>
  readonly clientAuthorities: string | null
  /** When the listener's own certificate ends. */
  readonly notAfter: Date
}

/** The validated files, or all faults, one sentence each. */
export type OpenedTls = { readonly material: TlsMaterial } | { readonly faults: readonly string[] }

/** Reads the files and checks them against each other and the time. */
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
 * With a weak key, an attacker can impersonate the certificate's subject or issue certificates of
 * its authority.
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
    // Split again: OpenSSL silently ignores certificates without a line end between them.
    if (list.length > 0) return { pem: blocks.join('\n'), list }
  } catch {
    // Reported below as a file without certificates.
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
    // The parser's message is omitted, since it may quote the key.
    faults.push(`${file.variable} must name a file of a private key as PEM, without a passphrase.`)
    return null
  }
}

/** Returns OpenSSL's objection, such as a short key; null without one. */
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
