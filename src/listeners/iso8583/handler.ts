import { Problem } from '../../domain/problem.ts'
import type { Authorization } from '../../operations/authorizations/authorization.ts'
import type { KeyContext } from '../../operations/keys/keys.ts'
import type {
  LinkAuthorizer,
  NetworkRequest,
} from '../../operations/links/authorization-requests.ts'
import type { Link } from '../../operations/links/links.ts'
import { importSentKey, type LinkMacs } from '../../operations/links/macs.ts'
import type { LinkAdvices } from '../../operations/links/reversals.ts'
import { answerTo, composeAmounts, composeResults } from './answer.ts'
import { composeChipField } from './card-data.ts'
import type { IsoMessage } from './codec/layout.ts'
import { hasRightMac } from './message-mac.ts'
import * as messages from './network-messages.ts'
import type { LinkObserver } from './observer.ts'
import type { LinkOutcome, Profile } from './profile-schema.ts'

/** The services that answer messages. */
export interface LinkServices {
  readonly authorizer: LinkAuthorizer
  readonly advices: LinkAdvices
  readonly macs: LinkMacs
  readonly keys: KeyContext
  readonly observe: LinkObserver
  /**
   * Resolves when a request may begin.
   * @throws `Problem` if it has waited too long.
   */
  admit(networkId: string): Promise<AdmittedRequest>
  newRequestId(): string
}

/** A request that has begun. Each function may be called once or more often. */
interface AdmittedRequest {
  /** Called when the request waits for a card's client: others take its turn meanwhile. */
  yieldTurn(): void
  leave(): void
}

/** A connection as the handlers of its messages see it. */
export interface Conversation {
  readonly link: Link
  readonly profile: Profile
  readonly signedOnAt: Date | null
  readonly isEnded: boolean
}

/** A received message. */
interface Received {
  readonly message: IsoMessage
  /** The bytes that its MAC covers. */
  readonly bytes: Uint8Array
  /** The time of its arrival. */
  readonly at: number
  /** Called when it waits for a card's client: it then counts in no limit of its link. */
  readonly release: () => void
}

/** The result of a message. */
interface Reply {
  /** Null if it was not begun in time, or is a notification, which has no answer. */
  readonly answer: IsoMessage | null
  readonly outcome: LinkOutcome | 'late' | 'unanswered'
  readonly replayed?: boolean
  /** Whether its MAC was wrong; nothing else was checked. */
  readonly isForged?: boolean
  /** Set if the peer signed on or off with it. */
  readonly signsOn?: boolean
}

/** A request that waits longer is dropped, because its sender has given up. */
const deadlineMs = 4_000

/** Answers one message of a conversation. */
export async function handle(
  services: LinkServices,
  conversation: Conversation,
  received: Received,
): Promise<Reply> {
  const { link, profile } = conversation
  const { bytes, message } = received
  if (isLate(received)) return late
  const { macs, observe } = services
  const isNotification = messages.readFunction(message.mti) === 'notification'
  try {
    if (!(await hasRightMac({ macs, profile, networkId: link.networkId }, message, bytes))) {
      const refusal = isNotification ? unanswered : reply(conversation, message, '63')
      return { ...refusal, isForged: true }
    }
    if (isNotification) return unanswered
    const work = handlers[findWork(profile, message) ?? '']
    if (!work) return reply(conversation, message, '12')
    return await work(services, conversation, received)
  } catch (error) {
    observe.faulted(link.linkName, error)
    return reply(conversation, message, '96')
  }
}

/** Names the handler of a message by its class and function; null without a handler. */
export function findWork({ version }: Profile, { mti }: IsoMessage): string | null {
  const isOfVersion = mti.startsWith(version === '1993' ? '1' : '0')
  const name = `${messages.readClass(mti)} ${messages.readFunction(mti)}`
  return isOfVersion && Object.hasOwn(handlers, name) ? name : null
}

const isLate = ({ at }: Received): boolean => performance.now() - at > deadlineMs
const late: Reply = { answer: null, outcome: 'late' }
const unanswered: Reply = { answer: null, outcome: 'unanswered' }

/** Answers an unreadable message from its readable part; null when that part is too small. */
export function answerToUnreadable(
  { profile }: Conversation,
  readable: IsoMessage | null,
): IsoMessage | null {
  if (readable?.fields['11'] === undefined) return null
  const isAnswered = !['answer', 'notification'].includes(messages.readFunction(readable.mti))
  return isAnswered ? answerTo(profile, readable, '30') : null
}

/** Whether a message changes how the following ones are handled. */
export function changesConversation({ management }: Profile, { fields, mti }: IsoMessage): boolean {
  if (messages.readFunction(mti) === 'answer') return true
  const code = fields[management.field] ?? ''
  const isSigning = management.signOn.includes(code) || management.signOff.includes(code)
  return messages.readClass(mti) === '8' && isSigning
}

type Handler = (
  services: LinkServices,
  conversation: Conversation,
  received: Received,
) => Promise<Reply>

const reply = (
  { profile }: Conversation,
  message: IsoMessage,
  outcome: LinkOutcome,
  others?: Readonly<Record<string, string>>,
): Reply => ({ answer: answerTo(profile, message, outcome, others), outcome })

const createOrigin = ({ newRequestId }: LinkServices, { link }: Conversation): messages.Origin => ({
  linkName: link.linkName,
  networkId: link.networkId,
  requestId: newRequestId(),
})

/** If its profile requires it, a network must sign on first. */
const isOpen = ({ profile, signedOnAt }: Conversation): boolean =>
  !profile.signOn.required || signedOnAt !== null

const authorize: Handler = async (services, conversation, received) => {
  const { message } = received
  if (!isOpen(conversation)) return reply(conversation, message, '91')
  const { link, profile } = conversation
  const service = messages.selectService(profile, message)
  if (service !== 'authorized') {
    return reply(conversation, message, service === 'unsaid' ? '30' : '57')
  }
  const origin = createOrigin(services, conversation)
  const request = messages.parseRequest(profile, origin, message)
  if (!request) return reply(conversation, message, '30')
  const admitted = await services.admit(link.networkId).catch((error: unknown) => {
    if (error instanceof Problem && error.code === 'unavailable') return null
    throw error
  })
  if (!admitted) return late
  const onWaiting = () => {
    admitted.yieldTurn()
    received.release()
  }
  try {
    if (isLate(received) || conversation.isEnded) return late
    const { authorization, outcome, replayed } = await services.authorizer.authorize({
      ...request,
      onWaiting,
    })
    const shown = authorization ? composeResults(profile, showAsked(request, authorization)) : {}
    const approval = authorization?.approved && {
      38: messages.computeApprovalCode(origin, message),
      ...composeAmounts(profile, message, authorization),
    }
    const chip = authorization ? composeChipField(profile, message, authorization) : {}
    const others = { ...shown, ...approval, ...chip }
    return { ...reply(conversation, message, outcome, others), replayed }
  } finally {
    admitted.leave()
  }
}

/** An authorization without the result of a CVV2 that was not asked about. */
const showAsked = (
  { cvv2 }: NetworkRequest,
  { cvv, ...authorization }: Authorization,
): Authorization => ({ ...authorization, ...(cvv2 && cvv && { cvv }) })

/** Records an advice of the network once, and changes its payment. It has no effect on tries. */
const advise: Handler = async (services, conversation, { message }) => {
  if (!isOpen(conversation)) return reply(conversation, message, '91')
  const origin = createOrigin(services, conversation)
  const advice = messages.parseAdvice(conversation.profile, origin, message)
  if (!advice) return reply(conversation, message, '30')
  return reply(conversation, message, await services.advices.take(advice))
}

/** A reversal request without its original is declined; an advice is always accepted. */
const reverse: Handler = async (services, conversation, { message }) => {
  if (!isOpen(conversation)) return reply(conversation, message, '91')
  const { link, profile } = conversation
  const origin = createOrigin(services, conversation)
  const reversal = messages.parseReversal(profile, origin, message)
  if (!reversal) return reply(conversation, message, '30')
  const outcome = await services.advices.reverse(reversal)
  if (outcome === '25') services.observe.unmatched(link.linkName)
  const isAdvice = messages.readFunction(message.mti) === 'advice'
  return reply(conversation, message, isAdvice && outcome === '25' ? '00' : outcome)
}

const manage: Handler = async (services, conversation, { message }) => {
  const { keyChange, management } = conversation.profile
  const code = message.fields[management.field] ?? ''
  const accepted = reply(conversation, message, '00')
  if (management.echo.includes(code)) return accepted
  if (management.signOn.includes(code)) return { ...accepted, signsOn: true }
  if (management.signOff.includes(code)) return { ...accepted, signsOn: false }
  if (!management.keyChange.includes(code)) return reply(conversation, message, '12')
  const keyBlock = message.fields[keyChange.block]
  const keyCheckValue = message.fields[keyChange.checkValue]?.trim()
  const index = message.fields[keyChange.control]?.slice(keyChange.indexAt, keyChange.indexAt + 2)
  if (!keyBlock || !keyCheckValue || !index) return reply(conversation, message, '30')
  const outcome = await takeKey(services, conversation, { keyBlock, keyCheckValue, index })
  return reply(conversation, message, outcome)
}

interface GivenKey {
  readonly keyBlock: string
  readonly keyCheckValue: string
  readonly index: string
}

async function takeKey(
  services: LinkServices,
  conversation: Conversation,
  { index, ...given }: GivenKey,
): ReturnType<typeof importSentKey> {
  const { link, profile } = conversation
  // A peer that is not signed on cannot send keys, and a link without a zone master key accepts
  // none.
  if (link.zoneMasterKey === null || !isOpen(conversation)) return '63'
  const { networkId, requestId } = createOrigin(services, conversation)
  const mac = profile.mac?.keyName ?? 'mac-{index}'
  return importSentKey(services.keys, {
    ...given,
    networkId,
    requestId,
    zoneMasterKey: link.zoneMasterKey,
    keyNames: {
      pin: messages.composePinKeyName(profile, index),
      mac: mac.replace('{index}', index),
    },
  })
}

const handlers: Readonly<Record<string, Handler>> = {
  '1 request': authorize,
  '2 request': authorize,
  '1 advice': advise,
  '2 advice': advise,
  '4 request': reverse,
  '4 advice': reverse,
  '8 request': manage,
  '8 advice': manage,
}
