import type { ApplicationDataLayout, ChipProfile } from './chip-profile.ts'

/** The state of a chip as it reports it in the issuer application data (9F10). */
export interface ChipReport {
  /** 0 to 255: names the keys of the chip. */
  readonly derivationKeyIndex: number
  /** The chip itself declined the transaction. The cryptogram covers it, unlike tag 9F27. */
  readonly isDeclined: boolean
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
  const byteOf = (byte: number): number => bytes[layout.resultsAt + byte - 1] ?? 0
  const hasBit = ([byte, bit]: readonly [number, number]): boolean =>
    (byteOf(byte) & maskOf(bit)) !== 0
  const halfOf = ({ byte, half }: HalfByte): number =>
    half === 'high' ? byteOf(byte) >> 4 : byteOf(byte) & 0x0f
  const isOfflinePinBlocked = hasBit(offlinePin.blocked)
  const reported = offlinePin.remainingTries && halfOf(offlinePin.remainingTries)
  return {
    derivationKeyIndex: bytes[layout.derivationKeyIndexAt] ?? 0,
    isDeclined: (byteOf(layout.firstCryptogramByte) & firstCryptogramKind) === 0,
    isOfflinePinPerformed: hasBit(offlinePin.performed),
    isOfflinePinFailed: hasBit(offlinePin.failed),
    isOfflinePinBlocked,
    remainingOfflineTries: isOfflinePinBlocked ? 0 : reported,
    processedCommands: halfOf(commands.processed),
    hasFailedCommand: hasBit(commands.failed),
    isLastOnlineIncomplete: commands.lastOnlineIncomplete && hasBit(commands.lastOnlineIncomplete),
  }
}

/** Composes the issuer application data of an online request, or of a decline. */
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
  const kindAt = layout.resultsAt + layout.firstCryptogramByte - 1
  if (report.isDeclined) bytes[kindAt] = (bytes[kindAt] ?? 0) & ~firstCryptogramKind
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

/** Bits 6 and 5. */
const firstCryptogramKind = 0x30

/** Bits are numbered from 1, the lowest. */
const maskOf = (bit: number): number => 1 << (bit - 1)
