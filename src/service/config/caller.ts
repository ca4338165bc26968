/** How the command line reaches a service, and as whom, where its environment says so. */
export interface CallerConfig {
  /** The public listener of a service elsewhere; null: the one of this machine's configuration. */
  readonly url: string | null
  readonly privateUrl: string | null
  readonly processorPath: string | null
  readonly clientId: string | null
  readonly clientSecret: string | null
  /** The file of the client's private key (JWK), for `private_key_jwt`. */
  readonly jwkFile: string | null
  /** The certificate that a listener may ask for, and its key. */
  readonly certificateFile: string | null
  readonly keyFile: string | null
}

/** Reads the variables of the command line. One that is set to nothing counts as not set. */
export function readCaller(
  environment: Readonly<Record<string, string | undefined>>,
): CallerConfig {
  const url = (name: string) => environment[name]?.replace(/\/+$/, '') || null
  return {
    url: url('PINFOLD_URL'),
    privateUrl: url('PINFOLD_PRIVATE_URL'),
    processorPath: environment.PROCESSOR_PATH || null,
    clientId: environment.PINFOLD_CLIENT_ID || null,
    clientSecret: environment.PINFOLD_CLIENT_SECRET || null,
    jwkFile: environment.PINFOLD_JWK_FILE || null,
    certificateFile: environment.PINFOLD_CERT_FILE || null,
    keyFile: environment.PINFOLD_KEY_FILE || null,
  }
}
