import type { Logger } from 'pino'
import { Counter, Gauge, type Registry } from 'prom-client'
import type { AuthorizingObserver } from '../authorizing/authorizing.ts'
import type { TryKind } from '../domain/tries.ts'
import type { PoolLoad } from '../storage/database.ts'

const tryKinds = ['pin', 'cvv'] as const satisfies readonly TryKind[]

/** Counts what card networks are answered. No label names a card, a client or a network. */
export function authorizingObserver(registry: Registry, log: Logger): AuthorizingObserver {
  const registers = [registry]
  const answers = new Counter({
    name: 'pinfold_authorizations_total',
    help: 'Authorizations answered, by response code (ISO 8583, field 39).',
    labelNames: ['response_code'],
    registers,
  })
  const checks = new Counter({
    name: 'pinfold_checks_total',
    help: 'PINs and CVVs checked, by what the check came to.',
    labelNames: ['kind', 'result'],
    registers,
  })
  const wrongExpiries = new Counter({
    name: 'pinfold_wrong_expiries_total',
    help: "Authorizations with an expiry that is not the card's, by how the card was presented.",
    labelNames: ['entry_mode'],
    registers,
  })
  const guessing = new Counter({
    name: 'pinfold_expiry_guessing_total',
    help: 'Cards of which one network gave more than 10 wrong expiries within a day.',
    registers,
  })
  const faults = new Counter({
    name: 'pinfold_hsm_faults_total',
    help: 'Checks that the HSM gave no answer to.',
    registers,
  })
  return {
    answered(authorization) {
      answers.inc({ response_code: authorization.responseCode })
    },
    checked(outcomes) {
      for (const kind of tryKinds) {
        const result = outcomes[kind]?.result
        if (result && result !== 'not_checked') checks.inc({ kind, result })
      }
    },
    expiryWrong({ entryMode, isGuessing, networkId, publicToken }) {
      wrongExpiries.inc({ entry_mode: entryMode })
      if (!isGuessing) return
      guessing.inc()
      log.warn({ networkId, publicToken }, 'a network guesses at the expiry of a card')
    },
    hsmFaulted(err) {
      faults.inc()
      log.error({ err }, 'the HSM gave no answer')
    },
  }
}

/** Shows what the connections to a database server are doing, read when somebody asks. */
export function watchPool(registry: Registry, load: () => PoolLoad): void {
  new Gauge({
    name: 'pinfold_database_connections',
    help: 'Connections to the database (busy, idle), and requests that wait for one (waiting).',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      for (const [state, count] of Object.entries(load())) this.set({ state }, count)
    },
  })
}
