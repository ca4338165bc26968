import { listChipTags } from '../../domain/chip-data.ts'
import { isToldApproval } from '../../domain/chip-decision.ts'
import type { ChipProfile, CommandTemplate } from '../../domain/chip-profile.ts'
import type { ChipAnswer } from '../../hsm/contract/chip.ts'

/** A command in an answer. */
export interface GivenCommand {
  /** Tag 9F18; 0 without one. */
  readonly number: number
  readonly template: CommandTemplate
  /** Tag 86: the command with its MAC. */
  readonly command: Uint8Array
}

/** The answer of the issuer to a chip (EMV Book 3, 10.9 and 10.10). */
export interface IssuerAnswer {
  /** Tag 91; null without one. */
  readonly authenticationData: Uint8Array | null
  readonly commands: readonly GivenCommand[]
}

/** The templates of commands: before and after the chip decides on the transaction. */
const templateTags = ['71', '72'] as const satisfies readonly CommandTemplate[]

/** Reads field 55 of an answer. @returns null if it cannot be read. */
export function readIssuerAnswer(data: Uint8Array): IssuerAnswer | null {
  const read = listChipTags(data)
  if ('fault' in read) return null
  const commands: GivenCommand[] = []
  for (const [tag, value] of read.list) {
    const template = templateTags.find((each) => each === tag)
    if (!template) continue
    const content = listChipTags(value)
    if ('fault' in content) return null
    const number = readNumber(content.list.find(([inner]) => inner === '9F18')?.[1])
    for (const [inner, command] of content.list) {
      if (inner === '86') commands.push({ number, template, command })
    }
  }
  const authenticationData = read.list.find(([tag]) => tag === '91')?.[1] ?? null
  return { authenticationData, commands }
}

const readNumber = (bytes: Uint8Array | undefined): number =>
  bytes?.length === 4 ? Buffer.from(bytes).readUInt32BE() : 0

/** Tag 91 in its parts, and whether it lets the chip approve. */
interface ReadAuthentication {
  readonly arpc: Uint8Array
  readonly answer: ChipAnswer
  readonly isApproval: boolean
}

/** Takes tag 91 apart as the profile has it. @returns null if it has another length. */
export function readAuthentication(
  profile: ChipProfile,
  data: Uint8Array,
): ReadAuthentication | null {
  if (profile.answer.method === 1) {
    if (data.length !== 10) return null
    const responseCode = data.subarray(8)
    return {
      arpc: data.subarray(0, 8),
      answer: { responseCode },
      isApproval: isToldApproval(profile, responseCode),
    }
  }
  if (data.length < 8 || data.length > 16) return null
  const cardStatusUpdate = data.subarray(4, 8)
  return {
    arpc: data.subarray(0, 4),
    answer: { cardStatusUpdate, proprietaryData: data.subarray(8) },
    isApproval: isToldApproval(profile, cardStatusUpdate),
  }
}
