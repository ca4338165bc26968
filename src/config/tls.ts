import { openTlsFiles, type TlsFiles } from './tls-files.ts'

/** Whether a listener asks its callers for a certificate, and whether it does without. */
const clientCertificateModes = ['off', 'optional', 'required'] as const
export type ClientCertificates = (typeof clientCertificateModes)[number]

/** How a listener speaks TLS. */
export interface TlsConfig {
  readonly files: TlsFiles
  readonly clientCertificates: ClientCertificates
}

interface VariableReader {
  readonly faults: string[]
  text(name: string): string | null
  oneOf<Value extends string>(name: string, values: readonly Value[], otherwise: Value): Value
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
 * told with everything else. Null: plain HTTP.
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
  const mode = read.oneOf(names.clientCertificates, clientCertificateModes, otherwise)
  const lacks: readonly (readonly [boolean, string])[] = [
    [certificate === null && key !== null, `${names.certificate} must go with ${names.key}.`],
    [certificate !== null && key === null, `${names.key} must go with ${names.certificate}.`],
    [
      certificate === null && key === null && (clientCa !== null || mode !== 'off'),
      `${names.certificate} and ${names.key} must go with ${names.clientCa} and ${names.clientCertificates}.`,
    ],
    [
      clientCa === null && mode !== 'off',
      `${names.clientCa} must go with ${names.clientCertificates}=${mode}.`,
    ],
    [
      clientCa !== null && mode === 'off',
      `${names.clientCa} has no use with ${names.clientCertificates}=off.`,
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
