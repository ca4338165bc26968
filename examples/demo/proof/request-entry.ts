import { make } from '../../../packages/card-element/field.ts'
import type { SentRequest } from './recorder.ts'
import { decodeBase64, type Secret } from './secrets.ts'

/** Describes the members of a request body for an auditor. */
const meanings: Readonly<Record<string, string>> = {
  'deviceKey.kty': 'kind of the public key that the device made for this reveal',
  'deviceKey.crv': 'its curve',
  'deviceKey.x': 'its point, public',
  'deviceKey.y': 'its point, public',
  nonce: 'random, binds the answer to this request',
  includePin: 'asks for the PIN, too',
  encryptedPin: 'the PIN, encrypted to the service',
}

/** Shows each member of a request body, and what its ciphertext says about itself. */
export function createEntry(
  { body, method, url }: SentRequest,
  found: readonly Secret['name'][],
  keyIds: ReadonlySet<string>,
): HTMLElement {
  const isClean = found.length === 0
  const result = isClean ? 'no card number, CVV or PIN' : `contains ${found.join(', ')}`
  return make(
    'li',
    {},
    make(
      'h3',
      {},
      make('span', {}, `${method} ${new URL(url).pathname}`),
      make('span', { class: isClean ? 'good' : 'bad' }, result),
    ),
    make('dl', {}, ...describeBody(body, keyIds)),
  )
}

function describeBody(body: string, keyIds: ReadonlySet<string>): HTMLElement[] {
  const members = listMembers(parse(body))
  if (members.length === 0) return row('body', 'none')
  return [
    ...members.flatMap(([path, value]) => [
      ...row(`${path}: ${meanings[path] ?? 'not expected'}`, value),
      ...(path === 'encryptedPin' ? describeJwe(value, keyIds) : []),
    ]),
    ...row(
      'private part of a key (d)',
      members.some(([path]) => path.endsWith('.d')) ? 'PRESENT' : 'absent',
    ),
  ]
}

/** The protected header and the length of a compact JWE (RFC 7516). */
function describeJwe(jwe: string, keyIds: ReadonlySet<string>): HTMLElement[] {
  const [header = '', key = '', , ciphertext = ''] = jwe.split('.')
  const { alg, enc, kid } = parse(decodeBase64(header)) as Readonly<Record<string, unknown>>
  const isKnown = keyIds.has(String(kid))
  return [
    ...row('encrypted by', `${String(alg)} and ${String(enc)}`),
    ...row('to the key', `${String(kid)}${isKnown ? ', of the service' : ', UNKNOWN'}`),
    ...row('encrypted key', key === '' ? 'none: the key is agreed (ECDH-ES)' : key),
    ...row('ciphertext', `${decodeBase64(ciphertext).length} bytes`),
  ]
}

const row = (name: string, value: string): HTMLElement[] => [
  make('dt', {}, name),
  make('dd', {}, make('code', {}, value)),
]

/** Every leaf of a JSON value by its path: `deviceKey.x`. */
function listMembers(value: unknown, path = ''): [path: string, value: string][] {
  if (typeof value !== 'object' || value === null) return path ? [[path, String(value)]] : []
  return Object.entries(value).flatMap(([name, inner]) =>
    listMembers(inner, path ? `${path}.${name}` : name),
  )
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}
