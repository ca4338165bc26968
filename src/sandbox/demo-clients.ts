import type { ZoneKeyAlgorithm } from '../hsm/hsm.ts'
import type { ClientKind } from '../storage/clients.ts'

/** A demo client and the name that `sandbox.json` has for it. */
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
  admin: { clientId: 'demo-admin', clientName: 'Demo operator', kind: 'admin', scopes: ['admin'] },
} as const satisfies Record<string, DemoClient>

/** The network that the simulator plays. Nobody can get a token as it: it has no secret and no key. */
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

/** The demo network's keys: test keys, told in clear so that anyone can play the network. */
export const demoZoneKeys: readonly {
  readonly keyName: string
  readonly algorithm: ZoneKeyAlgorithm
  readonly pinBlockFormats: readonly string[]
}[] = [
  {
    keyName: 'zone-a',
    algorithm: 'TDES',
    pinBlockFormats: ['ISO_FORMAT_0', 'ISO_FORMAT_1', 'ISO_FORMAT_3'],
  },
  { keyName: 'zone-b', algorithm: 'AES', pinBlockFormats: ['ISO_FORMAT_4'] },
]
