import type { Logger } from 'pino'
import { Counter, Gauge, type Registry } from 'prom-client'
import type { AuthorizingObserver } from '../authorizing/authorizing.ts'
import type { TryKind } from '../domain/tries.ts'
import type { Admissions } from '../http/in-flight.ts'
import type { KeyManagement } from '../key-management/key-management.ts'
import { ageSeconds, currentVersions, rotationDue } from '../key-management/rotation-due.ts'
import { type Databases, poolNames } from '../storage/database.ts'
import { type DatedHsmKeyRow, listHsmKeys } from '../storage/hsm-keys.ts'

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

/**
 * Shows how worn the keys are that new things are made under. Where the database is away, nothing is told
 * of them, and everything else still is.
 */
export function watchKeys(registry: Registry, { database, hsm }: KeyManagement): void {
  const show = (name: string, help: string, measure: (row: DatedHsmKeyRow, now: Date) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['key'],
      registers: [registry],
      async collect() {
        this.reset()
        const rows = await listHsmKeys(database).catch(() => [])
        const now = new Date()
        for (const row of currentVersions(rows)) this.set({ key: row.keyName }, measure(row, now))
      },
    })
  show(
    'pinfold_key_uses',
    'Uses of the version of a key that makes new things.',
    ({ uses }) => uses,
  )
  show('pinfold_key_age_seconds', 'How long that version has made new things.', ageSeconds)
  show(
    'pinfold_key_rotation_due',
    'Whether its age or its uses call for a rotation (NIST SP 800-57, 5.3.6).',
    (row, now) => {
      const period = hsm.cryptoperiods[row.keyName]
      return period && rotationDue(row, period, now) !== null ? 1 : 0
    },
  )
}

/** Shows what the connections to a database server are doing, read when somebody asks. */
export function watchPools(registry: Registry, databases: Databases): void {
  const pools = poolNames.map((pool) => ({ pool, database: databases[pool] }))
  // Where there are too few to divide, everybody is in the first.
  const isShared = pools.every(({ database }) => database === databases.clients)
  const shown = isShared ? [{ pool: 'shared', database: databases.clients }] : pools
  if (databases.clients.load === null) return
  new Gauge({
    name: 'pinfold_database_connections',
    help: 'Connections to the database (busy, idle), and requests that wait for one (waiting), by pool.',
    labelNames: ['pool', 'state'],
    registers: [registry],
    collect() {
      for (const { database, pool } of shown) {
        for (const [state, count] of Object.entries(database.load?.() ?? {})) {
          this.set({ pool, state }, count)
        }
      }
    },
  })
}

/** Shows how many calls are in work and how many wait to be begun, read when somebody asks. */
export function watchAdmissions(registry: Registry, admissions: Admissions): void {
  new Gauge({
    name: 'pinfold_calls_in_flight',
    help: 'Calls in work (running) and not yet begun (waiting), by the kind of who calls. A list counts as eight.',
    labelNames: ['caller', 'state'],
    registers: [registry],
    collect() {
      for (const [caller, admission] of Object.entries(admissions)) {
        for (const [state, count] of Object.entries(admission.load())) {
          this.set({ caller, state }, count)
        }
      }
    },
  })
}
