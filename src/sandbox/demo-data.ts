import type { ClientKind } from '../domain/client.ts'
import { makeProductId } from '../domain/identifiers.ts'
import type { Product } from '../domain/product.ts'
import { usualChip } from '../domain/product-chip.ts'
import type { BlockCipher } from '../hsm/contract/catalogue.ts'

/** A demo client and its name in `sandbox.json`. */
export interface DemoClient {
  readonly clientId: string
  readonly clientName: string
  readonly kind: ClientKind
  readonly scopes: readonly string[]
}

const clientScopes = [
  'cards.read',
  'cards.write',
  'cards.encrypted',
  'pin.encrypted',
  'pin.read',
  'pin.reveal',
  'pin.write',
  'cvv.read',
  'cvv.write',
  'payments.read',
  'decisions.write',
  'events.read',
  'webhooks.write',
  'simulator.write',
]

export const demoClients = {
  client: {
    clientId: 'demo-client',
    clientName: 'Demo client system',
    kind: 'client',
    scopes: clientScopes,
  },
  otherClient: {
    clientId: 'demo-other-client',
    clientName: 'Another demo client system',
    kind: 'client',
    scopes: clientScopes,
  },
  network: {
    clientId: 'demo-network',
    clientName: 'Demo card network',
    kind: 'network',
    scopes: ['authorizations.write'],
  },
  admin: {
    clientId: 'demo-admin',
    clientName: 'Demo operator',
    kind: 'admin',
    scopes: [
      'admin',
      'support.read',
      'support.write',
      'support.pan',
      'bureau.write',
      'audit.read',
      'keys.read',
      'keys.write',
    ],
  },
} as const satisfies Record<string, DemoClient>

/** The simulator's network. It has no secret and no key, so no caller can get a token for it. */
export const simulatorNetwork = {
  clientId: 'sandbox-simulator',
  clientName: 'Sandbox simulator',
  kind: 'network',
  scopes: [],
} as const satisfies DemoClient

/** The simulator's own zone key. */
export const simulatorZoneKey = {
  keyName: 'simulator',
  algorithm: 'AES',
  pinBlockFormat: 'ISO_FORMAT_4',
} as const

/** The demo network's keys: published test keys, so that anyone can act as the network. */
export const demoZoneKeys: readonly {
  readonly keyName: string
  readonly algorithm: BlockCipher
  readonly pinBlockFormats: readonly string[]
}[] = [
  {
    keyName: 'zone-a',
    algorithm: 'TDES',
    pinBlockFormats: ['ISO_FORMAT_0', 'ISO_FORMAT_1', 'ISO_FORMAT_3'],
  },
  { keyName: 'zone-b', algorithm: 'AES', pinBlockFormats: ['ISO_FORMAT_4'] },
]

/**
 * The name of the demo network's key for PIN blocks (index 01) on links, unless a profile has
 * another name.
 */
export const demoLinkKey = { key: 'pin-01', sameAs: 'zone-a' } as const

/** The link on which anyone can act as the network: without TLS, and on loopback only. */
export const sandboxLink = {
  linkName: 'sandbox',
  direction: 'listen',
  host: '127.0.0.1',
  profile: 'sandbox',
  tls: false,
  certificates: [],
  peers: [],
  zoneMasterKey: null,
} as const

/** Default members of all demo products. */
const common = {
  schemeName: 'Visa',
  currencyCode: 'EUR',
  cardTypes: ['Physical', 'Virtual'],
  validityMonths: 48,
  pinLength: 4,
  pinRevealable: true,
  pinTryLimit: 3,
  cvvTryLimit: 3,
  refuseWeakPins: true,
  renewalType: 'Manual',
  renewalEarliestDays: 90,
  renewalLeadDays: 45,
  renewalGraceMonths: 3,
  active: true,
  cvk: 'cvk',
  pvk: 'pvk',
  chip: null,
} as const

/** Products of the sandbox's first client: one with chips, one for each form of PIN storage. */
export const demoProducts: readonly Product[] = [
  {
    ...common,
    productId: makeProductId(1001),
    productName: 'Everyday Debit',
    bin: '400000',
    chip: { profile: 'visa-cvn18', ...usualChip },
  },
  {
    ...common,
    productId: makeProductId(1002),
    productName: 'Sealed PIN Debit',
    bin: '40000110',
    pinRevealable: false,
  },
  {
    ...common,
    productId: makeProductId(1003),
    productName: 'Six-Digit Travel',
    bin: '400002',
    currencyCode: 'USD',
    cardTypes: ['Virtual'],
    validityMonths: 36,
    pinLength: 6,
    pinTryLimit: 5,
  },
]

/** A product of the other client, hidden from the first one. */
export const otherClientProduct: Product = {
  ...common,
  productId: makeProductId(2001),
  productName: 'Other Client Debit',
  bin: '400003',
}
