import { visit } from 'jsonc-parser'
import { isInstant } from '../../domain/calendar.ts'
import {
  type ClientDeclineReason,
  clientDeclineCodes,
  type DecisionAnswer,
  type DecisionVerdict,
  verdicts,
} from '../../domain/decision.ts'
import { type Members, toMembers } from '../../domain/members.ts'
import type { Money } from '../../domain/money.ts'
import { holdsPan, withoutUuids } from '../../domain/pan.ts'
import type { DeclineCode } from '../../domain/response-code.ts'

/** The terms that an answer must meet. */
export interface AnswerTerms {
  readonly decisionId: string
  /** The amount that an approval holds; null if it holds nothing. */
  readonly hold: Money | null
  readonly partialAllowed: boolean
  readonly now: Date
}

/** The most bytes of an answer. */
export const answerBytesMax = 16_384

/** The longest time that an answer may hold money. */
const holdMostMs = 31 * 86_400_000

/** The most characters of metadata, as compact JSON. */
const metadataMost = 2_000

type Fault = 'bad_body' | 'bad_amount'

/** The answer, or why it cannot be used. */
export type ParsedAnswer = { readonly answer: DecisionAnswer } | { readonly error: Fault }

/** The members that can be wrong. */
export type AnswerMember =
  | 'decision'
  | 'decisionId'
  | 'amount'
  | 'reason'
  | 'responseCode'
  | 'holdExpiresAt'
  | 'metadata'

/** The answer, or the member that makes it unusable. */
type CheckedAnswer = { readonly answer: DecisionAnswer } | { readonly member: AnswerMember }

/** Thrown inside of this file only. */
class UnusableAnswer extends Error {
  readonly member: AnswerMember

  constructor(member: AnswerMember) {
    super(member)
    this.member = member
  }
}

/** Parses the bytes of an answer in the format `pinfold`. Unknown members are ignored. */
export function parsePinfoldAnswer(bytes: Uint8Array, terms: AnswerTerms): ParsedAnswer {
  const members = parseMembers(bytes)
  return members === null ? { error: 'bad_body' } : checkAnswer(members, terms)
}

/**
 * Parses bytes as an object of JSON in UTF-8.
 * @returns null for anything else, also for an object with two members of one name: another reader
 *   may take the other one.
 */
export function parseMembers(bytes: Uint8Array): Members | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    const value: unknown = JSON.parse(text)
    if (Array.isArray(value) || hasDuplicates(text)) return null
    return typeof value === 'object' && value !== null ? toMembers(value) : null
  } catch {
    return null
  }
}

function hasDuplicates(text: string): boolean {
  const open: Set<string>[] = []
  let found = false
  visit(text, {
    onObjectBegin: () => {
      open.push(new Set())
    },
    onObjectProperty: (name) => {
      const names = open.at(-1)
      found ||= names?.has(name) === true
      names?.add(name)
    },
    onObjectEnd: () => {
      open.pop()
    },
  })
  return found
}

/** Checks the members of an answer by HTTP. */
export function checkAnswer(members: Members, terms: AnswerTerms): ParsedAnswer {
  const checked = findAnswer(members, terms)
  if ('answer' in checked) return checked
  return { error: checked.member === 'amount' ? 'bad_amount' : 'bad_body' }
}

/**
 * Checks the members of an answer, whatever way it came.
 * What an answer of its decision does not need is not checked, such as the amount of a decline.
 */
export function findAnswer(members: Members, terms: AnswerTerms): CheckedAnswer {
  try {
    const { decision, decisionId } = members
    const isOther = decisionId !== undefined && decisionId !== terms.decisionId
    if (isOther) throw new UnusableAnswer('decisionId')
    if (!isVerdict(decision)) throw new UnusableAnswer('decision')
    const metadata = checkMetadata(members.metadata)
    return { answer: { ...checkVerdict(decision, members, terms), metadata } }
  } catch (error) {
    if (error instanceof UnusableAnswer) return { member: error.member }
    throw error
  }
}

type Verdict = Omit<DecisionAnswer, 'metadata'>

const withoutDetails = { amount: null, reason: null, responseCode: null, holdExpiresAt: null }

function checkVerdict(decision: DecisionVerdict, members: Members, terms: AnswerTerms): Verdict {
  if (decision === 'challenge') return { decision, ...withoutDetails }
  if (decision === 'decline') {
    return {
      decision,
      ...withoutDetails,
      reason: checkReason(members.reason),
      responseCode: checkResponseCode(members.responseCode),
    }
  }
  return {
    decision,
    ...withoutDetails,
    amount: checkAmount(members.amount, terms),
    holdExpiresAt: checkHoldExpiry(members.holdExpiresAt, terms),
  }
}

const isVerdict = (value: unknown): value is DecisionVerdict =>
  verdicts.some((verdict) => verdict === value)

/** An amount equal to the hold is all of it. It needs no permission for a part. */
function checkAmount(amount: unknown, { hold, partialAllowed }: AnswerTerms): number | null {
  if (isAbsent(amount)) return null
  const isInRange =
    hold !== null &&
    typeof amount === 'number' &&
    Number.isInteger(amount) &&
    amount >= 1 &&
    amount <= hold.amount
  if (!isInRange) throw new UnusableAnswer('amount')
  if (amount === hold.amount) return null
  if (!partialAllowed) throw new UnusableAnswer('amount')
  return amount
}

function checkReason(reason: unknown): ClientDeclineReason | null {
  if (isAbsent(reason)) return null
  if (typeof reason === 'string' && Object.hasOwn(clientDeclineCodes, reason))
    return reason as ClientDeclineReason
  throw new UnusableAnswer('reason')
}

function checkResponseCode(responseCode: unknown): DeclineCode | null {
  if (isAbsent(responseCode)) return null
  const known = Object.values(clientDeclineCodes).find((code) => code === responseCode)
  if (known === undefined) throw new UnusableAnswer('responseCode')
  return known
}

function checkHoldExpiry(expiry: unknown, { hold, now }: AnswerTerms): Date | null {
  if (isAbsent(expiry)) return null
  const at = typeof expiry === 'string' && isInstant(expiry) ? new Date(expiry) : null
  const lastsMs = at === null ? Number.NaN : at.getTime() - now.getTime()
  if (!(lastsMs > 0 && lastsMs <= holdMostMs)) throw new UnusableAnswer('holdExpiresAt')
  return hold === null ? null : at
}

function checkMetadata(metadata: unknown): string | null {
  if (isAbsent(metadata)) return null
  if (typeof metadata !== 'object' || Array.isArray(metadata)) throw new UnusableAnswer('metadata')
  const text = stringify(metadata)
  const isSound = text.length <= metadataMost && !listTexts(metadata).some(mayHidePan)
  if (!isSound) throw new UnusableAnswer('metadata')
  return text
}

/** Lists the names and the values of JSON, without its escapes. */
function listTexts(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [String(value)]
  if (Array.isArray(value)) return value.flatMap(listTexts)
  return Object.entries(value).flatMap(([name, member]) => [name, ...listTexts(member)])
}

/** Whether a text may hold a PAN, also one with other signs between its groups of digits. */
function mayHidePan(text: string): boolean {
  const plain = withoutUuids(text)
  return holdsPan(plain) || holdsPan(plain.replaceAll(/[^\p{L}\p{N}]+/gu, '.'))
}

function stringify(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch {
    // It is nested too deeply.
    throw new UnusableAnswer('metadata')
  }
}

/** Many serializers write `null` for what is not there. */
const isAbsent = (value: unknown): value is null | undefined =>
  value === undefined || value === null
