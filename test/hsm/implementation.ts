import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { sealAesGcm } from '../../src/crypto/aes-gcm.ts'
import { isWeakTdesKey, setOddParity } from '../../src/crypto/tdes-keys.ts'
import { makeExpiry } from '../../src/domain/calendar.ts'
import type { Pan } from '../../src/domain/pan.ts'
import type { CardReference, NewPinRules } from '../../src/hsm/contract/card.ts'
import {
  type KeyKind,
  type KeyName,
  keyCatalogue,
  keyNames,
} from '../../src/hsm/contract/catalogue.ts'
import type { Hsm } from '../../src/hsm/contract/hsm.ts'
import type { KeyAdministration } from '../../src/hsm/contract/key-administration.ts'
import type { KeyStore, StoredKey } from '../../src/hsm/contract/stored-keys.ts'
import type { KeyEngine } from '../../src/hsm/keys/key-engine.ts'
import type { HsmOptions } from '../../src/hsm/verbs/hsm.ts'
import { parsePublicToken } from '../support/identifiers.ts'

/** What the HSM contract is proven on: an implementation, and what a test puts into it. */

/** An implementation of the HSM, with nothing in it yet. */
export type Implementation = {
  engine: KeyEngine
  openHsm: (options: HsmOptions) => Promise<Hsm & KeyAdministration>
}

/** The suites ask for it when their tests run, and it is opened once. */
export type Subject = () => Implementation

/** A key store that forgets. */
export const memoryKeyStore = (
  rows: readonly StoredKey[] = [],
): KeyStore & { rows: StoredKey[] } => {
  const kept = [...rows]
  return {
    rows: kept,
    list: async () => [...kept],
    async add(key) {
      const isKept = kept.some(
        ({ keyName, keyVersion }) => keyName === key.keyName && keyVersion === key.keyVersion,
      )
      if (!isKept) kept.push(key)
    },
  }
}

/** Keys that a test knows, by their names; the others are made. */
export type KnownKeys = Partial<Record<KeyName, Uint8Array>>

/** An HSM in which some keys are known, so that it can be held against other code. */
export async function openWith(
  { engine, openHsm }: Implementation,
  known: KnownKeys = {},
  options: Omit<HsmOptions, 'keyStore'> = {},
): Promise<Hsm & KeyAdministration & { keyStore: ReturnType<typeof memoryKeyStore> }> {
  const rows: StoredKey[] = []
  for (const [keyName, bytes] of Object.entries(known) as [KeyName, Uint8Array][]) {
    const key = await engine.import(keyCatalogue[keyName].kind, bytes)
    rows.push({ keyName, keyVersion: 1, state: 'active', ...key })
  }
  const keyStore = memoryKeyStore(rows)
  return { ...(await openHsm({ ...options, keyStore })), keyStore }
}

/** A card of a PAN that the test knows, sealed as the HSM seals it. */
export function cardOf(panKey: Uint8Array, pan: Pan, token = '4820117360'): CardReference {
  const publicToken = parsePublicToken(token)
  const iv = randomBytes(12)
  const associated = Buffer.from(publicToken)
  const { ciphertext, tag } = sealAesGcm(panKey, iv, associated, Buffer.from(pan.reveal()))
  return { publicToken, encryptedPan: Buffer.concat([Buffer.of(0, 1), iv, ciphertext, tag]) }
}

export const rules = (given: Partial<NewPinRules> = {}): NewPinRules => ({
  pinLength: 4,
  pinRevealable: true,
  hasChip: false,
  refuseWeakPins: true,
  pvk: 'pvk',
  maskedPan: '400000******1234',
  expiry: makeExpiry(2030, 11),
  dateOfBirth: '1990-04-17',
  ...given,
})

/** A TDES key of two parts that nothing is wrong with. */
export function drawTdesKey(): Buffer {
  const key = setOddParity(randomBytes(16))
  return isWeakTdesKey(key) ? drawTdesKey() : key
}

type Row<Inputs, Expected> = { id: string; op: string; inputs: Inputs; expected: Expected }

/** The rows of a file of vectors whose operation it is. */
export function vectorsOf<Inputs, Expected>(file: string, op: string): Row<Inputs, Expected>[] {
  const path = new URL(`../vectors/${file}.json`, import.meta.url)
  const { vectors } = JSON.parse(readFileSync(path, 'utf8')) as {
    vectors: Row<Inputs, Expected>[]
  }
  return vectors.filter((row) => row.op === op && !('error' in (row.expected as object)))
}

/**
 * A TDES key of a vector with its parity set, which changes nothing of what it does, if it is fit.
 */
export function fitTdesKey(hex: string): Buffer | null {
  const key = setOddParity(Buffer.from(hex, 'hex'))
  return key.length === 16 && !isWeakTdesKey(key) ? key : null
}

const kindOf = (name: KeyName): KeyKind => keyCatalogue[name].kind

/** Asserts that a key says what it is for, and opens for that and for nothing else. */
export async function assertOwnUseOnly(
  engine: KeyEngine,
  name: KeyName,
  keyBlock: string,
): Promise<void> {
  const kind = kindOf(name)
  await engine.open(kind, keyBlock)
  const { algorithm, exportability, keyUsage, modeOfUse } = engine.readKeyAttributes(keyBlock)
  assert.deepEqual(
    [keyUsage, algorithm, modeOfUse, exportability],
    [kind.keyUsage, kind.algorithm, kind.modeOfUse, 'N'],
  )
  for (const other of keyNames.filter((each) => each !== name)) {
    await assert.rejects(engine.open(kindOf(other), keyBlock), `${name} as ${other}`)
  }
}
