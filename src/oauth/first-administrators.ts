import { parseClientJwks } from './client-jwks.ts'

/** An administrator whom the configuration names, and its public key as it is stored. */
export interface FirstAdministrator {
  readonly clientId: string
  readonly jwks: string
}

const soleClientId = 'admin'
const idForm = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

/**
 * The first administrators in a file of the configuration: one public JWK is the key of `admin`; in a JWK
 * Set each key is one administrator's, whose client id is its `kid`.
 * @param value the file, as parsed from JSON
 * @throws TypeError saying what is wrong
 */
export function parseFirstAdministrators(value: unknown): readonly FirstAdministrator[] {
  const { keys }: { readonly keys?: unknown } = Object(value)
  if (!Array.isArray(keys)) return [{ clientId: soleClientId, jwks: parseClientJwks(value) }]
  // Checked together for what a single key is checked for, and for their number.
  parseClientJwks(value)
  const administrators = keys.map((key: unknown) => firstAdministrator(Object(key)))
  refuseTwice(
    administrators.map(({ clientId }) => clientId),
    'Two keys of the set have one kid.',
  )
  // One person by two names could stand for two people.
  refuseTwice(
    keys.map(materialOf),
    'One key is in the set twice: each administrator has their own.',
  )
  return administrators
}

function firstAdministrator({
  kid,
  ...jwk
}: Readonly<Record<string, unknown>>): FirstAdministrator {
  if (typeof kid !== 'string' || !idForm.test(kid)) {
    throw new TypeError('Each key of the set needs a kid: the client id of its administrator.')
  }
  return { clientId: kid, jwks: parseClientJwks({ keys: [{ ...jwk, kid }] }) }
}

const materialOf = (key: unknown): string => {
  const { crv, kty, n, x }: Readonly<Record<string, unknown>> = Object(key)
  return JSON.stringify([kty, crv, x, n])
}

function refuseTwice(texts: readonly string[], message: string): void {
  if (new Set(texts).size < texts.length) throw new TypeError(message)
}
