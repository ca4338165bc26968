import { randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { eventBlocks } from '../../../packages/sdk/client/transport/event-stream.ts'
import type { DecisionAnswer, DecisionRequest } from '../../../packages/sdk/webhooks/webhooks.ts'
import * as cli from '../command.ts'
import { asClient } from '../connection/connection.ts'
import type { Open, ServiceConnection } from '../connection/requests.ts'
import { line, print, printBeside } from '../output.ts'
import { decodeStream, followEvents, isFinal } from './events.ts'

/** The module of a client: its rule, and what it does with events. */
interface Rule {
  default(request: DecisionRequest): unknown
  onEvent?(event: unknown): unknown
}

/** The events that correct a balance: a changed hold, or an approval that was declined later. */
const eventTypes = 'authorization.declined,payment.changed,payment.expired'

export const listenCommand: cli.Command = {
  words: 'decisions listen',
  summary: 'decides by a module on this machine, until it is stopped',
  description:
    'The default export of the module gets each request and returns the answer. A named export\n' +
    'onEvent gets the events after it: declines, and changes of payments. If the rule fails, it\n' +
    'prints why, and the fallback of the endpoint decides.',
  options: {
    exec: { type: 'string', value: 'FILE', help: 'the module, such as ./rule.mjs' },
    count: { type: 'string', value: 'N', help: 'ends after this number of decisions' },
    replay: {
      type: 'string',
      value: 'IDS',
      help: 'tries the rule on past decisions, separated by commas, and ends',
    },
  },
  connection: cli.clientConnection,
  example: 'pinfold decisions listen --exec ./rule.mjs',
  run: (call) =>
    asClient(call, async (service) => {
      const rule = await loadRule(cli.findText(call, 'exec'))
      const ids = cli.findText(call, 'replay')
      if (ids === undefined) await listen(service, call, rule)
      else await tryOn(service, rule, ids.split(','))
      return null
    }),
}

async function loadRule(file: string | undefined): Promise<Rule> {
  if (file === undefined)
    throw new cli.UsageError('--exec FILE is needed: the module that decides.')
  const rule = await (import(pathToFileURL(resolve(file)).href) as Promise<Partial<Rule>>).catch(
    (error: unknown) => {
      throw new cli.UsageError(`${file} could not be loaded: ${describeError(error)}`)
    },
  )
  if (typeof rule.default !== 'function') {
    throw new cli.UsageError(`${file} has no function as its default export.`)
  }
  return rule as Rule
}

/**
 * Tries a rule on the requests of past decisions. Nothing is sent. A new id, as the service makes
 * one, so that a rule that knows the ids it has answered decides anew.
 */
async function tryOn({ ask, base }: ServiceConnection, rule: Rule, ids: string[]): Promise<void> {
  for (const id of ids) {
    const path = `${base}/decisions/${encodeURIComponent(id.trim())}`
    type Past = { readonly decision?: string; readonly request: DecisionRequest }
    const { decision = 'unanswered', request } = await ask<Past>('GET', path)
    await print(
      await describe(
        rule,
        { ...request, decisionId: randomUUID(), purpose: 'replay' },
        `was ${decision}  `,
      ),
    )
  }
}

const describe = async (rule: Rule, request: DecisionRequest, prefix: string): Promise<string> => {
  const startedMs = performance.now()
  try {
    const answer = await askRule(rule, request)
    return composeLine(request, `${prefix}${describeAnswer(answer)}`, startedMs)
  } catch (error) {
    return composeLine(request, `${prefix}the rule failed: ${describeError(error)}`, startedMs)
  }
}

/** The service verifies all but this, which has no JSON to send. */
async function askRule(rule: Rule, request: DecisionRequest): Promise<DecisionAnswer> {
  const answer = await rule.default(request)
  if (typeof answer === 'object' && answer !== null) return answer as DecisionAnswer
  throw new Error("the rule returned no object, such as { decision: 'approve' }")
}

/** Decides each request of the stream separately. */
async function listen(service: ServiceConnection, call: cli.Call, rule: Rule): Promise<void> {
  const { open } = service
  if (!open) throw new cli.Unreachable('No server is running here. Run pinfold start first.')
  const most = cli.parseNumber(call, 'count') ?? Number.POSITIVE_INFINITY
  const { onEvent } = rule
  const ended = new AbortController()
  const following = onEvent && follow(service, call, onEvent, ended.signal)
  const deciding = new Set<Promise<void>>()
  let begun = 0
  for await (const request of followRequests(open, `${service.base}/decisions/stream`)) {
    const one = decide(service, rule, request).finally(() => deciding.delete(one))
    deciding.add(one)
    begun += 1
    if (begun >= most) break
  }
  await Promise.all(deciding)
  ended.abort()
  await following
}

async function follow(
  service: ServiceConnection,
  call: cli.Call,
  onEvent: (event: unknown) => unknown,
  signal: AbortSignal,
): Promise<void> {
  const options = { ...call.options, count: undefined }
  const pass = async (event: string) => {
    try {
      await onEvent(JSON.parse(event))
    } catch (error) {
      printBeside(`onEvent failed: ${describeError(error)}`)
    }
  }
  await followEvents(service, { ...call, options }, eventTypes, pass, signal).catch(
    (error: unknown) => printBeside(`Events are not followed: ${describeError(error)}`),
  )
}

async function decide(
  { ask, base }: ServiceConnection,
  rule: Rule,
  request: DecisionRequest,
): Promise<void> {
  const startedMs = performance.now()
  try {
    const answer = await askRule(rule, request)
    const path = `${base}/decisions/${request.decisionId}/answer`
    await ask('POST', path, answer)
    await print(composeLine(request, describeAnswer(answer), startedMs))
  } catch (error) {
    const text = `not answered, so that the fallback decides: ${describeError(error)}`
    await print(composeLine(request, text, startedMs))
  }
}

/** The pauses before reconnecting; the last one repeats. */
const pausesMs = [100, 200, 500, 1_000, 2_000]

/** Yields the requests of successive streams. A refusal is final. */
async function* followRequests(open: Open, path: string): AsyncGenerator<DecisionRequest> {
  let hasBegun = false
  for (let failures = 0; ; failures += 1) {
    try {
      const { body } = await open(path, { accept: 'text/event-stream' })
      printBeside('Waiting for requests.')
      hasBegun = true
      for await (const { data } of eventBlocks(decodeStream(body))) {
        failures = 0
        if (data !== undefined) yield JSON.parse(JSON.parse(data).body)
      }
    } catch (error) {
      if (isFinal(error, hasBegun, failures)) throw error
    }
    printBeside('The stream ended and is being opened again.')
    await wait(pausesMs[Math.min(failures, pausesMs.length - 1)])
  }
}

const describeAnswer = ({ amount, decision, reason }: DecisionAnswer): string =>
  [decision, reason, amount].filter((part) => part !== undefined).join(' ')

/** On one line, as each decision is. */
const describeError = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).replace(/\s*\n\s*/g, ' ')

function composeLine(
  { amounts, card, merchant }: DecisionRequest,
  outcome: string,
  startedMs: number,
): string {
  const hold = amounts.hold ? `${amounts.hold.amount} ${amounts.hold.currency}` : '-'
  const took = (performance.now() - startedMs).toFixed(1)
  return line`${card.publicToken}  ${hold}  ${merchant?.name ?? '-'}  ${outcome}  ${took} ms`
}
