import type { Money } from '../../domain/money.ts'
import { findResponseCode } from '../../listeners/iso8583/answer.ts'
import type { LinkOutcome, Profile } from '../../listeners/iso8583/profile-schema.ts'
import type { createPurchase } from '../../listeners/iso8583/terminal.ts'
import type { ServiceConnection } from '../connection/requests.ts'

type IsoMessage = ReturnType<typeof createPurchase>

/** A conversation with a link: sends a message, and notes its answer and what was due. */
export interface Conversation {
  send(title: string, outcome: LinkOutcome, message: IsoMessage): Promise<IsoMessage>
  /** Notes what happened without a message. */
  note(title: string, due: string, got: string): void
}

/** A card with a virtual chip, and what is bought with it. */
export interface ChipStory {
  readonly profile: Profile
  readonly publicToken: string
  readonly pin: string
  readonly wrongPin: string
  readonly newPin: string
  readonly price: Money
  /** Creates the message of a purchase without chip data. */
  createMessage(): IsoMessage
}

interface MadeCryptogram {
  readonly chip: { readonly data: string }
  readonly remainingOfflineTries: number
}

interface TakenAnswer {
  readonly answerVerified: boolean
  readonly commands: readonly { readonly result: string }[]
}

/**
 * Plays a card whose PIN is blocked in the chip, and works again after *Unblock PIN*: the command
 * travels in the answer to the next purchase. *Set PIN* then reaches the chip in the same way.
 */
export async function playChip(
  { ask, base }: Pick<ServiceConnection, 'ask' | 'base'>,
  conversation: Conversation,
  story: ChipStory,
): Promise<void> {
  const { newPin, pin, price, profile, publicToken, wrongPin } = story
  const chipPath = `${base}/simulator/cards/${publicToken}/chip`
  const insert = (given: { readonly pin?: string }) =>
    ask<MadeCryptogram>('POST', `${chipPath}/transactions`, { ...price, ...given })

  async function buy(title: string, outcome: LinkOutcome, given: { readonly pin?: string } = {}) {
    const made = await insert(given)
    const message = withChipData(story, made.chip.data)
    const answer = await conversation.send(title, outcome, message)
    const data = answer.fields[profile.chip?.field ?? '']
    const chip = data === undefined ? {} : { chip: { data } }
    const approved = answer.fields['39'] === findResponseCode(profile, message.mti, '00')
    const taken = await ask<TakenAnswer>('POST', `${chipPath}/answers`, { ...chip, approved })
    const verified = taken.answerVerified ? 'verified' : 'not verified'
    conversation.note('the chip verifies the answer', 'verified', verified)
    return taken
  }

  async function noteStatus(due: string): Promise<void> {
    const path = `${base}/card-pin/${publicToken}/pin/status`
    const { chipUpdate } = await ask<{ readonly chipUpdate: string }>('GET', path)
    conversation.note('PIN status: the update of the chip', due, chipUpdate)
  }

  async function carry(title: string, outcome: LinkOutcome): Promise<void> {
    const { commands } = await buy(title, outcome)
    const results = commands.map(({ result }) => result).join(' ')
    conversation.note('its answer carries the command to the chip', 'done', results)
    await noteStatus('sent')
  }

  await ask('POST', chipPath, {})
  await buy('a purchase with the right PIN, which the chip compares', '00', { pin })
  for (const remaining of [2, 1, 0]) {
    const { remainingOfflineTries } = await insert({ pin: wrongPin })
    const title = 'a wrong PIN, which the chip compares'
    conversation.note(title, left(remaining), left(remainingOfflineTries))
  }
  await buy('a purchase with the blocked chip', '75')
  await ask('POST', `${base}/card-pin/${publicToken}/pin/unblock`)
  await noteStatus('pending')
  await carry('the first purchase after Unblock PIN', '75')
  await buy('the next purchase with the right PIN', '00', { pin })
  await noteStatus('done')
  await ask('POST', `${base}/card-pin/${publicToken}/pin`, { pin: newPin })
  await noteStatus('pending')
  await carry('the first purchase after Set PIN', '00')
  await buy('the next purchase with the new PIN', '00', { pin: newPin })
  await noteStatus('done')
}

const left = (tries: number): string => `${tries} left`

/** Adds the chip data to a purchase. */
function withChipData({ createMessage, profile }: ChipStory, data: string): IsoMessage {
  const { fields, mti } = createMessage()
  return { mti, fields: { ...fields, [profile.chip?.field ?? '']: data } }
}
