import { bodyExamples } from '../../src/listeners/public/openapi/examples.ts'
import { newProduct } from '../operations/clients/administer.ts'

/** Bodies that do what their operation is for, by `operationId`: a schema alone seldom makes one. */

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
  ],
  generateKey: [
    target,
    {
      ...{ family: 'zone', key: 'zone-@fresh@', clientId: 'fuzz-network', exportable: true },
      ...{ pinBlockFormats: ['ISO_FORMAT_4'], algorithm: 'AES', lengthBytes: 32 },
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
