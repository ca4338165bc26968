import assert, { AssertionError } from 'node:assert/strict'
import type { SandboxFile } from '../../src/sandbox/sandbox-file.ts'
import { type Caller, createCaller } from './caller.ts'
import {
  tellAnswer,
  tellCall,
  tellEnd,
  tellFault,
  tellResult,
  tellScenario,
  tellStep,
  tellToken,
} from './narrator.ts'
import type { Answer, Journey, Scenario, Step } from './step.ts'

/** Walks through all scenarios. @returns whether every answer is what the specification says. */
export async function runDemo(
  sandbox: SandboxFile,
  scenarios: readonly Scenario[],
): Promise<boolean> {
  const journey = { sandbox, base: `/thr/${sandbox.processorPath}`, memory: new Map() }
  const caller = createCaller(sandbox)
  let number = 0
  for (const { steps, title } of scenarios) {
    tellScenario(title)
    for (const step of steps) {
      number += 1
      if (!(await runStep(number, step, journey, caller))) return false
    }
  }
  tellEnd(number)
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
  if (token) tellToken(token.asked, token.answered)
  tellStep(number, step)
  tellCall(call)
  const answer = await caller.send(call)
  tellAnswer(answer)
  const fault = faultOf(step, answer, journey)
  tellResult(number, step, call, answer, fault)
  if (fault === null) return true
  tellFault(fault)
  return false
}

function faultOf(step: Step, answer: Answer, journey: Journey): string | null {
  try {
    checkForm(step, answer)
    step.check?.(answer, journey)
    return null
  } catch (error) {
    if (error instanceof AssertionError) return error.message
    throw error
  }
}

/** What holds of every answer. */
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
