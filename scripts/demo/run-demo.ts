import assert, { AssertionError } from 'node:assert/strict'
import type { CallFailed } from '../../packages/sdk/client/errors.ts'
import { parseSettings } from '../../packages/sdk/client/options.ts'
import { createExchange, type Exchange } from '../../packages/sdk/client/transport/exchange.ts'
import type { SandboxFile } from '../../src/sandbox/sandbox-file.ts'
import type { Credentials } from '../../src/sandbox/seed.ts'
import {
  printAnswer,
  printCall,
  printEnd,
  printFault,
  printResult,
  printScenario,
  printStep,
  printToken,
} from './narrator.ts'
import type { Actor, Answer, Call, Journey, Scenario, Step } from './steps.ts'

/** Runs all scenarios. @returns whether every answer matches the specification. */
export async function runDemo(
  sandbox: SandboxFile,
  scenarios: readonly Scenario[],
): Promise<boolean> {
  const journey = { sandbox, base: `/thr/${sandbox.processorPath}`, memory: new Map() }
  const caller = createCaller(sandbox)
  let number = 0
  for (const { steps, title } of scenarios) {
    printScenario(title)
    for (const step of steps) {
      number += 1
      if (!(await runStep(number, step, journey, caller))) return false
    }
  }
  printEnd(number)
  return true
}

async function runStep(
  number: number,
  step: Step,
  journey: Journey,
  caller: Caller,
): Promise<boolean> {
  const call = step.call(journey)
  const token = await caller.authenticate(call.as)
  if (token) printToken(token.asked, token.answered)
  printStep(number, step)
  printCall(call)
  const answer = await caller.send(call)
  printAnswer(answer)
  const fault = findFault(step, answer, journey)
  printResult(number, step, call, answer, fault)
  if (fault === null) return true
  printFault(fault)
  return false
}

function findFault(step: Step, answer: Answer, journey: Journey): string | null {
  try {
    checkForm(step, answer)
    step.check?.(answer, journey)
    return null
  } catch (error) {
    if (error instanceof AssertionError) return error.message
    throw error
  }
}

/** Checks the general form of an answer. */
function checkForm({ problem, status }: Step, { body, headers, status: answered }: Answer): void {
  assert.ok(answered === status, `the status must be ${status}, not ${answered}.`)
  assert.ok(headers.get('x-request-id'), 'X-Request-Id must be there.')
  assert.ok(headers.get('cache-control') === 'no-store', 'Cache-Control must be no-store.')
  if (status === 204) assert.ok(body === null, 'there must be no body.')
  if (problem === undefined) return
  const type = headers.get('content-type') ?? ''
  assert.ok(type.startsWith('application/problem+json'), 'the type must be problem+json.')
  const { code } = body as { code?: unknown }
  assert.ok(code === problem, `the code must be ${problem}, not ${String(code)}.`)
}

/** The answer of the token endpoint (RFC 6749, section 5.1). */
interface TokenAnswer {
  readonly access_token: string
  readonly [member: string]: unknown
}

/** Sends calls as the demo's actors, each with a token that is requested once. */
interface Caller {
  /** Gets a token unless there is one. @returns the request and the answer, or null. */
  authenticate(actor: Actor): Promise<{ asked: Credentials; answered: TokenAnswer } | null>
  /** Sends an authenticated actor's call. */
  send(call: Call): Promise<Answer>
}

function createCaller(sandbox: SandboxFile): Caller {
  const { baseUrl, privateUrl, tokenEndpoint } = sandbox
  const answers = new Map<Actor, TokenAnswer>()
  const openExchange = (actor: Actor) => {
    const { clientId, clientSecret, scope } = actor === 'client' ? sandbox : sandbox[actor]
    const settings = parseSettings({
      baseUrl,
      tokenEndpoint,
      clientId,
      clientSecret,
      scope,
      timeoutMs: 15_000,
      retries: 0,
      allowHttp: true,
      async fetch(...request) {
        const response = await fetch(...request)
        // The answer is shown with the token masked.
        if (request[0] === tokenEndpoint && response.ok) {
          answers.set(actor, (await response.clone().json()) as TokenAnswer)
        }
        return response
      },
    })
    return createExchange(settings)
  }
  const exchanges = new Map<Actor, Exchange>()
  const exchangeFor = (actor: Actor): Exchange => {
    const exchange = exchanges.get(actor) ?? openExchange(actor)
    exchanges.set(actor, exchange)
    return exchange
  }
  return {
    async authenticate(actor) {
      if (answers.has(actor)) return null
      const asked = actor === 'client' ? sandbox : sandbox[actor]
      await exchangeFor(actor)
        .authenticate()
        .catch((cause: CallFailed) => {
          if (cause.code !== 'token_refused') throw cause
          const refused = `${tokenEndpoint} refuses ${asked.clientId} with ${cause.status}.`
          const question = 'Does it use another DATA_DIR, or was the secret rotated?'
          throw new Error(`${refused} ${question}`)
        })
      const answered = answers.get(actor)
      return answered ? { asked, answered } : null
    },
    async send({ as, body, headers = {}, method, path }) {
      const url = (as === 'network' || as === 'admin' ? privateUrl : baseUrl) + path
      const request = { url, method, headers, body: body && JSON.stringify(body) }
      const { text, ...answer } = await exchangeFor(as).send(request)
      return { ...answer, body: text === '' ? null : JSON.parse(text) }
    },
  }
}
