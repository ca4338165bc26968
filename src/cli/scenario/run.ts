import { createHash } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { SandboxFile } from '../../sandbox/sandbox-file.ts'
import { Refused } from '../command.ts'
import { createCalls, type ScenarioAnswer, type SendCall } from './callers.ts'
import { CardRefused, prepareCard } from './cards.ts'
import type { ScenarioFile } from './file.ts'
import type { Step } from './schema.ts'
import {
  compare,
  type Difference,
  fill,
  findAt,
  show,
  UnknownName,
  type Variables,
} from './values.ts'

/** Where a scenario differs from its file, in words that are the same in every run. */
interface Failure {
  readonly line: number
  readonly step: string
  readonly differences: readonly string[]
}

/** The result of a scenario. */
export interface ScenarioResult {
  readonly file: string
  readonly scenario: string
  readonly steps: number
  readonly failure: Failure | null
}

const snapshot = 'scenario-run'
/** How often a call of the administrator is sent while the sandbox is busy, and how long apart. */
const attemptsMost = 30
const retryAfterMs = 500

/**
 * Runs scenarios one after the other, each from the state that the sandbox has now; afterwards it
 * has this state again. A restore that fails leaves the snapshot, so that it can be restored later.
 * @param seed decides the order, and the request ids.
 */
export async function runScenarios(
  sandbox: SandboxFile,
  files: readonly ScenarioFile[],
  seed: string | null,
  onResult: (result: ScenarioResult) => void,
): Promise<readonly ScenarioResult[]> {
  const send = createCalls(sandbox)
  const tools = createTools(sandbox, send)
  const path = `/sandbox/snapshots/${snapshot}`
  await tools.manage('PUT', path)
  let isRestored = true
  const restore = async (): Promise<void> => {
    isRestored = false
    await tools.manage('POST', `${path}/restore`)
    isRestored = true
  }
  const results: ScenarioResult[] = []
  try {
    // Each restore brings the same events back, so that they are read once.
    const newest = (await tools.listEvents(null)).at(-1)?.id ?? null
    for (const file of inOrder(files, seed)) {
      const failure = await runScenario(tools, file, seed, newest).finally(restore)
      const { path: name, scenario } = file
      const steps = scenario.steps.length
      const result = { file: name, scenario: scenario.scenario, steps, failure }
      onResult(result)
      results.push(result)
    }
  } finally {
    if (isRestored) await tools.manage('DELETE', path)
  }
  return results
}

const digest = (seed: string, text: string): string =>
  createHash('sha256').update(`${seed}\n${text}`).digest('hex')

/** The order of the files is that of the seed, so that none relies on another. */
function inOrder(files: readonly ScenarioFile[], seed: string | null): readonly ScenarioFile[] {
  if (seed === null) return files
  return files
    .map((file) => ({ file, place: digest(seed, file.path) }))
    .toSorted((one, other) => Number(one.place > other.place) - Number(one.place < other.place))
    .map(({ file }) => file)
}

interface Tools {
  readonly send: SendCall
  readonly baseUrl: string
  /** A call of the administrator that must succeed. @throws Refused otherwise. */
  manage(method: string, path: string, body?: object): Promise<unknown>
  now(): Promise<Date>
  /** The events of a client after one of them. */
  listEvents(after: string | null): Promise<readonly CardEvent[]>
}

interface CardEvent {
  readonly id: string
  readonly type: string
  readonly data: { readonly publicToken: string }
}

function createTools({ baseUrl }: SandboxFile, send: SendCall): Tools {
  const require = async (answer: ScenarioAnswer): Promise<unknown> => {
    if (answer.status < 300) return answer.body
    throw new Refused(answer.status, (answer.body ?? {}) as object)
  }
  // A busy sandbox refuses a restore until its running calls have ended, and has then done nothing.
  const manage: Tools['manage'] = async (method, path, body) => {
    for (let attempt = 1; ; attempt += 1) {
      const answer = await send({ as: 'admin', method, path, body })
      if (answer.status !== 503 || attempt === attemptsMost) return require(answer)
      await wait(retryAfterMs)
    }
  }
  return {
    send,
    baseUrl,
    manage,
    async now() {
      const { now } = (await manage('GET', '/sandbox/clock')) as { now: string }
      return new Date(now)
    },
    async listEvents(after) {
      await manage('POST', '/sandbox/settle')
      const events: CardEvent[] = []
      for (let next = after; ; ) {
        const query = next === null ? '' : `?after=${next}`
        const answer = await send({ as: 'client', method: 'GET', path: `/events${query}` })
        const page = (await require(answer)) as readonly CardEvent[]
        events.push(...page)
        const last = page.at(-1)
        if (!last) return events
        next = last.id
      }
    },
  }
}

/** @param newest the newest event before the scenario. */
async function runScenario(
  tools: Tools,
  file: ScenarioFile,
  seed: string | null,
  newest: string | null,
): Promise<Failure | null> {
  const { findLine, path, scenario } = file
  const variables: Variables = new Map()
  const { clock, events, steps } = scenario
  if (clock !== undefined) await tools.manage('POST', '/sandbox/clock', { now: clock })
  const unprepared = await prepareCards(tools, file, variables)
  if (unprepared) return unprepared
  const before = events ? ((await tools.listEvents(newest)).at(-1)?.id ?? newest) : null
  for (const [at, step] of steps.entries()) {
    const prefix = digest(seed ?? '', `${path} ${at}`).slice(0, 24)
    const failed = await runStep(tools, step, variables, prefix)
    if (!failed) continue
    const [part, differences] = failed
    return { line: findLine(['steps', at, ...part]), step: step.step, differences }
  }
  return events ? judgeEvents(file, variables, await tools.listEvents(before)) : null
}

/** Prepares the cards of all actors. */
async function prepareCards(
  tools: Tools,
  { findLine, scenario: { cards = {} } }: ScenarioFile,
  variables: Variables,
): Promise<Failure | null> {
  for (const [actor, card] of Object.entries(cards)) {
    try {
      await prepareCard(tools, actor, card, variables)
    } catch (error) {
      if (!(error instanceof CardRefused)) throw error
      const step = `the card of ${actor}`
      return { line: findLine(['cards', actor]), step, differences: [error.message] }
    }
  }
  return null
}

function judgeEvents(
  { findLine, scenario }: ScenarioFile,
  variables: Variables,
  listed: readonly CardEvent[],
): Failure | null {
  for (const [actor, expected] of Object.entries(scenario.events ?? {})) {
    const token = variables.get(`${actor}.publicToken`)
    const actual = listed.filter(({ data }) => data.publicToken === token).map(({ type }) => type)
    if (JSON.stringify(actual) === JSON.stringify(expected)) continue
    const differences = [describe({ pointer: `/${actor}`, expected, actual }, variables)]
    return { line: findLine(['events', actor]), step: 'the events', differences }
  }
  return null
}

type FailedPart = readonly [part: readonly string[], differences: readonly string[]]

/** @returns the part of the step that differs, and the differences; null without any. */
async function runStep(
  { send }: Tools,
  step: Step,
  variables: Variables,
  prefix: string,
): Promise<FailedPart | null> {
  try {
    const [method = '', path = ''] = String(fill(step.call, variables)).split(' ')
    const body = fill(step.body, variables)
    const key = step.idempotencyKey
    for (let time = 1; time <= (step.times ?? 1); time += 1) {
      const headers = {
        'x-request-id': `scenario-${prefix}-${time}`,
        ...(key !== undefined && { 'idempotency-key': String(fill(key, variables)) }),
      }
      const answer = await send({ as: step.as ?? 'client', method, path, body, headers })
      const failed = judge(step, answer, variables)
      if (failed) return failed
      for (const [name, pointer] of Object.entries(step.save ?? {})) {
        const value = findAt(answer.body, pointer)
        const isScalar = ['string', 'number', 'boolean'].includes(typeof value)
        if (!isScalar) return [['save', name], [`the answer has no value at ${pointer}`]]
        variables.set(name, value as string)
      }
    }
    return null
  } catch (error) {
    if (!(error instanceof UnknownName)) throw error
    return [[], [error.message]]
  }
}

function judge({ expect }: Step, answer: ScenarioAnswer, variables: Variables): FailedPart | null {
  if (answer.status !== expect.status) {
    const problem = (answer.body ?? {}) as { code?: string; errors?: unknown }
    const shown = { code: problem.code, errors: problem.errors }
    const why = problem.code === undefined ? [] : [`  problem: ${show(shown, variables)}`]
    const status = { pointer: 'status', expected: expect.status, actual: answer.status }
    return [
      ['expect', 'status'],
      [describe(status, variables), ...why],
    ]
  }
  for (const [name, value] of Object.entries(expect.headers ?? {})) {
    const found = compare(fill(value, variables), answer.headers.get(name) ?? undefined, name)
    if (found.length > 0) {
      return [['expect', 'headers', name], found.map((each) => describe(each, variables))]
    }
  }
  if (expect.body === undefined) return null
  const found = compare(fill(expect.body, variables), answer.body)
  if (found.length === 0) return null
  return [['expect', 'body'], found.map((each) => describe(each, variables))]
}

const describe = ({ actual, expected, pointer }: Difference, variables: Variables): string =>
  [
    pointer || 'body',
    `  - expected ${show(expected, variables)}`,
    `  + actual   ${show(actual, variables)}`,
  ].join('\n')
