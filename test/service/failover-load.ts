import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { makePinBlock } from '../reference/pin-blocks.ts'
import { otherDigits } from '../support/network.ts'
import { askToken, type Program, type ProgramAnswer, request } from '../support/process.ts'
import { newCard, strongPins } from '../support/service.ts'

/**
 * Client systems and a card network that go on whatever becomes of the database: each act has an
 * idempotency key, and is repeated under it, at one process and the other, until it is
 * acknowledged. What was is noted.
 */

/** A process that serves, with tokens for it. */
export type Served = { program: Program; client: string; network: string }

/** A request that was acknowledged, as it can be sent again. */
export type Acknowledged = {
  kind: 'card' | 'pin' | 'try'
  path: string
  body: object
  key: string
  status: number
  text: string
}

/** All that was acknowledged of a card, and what was asked of it. */
export type CardHistory = {
  publicToken: string
  customerReference: string
  /** The last one that was acknowledged. */
  pin: string
  acknowledged: Acknowledged[]
  /** References of the tries that were asked for, acknowledged or not. */
  references: string[]
}

export type Load = {
  /** When each act was acknowledged, by `performance.now()`. */
  acknowledgedAtMs: number[]
  /** Whether something was answered that may not be. */
  hasStopped: () => boolean
  /** What is known of the cards until now. */
  histories: readonly CardHistory[]
  /** Lets each act that was begun come to its end. */
  stop: () => Promise<CardHistory[]>
}

const workersOfEach = 4
const pauseMs = 20

/** @param over ends all of it where a test ends early. */
export const startLoad = (served: readonly Served[], over: AbortSignal): Load => {
  const histories: CardHistory[] = []
  const acknowledgedAtMs: number[] = []
  const stopping = new AbortController()
  const insist = async (first: number, act: Omit<Acknowledged, 'status' | 'text'>) => {
    for (let turn = first; ; turn += 1) {
      const at = served[turn % served.length]
      const answer = at && (await send(at, act))
      if (answer && answer.status < 300) {
        acknowledgedAtMs.push(performance.now())
        return { ...act, status: answer.status, text: answer.text }
      }
      const isLater = !answer || answer.status === 503 || answer.status === 409
      if (!isLater) throw new Error(`${act.kind}: ${answer.text}`)
      // A try that was lost between its two commits is answered so for half a minute.
      if (act.kind === 'try' && answer?.status === 409 && stopping.signal.aborted) return null
      await sleep(pauseMs)
      over.throwIfAborted()
    }
  }
  const workers = served.flatMap((_, number) =>
    Array.from({ length: workersOfEach }, async () => {
      while (!stopping.signal.aborted) {
        await liveOf(histories, stopping.signal, (act) => insist(number, act))
      }
    }),
  )
  const all = Promise.all(workers)
  // Whoever stops it hears of it; until then it is seen by what is not acknowledged.
  all.catch(() => stopping.abort())
  return {
    acknowledgedAtMs,
    histories,
    hasStopped: () => stopping.signal.aborted,
    async stop() {
      stopping.abort()
      await all
      return histories
    },
  }
}

type Insist = (act: Omit<Acknowledged, 'status' | 'text'>) => Promise<Acknowledged | null>

/** A card is made; three times its PIN is set, and tried wrongly and rightly. */
const liveOf = async (
  histories: CardHistory[],
  stopping: AbortSignal,
  insist: Insist,
): Promise<void> => {
  const customerReference = `F-${randomUUID().replace(/[0-9]/g, 'x')}`.slice(0, 25)
  const body = newCard({ customerReference })
  const made = await insist({ kind: 'card', path: '/cards', body, key: randomUUID() })
  const card = JSON.parse(made?.text ?? '{}')
  const { publicToken } = card
  const history: CardHistory = {
    publicToken,
    customerReference,
    pin: '',
    acknowledged: made ? [made] : [],
    references: [],
  }
  histories.push(history)
  for (const pin of strongPins(card)) {
    if (stopping.aborted) return
    const path = `/card-pin/${publicToken}/pin`
    const set = await insist({ kind: 'pin', path, body: { pin }, key: randomUUID() })
    if (set) history.acknowledged.push(set)
    history.pin = pin
    for (const tried of [otherDigits(pin), pin]) {
      const reference = `T-${randomUUID().replace(/[0-9]/g, 'x')}`.slice(0, 35)
      history.references.push(reference)
      const question = { publicToken, entryMode: 'chip', reference, tried }
      const path = '/network/authorizations'
      const answered = await insist({ kind: 'try', path, body: question, key: randomUUID() })
      if (answered) history.acknowledged.push(answered)
    }
  }
}

/** Sends it once. @returns null where there was no answer. */
const send = async (
  { client, network, program }: Served,
  { body, key, kind, path }: Omit<Acknowledged, 'status' | 'text'>,
): Promise<{ status: number; text: string; isReplayed: boolean } | null> => {
  const { baseUrl, privateUrl } = program
  const url = kind === 'try' ? `${privateUrl}${path}` : `${baseUrl}/thr/processor${path}`
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${kind === 'try' ? network : client}`,
        'content-type': 'application/json',
        'idempotency-key': key,
      },
      body: JSON.stringify(kind === 'try' ? withBlock(program, body) : body),
    })
    const isReplayed = response.headers.get('idempotency-replayed') === 'true'
    return { status: response.status, text: await response.text(), isReplayed }
  } catch {
    return null
  }
}

/** Asks until there is an answer, as a client system does while the database is away. */
const untilAnswered = async <Answered extends { status: number }>(
  ask: () => Promise<Answered | null>,
): Promise<Answered> => {
  for (;;) {
    const answer = await ask().catch(() => null)
    if (answer && answer.status !== 503) return answer
    await sleep(pauseMs)
  }
}

export const sendUntilAnswered = (
  served: Served,
  act: Omit<Acknowledged, 'status' | 'text'>,
): Promise<{ status: number; text: string; isReplayed: boolean }> =>
  untilAnswered(() => send(served, act))

/** Reads a path. */
export const readUntilAnswered = async (
  { client: token, program }: Served,
  path: string,
): Promise<ProgramAnswer['json']> =>
  (await untilAnswered(() => program.call('GET', path, { token }))).json

/** Publishes every event that is committed, so that the feed has it. */
export const publishAll = async ({ program }: Served): Promise<void> => {
  const { privateUrl, sandbox } = program
  const { status, text } = await untilAnswered(async () => {
    const token = await askToken({ ...sandbox, ...sandbox.admin })
    return request(privateUrl, 'POST', '//sandbox/settle', { token })
  })
  if (status !== 204) throw new Error(`Not published: ${text}`)
}

const blocks = new WeakMap<object, object>()

/** The question with its PIN in a block, the same each time: a repeat is the same to the letter. */
const withBlock = ({ sandbox }: Program, question: object): object => {
  const made = blocks.get(question)
  if (made) return made
  const { tried, ...asked } = question as { tried: string }
  const value = sandbox.network.zoneKeys.find(({ key }) => key === 'zone-a')?.value ?? ''
  const bytes = makePinBlock(tried, { format: 1, pan: '', key: Buffer.from(value, 'hex') })
  const pinBlock = { format: 'ISO_FORMAT_1', key: 'zone-a', data: bytes.toString('hex') }
  blocks.set(question, { ...asked, pinBlock })
  return { ...asked, pinBlock }
}
