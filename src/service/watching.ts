import type { Logger } from 'pino'
import { Counter, Gauge, type Registry } from 'prom-client'
import type { AuthorizingObserver } from '../authorizing/authorizing.ts'
import type { TryKind } from '../domain/tries.ts'
import type { KeyManagement } from '../key-management/key-management.ts'
import { ageSeconds, currentVersions, rotationDue } from '../key-management/rotation-due.ts'
import type { PoolLoad } from '../storage/database.ts'
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
  const faults = new Counter({
    name: 'pinfold_hsm_faults_total',
    help: 'Checks that the HSM gave no answer to.',
    registers,
  })
  return {
    answered(authorization) {
      answers.inc({ response_code: authorization.responseCode })
      for (const kind of tryKinds) {
        const result = authorization[kind]?.result
        if (result && result !== 'not_checked') checks.inc({ kind, result })
      }
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
