import type { ApplicationDataLayout, ChipProfile } from './chip-profile.ts'

/**
 * What a cryptogram means: the chip asks the issuer (ARQC), or approved (TC) or declined (AAC) the
 * transaction itself.
 */
export type ChipCryptogramKind = 'request' | 'approval' | 'decline'

/** The state of a chip as it reports it in the issuer application data (9F10). */
export interface ChipReport {
  /** 0 to 255: names the keys of the chip. */
  readonly derivationKeyIndex: number
  /** The cryptogram covers it, unlike tag 9F27. */
  readonly kind: ChipCryptogramKind
  readonly isOfflinePinPerformed: boolean
  readonly isOfflinePinFailed: boolean
  /** The tries of the PIN in the chip are used up. */
  readonly isOfflinePinBlocked: boolean
  /** The lowest four bits; null where the profile's chips do not report them. */
  readonly remainingOfflineTries: number | null
  /** How many commands of the previous answer the chip executed: 0 to 15. */
  readonly processedCommands: number
  /** Whether one of them failed. */
  readonly hasFailedCommand: boolean
  /** The last online transaction was not completed; null where the chips do not report it. */
  readonly isLastOnlineIncomplete: boolean | null
}

type Layout = Pick<ChipProfile, 'applicationData'>

/**
 * Reads issuer application data.
 *
 * @returns null if they are not those of the profile.
 */
export function parseApplicationData(
  { applicationData: layout }: Layout,
  bytes: Uint8Array,
): ChipReport | null {
  const { lengths, offlinePin, commands } = layout
  if (bytes.length < lengths.least || bytes.length > lengths.most) return null
  const template = Buffer.from(layout.template, 'hex')
  if (layout.fixedAt.some((at) => bytes[at] !== template[at])) return null
  const kind = readKind(bytes[layout.resultsAt + layout.cryptogramKindsByte - 1] ?? 0)
  if (kind === null) return null
  const byteOf = (byte: number): number => bytes[layout.resultsAt + byte - 1] ?? 0
  const hasBit = ([byte, bit]: readonly [number, number]): boolean =>
    (byteOf(byte) & maskOf(bit)) !== 0
  const halfOf = ({ byte, half }: HalfByte): number =>
    half === 'high' ? byteOf(byte) >> 4 : byteOf(byte) & 0x0f
  const isOfflinePinBlocked = hasBit(offlinePin.blocked)
  const reported = offlinePin.remainingTries && halfOf(offlinePin.remainingTries)
  return {
    derivationKeyIndex: bytes[layout.derivationKeyIndexAt] ?? 0,
    kind,
    isOfflinePinPerformed: hasBit(offlinePin.performed),
    isOfflinePinFailed: hasBit(offlinePin.failed),
    isOfflinePinBlocked,
    remainingOfflineTries: isOfflinePinBlocked ? 0 : reported,
    processedCommands: halfOf(commands.processed),
    hasFailedCommand: hasBit(commands.failed),
    isLastOnlineIncomplete: commands.lastOnlineIncomplete && hasBit(commands.lastOnlineIncomplete),
  }
}

/** Composes the issuer application data of the first cryptogram of a transaction. */
export function composeApplicationData(
  { applicationData: layout }: Layout,
  report: ChipReport,
): Buffer {
  const { commands, offlinePin } = layout
  const bytes = Buffer.from(layout.template, 'hex')
  const add = (byte: number, bits: number): void => {
    const at = layout.resultsAt + byte - 1
    bytes[at] = (bytes[at] ?? 0) | bits
  }
  const setBit = ([byte, bit]: readonly [number, number], isSet: boolean): void => {
    if (isSet) add(byte, maskOf(bit))
  }
  const setHalf = ({ byte, half }: HalfByte, value: number): void =>
    add(byte, half === 'high' ? value << 4 : value)
  bytes[layout.derivationKeyIndexAt] = report.derivationKeyIndex
  const kindsAt = layout.resultsAt + layout.cryptogramKindsByte - 1
  bytes[kindsAt] = ((bytes[kindsAt] ?? 0) & ~kindsMask) | firstKinds[report.kind]
  setBit(offlinePin.performed, report.isOfflinePinPerformed)
  setBit(offlinePin.failed, report.isOfflinePinFailed)
  setBit(offlinePin.blocked, report.isOfflinePinBlocked)
  if (offlinePin.remainingTries) {
    setHalf(offlinePin.remainingTries, report.remainingOfflineTries ?? 0)
  }
  setHalf(commands.processed, report.processedCommands)
  setBit(commands.failed, report.hasFailedCommand)
  if (commands.lastOnlineIncomplete) {
    setBit(commands.lastOnlineIncomplete, report.isLastOnlineIncomplete === true)
  }
  return bytes
}

type HalfByte = ApplicationDataLayout['commands']['processed']

/**
 * Bits 8 and 7 have the kind of the second cryptogram of the transaction, bits 6 and 5 that of the
 * first one. A second one that was not asked for has the code of a request.
 */
const kindsMask = 0xf0

/** The bits of a first cryptogram. */
const firstKinds: Readonly<Record<ChipCryptogramKind, number>> = {
  request: 0xa0,
  approval: 0x90,
  decline: 0x80,
}

const kindCodes: readonly (ChipCryptogramKind | null)[] = ['decline', 'approval', 'request', null]

/** The kind of the newest cryptogram; null for a code that has no meaning. */
function readKind(byte: number): ChipCryptogramKind | null {
  const second = kindCodes[byte >> 6] ?? null
  const first = kindCodes[(byte >> 4) & 3] ?? null
  return second === 'request' || first === null ? first : second
}

/**
 * The kind that tag 9F27 names (EMV Book 3, table 15). No MAC covers it.
 * @returns null for a code that has no meaning.
 */
export const readInformationKind = (byte: number): ChipCryptogramKind | null =>
  kindCodes[byte >> 6] ?? null

/** Bits are numbered from 1, the lowest. */
const maskOf = (bit: number): number => 1 << (bit - 1)
