import { embossName } from '../../domain/free-text.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import { Problem, validationFailed } from '../../domain/problem.ts'
import type { RenewalType } from '../../domain/product.ts'
import { findCard } from '../../storage/cards/cards.ts'
import * as stored from '../../storage/cards/record-changes.ts'
import { type Answer, commitOnce, type RepeatableRequest } from '../idempotency/idempotency.ts'
import { type CardActor, type CardContext, type ChangeNote, changeEvent } from './cards.ts'
import {
  type Address,
  type CardHolder,
  revealPersonalData,
  sealPersonalData,
} from './personal-data.ts'

/** New values of members of a card's record. Null removes a value; an absent member stays. */
interface RecordMembers extends PersonalMembers {
  readonly customerReference?: string | null
  readonly designId?: string | null
  /** Null: as the product says. */
  readonly renewalType?: RenewalType | null
  /** A text sets a key, and null removes it. Other keys stay. */
  readonly metadata?: Readonly<Record<string, string | null>>
}

/** The members that are stored sealed. Each is replaced whole. */
interface PersonalMembers {
  readonly cardHolder?: CardHolder
  /** For the next plastic. By default, the name of a new cardholder; otherwise as before. */
  readonly nameOnCard?: string
  readonly address?: Address
  readonly fulfilment?: Address | null
}

/** A change of a card's record. */
interface RecordChange {
  readonly publicToken: PublicToken
  readonly members: RecordMembers
  readonly note?: ChangeNote
}

/** The greatest number of keys in the metadata of a card. */
const metadataKeysMax = 50

/**
 * Changes the record of a card, in any status: the record of a closed card can be corrected, too.
 * @throws `Problem` `card_not_found`; `validation_failed` for members that the card does not allow.
 */
export const changeCardRecord = (
  context: CardContext,
  requester: CardActor,
  { members, note = {}, publicToken }: RecordChange,
  request: RepeatableRequest | null,
): Promise<Answer<null>> =>
  commitOnce<null>(context, request, async (claimFor) => {
    const { database } = context
    const { clientId } = requester
    const card = await findCard(database, publicToken, clientId)
    if (!card) throw new Problem('card_not_found')
    if (members.fulfilment && card.cardType === 'Virtual') {
      throw validationFailed({ pointer: '/fulfilment', detail: 'is for Physical cards only' })
    }
    await refuseTooManyKeys(context, publicToken, members.metadata)
    const personalData = await changePersonalData(context, card, members)
    const names = Object.keys(members)
    const event = await changeEvent(context, requester, {
      publicToken,
      type: 'card.changed',
      details: { members: names },
      note,
    })
    const act = { clientId, event, claim: await claimFor(null) }
    const isDone = await stored.updateCardRecord(database, act, {
      members: names,
      customerReference: members.customerReference ?? null,
      designId: members.designId ?? null,
      renewalType: members.renewalType ?? null,
      formerPersonalData: personalData && card.personalData,
      personalData,
      metadata: members.metadata ? JSON.stringify(members.metadata) : null,
    })
    return { isDone, result: null }
  })

async function refuseTooManyKeys(
  { database }: CardContext,
  publicToken: PublicToken,
  metadata: RecordMembers['metadata'],
): Promise<void> {
  if (!metadata) return
  const keys = new Set((await stored.findMetadata(database, publicToken)).keys())
  for (const [key, value] of Object.entries(metadata)) {
    if (value === null) keys.delete(key)
    else keys.add(key)
  }
  if (keys.size <= metadataKeysMax) return
  const detail = `must leave at most ${metadataKeysMax} keys; the card would have ${keys.size}`
  throw validationFailed({ pointer: '/metadata', detail })
}

/** Seals the new personal data of a card; null if none of it is changed. */
async function changePersonalData(
  { hsm }: CardContext,
  { personalData, publicToken }: { personalData: Uint8Array; publicToken: PublicToken },
  { address, cardHolder, fulfilment, nameOnCard }: PersonalMembers,
): Promise<Uint8Array | null> {
  const given = [address, cardHolder, fulfilment, nameOnCard]
  if (given.every((member) => member === undefined)) return null
  const former = await revealPersonalData(hsm, publicToken, personalData)
  const name = nameOnCard ?? (cardHolder ? defaultName(cardHolder) : former.embossName)
  const delivery = fulfilment === undefined ? former.fulfilment : fulfilment
  return sealPersonalData(hsm, publicToken, {
    embossName: name,
    cardHolder: cardHolder ?? former.cardHolder,
    address: address ?? former.address,
    ...(delivery && { fulfilment: delivery }),
  })
}

function defaultName({ firstName, lastName }: CardHolder): string {
  const name = embossName(firstName, lastName)
  if (name !== null) return name
  const detail = 'must be given: neither firstName nor lastName has Latin letters to emboss'
  throw validationFailed({ pointer: '/nameOnCard', detail })
}
