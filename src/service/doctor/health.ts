import { findHealthAdvice, type HealthAdvice } from '../../domain/health-advice.ts'
import { type Finding, fault, good, warning } from './finding.ts'

/** A server of another version may report checks unknown to this program. */
const adviceOnOthers: HealthAdvice = {
  title: 'A check of another version does not pass',
  why: 'The server works, but reports a warning.',
  todo: "See the server's log.",
  means: "This program does not know the check: run the server's own doctor.",
}

/** Lists a finding for each check in the health document of a private listener. */
export function healthFindings(document: Readonly<Record<string, unknown>> | null): Finding[] {
  const checks = document?.checks
  if (typeof checks !== 'object' || checks === null) {
    return [
      warning(
        'health',
        'The server has no health document.',
        "The server's own findings are unknown.",
        "See the server's log, and GET /health of its private listener.",
      ),
    ]
  }
  return Object.entries(checks).map(([name, found]) => healthFinding(name, found))
}

function healthFinding(name: string, found: unknown): Finding {
  const [check]: readonly unknown[] = Array.isArray(found) ? found : []
  const output = findText(check, 'output')
  const status = findText(check, 'status')
  if (status === 'pass') return good('health', `${name}: ${output || 'passed.'}`)
  const say = status === 'fail' ? fault : warning
  const { means = '', todo, why } = findHealthAdvice(name) ?? adviceOnOthers
  return say('health', `${name}: ${output}`, why, `${todo} ${means}`.trimEnd())
}

function findText(check: unknown, name: string): string {
  if (typeof check !== 'object' || check === null) return ''
  const value: unknown = Reflect.get(check, name)
  return typeof value === 'string' ? value : ''
}
