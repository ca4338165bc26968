import { createHash, randomUUID } from 'node:crypto'
import type { Requester } from '../domain/client.ts'
import { isPublicToken } from '../domain/identifiers.ts'
import type { Money } from '../domain/money.ts'
import { Problem } from '../domain/problem.ts'
import type { TransactionMembers } from '../domain/transaction.ts'
import type { AuthorizationContext } from '../operations/authorizations/authorization.ts'
import { refuseCardNumbers } from '../operations/authorizations/network-ids.ts'
import { type MessageAnswer, toMessageAnswer } from '../operations/payments/message-answer.ts'
import * as payments from '../operations/payments/messages.ts'
import { findCardReference } from '../storage/authorizations/begin.ts'
import { simulatorNetwork } from './demo-data.ts'

/** A message of the simulator about a payment of the caller's card. */
interface SimulatedMessage extends Pick<TransactionMembers, 'merchant'> {
  readonly publicToken: string
  readonly paymentId?: string
  readonly networkTransactionId?: string
  /** The network's own key; by default, a new one for each call. */
  readonly messageKey?: string
  readonly money: Money | null
}

/** The caller, with its own cards. */
type SimulatorCaller = Pick<Requester, 'clientId' | 'requestId'>

/**
 * Simulates what a card network sends about payments of the caller's cards, by the operations of a
 * real one. @throws `Problem` `card_not_found` for another client's card.
 */
export const createPaymentSimulator = (context: AuthorizationContext) => {
  async function toNetworkMessage(
    { clientId, requestId }: SimulatorCaller,
    { messageKey, networkTransactionId, paymentId, publicToken }: SimulatedMessage,
  ) {
    if (!isPublicToken(publicToken)) throw new Problem('card_not_found')
    const card = await findCardReference(context.database, publicToken)
    if (card?.clientId !== clientId) throw new Problem('card_not_found')
    const ids = messageKey === undefined ? [] : [{ pointer: '/messageKey', text: messageKey }]
    await refuseCardNumbers(context, ids)
    return {
      networkId: simulatorNetwork.clientId,
      requestId,
      card: { publicToken },
      messageKey: messageKey ?? createHash('sha256').update(randomUUID()).digest('hex'),
      paymentId: paymentId ?? null,
      networkTransactionId: networkTransactionId ?? null,
      reference: 'SIMULATOR',
    }
  }

  return {
    async reverse(
      caller: SimulatorCaller,
      message: SimulatedMessage & { readonly isRemaining: boolean },
    ): Promise<MessageAnswer> {
      const { isRemaining, money } = message
      const sent = await toNetworkMessage(caller, message)
      return toMessageAnswer(
        await payments.reversePayment(context, { ...sent, money, isRemaining }),
      )
    },
    async advise(
      caller: SimulatorCaller,
      message: SimulatedMessage & { readonly money: Money; readonly holdExpiresAt: Date | null },
    ): Promise<MessageAnswer> {
      const { holdExpiresAt, merchant = null, money } = message
      const sent = await toNetworkMessage(caller, message)
      return toMessageAnswer(
        await payments.advisePayment(context, { ...sent, money, merchant, holdExpiresAt }),
      )
    },
    async clear(
      caller: SimulatorCaller,
      message: SimulatedMessage & {
        readonly money: Money
        readonly isFinal: boolean
        readonly isRefund: boolean
      },
    ): Promise<MessageAnswer> {
      const { isFinal, isRefund, merchant = null, money } = message
      const sent = await toNetworkMessage(caller, message)
      const clearing = { ...sent, money, merchant, isFinal, isRefund }
      const [result] = await payments.clearPayments(context, [clearing])
      if (!result) throw new Error('A clearing has no result.')
      return toMessageAnswer(result)
    },
  }
}
