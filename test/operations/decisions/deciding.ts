import assert from 'node:assert/strict'
import {
  type DecisionBehaviour,
  openDecisionEndpoint,
  type ReceivedDecision,
} from '../../support/decision-endpoint.ts'
import { ask, type IssuedCard, issueCard } from '../../support/network.ts'
import { type Answer, type CallOptions, sql, type TestService } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { eventsOf } from '../authorizations/tried.ts'
import { answerPing, putInForce } from './endpoint-service.ts'

/** A service whose client decides, through the front door: a real endpoint and real requests. */
export type Deciding = {
  service: TestService
  /** The requests about authorizations, without pings. */
  asked: ReceivedDecision[]
  /** Says how the client answers from now on. */
  answerBy: (behaviour: DecisionBehaviour) => void
  /** Resolves when the client has been asked once more than so often. */
  askedAfter: (count: number) => Promise<ReceivedDecision>
}

export const letClientDecide = async (
  service: TestService,
  settings: object = {},
): Promise<Deciding> => {
  const asked: ReceivedDecision[] = []
  let behaviour: DecisionBehaviour = () => ({ decision: 'approve' })
  const endpoint = await openDecisionEndpoint((received, response) => {
    if (received.body.type === 'decision.ping') return answerPing(received)
    asked.push(received)
    return behaviour(received, response)
  })
  // The longest that is allowed, because a busy machine needs it.
  await putInForce(service, { url: endpoint.url, timeoutMs: 2_500, ...settings })
  return {
    service,
    asked,
    answerBy(next) {
      behaviour = next
    },
    async askedAfter(count) {
      await until(() => asked.length > count)
      return asked[count] ?? assert.fail()
    },
  }
}

/** Answers when it is told to. */
export const heldAnswer = (answer: object = { decision: 'approve' }) => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const behaviour: DecisionBehaviour = async () => {
    await promise
    return answer
  }
  return { behaviour, release: resolve }
}

export const purchaseOf = (amount: number, members: object = {}) => ({
  amount,
  currency: 'EUR',
  ...members,
})

/** Authorizes a purchase with a card, and returns the answer to the network. */
export const buy = async (
  service: TestService,
  { publicToken }: Pick<IssuedCard, 'publicToken'>,
  members: object,
  options: CallOptions = {},
): Promise<Answer> => {
  const named = 'pan' in members ? {} : { publicToken }
  const answer = await ask(service, { ...named, ...members }, options)
  assert.equal(answer.status, 200, answer.text)
  return answer
}

export const setControls = async (
  service: TestService,
  { publicToken }: Pick<IssuedCard, 'publicToken'>,
  controls: object,
): Promise<void> => {
  const body = { version: 0, ...controls }
  const answer = await service.call('PUT', `/cards/${publicToken}/controls`, { body })
  assert.ok(answer.status < 300, answer.text)
}

export const issueRestricted = async (
  service: TestService,
  controls: object,
): Promise<IssuedCard> => {
  const card = await issueCard(service)
  await setControls(service, card, controls)
  return card
}

/** What a card has spent in a window, and the merchant that it is locked to. */
export const spendingOf = async (
  { database }: Pick<TestService, 'database'>,
  { publicToken }: Pick<IssuedCard, 'publicToken'>,
  window = 'day',
) => {
  const [row] = await sql<{
    windows: Record<string, { amount: number; count: number }>
    lock: string | null
  }>(
    database,
    'select windows, locked_merchant as lock from card_spending where public_token = $1',
    [publicToken],
  )
  const { amount = 0, count = 0 } = row?.windows[window] ?? {}
  return { amount, count, lock: row?.lock ?? null }
}

/** The newest authorization of a card, as its client reads it. */
export const readNewest = async (
  service: TestService,
  { publicToken }: Pick<IssuedCard, 'publicToken'>,
) => (await service.call('GET', `/cards/${publicToken}/authorizations?limit=1`)).json[0]

/** The events of a card about answers, with their details. */
export const outcomesOf = async (
  { database }: Pick<TestService, 'database'>,
  { publicToken }: Pick<IssuedCard, 'publicToken'>,
) =>
  (await eventsOf(database, publicToken))
    .filter(({ type }) => type.startsWith('authorization.'))
    .map(({ details, type }) => ({
      type,
      // biome-ignore lint/suspicious/noExplicitAny: a test reads the members that it expects
      details: JSON.parse(String(details)) as any,
    }))

/** Counts the decisions that wait for an answer, of one card or of all. */
export const countWaiting = async (
  database: TestService['database'],
  publicToken: string | null = null,
): Promise<number> => {
  const [row] = await sql<{ count: number }>(
    database,
    `select count(*)::integer as count
     from decision
     where concluded_at is null and ($1::text is null or public_token = $1)`,
    [publicToken],
  )
  return row?.count ?? 0
}

/** Lets the decisions that wait count as lost with their process. */
export const passDeadlines = (database: TestService['database']) =>
  sql(
    database,
    `update decision set deadline = least(deadline, now() - interval '3 seconds')
     where concluded_at is null`,
  )
