import type { ChipProfile } from '../../domain/chip-profile.ts'
import type { CardReference, KeyReference, SealedPin } from './card.ts'

/** A chip, and how it makes cryptograms. */
export interface ChipReference {
  readonly card: CardReference
  /** 2 digits; `00` where the chip has none. */
  readonly panSequenceNumber: string
  readonly profile: ChipProfile
}

/** A cryptogram with the values that it was made with. */
export interface ChipCryptogram {
  /** The bytes that it is made over (src/domain/chip-profile.ts). */
  readonly data: Uint8Array
  /** 2 bytes. */
  readonly atc: Uint8Array
  /** 4 bytes. */
  readonly unpredictableNumber: Uint8Array
  /** 8 bytes. */
  readonly arqc: Uint8Array
}

/** The answer of the issuer: a response code (2 bytes), or a status update (4 bytes). */
export type ChipAnswer =
  | { readonly responseCode: Uint8Array }
  | { readonly cardStatusUpdate: Uint8Array; readonly proprietaryData: Uint8Array }

/** The keys of a script. */
export interface ScriptKeys {
  readonly ac: KeyReference
  readonly smc: KeyReference
  readonly smi: KeyReference
}

/**
 * The verbs on chips. Keys of cards and of sessions exist only inside the boundary, for the time of
 * one call. Each throws `UnknownKey` for a version that is retired or does not exist.
 */
export interface ChipHsm {
  /**
   * Verifies a cryptogram in constant time, and answers it. Both in one call, as payment HSMs do:
   * the keys of the card are derived once.
   * @returns the response cryptogram for the answer, as answerCryptogram returns it; null unless
   *   the chip made the cryptogram.
   */
  verifyCryptogram(
    chip: ChipReference,
    key: KeyReference,
    cryptogram: ChipCryptogram,
    answer: ChipAnswer,
  ): Promise<Uint8Array | null>
  /**
   * Answers a cryptogram that was verified, in another way than verifyCryptogram did (EMV Book 2,
   * 8.2).
   * @returns 8 bytes for a response code, 4 for a status update.
   */
  answerCryptogram(
    chip: ChipReference,
    key: KeyReference,
    cryptogram: ChipCryptogram,
    answer: ChipAnswer,
  ): Promise<Uint8Array>
  /**
   * Makes a command with clear data or none, such as one that blocks the application.
   * @param header CLA, INS, P1 and P2 (ISO/IEC 7816-4).
   * @returns the command with its MAC, as the chip takes it.
   */
  makeCommand(
    chip: ChipReference,
    keys: ScriptKeys,
    cryptogram: ChipCryptogram,
    header: Uint8Array,
    data: Uint8Array,
  ): Promise<Uint8Array>
  /**
   * Makes the command that changes the PIN in the chip: PIN CHANGE/UNBLOCK with P2 02, which does
   * not prove the current PIN.
   */
  makePinChange(
    chip: ChipReference,
    keys: ScriptKeys,
    cryptogram: ChipCryptogram,
    newPin: SealedPin,
  ): Promise<Uint8Array>
}

/** A command that a chip accepts. */
interface OpenedCommand {
  /** The new PIN of PIN CHANGE/UNBLOCK, sealed under the active key; null for other commands. */
  readonly newPin: SealedPin | null
}

/** The verbs of a chip itself. For the sandbox's virtual chips. */
export interface VirtualChipHsm {
  /**
   * Makes a cryptogram as the chip does.
   * @returns 8 bytes.
   */
  generateCryptogram(
    chip: ChipReference,
    key: KeyReference,
    made: Omit<ChipCryptogram, 'arqc'>,
  ): Promise<Uint8Array>
  /**
   * Verifies the MAC of a command, in constant time, and opens the new PIN in it.
   * @param command as {@link ChipHsm.makeCommand} and {@link ChipHsm.makePinChange} return it.
   * @returns null for any fault.
   */
  openCommand(
    chip: ChipReference,
    keys: ScriptKeys,
    cryptogram: ChipCryptogram,
    command: Uint8Array,
  ): Promise<OpenedCommand | null>
}
