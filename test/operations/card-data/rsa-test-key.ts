import { createPrivateKey, type KeyObject } from 'node:crypto'
import rsaTestKeys from './rsa-test-keys.json' with { type: 'json' }

/** The private half of a test key. */
export const rsaTestKey = (name: 'card-data-wrap' | 'card-data-sign' | 'other'): KeyObject =>
  createPrivateKey({ key: Buffer.from(rsaTestKeys[name], 'base64'), format: 'der', type: 'pkcs8' })
