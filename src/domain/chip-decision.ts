import type { ChipProfile } from './chip-profile.ts'
import { isApprovalCode } from './response-code.ts'

/** Composes the decision in tag 91 for a response code. An approval of a part is an approval. */
export function composeToldDecision(
  { answer: { told } }: Pick<ChipProfile, 'answer'>,
  responseCode: string,
): Buffer {
  const isApproval = isApprovalCode(responseCode)
  return told === 'response_code'
    ? Buffer.from(isApproval ? approvalCode : responseCode, 'latin1')
    : Buffer.from(isApproval ? told.approval : told.decline, 'hex')
}

/** Whether a chip reads an approval in tag 91. */
export function isToldApproval(
  { answer: { told } }: Pick<ChipProfile, 'answer'>,
  bytes: Uint8Array,
): boolean {
  if (told === 'response_code') return Buffer.from(bytes).toString('latin1') === approvalCode
  const [byte, bit] = told.approvedAt
  return ((bytes[byte - 1] ?? 0) & (1 << (bit - 1))) !== 0
}

/** The response code of an approval in tag 91, also of a part of the amount. */
export const approvalCode = '00'
