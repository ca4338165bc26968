import type { KeyEngine } from '../key-engine.ts'
import { refuseUnfitKey } from '../key-fitness.ts'
import { KeyRefusal } from '../key-strength.ts'
import type { KeyKind } from '../key-table.ts'
import type { Token } from './token.ts'
import { readReference, useOf } from './token-key.ts'
import { tokenKeys } from './token-keys.ts'

/** Keys that lie and work in a PKCS#11 token; the key store keeps references to them. */
export const openPkcs11KeyEngine = (token: Token): KeyEngine => ({
  async generate(kind, exportability = 'N', signal) {
    if (exportability !== 'N') throw new KeyRefusal('A key of a token does not leave it.')
    if (kind.algorithm === 'R') return token.generateApart(kind, signal)
    return token.ask('generate', kind)
  },
  async import(kind, key) {
    refuseUnfitKey(kind, key)
    return token.ask('import', kind, key)
  },
  async open(kind, reference) {
    refuseOtherUse(kind, reference)
    return tokenKeys[kind.action](token, reference, await token.ask('inspect', reference))
  },
  usageOf(reference) {
    const { algorithm, exportability, keyUsage, modeOfUse } = useOf(readReference(reference))
    return { keyUsage, algorithm, modeOfUse, exportability }
  },
  random: (lengthBytes) => token.ask('random', lengthBytes),
})

/** A reference moved to another row must not turn a key into one with another use or purpose. */
function refuseOtherUse(kind: KeyKind, reference: string): void {
  const { algorithm, keyUsage, modeOfUse, purpose } = useOf(readReference(reference))
  const isForThis =
    keyUsage === kind.keyUsage &&
    algorithm === kind.algorithm &&
    modeOfUse === kind.modeOfUse &&
    (purpose ?? kind.purpose) === kind.purpose
  if (!isForThis) throw new Error('This key is for another use.')
}
