/**
 * Values for schemas: such as fit, and such as do not. Texts like `@card@` stand for what there is.
 */
import fc, { type Arbitrary } from 'fast-check'
import { bodyExamples } from '../../src/listeners/public/openapi/examples.ts'
import { newProduct } from '../operations/clients/administer.ts'

/** What of a JSON schema is looked at here. */
export interface SchemaNode {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly SchemaNode[]
  readonly allOf?: readonly SchemaNode[]
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | SchemaNode
  readonly items?: SchemaNode
  readonly minItems?: number
  readonly maxItems?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly pattern?: string
  readonly format?: string
}

/** What is recognised in an answer: no problem may repeat them. */
export const canaryPan = '4000001234567899'
export const canaryPin = '862519374'

/** Names of members whose values mean something beside their form. */
const byName: Readonly<Record<string, readonly unknown[]>> = {
  publicToken: ['@card@', '@card@', '@card@', '@closed@', '@other@', '1234567890'],
  webhookId: ['@webhook@', '@webhook@', '@otherWebhook@', '5f0c1d52-8f0e-4d5a-9a53-0c6a1a3b7c11'],
  deliveryId: ['1', '2', '@delivery@', '999999999999999999'],
  after: ['@event@', '@otherEvent@', '5f0c1d52-8f0e-4d5a-9a53-0c6a1a3b7c11'],
  clientId: ['fuzz-client', 'fuzz-network', 'nobody', 'a'.repeat(64)],
  productId: [1001, 7001, 7002, 2_147_483_647],
  cardProduct: [1001, 1002, 1003, 2001],
  productIds: [[7001], [], [7001, 7002]],
  // Drawing an RSA key takes seconds: those are left to the tests of keys.
  key: ['cvk', 'zone-fuzz', 'zmk-fuzz', 'zone-none'],
  zoneMasterKey: ['zmk-fuzz', 'zmk-none'],
  version: ['1', '2', '99999'],
  entryId: ['@entry@', '5f0c1d52-8f0e-4d5a-9a53-0c6a1a3b7c11'],
  component: ['0123456789ABCDEF0123456789ABCDEF', 'A'.repeat(48), '@component@'],
  kid: ['card-data-wrap-1', 'card-data-pin-1', 'none'],
  code: ['weak_pin', 'not_found', 'nothing'],
  url: ['https://client.example/a', 'http://127.0.0.1:9/', 'http://10.0.0.1/', 'x'],
  bin: ['45000012', '450000', '40000012'],
  schemeName: ['Visa', 'House'],
  currencyCode: ['EUR', 'USD'],
  cardTypes: [['Virtual'], ['Physical', 'Virtual'], []],
  cvk: ['cvk'],
  pvk: ['pvk'],
  scopes: [['cards.read'], ['authorizations.write'], []],
  pin: ['7193', '0739', '1234', '719340', canaryPin],
  cardPin: ['7193', '6284'],
  pan: ['@pan@', canaryPan],
  data: ['0123456789ABCDEF', '0123456789ABCDEF0123456789ABCDEF'],
  now: ['@now@', '2020-01-01T00:00:00Z'],
  since: ['2026-11-20T08:00:00Z', '0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999999Z'],
  x: ['f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU'],
  y: ['x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0'],
  jwks: [{ kty: 'EC', crv: 'P-256', x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU' }, '@jwk@'],
  nameOnCard: ['ANA LIM'],
  firstName: ['Ana', 'Łukasz'],
  lastName: ['Lim'],
  limit: ['1', '2', '100'],
}

const byFormat: Readonly<Record<string, readonly string[]>> = {
  'card-type': ['Virtual', 'physical'],
  'country-code': ['ESP'],
  'birth-date': ['1990-04-17'],
  'year-month': ['2029-06', '2030-11', '0001-01', '9999-12'],
  instant: ['2026-11-20T08:00:00Z', '2026-11-20T08:00:00.123456Z'],
  'network-reference': ['512345678901', 'R-1'],
  'person-name': ['Ana'],
  uuid: ['@event@', '5f0c1d52-8f0e-4d5a-9a53-0c6a1a3b7c11'],
}

/** What a schema takes, as far as it says; rules beside it may still refuse it. */
export function validOf(schema: SchemaNode, name = ''): Arbitrary<unknown> {
  const known = byName[name]
  const own = name === 'cursor' ? cursors : ownValuesOf(schema)
  if (!known) return own
  return fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom(...known) },
    { weight: 1, arbitrary: own },
  )
}

function ownValuesOf(schema: SchemaNode): Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...schema.enum)
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map((each) => validOf(each)))
  const type = [schema.type].flat()[0]
  if (type === 'object') return objectOf(schema)
  if (type === 'array') {
    return fc.array(validOf(schema.items ?? {}), {
      minLength: schema.minItems ?? 0,
      maxLength: Math.min(schema.maxItems ?? 3, 3),
    })
  }
  if (type === 'integer' || type === 'number') {
    const { maximum: max = 100, minimum: min = 0 } = schema
    return fc.oneof(fc.constantFrom(min, max), fc.integer({ min, max }))
  }
  if (type === 'boolean') return fc.boolean()
  if (type === 'null') return fc.constant(null)
  return textOf(schema)
}

function textOf({ format, maxLength = 40, minLength = 0, pattern }: SchemaNode): Arbitrary<string> {
  const samples = byFormat[format ?? '']
  if (samples) return fc.constantFrom(...samples)
  if (pattern) return fc.stringMatching(new RegExp(pattern, 'u'), { size: 'small' })
  const lengths = { minLength, maxLength: Math.max(minLength, Math.min(maxLength, 60)) }
  return fc.oneof(
    fc.string({ unit: 'grapheme', ...lengths }),
    fc.constantFrom('a'.repeat(maxLength), 'é'.repeat(maxLength), '😀'.repeat(maxLength)),
  )
}

function objectOf({ properties = {}, required = [] }: SchemaNode): Arbitrary<object> {
  const members = Object.fromEntries(
    Object.entries(properties).map(([name, each]) => [name, validOf(each, name)]),
  )
  return fc.record(members, { requiredKeys: [...required] as never[] })
}

const controls = [
  ...['\u0000', 'a\u0000b', '\u0007', '\u001b[31m', 'a\nb', '\u007f', '\u0085', '\u2028'],
  ...['\ud800', 'a\udfffb', '\u202egnp.exe', '\ufffe'],
]

/** Whether a text must be refused wherever it stands. */
export const isRefusedText = (text: string): boolean => controls.includes(text)

const numbers = [
  ...[-1, 0, 1.5, -0, 1e15, 1e308, -1e308, 2_147_483_648, -2_147_483_649, -3_000_000_000],
  ...[2 ** 53, Number.MIN_VALUE],
]

const nested = (depth: number): unknown => (depth === 0 ? 1 : { a: [nested(depth - 1)] })

/** What hardly any schema takes. */
export const hostile: Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom<unknown>(...controls) },
  { weight: 3, arbitrary: fc.constantFrom<unknown>(...numbers) },
  { weight: 2, arbitrary: fc.constantFrom<unknown>(null, true, false, [], {}, [[]], [null]) },
  {
    weight: 2,
    arbitrary: fc.constantFrom<unknown>(
      ...['', ' ', canaryPan, 'x'.repeat(300), 'é'.repeat(5_000), '__proto__', 'urn:uuid:@event@'],
      ...["'; drop table card; --", '%00', '١٢٣٤', '１２３４', '7193\u00a0', '\ufeff7193'],
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<unknown>(nested(60), { constructor: {} }, ['a'.repeat(100)]),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 20 }) },
)

const positions = fc.oneof(
  fc.constantFrom<unknown>(
    ...[
      '2026-11-20T08:00:00.123456Z',
      '9999-12-31T23:59:59.999999Z',
      '0001-01-01T00:00:00.000000Z',
    ],
    ...['2026-11-20T08:00:60.000000Z', 'infinity', '@card@', '@webhook@', '@event@', 'fuzz-client'],
    ...['pin', 'cvv', '1', '-1', '99999999999999999999', 1, 0, -1, 2_147_483_647],
  ),
  hostile,
)

/** A placeholder too: the position in it may hold some. */
const cursorOf = (position: readonly unknown[]): string =>
  `@cursor:${Buffer.from(JSON.stringify(position)).toString('base64url')}@`

/** Cursors as a list writes them, and with other positions in them. */
const cursors: Arbitrary<string> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.array(positions, { maxLength: 4 }).map(cursorOf),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.constantFrom('pin', 'cvv'), positions)
      .map((list) => cursorOf(['2026-11-20T08:00:00.123456Z', ...list])),
  },
  { weight: 1, arbitrary: fc.constantFrom('AA', '_', 'bnVsbA', 'e30', 'WzFdWzFd') },
  { weight: 1, arbitrary: fc.string({ maxLength: 20 }) },
)

/**
 * Bodies that do what their operation is for, by `operationId`: a schema alone seldom makes one.
 */
const target = { family: 'zone-master', key: 'zmk-@fresh@' }
const pinBlock = { format: 'ISO_FORMAT_0', key: 'zone-a', data: '0123456789ABCDEF' }

const own: Readonly<Record<string, readonly object[]>> = {
  setPin: [{ pin: '7193' }, { cardPin: '0739' }, { pin: '1234' }, { encryptedPin: 'a.b.c.d.e' }],
  simulateAuthorization: [
    { publicToken: '@card@', pin: '7193' },
    { publicToken: '@card@', cvv: '123', expiryDate: '2030-11', entryMode: 'moto' },
  ],
  getCardData: [bodyExamples.getCardData ?? {}, { key: 'AAAA' }],
  changeCardStatus: [{ cardStatusCode: '62' }, { cardStatusCode: '00' }],
  createWebhook: [{ url: 'http://127.0.0.1:9/', events: ['*'] }],
  updateWebhook: [{ url: 'http://127.0.0.1:9/', events: ['pin.set'], status: 'Disabled' }],
  authorize: [
    { publicToken: '@card@', entryMode: 'atm', reference: 'R-1', pinBlock },
    { pan: '@pan@', entryMode: 'ecommerce', reference: '512345678901', cvv2: '123' },
    {
      publicToken: '@card@',
      entryMode: 'chip',
      reference: 'R-2',
      amount: 1234,
      currency: 'EUR',
      transactionType: 'cashback',
      merchant: { id: 'SHOP-1', name: 'Corner Bakery', country: 'ESP', categoryCode: '5462' },
      networkTransactionId: '123456789012345',
    },
  ],
  generateKey: [
    target,
    {
      family: 'zone',
      key: 'zone-@fresh@',
      clientId: 'fuzz-network',
      exportable: true,
      pinBlockFormats: ['ISO_FORMAT_4'],
      algorithm: 'AES',
      lengthBytes: 32,
    },
  ],
  importKey: [{ ...target, zoneMasterKey: 'zmk-fuzz', keyBlock: 'D0112K0AB00E0000' }],
  exportKey: [{ key: 'zone-fuzz', clientId: 'fuzz-network', zoneMasterKey: 'zmk-fuzz' }],
  retireZoneKey: [{ key: 'zone-none', clientId: 'fuzz-network' }],
  rotateMasterKey: [{}],
  openComponentEntry: [
    { ...target, algorithm: 'AES', lengthBytes: 32, componentCount: 2, keyCheckValue: 'ABCDEF' },
  ],
  enterComponent: [{ person: 'Ana', component: '@component@', keyCheckValue: 'ABCDEF' }],
  createClient: [
    { clientId: 'c-@fresh@', clientName: 'C', kind: 'client', scopes: ['cards.read'] },
    { clientId: 'n-@fresh@', clientName: 'N', kind: 'network', scopes: ['authorizations.write'] },
  ],
  createZone: [{ clientId: 'z-@fresh@', clientName: 'Z' }],
  createProduct: [newProduct({ productId: 7002, bin: '47000099' })],
  changeClient: [{ clientName: 'Changed' }, { productIds: [7001], active: true }],
  changeProduct: [{ productName: 'Changed' }, { active: true }],
}

/** What is sent to an operation first. */
export const bodiesFor = (operationId: string | undefined): readonly object[] => {
  const example = bodyExamples[operationId ?? '']
  return own[operationId ?? ''] ?? (example ? [example] : [])
}
