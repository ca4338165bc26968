import { createCipheriv, createDecipheriv, createSecretKey, randomBytes } from 'node:crypto'
import { cpus } from 'node:os'
import { setOddParity } from '../src/crypto/tdes-keys.ts'
import { makeExpiry } from '../src/domain/calendar.ts'
import { Cvv2 } from '../src/domain/cvv2.ts'
import { Pin } from '../src/domain/pin.ts'
import type { Hsm } from '../src/hsm/contract/hsm.ts'
import type { KeyStore, StoredKey } from '../src/hsm/contract/stored-keys.ts'
import { openToken } from '../src/hsm/pkcs11/client.ts'
import { openPkcs11Hsm } from '../src/hsm/pkcs11/hsm.ts'
import { openSoftwareHsm } from '../src/hsm/software/hsm.ts'
import { SecretKey } from '../src/hsm/software/master-keys.ts'
import { openSoftHsm } from '../test/support/softhsm.ts'

/**
 * `npm run bench -- crypto`: verbs per second of both HSM implementations, beside the same block
 * operations in bare `node:crypto`. Medians of alternating rounds, so that other load affects all
 * of them.
 */

const rounds = 7
const roundMs = 400
/** Concurrent verbs, as with requests. */
const atOnce = 16

const memoryKeyStore = (): KeyStore => {
  const kept: StoredKey[] = []
  return { list: async () => kept, add: async (key) => void kept.push(key) }
}

/** Returns the verbs per second. */
async function timed(verb: () => unknown): Promise<number> {
  const end = performance.now() + roundMs
  let done = 0
  const work = async () => {
    while (performance.now() < end) {
      await verb()
      done += 1
    }
  }
  const since = performance.now()
  await Promise.all(Array.from({ length: atOnce }, work))
  return (done * 1_000) / (performance.now() - since)
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

type Subject = { readonly name: string; readonly verbs: Verbs }

/** Returns medians by verb and subject. */
async function measure(subjects: readonly Subject[]): Promise<Map<string, number[]>> {
  const medians = new Map<string, number[]>()
  for (const name of ['verify PIN', 'verify CVV2', 'seal record'] as const) {
    const figures = subjects.map((): number[] => [])
    for (let round = 0; round < rounds; round += 1) {
      for (const [at, { verbs }] of subjects.entries()) figures[at]?.push(await timed(verbs[name]))
    }
    medians.set(name, figures.map(median))
  }
  return medians
}

function print(
  subjects: readonly Subject[],
  medians: ReadonlyMap<string, readonly number[]>,
): void {
  const columns = subjects.map(({ name }) => name.padStart(26)).join('')
  console.log(`${'verbs a second'.padEnd(16)}${columns}`)
  for (const [verb, figures] of medians) {
    const [bare = 1] = figures
    const cells = figures.map((figure, at) => {
      const ratio = at === 0 ? '' : ` (1/${(bare / figure).toFixed(1)} of bare)`
      return `${Math.round(figure).toLocaleString('en')}${ratio}`.padStart(26)
    })
    console.log(`${verb.padEnd(16)}${cells.join('')}`)
  }
}

const masterKey = new SecretKey(randomBytes(32))
const software = await openSoftwareHsm({ masterKey, keyStore: memoryKeyStore() })
const subjects: Subject[] = [
  { name: 'bare node:crypto', verbs: bareVerbs() },
  { name: 'software', verbs: await createVerbs(software) },
]
const softHsm = openSoftHsm()
if (softHsm.leftOut) console.log(softHsm.leftOut)
else {
  const token = await openToken(await softHsm.createToken())
  const hsm = await openPkcs11Hsm({ token, keyStore: memoryKeyStore() })
  subjects.push({ name: 'PKCS#11 (SoftHSM2)', verbs: await createVerbs(hsm) })
}
console.log(`${cpus().length} cores, ${atOnce} at once, medians of ${rounds} rounds\n`)
print(subjects, await measure(subjects))

/** The measured functions by name. */
export type Verbs = Readonly<Record<'verify PIN' | 'verify CVV2' | 'seal record', () => unknown>>

const expiry = makeExpiry(2030, 11)
const text = '{"firstName":"Ana","lastName":"Lim","dateOfBirth":"1990-04-17"}'

/** Creates the verbs of an HSM, on one card with a right PIN and CVV2. */
export async function createVerbs(hsm: Hsm): Promise<Verbs> {
  const card = await hsm.generateCardNumber('400000', 'cvk')
  const pin = await hsm.generatePin(card, {
    pinLength: 4,
    pinRevealable: true,
    refuseWeakPins: true,
    pvk: 'pvk',
    maskedPan: card.maskedPan,
    expiry,
    dateOfBirth: '1990-04-17',
  })
  const zoneKey = await hsm.importClearZoneKey('TDES', await hsm.generateTestZoneKey('TDES'))
  const block = await hsm.generatePinBlock(
    card,
    new Pin((await hsm.revealPin(card, pin)).reveal()),
    'ISO_FORMAT_0',
    zoneKey.keyBlock,
  )
  return {
    async 'verify PIN'() {
      const opened = await hsm.openPinBlock(card, block)
      if (!opened || !(await hsm.verifyPin(card, pin, 4, opened)))
        throw new Error('The PIN does not match.')
    },
    'verify CVV2': () => hsm.verifyCvv2(card, card.cvk, expiry, new Cvv2('123')),
    'seal record': () => hsm.sealRecord('personal-data', card.publicToken, text),
  }
}

const options = { authTagLength: 16 }

/** The block operations of the same verbs in Node's OpenSSL, without other work. */
export function bareVerbs(): Verbs {
  const aes = createSecretKey(randomBytes(32))
  const pair = setOddParity(randomBytes(16))
  const tdes = createSecretKey(Buffer.concat([pair, pair.subarray(0, 8)]))
  const block = randomBytes(8)
  const blocks = randomBytes(16)
  const iv = randomBytes(12)
  const associated = Buffer.from('4820117360')
  const seal = (clear: Buffer) => {
    const cipher = createCipheriv('aes-256-gcm', aes, randomBytes(12), options).setAAD(associated)
    return [cipher.update(clear), cipher.final(), cipher.getAuthTag()]
  }
  const cipher = createCipheriv('aes-256-gcm', aes, iv, options).setAAD(associated)
  const pan = Buffer.concat([cipher.update('4000001234567899'), cipher.final()])
  const tag = cipher.getAuthTag()
  const openPan = () => {
    const decipher = createDecipheriv('aes-256-gcm', aes, iv, options)
    decipher.setAAD(associated).setAuthTag(tag)
    return [decipher.update(pan), decipher.final()]
  }
  const ecb = (name: string, key: typeof aes, bytes: Buffer) =>
    createDecipheriv(name, key, null).setAutoPadding(false).update(bytes)
  const clear = Buffer.from(text)
  return {
    'verify PIN': () => [
      openPan(),
      ecb('des-ede3-ecb', tdes, block),
      ecb('aes-256-ecb', aes, blocks),
      ecb('aes-256-ecb', aes, blocks),
    ],
    'verify CVV2': () => [
      openPan(),
      ecb('des-ede3-ecb', tdes, block),
      ecb('des-ede3-ecb', tdes, block),
    ],
    'seal record': () => seal(clear),
  }
}
