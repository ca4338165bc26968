import { randomBytes } from 'node:crypto'
import { chooseSequenceNumber } from '../../domain/card-life.ts'
import { composeChipData } from '../../domain/chip-data.ts'
import { type ChipProfileName, chipProfiles } from '../../domain/chip-profile.ts'
import { isPublicToken } from '../../domain/identifiers.ts'
import type { Money } from '../../domain/money.ts'
import type { Pin } from '../../domain/pin.ts'
import { Problem } from '../../domain/problem.ts'
import { findChipKeyVersion, type ProductChip } from '../../domain/product-chip.ts'
import type { StoredPin } from '../../hsm/contract/card.ts'
import type { ChipCryptogram, ChipReference, ScriptKeys } from '../../hsm/contract/chip.ts'
import type { Hsm } from '../../hsm/contract/hsm.ts'
import type { Database } from '../../storage/engine/database.ts'
import * as stored from '../../storage/sandbox/virtual-chips.ts'
import { encryptSimulatedPin } from '../simulator-key.ts'
import { applyCommand } from './apply-command.ts'
import * as transactions from './chip-transaction.ts'
import { type CarriedCommand, composeResults, countCommands } from './command-results.ts'
import { type GivenCommand, readAuthentication, readIssuerAnswer } from './issuer-answer.ts'

/** The dependencies of virtual chips. */
interface VirtualChipContext {
  readonly database: Database
  readonly hsm: Hsm
  now(): Date
}

/** A client with its own cards; null: an operator with any card. */
type ClientId = string | null

/** The members of a virtual chip that its client reads. */
interface VirtualChip {
  readonly publicToken: string
  readonly panSequenceNumber: string
  readonly profile: ChipProfileName
  readonly atc: number
  readonly offlineTryLimit: number
  readonly remainingOfflineTries: number
  readonly isApplicationBlocked: boolean
  readonly isCardBlocked: boolean
  readonly dataObjects: Readonly<Record<string, string>>
}

/** A transaction with the chip at a terminal; by default a purchase without cash. */
interface ChipPurchase
  extends Partial<Pick<transactions.TerminalTransaction, 'cashbackAmount' | 'transactionType'>> {
  /** Null: nothing, in the currency of the product. */
  readonly money: Money | null
  /** The PIN that the chip compares. */
  readonly offlinePin: Pin | null
  /** ISO 3166-1 alpha-3: where the terminal is. Absent: in Spain. */
  readonly country?: string | undefined
}

/** The decision of the chip: an authorization, or no transaction. */
type ChipDecision = 'online' | 'declined'

/** The cryptogram of a transaction, for the terminal. */
export interface MadeCryptogram {
  /** Field 55 in hexadecimal digits. */
  readonly chip: { readonly data: string }
  readonly atc: number
  readonly decision: ChipDecision
  readonly offlinePin: transactions.OfflinePinResult
  readonly remainingOfflineTries: number
}

/** The result of an answer in the chip. */
export interface TakenAnswer {
  readonly answerVerified: boolean
  /** Whether the chip approves the transaction, too. */
  readonly approved: boolean
  readonly commands: CarriedCommand[]
}

/** The chips of a sandbox's cards. */
export interface VirtualChips {
  /** Makes the chip of a card, or another one in its place. */
  make(
    clientId: ClientId,
    publicToken: string,
    offlineTryLimit: number | null,
  ): Promise<VirtualChip>
  /** Makes the first chip of a card. */
  makeIfMissing(clientId: ClientId, publicToken: string): Promise<void>
  read(clientId: ClientId, publicToken: string): Promise<VirtualChip>
  purchase(clientId: ClientId, publicToken: string, purchase: ChipPurchase): Promise<MadeCryptogram>
  /** @param data field 55 of the answer; null without one. */
  takeAnswer(
    clientId: ClientId,
    publicToken: string,
    data: Uint8Array | null,
    isApproved: boolean,
  ): Promise<TakenAnswer>
}

/** How often a change is tried again, because another transaction changed the chip. */
const attemptsMost = 20
const atcMost = 65_535

export function createVirtualChips(context: VirtualChipContext): VirtualChips {
  const { database } = context

  /** Changes the chip once, however many transactions come at a time. */
  async function change<Result>(
    clientId: ClientId,
    publicToken: string,
    work: (present: PresentChip) => Promise<readonly [stored.VirtualChipState, Result]>,
  ): Promise<Result> {
    for (let attempts = 1; attempts <= attemptsMost; attempts += 1) {
      const present = await requireChip(context, clientId, publicToken)
      const [next, result] = await work(present)
      if (await stored.changeVirtualChip(database, present.card.publicToken, next)) return result
    }
    throw new Problem('unavailable', { detail: 'Other transactions use the virtual chip.' })
  }

  async function store(
    { chip, pinTryLimit, plasticNumber, publicToken }: CardWithChip,
    former: stored.VirtualChipState | null,
    offlineTryLimit: number | null,
  ): Promise<void> {
    await stored.makeVirtualChip(database, {
      publicToken,
      panSequenceNumber: chooseSequenceNumber(
        plasticNumber,
        former?.panSequenceNumber ?? null,
        chip.firstPanSequenceNumber,
      ),
      ...(await findKeys(context, chip)),
      offlineTryLimit: offlineTryLimit ?? pinTryLimit,
    })
  }

  return {
    async makeIfMissing(clientId, publicToken) {
      const card = await requireCard(context, clientId, publicToken)
      const present = await stored.findVirtualChip(database, card.publicToken)
      if (!present) await store(card, null, null)
    },
    async make(clientId, publicToken, offlineTryLimit) {
      const card = await requireCard(context, clientId, publicToken)
      const former = await stored.findVirtualChip(database, card.publicToken)
      await store(card, former, offlineTryLimit)
      return show(await requireChip(context, clientId, publicToken))
    },
    async read(clientId, publicToken) {
      return show(await requireChip(context, clientId, publicToken))
    },
    purchase: (clientId, publicToken, purchase) =>
      change(clientId, publicToken, (present) => makeCryptogram(context, present, purchase)),
    takeAnswer: (clientId, publicToken, data, isApproved) =>
      change(clientId, publicToken, (present) => takeAnswer(context, present, data, isApproved)),
  }
}

type CardWithChip = stored.CardOfChip & { readonly chip: ProductChip }

/** A chip and its card. */
interface PresentChip {
  readonly card: CardWithChip
  readonly state: stored.VirtualChipState
}

const unusable = (detail: string): Problem => new Problem('virtual_chip_unusable', { detail })

/** @throws `Problem` `card_not_found`; `virtual_chip_unusable` if the card has no chip. */
async function requireCard(
  { database }: VirtualChipContext,
  clientId: ClientId,
  publicToken: string,
): Promise<CardWithChip> {
  const card = isPublicToken(publicToken)
    ? await stored.findCardOfChip(database, publicToken)
    : null
  const isTheirs = clientId === null || card?.clientId === clientId
  if (!card || !isTheirs) throw new Problem('card_not_found')
  const { chip } = card
  if (chip === null) throw unusable('Only physical cards of a product with a chip have one.')
  return { ...card, chip }
}

async function requireChip(
  context: VirtualChipContext,
  clientId: ClientId,
  publicToken: string,
): Promise<PresentChip> {
  const card = await requireCard(context, clientId, publicToken)
  const state = await stored.findVirtualChip(context.database, card.publicToken)
  if (!state)
    throw unusable(
      'The card has no virtual chip. Make one first, for example with pinfold sandbox chip --make.',
    )
  return { card, state }
}

/** Finds the newest keys, and an index that stands for them. */
async function findKeys(
  { database }: VirtualChipContext,
  chip: ProductChip,
): Promise<{ readonly keyVersion: number; readonly derivationKeyIndex: number }> {
  const keyVersion = await stored.findNewestChipKeys(database)
  if (keyVersion === null) throw unusable('The keys of chips do not exist yet.')
  const indexes = Array.from({ length: 256 }, (_, index) => index)
  const fit = indexes.find((index) => findChipKeyVersion(chip, index) === keyVersion)
  if (fit === undefined) throw unusable(`No index of the product stands for keys ${keyVersion}.`)
  return { keyVersion, derivationKeyIndex: fit }
}

function show({ card, state }: PresentChip): VirtualChip {
  const { atc, dataObjects, isApplicationBlocked, isCardBlocked, panSequenceNumber } = state
  const { offlineTryLimit, remainingOfflineTries } = state
  return {
    publicToken: card.publicToken,
    panSequenceNumber,
    profile: card.chip.profile,
    atc,
    offlineTryLimit,
    remainingOfflineTries,
    isApplicationBlocked,
    isCardBlocked,
    dataObjects,
  }
}

/** The chip in the words of the HSM, with the references of its keys. */
function toReference({ card, state }: PresentChip): {
  readonly reference: ChipReference
  readonly keys: ScriptKeys
} {
  const { chip } = card
  const version = state.keyVersion
  return {
    reference: {
      card,
      panSequenceNumber: state.panSequenceNumber,
      profile: chipProfiles[chip.profile],
    },
    keys: { ac: `chip-ac/${version}`, smc: `chip-smc/${version}`, smi: `chip-smi/${version}` },
  }
}

async function makeCryptogram(
  context: VirtualChipContext,
  present: PresentChip,
  { cashbackAmount = 0, country, money, offlinePin, transactionType = 'purchase' }: ChipPurchase,
): Promise<readonly [stored.VirtualChipState, MadeCryptogram]> {
  const { card, state } = present
  if (state.isCardBlocked) throw unusable('The issuer has blocked the chip permanently.')
  if (state.atc >= atcMost) throw unusable('The counter of the chip is used up. Make another chip.')
  const compared = await compareOfflinePin(context, present, offlinePin)
  const { profile } = card.chip
  const counted = {
    ...state,
    atc: state.atc + 1,
    remainingOfflineTries: compared.remainingOfflineTries,
  }
  const unpredictableNumber = randomBytes(4)
  const tags = transactions.composeTransactionTags(profile, counted, {
    money: money ?? { amount: 0, currency: card.currencyCode },
    at: context.now(),
    country: country ?? null,
    transactionType,
    cashbackAmount,
    offlinePin: compared.result,
    unpredictableNumber,
  })
  const cryptogramData = transactions.composeVirtualCryptogramData(profile, tags)
  const { keys, reference } = toReference(present)
  const atc = tags.get('9F36') ?? Buffer.alloc(2)
  const made = { data: cryptogramData, atc, unpredictableNumber }
  const cryptogram = await context.hsm.generateCryptogram(reference, keys.ac, made)
  // A blocked application declines. Its cryptogram can still be answered, with a command for it.
  const decision = state.isApplicationBlocked ? 'declined' : 'online'
  const kind = cryptogramKinds[decision]
  const data = composeChipData([['9F26', cryptogram], ['9F27', kind], ...tags])
  return [
    { ...counted, cryptogramData, unpredictableNumber, cryptogram, isOnlineIncomplete: true },
    {
      chip: { data: data.toString('hex').toUpperCase() },
      atc: counted.atc,
      decision,
      offlinePin: compared.result,
      remainingOfflineTries: counted.remainingOfflineTries,
    },
  ]
}

/** Tag 9F27: a request for an authorization (ARQC), or a decline by the chip itself (AAC). */
const cryptogramKinds: Readonly<Record<ChipDecision, Buffer>> = {
  online: Buffer.of(0x80),
  declined: Buffer.of(0x00),
}

/** Compares a PIN as the chip does: a wrong one costs a try, the right one restores all. */
async function compareOfflinePin(
  context: VirtualChipContext,
  { card, state }: PresentChip,
  offlinePin: Pin | null,
): Promise<{
  readonly result: transactions.OfflinePinResult
  readonly remainingOfflineTries: number
}> {
  const { offlineTryLimit, remainingOfflineTries } = state
  if (offlinePin === null) return { result: 'not_given', remainingOfflineTries }
  if (remainingOfflineTries === 0) return { result: 'blocked', remainingOfflineTries }
  const block = await encryptSimulatedPin(context, card, offlinePin)
  const opened = await context.hsm.openPinBlock(card, block)
  const isRight =
    opened !== null &&
    (await context.hsm.verifyPin(card, toStoredPin(state), card.pinLength, opened))
  return isRight
    ? { result: 'right', remainingOfflineTries: offlineTryLimit }
    : { result: 'wrong', remainingOfflineTries: remainingOfflineTries - 1 }
}

function toStoredPin({ pinBlock, pinKey, pvv }: stored.VirtualChipState): StoredPin {
  if (pinBlock !== null) return { pinBlock, pvv: null, pinKey }
  if (pvv === null) throw new Error('A virtual chip has no PIN.')
  return { pinBlock: null, pvv, pinKey }
}

async function takeAnswer(
  context: VirtualChipContext,
  present: PresentChip,
  data: Uint8Array | null,
  isApproved: boolean,
): Promise<readonly [stored.VirtualChipState, TakenAnswer]> {
  const cryptogram = transactions.toCryptogram(present.state)
  if (cryptogram === null) throw unusable('No transaction of the chip waits for an answer.')
  const settled = {
    ...present.state,
    cryptogramData: null,
    unpredictableNumber: null,
    cryptogram: null,
  }
  const answer = data && readIssuerAnswer(data)
  const authenticated =
    answer?.authenticationData &&
    (await authenticate(context, present, cryptogram, answer.authenticationData))
  if (!answer || !authenticated) {
    const refused = (answer?.commands ?? []).map(
      ({ number }): CarriedCommand => ({ number, result: 'not_carried_out' }),
    )
    return [settled, { answerVerified: false, approved: false, commands: refused }]
  }
  const [state, commands] = await carryOut(context, present, cryptogram, settled, answer.commands)
  const profile = chipProfiles[present.card.chip.profile]
  // The commands that block are carried out before the chip decides.
  const isBlocked = state.isCardBlocked || state.isApplicationBlocked
  return [
    {
      ...state,
      commandResults: composeResults(commands),
      countedCommands: countCommands(profile, answer.commands, commands),
      isOnlineIncomplete: false,
    },
    {
      answerVerified: true,
      approved: isApproved && authenticated.isApproval && !isBlocked,
      commands,
    },
  ]
}

/** Verifies that the answer is the issuer's. @returns null if it is not. */
async function authenticate(
  { hsm }: VirtualChipContext,
  present: PresentChip,
  cryptogram: ChipCryptogram,
  authenticationData: Uint8Array,
): Promise<{ readonly isApproval: boolean } | null> {
  const { keys, reference } = toReference(present)
  const read = readAuthentication(reference.profile, authenticationData)
  if (read === null) return null
  const due = await hsm.answerCryptogram(reference, keys.ac, cryptogram, read.answer)
  return Buffer.from(due).equals(read.arpc) ? read : null
}

/** Executes the commands one after the other. One that fails stops no other one. */
async function carryOut(
  { hsm }: VirtualChipContext,
  present: PresentChip,
  cryptogram: ChipCryptogram,
  before: stored.VirtualChipState,
  given: readonly GivenCommand[],
): Promise<readonly [stored.VirtualChipState, CarriedCommand[]]> {
  const { keys, reference } = toReference(present)
  let state = before
  const carried: CarriedCommand[] = []
  for (const { command, number } of given) {
    const opened = await hsm.openCommand(reference, keys, cryptogram, command)
    const next = opened && applyCommand(state, command, opened.newPin)
    carried.push({ number, result: next ? 'done' : 'failed' })
    state = next ?? state
  }
  return [state, carried]
}
