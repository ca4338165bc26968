import { readFile } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import { UsageError } from '../cli-error.ts'

/** The certificate of whoever calls, and its private key, both PEM. */
export interface CertificateFiles {
  readonly certificateFile: string | null
  readonly keyFile: string | null
}

/**
 * From here on this process presents the certificate to servers that ask for one (RFC 8446, 4.4.2).
 * @throws UsageError where one of the two is not named, not read, or not of the other.
 */
export async function presentCertificate({
  certificateFile,
  keyFile,
}: CertificateFiles): Promise<void> {
  if (certificateFile === null && keyFile === null) return
  if (certificateFile === null || keyFile === null) throw new UsageError(both)
  const [cert, key] = await Promise.all([read(certificateFile), read(keyFile)])
  try {
    createSecureContext({ cert, key })
  } catch (cause) {
    throw new UsageError(`${certificateFile} and ${keyFile} are not a certificate and its key.`, {
      cause,
    })
  }
  // The fetch of Node.js takes the dispatcher that its own package puts in place.
  const { Agent, setGlobalDispatcher } = await import('undici')
  setGlobalDispatcher(new Agent({ connect: { cert, key } }))
}

const both = 'PINFOLD_CERT_FILE and PINFOLD_KEY_FILE go together.'

const read = (path: string): Promise<string> =>
  readFile(path, 'utf8').catch((cause: unknown) => {
    throw new UsageError(`${path} cannot be read.`, { cause })
  })
