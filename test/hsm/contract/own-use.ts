import assert from 'node:assert/strict'
import {
  type KeyKind,
  type KeyName,
  keyCatalogue,
  keyNames,
} from '../../../src/hsm/contract/catalogue.ts'
import type { KeyEngine } from '../../../src/hsm/keys/key-engine.ts'

const kindOf = (name: KeyName): KeyKind => keyCatalogue[name].kind

/** Asserts that a key says what it is for, and opens for that and for nothing else. */
export async function assertOwnUseOnly(
  engine: KeyEngine,
  name: KeyName,
  keyBlock: string,
): Promise<void> {
  const kind = kindOf(name)
  await engine.open(kind, keyBlock)
  const { algorithm, exportability, keyUsage, modeOfUse } = engine.usageOf(keyBlock)
  assert.deepEqual(
    [keyUsage, algorithm, modeOfUse, exportability],
    [kind.keyUsage, kind.algorithm, kind.modeOfUse, 'N'],
  )
  for (const other of keyNames.filter((each) => each !== name)) {
    await assert.rejects(engine.open(kindOf(other), keyBlock), `${name} as ${other}`)
  }
}
