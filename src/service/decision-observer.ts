import type { Logger } from 'pino'
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { Asker } from '../operations/decisions/ask.ts'
import { recordLateAnswer } from '../storage/decisions/calls.ts'
import { recordEndpointState } from '../storage/decisions/endpoint-state.ts'
import type { Database } from '../storage/engine/database.ts'
import type { DecisionObserver } from './decisions.ts'

/**
 * Counts what clients are asked and answer, and records late answers and changed endpoints. No
 * label names a client.
 * @param database for the records, which are written in the background.
 */
export function askObserver(registry: Registry, database: Database, log: Logger): DecisionObserver {
  const registers = [registry]
  const requests = new Counter({
    name: 'pinfold_decision_requests_total',
    help: 'Requests to clients, by outcome: a verdict, timeout, or an error.',
    labelNames: ['purpose', 'outcome'],
    registers,
  })
  const seconds = new Histogram({
    name: 'pinfold_decision_seconds',
    help: 'Time from a request to a client until its answer, timeout or error.',
    labelNames: ['purpose'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 1.5, 2, 2.5, 3],
    registers,
  })
  const late = new Counter({
    name: 'pinfold_decisions_late_total',
    help: 'Answers of clients that came after their deadline.',
    registers,
  })
  const shadows = new Counter({
    name: 'pinfold_decision_shadows_total',
    help: 'Answers of shadow versions, by how they compare with what was answered.',
    labelNames: ['result'],
    registers,
  })
  const ruleFailures = new Counter({
    name: 'pinfold_decision_rule_failures_total',
    help: 'Rules of fallbacks that failed: the authorization was declined.',
    registers,
  })
  const record = (recording: Promise<unknown>, what: string): void => {
    recording.catch((err: unknown) => log.warn({ err }, `${what} could not be recorded`))
  }
  return {
    asked(purpose, { answer, durationMs, error }) {
      requests.inc({ purpose, outcome: answer?.decision ?? error ?? 'timeout' })
      seconds.observe({ purpose }, durationMs / 1_000)
    },
    compared(result) {
      shadows.inc({ result })
    },
    answeredLate({ facts, reserved }, { answer, answerHash }) {
      late.inc()
      const key = { publicToken: facts.card.publicToken, decisionId: reserved.decisionId }
      record(recordLateAnswer(database, key, { answer, answerHash }, null), 'a late answer')
    },
    ruleFailed({ clientId, endpointProductId, endpointVersion: version, decisionId }, error) {
      ruleFailures.inc()
      const productId = endpointProductId === 0 ? null : endpointProductId
      const reason = error instanceof Error ? error.message : String(error)
      log.warn(
        { clientId, productId, version, decisionId, reason },
        'the rule of a fallback failed, and the authorization is declined',
      )
    },
    breakerChanged(endpoint, { facts }, change) {
      const { clientId, productId, version } = endpoint
      const unanswered = change.to === 'degraded' ? change.unanswered : null
      if (unanswered !== null)
        log.warn(
          { clientId, productId, version, unanswered },
          'a decision endpoint does not answer',
        )
      const { publicToken } = facts.card
      record(
        recordEndpointState(database, endpoint, publicToken, change.to, unanswered),
        'the state of a decision endpoint',
      )
    },
  }
}

/** Shows what an asker does at a moment. */
export function watchAsker(registry: Registry, { load }: Pick<Asker, 'load'>): void {
  const registers = [registry]
  new Gauge({
    name: 'pinfold_decision_requests_in_flight',
    help: 'Requests that wait for an answer of a client (waiting), or for a late one (overdue).',
    labelNames: ['state'],
    registers,
    collect() {
      const { inFlight, overdue } = load()
      this.set({ state: 'waiting' }, inFlight)
      this.set({ state: 'overdue' }, overdue)
    },
  })
  new Gauge({
    name: 'pinfold_decision_breakers_open',
    help: 'Endpoints in use that are sent nothing but probes, because they do not answer.',
    registers,
    collect() {
      this.set(load().openBreakers)
    },
  })
}
