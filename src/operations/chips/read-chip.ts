import {
  type ChipReport,
  parseApplicationData,
  readInformationKind,
} from '../../domain/chip-application-data.ts'
import { composeChipData, parseChipData } from '../../domain/chip-data.ts'
import { approvalCode, composeToldDecision } from '../../domain/chip-decision.ts'
import type { ChipFinding } from '../../domain/chip-findings.ts'
import { type ChipTags, chipProfiles, composeCryptogramData } from '../../domain/chip-profile.ts'
import { chipTransactionTypes } from '../../domain/chip-transaction-types.ts'
import { findCountryNumber } from '../../domain/countries.ts'
import { findCurrency } from '../../domain/currencies.ts'
import { type CardRead, isChipRead } from '../../domain/entry-mode.ts'
import { findChipKeyVersion } from '../../domain/product-chip.ts'
import { isApprovalCode } from '../../domain/response-code.ts'
import type { Transaction, TransactionType } from '../../domain/transaction.ts'
import type { ChipAnswer, ChipCryptogram, ChipReference } from '../../hsm/contract/chip.ts'
import type { Hsm } from '../../hsm/contract/hsm.ts'
import { UnknownKey } from '../../hsm/contract/stored-keys.ts'
import type { ChipKey, FoundChip } from '../../storage/chips/find-chip.ts'
import { checkOfflinePin } from './check-offline-pin.ts'
import { composeReport } from './chip-report.ts'
import { composeCommands, type ReportedChip } from './commands.ts'
import type { ChipCheck, PresentedChip } from './presented-chip.ts'

/** The dependencies of reading a chip. */
interface ChipReader {
  readonly hsm: Hsm
  readonly observe: { hsmFaulted(error: unknown): void }
  now(): Date
}

/** A message with chip data. */
export interface ChipMessage {
  readonly chip: {
    readonly data: Uint8Array
    readonly panSequenceNumber?: string
    readonly acquirerCountry?: string
    readonly localDate?: string
  }
  readonly cardRead: CardRead
  readonly transaction: Pick<Transaction, 'money' | 'cashbackAmount' | 'merchant'> & {
    /** Null where the message does not say it. */
    readonly transactionType: TransactionType | null
  }
  readonly hasPinBlock: boolean
  /** Whether it reports a transaction that ended without the issuer. */
  readonly isAdvice?: boolean
}

/** Chip data whose tags were parsed. */
export interface ParsedChip extends NonNullable<ChipKey['read']> {
  /** Null if the data, or the sequence number of the PAN, cannot be read. */
  readonly tags: ChipTags | null
}

/** Parses chip data, and names their chip. */
export function parseChip({ data, panSequenceNumber: given }: ChipMessage['chip']): ParsedChip {
  const tags = readTags(data)
  const number = toHex(tags?.get('5F34')) || given || '00'
  const atc = readNumber(tags?.get('9F36'))
  return /^\d\d$/.test(number)
    ? { tags, panSequenceNumber: number, atc }
    : { tags: null, panSequenceNumber: '00', atc }
}

/**
 * Reads the chip of a message, and verifies its cryptogram with one call of the HSM. Nothing is
 * recorded.
 * @returns null if the card has no chip.
 */
export async function readChip(
  context: ChipReader,
  message: ChipMessage,
  { atc, panSequenceNumber, tags }: ParsedChip,
  found: FoundChip,
): Promise<PresentedChip | null> {
  if (found.cardType !== 'Physical') return null
  const read = tags && parseMessage(message, found, tags, panSequenceNumber)
  if (!read) return refuse([{ check: 'chip', result: 'failed', responseCode: '88' }])
  return { ...(await verify(context, message, found, { ...read, atc })), panSequenceNumber }
}

/** A message that was read, with the data to verify. */
interface ReadMessage {
  readonly tags: ChipTags
  readonly chip: ChipReference
  readonly keyVersion: number
  readonly cryptogram: ChipCryptogram
  readonly report: ChipReport
  /** The chip itself declined the transaction, and its terminal went online nevertheless. */
  readonly isDeclined: boolean
  readonly atc: number
}

const readTags = (data: Uint8Array): ChipTags | null => {
  const parsed = parseChipData(data)
  return 'tags' in parsed ? parsed.tags : null
}

const toHex = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString('hex')

const readNumber = (bytes: Uint8Array | undefined): number =>
  bytes?.length === 2 ? Buffer.from(bytes).readUInt16BE() : 0

/** Returns null unless the data are those of a chip of the product's profile. */
function parseMessage(
  { cardRead, isAdvice }: ChipMessage,
  { chip: product, encryptedPan, publicToken }: FoundChip,
  tags: ChipTags,
  panSequenceNumber: string,
): Omit<ReadMessage, 'atc'> | null {
  const profile = chipProfiles[product.profile]
  const data = composeCryptogramData(profile, tags)
  const report = parseApplicationData(profile, tags.get('9F10') ?? Buffer.alloc(0))
  const [arqc, atc, unpredictableNumber] = ['9F26', '9F36', '9F37'].map((tag) => tags.get(tag))
  if (!data || !report || !arqc || arqc.length !== 8 || !atc || !unpredictableNumber) return null
  const { kind } = report
  // The cryptogram covers the verification results, and not what the terminal says.
  const information = tags.get('9F27')
  if (information && readInformationKind(information[0] ?? 0) !== kind) return null
  // A transaction that a chip approved offline is reported in an advice, and requests nothing.
  const isFit = isAdvice || kind !== 'approval'
  if (!isFit || !isChipRead(cardRead)) return null
  return {
    tags,
    chip: { card: { publicToken, encryptedPan }, panSequenceNumber, profile },
    keyVersion: findChipKeyVersion(product, report.derivationKeyIndex),
    cryptogram: { data, atc, unpredictableNumber, arqc },
    report,
    isDeclined: !isAdvice && kind === 'decline',
  }
}

const refuse = (checks: readonly ChipCheck[]): PresentedChip => ({
  checks,
  panSequenceNumber: null,
  objection: checks.at(-1)?.responseCode ?? null,
  use: null,
  reported: null,
  answer: async () => null,
})

/** A right cryptogram with its approval, a wrong one, one of an unknown key, or an outage. */
type Verdict =
  | { readonly is: 'right'; readonly approval: Uint8Array }
  | { readonly is: 'wrong' | 'unknown_key' | 'unresolved' }

async function verify(
  context: ChipReader,
  message: ChipMessage,
  found: FoundChip,
  read: ReadMessage,
): Promise<PresentedChip> {
  const { atc, chip, keyVersion, report, tags } = read
  const verdict = await verifyCryptogram(context, read)
  const chipCheck = checkData(message, found, read)
  const counted = { check: 'cryptogram', atc } as const
  if (verdict.is !== 'right') {
    const isAway = verdict.is === 'unresolved'
    const isUnknown = verdict.is === 'unknown_key'
    const objected: ChipCheck = {
      ...counted,
      result: isAway ? 'unresolved' : 'failed',
      ...(isUnknown && { findings: ['key_unknown'] }),
      responseCode: isAway ? '96' : '88',
    }
    // Both are on record. The cryptogram decides, so that each wrong one counts as a guess.
    return refuse([noteOnly(chipCheck), objected])
  }
  if (!found.isFresh && !message.isAdvice) return refuse(listReplay([chipCheck], atc))
  const isPinBlocked = ((tags.get('95')?.[2] ?? 0) & pinTriesUsedUp) !== 0
  const passed: ChipCheck = { ...counted, result: 'passed', ...listFindings(found, read) }
  const compared = read.isDeclined ? declineWithChip(chipCheck) : chipCheck
  const checks: readonly ChipCheck[] = compared.responseCode
    ? [passed, compared]
    : [compared, passed, ...checkOfflinePin(report, isPinBlocked, message.hasPinBlock)]
  const { panSequenceNumber } = chip
  const reported = composeReport(message, found, read, context.now())
  return {
    checks,
    panSequenceNumber,
    objection: checks.at(-1)?.responseCode ?? null,
    use: {
      panSequenceNumber,
      atc,
      keyVersion,
      contactAtc: message.cardRead === 'chip' ? atc : null,
      atcWindow: found.chip.atcWindow,
      remainingOfflineTries: report.remainingOfflineTries,
    },
    reported,
    answer: composeAnswersOnce(context, read, reported, verdict.approval),
  }
}

/** TVR, byte 3, bit 6: the tries of the PIN in the chip are used up (EMV Book 3, annex C5). */
const pinTriesUsedUp = 0x20

async function verifyCryptogram(
  { hsm, observe }: ChipReader,
  { chip, cryptogram, keyVersion }: ReadMessage,
): Promise<Verdict> {
  try {
    const answer = selectAnswer(chip, approvalCode)
    const key = `chip-ac/${keyVersion}`
    const arpc = await hsm.verifyCryptogram(chip, key, cryptogram, answer)
    return arpc ? { is: 'right', approval: composeIssuerData(arpc, answer) } : { is: 'wrong' }
  } catch (error) {
    // Any message can name a key that does not exist.
    if (error instanceof UnknownKey) return { is: 'unknown_key' }
    observe.hsmFaulted(error)
    return { is: 'unresolved' }
  }
}

/** A check that is on record, and objects to nothing. */
const noteOnly = ({ responseCode: _, ...check }: ChipCheck): ChipCheck => check

const declineWithChip = ({ check, findings = [] }: ChipCheck): ChipCheck => ({
  check,
  result: 'failed',
  findings: [...findings, 'chip_declined'],
  responseCode: '57',
})

/** The checks of a replay. It is the only objection. */
const listReplay = (checks: readonly ChipCheck[], atc: number): readonly ChipCheck[] => [
  ...checks.filter(({ check, responseCode }) => check === 'chip' && !responseCode),
  {
    check: 'cryptogram',
    result: 'failed',
    atc,
    findings: ['cryptogram_replayed'],
    responseCode: '88',
  },
]

/** The chip or the stripe of a message whose cryptogram or value another message used first. */
export function declineReplayedChip({ checks, use }: PresentedChip): PresentedChip {
  if (!use) throw new Error('A chip that was not used was replayed.')
  if (use.panSequenceNumber !== null) return refuse(listReplay(checks, use.atc))
  const at = checks.findIndex(({ check }) => check === 'card_value')
  const replay: ChipCheck = {
    check: 'card_value',
    result: 'failed',
    atc: use.atc,
    findings: ['cryptogram_replayed'],
    responseCode: '88',
  }
  return refuse([...checks.slice(0, at), replay])
}

/** Compares the chip data with the message, and the words of the terminal with the chip's. */
function checkData(
  message: ChipMessage,
  { chip }: FoundChip,
  { report, tags }: ReadMessage,
): ChipCheck {
  const check = 'chip'
  const isMore = isMoreThanChipSaw(message.transaction, tags)
  const isOther = isOtherTransaction(message, tags) || isPinDisputed(report, tags)
  if (!isMore && !isOther) return { check, result: 'passed' }
  const findings: ChipFinding[] = ['data_disagreement']
  return isMore || chip.disagreement === 'decline'
    ? { check, result: 'failed', findings, responseCode: '88' }
    : { check, result: 'passed', findings }
}

/**
 * Whether the message asks for more than the chip made its cryptogram for, in all or in cash, or
 * for an amount in another currency, which cannot be compared.
 */
function isMoreThanChipSaw(
  { cashbackAmount, money }: ChipMessage['transaction'],
  tags: ChipTags,
): boolean {
  if (money === null || money.amount === 0) return false
  const { amount, cashback, currency } = readChipMoney(tags)
  if (amount === null || currency !== money.currency || money.amount > amount) return true
  return cashbackAmount !== null && (cashback === null || cashbackAmount > cashback)
}

/** The methods by which the chip compares a PIN (tag 9F34, byte 1; EMV Book 3, annex C3). */
const offlinePinMethods: readonly number[] = [0x01, 0x03, 0x04, 0x05]
/** Byte 3 of tag 9F34: the method was successful (EMV Book 4, A4). */
const methodSuccessful = 0x02

/**
 * Whether the terminal says that the chip took a PIN, and the chip does not. A device between both
 * can make a terminal believe so; the cryptogram covers only what the chip says.
 */
function isPinDisputed(
  { isOfflinePinFailed, isOfflinePinPerformed }: ChipReport,
  tags: ChipTags,
): boolean {
  const [method = 0, , result] = tags.get('9F34') ?? []
  const isClaimed = result === methodSuccessful && offlinePinMethods.includes(method & 0x3f)
  return isClaimed && (!isOfflinePinPerformed || isOfflinePinFailed)
}

/** Reads the money that the cryptogram covers; null for members that the chip cannot have seen. */
const readChipMoney = (tags: ChipTags) => {
  const [, currency = ''] = /^0([0-9]{3})$/.exec(toHex(tags.get('5F2A'))) ?? []
  return {
    amount: readDecimal(tags.get('9F02')),
    cashback: readDecimal(tags.get('9F03')),
    currency: findCurrency(currency)?.code ?? null,
  }
}

/** Reads BCD: Number would read hexadecimal digits such as 01E2 as a power of ten. */
const readDecimal = (bytes: Uint8Array | undefined): number | null => {
  const digits = toHex(bytes)
  return /^[0-9]{12}$/.test(digits) ? Number(digits) : null
}

/** Whether an amount, the country, the date or the type differs. What is absent agrees. */
function isOtherTransaction({ chip, transaction }: ChipMessage, tags: ChipTags): boolean {
  const { cashbackAmount, merchant, money, transactionType } = transaction
  const seen = readChipMoney(tags)
  const isOtherAmount = money !== null && seen.amount !== money.amount
  const isOtherCashback = cashbackAmount !== null && seen.cashback !== cashbackAmount
  // An acquirer may be in another country than its terminal, so the merchant's country comes first.
  const country = findCountryNumber(merchant?.country ?? '') ?? chip.acquirerCountry
  const isOtherCountry = country !== undefined && toHex(tags.get('9F1A')) !== `0${country}`
  const isOtherDate =
    chip.localDate !== undefined && toHex(tags.get('9A')).slice(2) !== chip.localDate
  const isOtherType =
    transactionType !== null &&
    !chipTransactionTypes[transactionType].includes(toHex(tags.get('9C')))
  return isOtherAmount || isOtherCashback || isOtherCountry || isOtherDate || isOtherType
}

function listFindings(
  { chip, highestAtc }: FoundChip,
  { atc, report }: ReadMessage,
): Pick<ChipCheck, 'findings'> {
  const findings: ChipFinding[] = []
  if (highestAtc !== null && atc - highestAtc > chip.atcJump) findings.push('atc_jump')
  if (report.hasFailedCommand) findings.push('command_failed')
  return findings.length > 0 ? { findings } : {}
}

/**
 * The commands are composed once, because they do not depend on the response code.
 * @param approval tag 91 of an approval.
 */
function composeAnswersOnce(
  context: ChipReader,
  { chip, cryptogram, keyVersion }: ReadMessage,
  reported: ReportedChip,
  approval: Uint8Array,
): PresentedChip['answer'] {
  type Composed = Awaited<ReturnType<typeof composeCommands>>
  let commands: Promise<Composed> | null = null
  const authenticate = async (code: string): Promise<Uint8Array> => {
    if (code === approvalCode) return approval
    const answer = selectAnswer(chip, code)
    const key = `chip-ac/${keyVersion}`
    return composeIssuerData(
      await context.hsm.answerCryptogram(chip, key, cryptogram, answer),
      answer,
    )
  }
  const compose = async (code: string) => {
    try {
      const issuer = await authenticate(code)
      commands ??= composeCommands(context, { ...chip, keyVersion }, reported, cryptogram)
      const { bytes, sent } = await commands
      const data = Buffer.concat([composeChipData([['91', issuer]]), bytes])
      return { data: data.toString('hex'), sent }
    } catch (error) {
      context.observe.hsmFaulted(error)
      return null
    }
  }
  const answers = new Map<string, ReturnType<typeof compose>>()
  return (responseCode) => {
    const code = isApprovalCode(responseCode) ? approvalCode : responseCode
    const answer = answers.get(code) ?? compose(code)
    answers.set(code, answer)
    return answer
  }
}

/** Selects the decision of tag 91: by method 1 the response code, by 2 the card status update. */
function selectAnswer({ profile }: ChipReference, code: string): ChipAnswer {
  const told = composeToldDecision(profile, code)
  return profile.answer.method === 1
    ? { responseCode: told }
    : { cardStatusUpdate: told, proprietaryData: Buffer.alloc(0) }
}

/** Composes the value of tag 91. */
const composeIssuerData = (arpc: Uint8Array, answer: ChipAnswer): Buffer =>
  Buffer.concat([arpc, 'responseCode' in answer ? answer.responseCode : answer.cardStatusUpdate])
