import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { before, suite, test } from 'node:test'
import fc from 'fast-check'
import { wrapKeyBlock } from '../../src/crypto/key-block.ts'
import { hasOddParity, isWeakTdesKey, setOddParity } from '../../src/crypto/tdes-keys.ts'
import { keyCatalogue } from '../../src/hsm/contract/catalogue.ts'
import { drawFitKey } from '../../src/hsm/keys/key-strength.ts'
import { openToken } from '../../src/hsm/pkcs11/client.ts'
import { openPkcs11Hsm, openPkcs11KeyEngine } from '../../src/hsm/pkcs11/hsm.ts'
import { openSoftwareHsm } from '../../src/hsm/software/hsm.ts'
import { openSoftwareKeyEngine } from '../../src/hsm/software/key-engine.ts'
import { SecretKey } from '../../src/hsm/software/master-keys.ts'
import { randomDigits } from '../../src/hsm/verbs/card-numbers.ts'
import { openSoftHsm } from '../support/softhsm.ts'
import { auditGuarantees } from './contract/audit.ts'
import { cardNumberGuarantees, pinGuarantees } from './contract/cards.ts'
import { chipGuarantees } from './contract/chips.ts'
import { keyGuarantees } from './contract/keys.ts'
import { macGuarantees } from './contract/macs.ts'
import { pairGuarantees } from './contract/pairs.ts'
import { recordGuarantees } from './contract/records.ts'
import { stripeGuarantees } from './contract/stripes.ts'
import { verificationGuarantees } from './contract/verification.ts'
import { drawTdesKey, type Implementation } from './implementation.ts'

/** Each on keys of its own: a token is the slower the more it holds. */
const allGuarantees = {
  'card numbers': cardNumberGuarantees,
  PINs: pinGuarantees,
  verification: verificationGuarantees,
  MACs: macGuarantees,
  chips: chipGuarantees,
  stripes: stripeGuarantees,
  records: recordGuarantees,
  keys: keyGuarantees,
  'key pairs': pairGuarantees,
  'the audit log': auditGuarantees,
}

/** What holds of every implementation of the HSM contract. */
function hsmContract(
  name: string,
  open: () => Promise<Implementation>,
  skip: string | false = false,
): void {
  suite(`the HSM contract on ${name}`, { skip }, () => {
    for (const [what, guarantees] of Object.entries(allGuarantees)) {
      suite(what, () => {
        let implementation: Implementation | undefined
        before(async () => {
          implementation = await open()
        })
        guarantees(() => {
          if (!implementation) throw new Error('It is not open.')
          return implementation
        })
      })
    }
  })
}

const bytes = randomBytes(32)
const masterKey = new SecretKey(bytes)
const engine = openSoftwareKeyEngine(masterKey)

hsmContract('software', async () => ({
  engine,
  openHsm: (options) => openSoftwareHsm({ masterKey, ...options }),
}))

const header = {
  version: 'D',
  keyUsage: 'V2',
  algorithm: 'T',
  modeOfUse: 'C',
  keyVersion: '00',
  exportability: 'N',
  reserved: '00',
  optionalBlocks: [],
} as const

test('a weak key is refused when it is used, even under the master key', async () => {
  const sound = drawTdesKey()
  await engine.open(keyCatalogue.pvk.kind, wrapKeyBlock(bytes, header, sound))
  const equalParts = Buffer.concat([sound.subarray(0, 8), sound.subarray(0, 8)])
  const evenParity = Buffer.from(sound.map((byte) => byte ^ 1))
  for (const weak of [equalParts, evenParity, Buffer.alloc(16, 1), sound.subarray(0, 8)]) {
    await assert.rejects(engine.open(keyCatalogue.pvk.kind, wrapKeyBlock(bytes, header, weak)))
  }
})

test('a key under another master key, or under a TDES key, does not open', async () => {
  const key = randomBytes(32)
  const under = { ...header, keyUsage: 'D0', algorithm: 'A', modeOfUse: 'B' }
  await engine.open(keyCatalogue.pan.kind, wrapKeyBlock(bytes, under, key))
  await assert.rejects(
    engine.open(keyCatalogue.pan.kind, wrapKeyBlock(randomBytes(32), under, key)),
  )
  const weaker = wrapKeyBlock(bytes.subarray(0, 16), { ...under, version: 'B' }, key)
  await assert.rejects(engine.open(keyCatalogue.pan.kind, weaker))
})

/** Gives out these bytes and then fair ones. */
const source = (given: readonly number[]) => {
  const left = [...given]
  return (lengthBytes: number) =>
    Buffer.from(Array.from({ length: lengthBytes }, () => left.shift() ?? 7))
}

test('of all values of a byte each digit comes from as many, and the rest are thrown away', async () => {
  const all = Array.from({ length: 256 }, (_, byte) => byte)
  const digits = await randomDigits(source(all))(250)
  for (const digit of '0123456789') assert.equal(digits.split(digit).length - 1, 25, digit)
})

test('so many digits come as are asked for, whatever bytes are drawn', async () => {
  const drawn = fc.array(fc.nat(255), { maxLength: 60 })
  const property = fc.asyncProperty(drawn, fc.nat(40), async (given, count) => {
    const digits = await randomDigits(source(given))(count)
    assert.match(digits, new RegExp(`^[0-9]{${count}}$`))
  })
  await fc.assert(property, { numRuns: 300 })
})

test('a key is drawn again while it is weak, and always has odd parity', async () => {
  const part = setOddParity(randomBytes(8))
  const weak = [Buffer.alloc(16), Buffer.alloc(16, 0xfe), Buffer.concat([part, part])]
  const drawn = [...weak, randomBytes(16)]
  const key = await drawFitKey(keyCatalogue.pvk.kind, () => drawn.shift() ?? randomBytes(16))
  assert.equal(drawn.length, 0)
  assert.ok(hasOddParity(key) && !isWeakTdesKey(key))
  const property = fc.asyncProperty(
    fc.uint8Array({ minLength: 16, maxLength: 16 }),
    async (bytes) => {
      const first = [bytes]
      const made = await drawFitKey(keyCatalogue.cvk.kind, () => first.shift() ?? randomBytes(16))
      assert.ok(hasOddParity(made) && !isWeakTdesKey(made))
    },
  )
  await fc.assert(property, { numRuns: 300 })
})

const softHsm = openSoftHsm()

hsmContract(
  'PKCS#11',
  async () => {
    const token = await openToken(await softHsm.createToken())
    const engine = openPkcs11KeyEngine(token)
    return { engine, openHsm: (options) => openPkcs11Hsm({ token, ...options }) }
  },
  softHsm.leftOut,
)
