import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes, randomInt } from 'node:crypto'
import { createInterface } from 'node:readline'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { computeCvc3, computeIvCvc3 } from '../../src/crypto/cvc3.ts'
import { computeArpc1, computeArpc2, computeCryptogram } from '../../src/crypto/emv-cryptogram.ts'
import * as keys from '../../src/crypto/emv-keys.ts'
import * as scripts from '../../src/crypto/emv-scripts.ts'
import { encipherTdesEcb } from '../../src/crypto/tdes.ts'
import { type ChipProfile, chipProfiles } from '../../src/domain/chip-profile.ts'

/**
 * Random cases, by this code and by pyemv: `PYEMV=/path/to/pyemv npm test --
 * test/crypto/chip-cases.test.ts`. The checkout needs Python with `cryptography`.
 */

const checkout = process.env.PYEMV ?? ''
const skip = checkout === '' && 'PYEMV names no checkout of knovichikhin/pyemv'
const casesOfEach = 10_000

type Case = ReturnType<typeof drawCase>

for (const [name, profile] of Object.entries(chipProfiles)) {
  test(`pyemv makes what this code makes of ${casesOfEach} cases of ${name}`, {
    skip,
  }, async () => {
    const cases = Array.from({ length: casesOfEach }, () => drawCase(profile))
    const answers = await askPyemv(cases)
    assert.equal(answers.length, casesOfEach)
    for (const [at, drawn] of cases.entries()) {
      assert.deepEqual(await answerCase(profile, drawn), answers[at], JSON.stringify(drawn))
    }
  })
}

const digits = (length: number): string => Array.from({ length }, () => randomInt(10)).join('')
const hex = (length: number): string => randomBytes(length).toString('hex')

const drawCase = ({ answer, cardKey, messaging, padding, sessionKey }: ChipProfile) => ({
  issuerKey: hex(16),
  pan: digits(randomInt(13, 20)),
  panSequenceNumber: digits(2),
  atc: hex(2),
  unpredictable: hex(4),
  data: hex(randomInt(29, 70)),
  responseCode: hex(2),
  cardStatusUpdate: hex(4),
  proprietary: hex(randomInt(0, 9)),
  pin: digits(randomInt(4, 13)),
  currentPin: randomInt(2) === 0 ? null : digits(randomInt(4, 13)),
  header: hex(5),
  track: hex(19),
  cardKey,
  sessionKey,
  padding,
  method: answer.method,
  answerKey: answer.key,
  messaging,
})

async function answerCase(profile: ChipProfile, drawn: Case) {
  const bytes = (name: Exclude<keyof Case, 'currentPin' | 'padding' | 'method'>) =>
    Buffer.from(drawn[name], 'hex')
  const [atc, unpredictable] = [bytes('atc'), bytes('unpredictable')]
  const cardKey = await keys.deriveCardKey(
    profile.cardKey,
    { encipher: async (blocks) => encipherTdesEcb(bytes('issuerKey'), blocks) },
    drawn,
  )
  const sessionKeys = {
    none: () => cardKey,
    common: () => keys.deriveSessionKey(cardKey, keys.diversifyByAtc(atc)),
    mChip: () => keys.deriveSessionKey(cardKey, keys.diversifyMChip(atc, unpredictable)),
  }
  const sessionKey = sessionKeys[profile.sessionKey]()
  const arqc = computeCryptogram(sessionKey, bytes('data'), profile.padding)
  const answerKey = profile.answer.key === 'card' ? cardKey : sessionKey
  const arpc =
    profile.answer.method === 1
      ? computeArpc1(answerKey, arqc, bytes('responseCode'))
      : computeArpc2(answerKey, arqc, bytes('cardStatusUpdate'), bytes('proprietary'))
  const isVisa = profile.messaging === 'visa'
  const scriptKey = isVisa
    ? keys.deriveVisaMessagingKey(cardKey, atc)
    : keys.deriveSessionKey(cardKey, arqc)
  const pinBlock = isVisa
    ? scripts.encodeVisaPinChange(cardKey, drawn.pin, drawn.currentPin)
    : scripts.encodePinBlockFormat2(drawn.pin)
  const kind = isVisa ? 'visa' : 'mastercard'
  const enciphered = scripts.encipherScriptData(scriptKey, pinBlock, kind)
  const command = Buffer.concat([bytes('header'), atc, arqc, enciphered])
  const ivCvc3 = computeIvCvc3(cardKey, bytes('track'))
  return {
    arqc: arqc.toString('hex'),
    arpc: arpc.toString('hex'),
    enciphered: enciphered.toString('hex'),
    mac: scripts.computeScriptMac(scriptKey, command).toString('hex'),
    cvc3: computeCvc3(cardKey, ivCvc3, unpredictable, atc),
  }
}

async function askPyemv(cases: readonly Case[]): Promise<unknown[]> {
  const program = fileURLToPath(new URL('pyemv/cases.py', import.meta.url))
  const env = { ...process.env, PYTHONPATH: checkout, PYTHONDONTWRITEBYTECODE: '1' }
  const child = spawn('python3', [program], { env, stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(cases.map((each) => `${JSON.stringify(each)}\n`).join(''))
  const answers: unknown[] = []
  for await (const line of createInterface(child.stdout)) answers.push(JSON.parse(line))
  return answers
}
