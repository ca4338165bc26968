import { decodeJwt } from 'jose'
import { isClientId } from '../../domain/client.ts'

/**
 * Returns the client that a token request names. It is not verified, and may only be used to count
 * requests.
 * @param authorization the `Authorization` header, if there is one
 * @param body the form, as received
 * @returns undefined if the request names no client, or an impossible one
 */
export function claimedClientId(
  authorization: string | undefined,
  body: Uint8Array,
): string | undefined {
  const form = new URLSearchParams(Buffer.from(body).toString('utf8'))
  const candidates = [
    form.get('client_id'),
    basicUserName(authorization),
    assertedSubject(form.get('client_assertion')),
  ]
  return candidates.find(isClientId)
}

function basicUserName(authorization = ''): string | undefined {
  const encoded = /^basic +([A-Za-z0-9+/=]+)$/i.exec(authorization)?.[1]
  const name = Buffer.from(encoded ?? '', 'base64')
    .toString('utf8')
    .split(':', 1)[0]
  // RFC 6749 section 2.3.1: the id in the header is form-encoded.
  return new URLSearchParams(`id=${name}`).get('id') ?? undefined
}

function assertedSubject(assertion: string | null): string | undefined {
  try {
    return assertion === null ? undefined : decodeJwt(assertion).sub
  } catch {
    return undefined
  }
}
