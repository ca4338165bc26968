import * as emvKeys from '../../crypto/emv-keys.ts'
import { using } from '../../crypto/secrets.ts'
import type { KeyReference } from '../contract/card.ts'
import type { ChipCryptogram, ChipReference, ScriptKeys } from '../contract/chip.ts'
import { UnknownKey } from '../contract/stored-keys.ts'
import { findNamedKey, type KeyRing } from '../keys/key-ring.ts'
import { openPan } from './card-numbers.ts'

/** The names of the keys that chips' keys are derived from. */
type ChipKeyName = 'chip-ac' | 'chip-smc' | 'chip-smi'

/** Derives the keys of cards. The caller wipes them. */
export interface ChipKeys {
  deriveCardKey(chip: ChipReference, name: ChipKeyName, reference: KeyReference): Promise<Buffer>
  /** Derives the key of secure messaging for one command. */
  deriveMessagingKey(
    chip: ChipReference,
    name: ChipKeyName,
    reference: KeyReference,
    cryptogram: ChipCryptogram,
  ): Promise<Buffer>
  /** Derives the keys that protect a new PIN, and wipes them after their use. */
  usePinKeys<Result>(
    chip: ChipReference,
    keys: ScriptKeys,
    cryptogram: ChipCryptogram,
    use: (keys: PinKeys) => Result,
  ): Promise<Result>
}

/** The keys that protect a new PIN in a command. */
interface PinKeys {
  /** The card key for cryptograms, a part of which Visa combines with the PIN. */
  readonly cardKey: Buffer
  /** The key that enciphers the command. */
  readonly sessionKey: Buffer
}

/** Derives the keys of chips from those of their issuer. */
export function chipKeys(ring: KeyRing): ChipKeys {
  const deriveCardKey: ChipKeys['deriveCardKey'] = async (chip, name, reference) => {
    const known = await findNamedKey(ring, name, reference)
    if (!known) throw new UnknownKey()
    const pan = await openPan(ring, chip.card)
    const identity = { pan: pan.reveal(), panSequenceNumber: chip.panSequenceNumber }
    return emvKeys.deriveCardKey(chip.profile.cardKey, known.key, identity)
  }
  const deriveMessagingKey: ChipKeys['deriveMessagingKey'] = async (
    chip,
    name,
    reference,
    { arqc, atc },
  ) =>
    using(await deriveCardKey(chip, name, reference), (cardKey) =>
      chip.profile.messaging.sessionKey === 'visa'
        ? emvKeys.deriveVisaMessagingKey(cardKey, atc)
        : emvKeys.deriveSessionKey(cardKey, arqc),
    )
  return {
    deriveCardKey,
    deriveMessagingKey,
    async usePinKeys(chip, keys, cryptogram, use) {
      const sessionKey = await deriveMessagingKey(chip, 'chip-smc', keys.smc, cryptogram)
      try {
        const cardKey = await deriveCardKey(chip, 'chip-ac', keys.ac)
        return using(cardKey, () => use({ cardKey, sessionKey }))
      } finally {
        sessionKey.fill(0)
      }
    },
  }
}

/** Derives the key of a cryptogram: the card's own where its profile has no session keys. */
export function deriveCryptogramKey(
  { profile }: ChipReference,
  cardKey: Buffer,
  { atc, unpredictableNumber }: Omit<ChipCryptogram, 'arqc'>,
): Buffer {
  if (profile.sessionKey === 'none') return Buffer.from(cardKey)
  const diversifier =
    profile.sessionKey === 'common'
      ? emvKeys.diversifyByAtc(atc)
      : emvKeys.diversifyMChip(atc, unpredictableNumber)
  return emvKeys.deriveSessionKey(cardKey, diversifier)
}
