import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { setOddParity } from '../../src/crypto/tdes-keys.ts'
import {
  type ChipProfileName,
  chipProfileNames,
  chipProfiles,
  composeCryptogramData,
} from '../../src/domain/chip-profile.ts'
import { Pan } from '../../src/domain/pan.ts'
import { Pin } from '../../src/domain/pin.ts'
import { Secret } from '../../src/domain/secret.ts'
import type { ChipAnswer } from '../../src/hsm/contract/chip.ts'
import type { Hsm } from '../../src/hsm/contract/hsm.ts'
import { openSoftwareHsm } from '../../src/hsm/software/hsm.ts'
import { openSoftwareKeyEngine } from '../../src/hsm/software/key-engine.ts'
import { SecretKey } from '../../src/hsm/software/master-keys.ts'
import { cardOf, type Implementation, openWith, rules } from '../hsm/implementation.ts'

/**
 * What chips and their issuers make, by another implementation: pyemv. The stored cases always run.
 * `PYEMV=/path/to/pyemv npm test -- test/crypto/chip-cases.test.ts` draws others. The checkout needs
 * Python with `cryptography`.
 */

interface Case {
  readonly pan: string
  readonly panSequenceNumber: string
  /** The data of the cryptogram, by tag. */
  readonly tags: Readonly<Record<string, string>>
  readonly arqc: string
  /** The response code, or the card status update. */
  readonly answer: string
  readonly arpc: string
  readonly blockApplication: string
  readonly pin: string
  readonly changePin: string
  readonly track: string
  readonly cvc3: string
}

interface Cases {
  readonly issuerKeys: Readonly<
    Record<'chip-ac' | 'chip-smc' | 'chip-smi' | 'chip-dynamic', string>
  >
  readonly cases: Readonly<Record<ChipProfileName, readonly Case[]>>
}

const masterKey = new SecretKey(randomBytes(32))
const software: Implementation = {
  engine: openSoftwareKeyEngine(masterKey),
  openHsm: (options) => openSoftwareHsm({ masterKey, ...options }),
}
const panKey = randomBytes(32)
const keys = { ac: 'chip-ac/1', smc: 'chip-smc/1', smi: 'chip-smi/1' }
const blockHeader = Buffer.from('841E0000', 'hex')
const fromHex = (digits: string | undefined): Buffer => Buffer.from(digits ?? '', 'hex')
const toHex = (bytes: Uint8Array | null): string => Buffer.from(bytes ?? []).toString('hex')

const stored = JSON.parse(
  readFileSync(new URL('../vectors/chips/cases.json', import.meta.url), 'utf8'),
) as Cases
prove('the stored cases', () => stored)

const checkout = process.env.PYEMV ?? ''
prove('other cases', drawCases, checkout === '' && 'PYEMV names no checkout of pyemv')

function prove(which: string, read: () => Cases, skip: string | false = false): void {
  for (const name of chipProfileNames) {
    test(`the verbs on chips make what pyemv makes of ${which} of ${name}`, { skip }, async () => {
      const { cases, issuerKeys } = read()
      assert.ok(cases[name].length >= 100)
      const known = Object.entries(issuerKeys).map(([key, digits]) => [
        key,
        setOddParity(fromHex(digits)),
      ])
      const hsm = await openWith(software, { pan: panKey, ...Object.fromEntries(known) })
      for (const each of cases[name]) {
        assert.deepEqual(await answerCase(hsm, name, each), each)
      }
    })
  }
}

/** Answers a case with what the verbs make of its inputs. */
async function answerCase(hsm: Hsm, name: ChipProfileName, drawn: Case): Promise<Case> {
  const profile = chipProfiles[name]
  const pan = new Pan(drawn.pan)
  const { panSequenceNumber } = drawn
  const chip = { card: cardOf(panKey, pan), panSequenceNumber, profile }
  const tags = Object.entries(drawn.tags).map(([tag, value]) => [tag, fromHex(value)] as const)
  const data = composeCryptogramData(profile, new Map(tags))
  assert.ok(data)
  const atc = fromHex(drawn.tags['9F36'])
  const unpredictableNumber = fromHex(drawn.tags['9F37'])
  const made = { data, atc, unpredictableNumber }
  const arqc = await hsm.generateCryptogram(chip, keys.ac, made)
  const cryptogram = { ...made, arqc }
  const given = fromHex(drawn.answer)
  const answer: ChipAnswer =
    profile.answer.method === 1
      ? { responseCode: given }
      : { cardStatusUpdate: given, proprietaryData: Buffer.alloc(0) }
  const arpc = await hsm.verifyCryptogram(chip, keys.ac, cryptogram, answer)
  const block = await hsm.makeCommand(chip, keys, cryptogram, blockHeader, Buffer.alloc(0))
  const { pin } = await hsm.importPin(
    chip.card,
    rules({ refuseWeakPins: false }),
    new Pin(drawn.pin),
  )
  assert.ok(pin && pin.pinBlock !== null)
  const change = await hsm.makePinChange(chip, keys, cryptogram, pin)
  const opened = await hsm.openCommand(chip, keys, cryptogram, fromHex(drawn.changePin))
  assert.ok(opened?.newPin)
  const hasValue = await hsm.verifyCvc3(chip, 'chip-dynamic/1', {
    ...made,
    pan,
    track: new Secret(fromHex(drawn.track)),
    value: new Secret(drawn.cvc3),
  })
  return {
    ...drawn,
    arqc: toHex(arqc),
    arpc: toHex(arpc),
    blockApplication: toHex(block),
    pin: (await hsm.revealPin(chip.card, opened.newPin)).reveal(),
    changePin: toHex(change),
    cvc3: hasValue ? drawn.cvc3 : 'another value',
  }
}

let drawn: Cases | null = null

function drawCases(): Cases {
  if (drawn) return drawn
  const program = fileURLToPath(new URL('pyemv/cases.py', import.meta.url))
  const env = { ...process.env, PYTHONPATH: checkout, PYTHONDONTWRITEBYTECODE: '1' }
  const seed = randomBytes(8).toString('hex')
  console.log(`Seed of the other cases: ${seed}`)
  const options = { env, encoding: 'utf8', maxBuffer: 1_000_000_000 } as const
  const printed = execFileSync('python3', ['-W', 'ignore', program, '10000', seed], options)
  drawn = JSON.parse(printed) as Cases
  return drawn
}
