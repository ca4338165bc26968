import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { AskOutcome, Decider, DecisionPurpose } from '../domain/decision.ts'
import type { AskerLoad } from '../operations/decisions/ask.ts'

/** Counts what clients decide. No label names a client. */
export interface DecisionMetrics {
  asked(purpose: DecisionPurpose, outcome: AskOutcome): void
  decided(decidedBy: Decider, error: string | null): void
  answeredLate(): void
  /** Whether a shadow version said the same as what was decided. */
  compared(isSame: boolean): void
}

/** @param load what the asker does at the moment. */
export function createDecisionMetrics(registry: Registry, load: () => AskerLoad): DecisionMetrics {
  const registers = [registry]
  const requests = new Counter({
    name: 'pinfold_decision_requests_total',
    help: 'Requests to decision endpoints, by what came of them: a verdict, timeout or an error.',
    labelNames: ['purpose', 'outcome'],
    registers,
  })
  const seconds = new Histogram({
    name: 'pinfold_decision_request_seconds',
    help: 'Time from asking a client to its answer, or to the end of its time.',
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 1.5, 2, 2.5, 3],
    labelNames: ['purpose'],
    registers,
  })
  const decisions = new Counter({
    name: 'pinfold_decisions_total',
    help: 'Authorizations that clients, or what stood in for them, decided.',
    labelNames: ['decided_by', 'error'],
    registers,
  })
  const late = new Counter({
    name: 'pinfold_decisions_late_total',
    help: 'Answers that came after their deadline.',
    registers,
  })
  const comparisons = new Counter({
    name: 'pinfold_decision_shadows_total',
    help: 'Answers of shadow versions, by whether they are what was decided.',
    labelNames: ['result'],
    registers,
  })
  new Gauge({
    name: 'pinfold_decision_requests_in_flight',
    help: 'Requests that wait for an answer, and those after their deadline.',
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
    help: 'Endpoints that this process sends nothing but probes, because they do not answer.',
    registers,
    collect() {
      this.set(load().openBreakers)
    },
  })
  return {
    asked(purpose, { answer, durationMs, error }) {
      requests.inc({ purpose, outcome: answer?.decision ?? error ?? 'timeout' })
      seconds.observe({ purpose }, durationMs / 1_000)
    },
    decided(decidedBy, error) {
      decisions.inc({ decided_by: decidedBy, error: error ?? 'none' })
    },
    answeredLate: () => late.inc(),
    compared(isSame) {
      comparisons.inc({ result: isSame ? 'same' : 'other' })
    },
  }
}
