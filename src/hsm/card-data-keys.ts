import { createPublicKey } from 'node:crypto'
import type { CardDataHsm, CardDataKey } from './card-data-hsm.ts'
import type { KeyEngine } from './key-engine.ts'
import type { KeyRing, RingKey } from './key-ring.ts'
import type { KeyStore } from './key-store.ts'
import { isSlow, type KeyName, keyKinds } from './key-table.ts'

/** What each card-data key is for, as it is published. */
const published = {
  'card-data-wrap': { use: 'enc', algorithm: 'RSA-OAEP-256' },
  'card-data-sign': { use: 'sig', algorithm: 'PS256' },
  'card-data-sign-ec': { use: 'sig', algorithm: 'ES256' },
  'card-data-pin': { use: 'enc', algorithm: 'ECDH-ES' },
} as const satisfies Partial<Record<KeyName, Pick<CardDataKey, 'use' | 'algorithm'>>>

type CardDataKeyName = keyof typeof published

const names = Object.keys(published) as CardDataKeyName[]

/** What a version is known by outside: its `kid`. */
export const cardDataKeyId = (name: CardDataKeyName, version: number): string =>
  `${name}-${version}`

/** Makes and tells the keys of card data. */
export const publishedKeyVerbs = (
  engine: KeyEngine,
  ring: KeyRing,
  keyStore: KeyStore,
): Pick<CardDataHsm, 'cardDataKeys' | 'generateCardDataKeys'> => ({
  async cardDataKeys() {
    // All of them or none: who is told some would look for the others in vain.
    for (const name of names) await ring.active(name)
    const versions = await Promise.all(names.map((name) => ring.versions(name)))
    return versions.flat().map((key) => describe(key))
  },
  async generateCardDataKeys(signal) {
    for (const keyName of names.filter(isSlow)) {
      // Another process may have made it by now.
      await ring.refresh()
      const isThere = (await ring.versions(keyName)).length > 0
      if (isThere) continue
      const made = await engine.generate(keyKinds[keyName], 'N', signal)
      await keyStore.add({ keyName, keyVersion: 1, state: 'active', ...made })
      await ring.refresh()
    }
  },
})

/** What was told of a key. Whoever asks needs no token: a stranger must not have it exported each time. */
const described = new WeakMap<RingKey<CardDataKeyName>['key'], CardDataKey>()

function describe({ key, name, version }: RingKey<CardDataKeyName>): CardDataKey {
  const known = described.get(key)
  if (known) return known
  const publicJwk = { ...key.publicJwk }
  const publicKey = createPublicKey({ key: publicJwk, format: 'jwk' })
  const description = {
    keyId: cardDataKeyId(name, version),
    ...published[name],
    publicJwk,
    publicPem: publicKey.export({ format: 'pem', type: 'spki' }).toString(),
  }
  described.set(key, description)
  return description
}
