import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { stringFormats } from '../../src/listeners/public/schemas/formats.ts'
import { openWithRoutes, type Route } from '../support/routes.ts'
import { newCard, openTestService, type TestService } from '../support/service.ts'

let routes: readonly Route[]
let service: TestService
before(async () => {
  const opened = await openWithRoutes(() => openTestService())
  routes = opened.routes
  service = opened.service
})

interface SchemaNode {
  readonly type?: string | readonly string[]
  readonly anyOf?: readonly SchemaNode[]
  readonly oneOf?: readonly SchemaNode[]
  readonly allOf?: readonly SchemaNode[]
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly items?: SchemaNode
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly format?: string
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
}

/** Every text of a schema, by its place. */
function textsIn(schema: SchemaNode, at: string): [at: string, schema: SchemaNode][] {
  const members = Object.entries(schema.properties ?? {})
  const forms = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])]
  return [
    ...([schema.type].flat().includes('string') ? [[at, schema] as [string, SchemaNode]] : []),
    ...members.flatMap(([name, each]) => textsIn(each, `${at}/${name}`)),
    ...forms.flatMap((each) => textsIn(each, at)),
    ...(schema.items ? textsIn(schema.items, `${at}[]`) : []),
  ]
}

const formats = stringFormats(() => '2026-11-22')
const pans = [
  '4111111111111111',
  '4111 1111 1111 1111',
  '5500-0000-0000-0004',
  'for 4111111111111111.',
  '4111111111111111@example.org',
  'https://example.org/4111111111111111',
]
/** A card number, alone and in texts as long as identifiers and keys are. */
const samples = [0, 22, 32, 36, 43, 64].flatMap((length) =>
  ['a', '-'].flatMap((filler) => pans.map((pan) => pan.padEnd(length, filler))),
)

/** Whether a schema takes a text that has a card number in it. */
const takesPan = ({ enum: words, format, maxLength, minLength, pattern, ...rest }: SchemaNode) =>
  words === undefined &&
  rest.const === undefined &&
  samples.some((text) => {
    const isLong = text.length >= (minLength ?? 0) && text.length <= (maxLength ?? text.length)
    const isForm = pattern === undefined || new RegExp(pattern, 'u').test(text)
    return isLong && isForm && (formats[format ?? '']?.validate(text) ?? true)
  })

/**
 * Texts that take digits of any kind, each with the reason why a card number cannot lie in clear
 * because of it.
 */
const exceptions: Readonly<Record<string, readonly string[]>> = {
  'it is the card number, masked or enciphered wherever it is kept': [
    ...['/network/authorizations body/pan', '/cards/search body/pan'],
    ...['/network/advices body/pan', '/network/reversals body/pan'],
    '/network/clearings body/clearings[]/pan',
  ],
  'a telephone number has as many digits; it is enciphered': [
    '/thr/processor/cards body/cardHolder/mobile',
    '/thr/processor/cards/:publicToken body/cardHolder/mobile',
  ],
  'an id of a network: the operation compares it with the numbers of cards': [
    ...['/network/authorizations body/reference', '/network/advices body/adviceId'],
    ...['/network/advices body/reference', '/network/reversals body/reversalId'],
    ...['/network/reversals body/reference', '/network/clearings body/clearings[]/clearingId'],
    '/network/clearings body/clearings[]/reference',
    ...['reversals', 'advices', 'clearings', 'refunds'].map(
      (messages) => `/thr/processor/simulator/${messages} body/messageKey`,
    ),
  ],
  'it names what is there already, and is compared with that, and not kept': [
    ...['/network/authorizations body/publicToken', '/sandbox/authorizations body/publicToken'],
    ...['/network/authorizations body/pinBlock/key', '/cards/search body/publicToken'],
    '/cards/search body/authorizationReference',
    ...[
      '/cards/search body/customerReference',
      '/thr/processor/cards querystring/customerReference',
    ],
    ...['/keys body/clientId', '/keys/import body/clientId', '/keys/export body/clientId'],
    ...['/keys/zones/retire body/clientId', '/component-entries body/clientId'],
    '/approvals querystring/requestedBy',
    ...[
      '/links body/networkId',
      '/disclosures querystring/clientId',
      '/audit/entries querystring/clientId',
      '/audit/entries querystring/act',
      '/authorizations querystring/clientId',
      '/figures/authorizations querystring/clientId',
      '/webhooks querystring/clientId',
    ],
    ...['/products body/cvk', '/products body/pvk'],
    ...['/products/:productId body/cvk', '/products/:productId body/pvk'],
    ...['/clients body/scopes[]', '/clients/:clientId body/scopes[]'],
    ...['authorizations', 'increments', 'reversals', 'advices', 'clearings', 'refunds'].map(
      (messages) => `/thr/processor/simulator/${messages} body/publicToken`,
    ),
    ...['/network/advices body/publicToken', '/network/reversals body/publicToken'],
    '/network/clearings body/clearings[]/publicToken',
  ],
  'the operation refuses a card number in it, beside all other faults of the client': [
    '/clients body/clientName',
    '/clients/:clientId body/clientName',
    '/zones body/clientName',
  ],
  'it is a key, a hash or what is sealed under a key': [
    ...['/network/authorizations body/pinBlock/data', '/keys/import body/keyBlock'],
    ...['/component-entries/:entryId/components body/component', '/links body/certificates[]'],
    ...['/links/:linkName body/certificates[]', '/clients/:clientId/rotate-secret body/secretHash'],
    ...['/approvals/:approvalId/approve body/payloadHash'],
    '/thr/processor/card-pin/:publicToken/pin body/encryptedPin',
    '/thr/processor/simulator/cards/:publicToken/chip/answers body/chip/data',
    ...['x', 'y', 'kid', 'key_ops[]'].map(
      (name) => `/thr/processor/cards/:publicToken/encrypted body/deviceKey/${name}`,
    ),
    ...['nonce', 'key'].map((name) => `/thr/processor/cards/:publicToken/encrypted body/${name}`),
  ],
  'it is the bytes of a counter or a limit in the chip, which end in no text': [
    '/thr/processor/cards/:publicToken/chip/commands body/value',
  ],
  'it is what a chip sent, which is neither logged nor recorded': [
    '/network/authorizations body/chip/data',
  ],
  'what is called is judged as a whole (src/outbound/target-url.ts)': [
    ...['/thr/processor/webhooks body/url', '/thr/processor/webhooks/:webhookId body/url'],
    '/thr/processor/decision-endpoint body/url',
  ],
}

test('every text that a route takes refuses a card number, or has a reason that is written down', () => {
  const known = new Set(Object.values(exceptions).flat())
  const found = new Set<string>()
  let count = 0
  for (const { schema, url } of routes) {
    const parts: Readonly<Record<string, unknown>> = { ...schema }
    // What a path names is looked up, and a cursor is of the service itself.
    for (const part of ['body', 'querystring']) {
      const texts = textsIn((parts[part] ?? {}) as SchemaNode, part)
      count += texts.length
      for (const [at, text] of texts) {
        if (at !== 'querystring/cursor' && takesPan(text)) found.add(`${url} ${at}`)
      }
    }
  }
  assert.ok(count > 100, `${count} texts`)
  assert.deepEqual([...found].filter((place) => !known.has(place)).toSorted(), [])
  assert.deepEqual([...known].filter((place) => !found.has(place)).toSorted(), [])
})

const pan = pans[0] ?? ''
const holder = { firstName: 'Ana', lastName: 'Lim', dateOfBirth: '1990-04-17' }
const refused: readonly [path: string, body: object, pointer: string][] = [
  ['//audit/successor', { reason: `Card ${pan} was lost.` }, '/reason'],
  [
    '/cards',
    newCard({
      address: { addressLine1: 'Calle Mayor 1', postCode: '28013', country: 'ESP', city: pan },
    }),
    '/address/city',
  ],
  [
    '/cards',
    newCard({ cardHolder: { ...holder, email: `${pan}@example.org` } }),
    '/cardHolder/email',
  ],
  ['/cards/4820117360/renew', { freetext1: `Instead of ${pan}` }, '/freetext1'],
  ['/cards/4820117360/replace', { freetext2: `Instead of ${pan}` }, '/freetext2'],
]

for (const [path, body, pointer] of refused) {
  test(`a card number in ${pointer} of ${path} is refused, and not repeated in the answer`, async () => {
    const answer = await service.call('POST', path, {
      body,
      ...(path.startsWith('//') && { as: 'admin', listener: 'private' }),
    })
    assert.equal(answer.status, 422)
    const pointers = answer.json.errors.map((each: { pointer: string }) => each.pointer)
    assert.ok(pointers.includes(pointer), pointers.join())
    assert.ok(!JSON.stringify(answer.json).includes(pan))
  })
}
