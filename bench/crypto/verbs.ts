import { createCipheriv, createDecipheriv, createSecretKey, randomBytes } from 'node:crypto'
import { setOddParity } from '../../src/crypto/tdes-keys.ts'
import { makeExpiry } from '../../src/domain/calendar.ts'
import { Pin } from '../../src/domain/pin.ts'
import type { Hsm } from '../../src/hsm/contract/hsm.ts'

/** What is timed, by its name. */
export type Verbs = Readonly<Record<'verify PIN' | 'verify CVV2' | 'seal record', () => unknown>>

const expiry = makeExpiry(2030, 11)
const text = '{"firstName":"Ana","lastName":"Lim","dateOfBirth":"1990-04-17"}'

/** The verbs of an HSM, on one card whose PIN and CVV2 are right. */
export async function verbsOf(hsm: Hsm): Promise<Verbs> {
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
      if (!(await hsm.verifyPin(card, pin, 4, block))) throw new Error('The PIN does not match.')
    },
    'verify CVV2': () => hsm.verifyCvv2(card, card.cvk, expiry, '123'),
    'seal record': () => hsm.sealRecord('personal-data', card.publicToken, text),
  }
}

const options = { authTagLength: 16 }

/** The block operations of the same verbs, by OpenSSL as Node has it, and nothing around them. */
export function bareVerbs(): Verbs {
  const aes = createSecretKey(randomBytes(32))
  const pair = setOddParity(randomBytes(16))
  const tdes = createSecretKey(Buffer.concat([pair, pair.subarray(0, 8)]))
  const [block, blocks] = [randomBytes(8), randomBytes(16)]
  const [iv, associated] = [randomBytes(12), Buffer.from('4820117360')]
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
