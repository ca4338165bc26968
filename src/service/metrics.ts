import type { Logger } from 'pino'
import { Counter, Gauge, type Registry } from 'prom-client'
import type { TryKind } from '../domain/tries.ts'
import { isInstallationKey, keyCatalogue } from '../hsm/contract/catalogue.ts'
import type { Admissions } from '../listeners/http/in-flight.ts'
import type { AuthorizationObserver } from '../operations/authorizations/authorization.ts'
import type { KeyContext } from '../operations/keys/keys.ts'
import { computeRoundProgress, type RoundProgress } from '../operations/keys/re-encryption.ts'
import { ageSeconds, currentVersions, rotationDue } from '../operations/keys/uses.ts'
import { mistakeKinds } from '../storage/authorizations/mistakes.ts'
import { type Databases, poolNames } from '../storage/engine/database.ts'
import { type DatedHsmKeyRow, listHsmKeys } from '../storage/keys/hsm-keys.ts'
import { listReEncryptions } from '../storage/keys/re-encryption.ts'

const tryKinds = ['pin', 'cvv'] as const satisfies readonly TryKind[]

/** Counts the answers to card networks. No label names a card, a client or a network. */
export function authorizingObserver(registry: Registry, log: Logger): AuthorizationObserver {
  const registers = [registry]
  const answers = new Counter({
    name: 'pinfold_authorizations_total',
    help: 'Authorizations answered, by response code (ISO 8583, field 39).',
    labelNames: ['response_code'],
    registers,
  })
  const checks = new Counter({
    name: 'pinfold_checks_total',
    help: 'PINs and CVVs checked, by result.',
    labelNames: ['kind', 'result'],
    registers,
  })
  const mistakes = new Counter({
    name: 'pinfold_card_mistakes_total',
    help: 'Authorizations with a wrong value that costs no try, by how the card was presented.',
    labelNames: ['kind', 'entry_mode'],
    registers,
  })
  const guessing = new Counter({
    name: 'pinfold_card_guessing_total',
    help: 'Cards with too many mistakes of one kind from one network within a day.',
    labelNames: ['kind'],
    registers,
  })
  // An alert sees an increase only from a sample before it.
  for (const kind of mistakeKinds) guessing.inc({ kind }, 0)
  const decisions = new Counter({
    name: 'pinfold_decisions_total',
    help: 'Authorizations that clients, or what stood in for them, decided.',
    labelNames: ['decided_by', 'error'],
    registers,
  })
  const faults = new Counter({
    name: 'pinfold_hsm_faults_total',
    help: 'Checks without an answer of the HSM.',
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
    mistakeCounted({ entryMode, isGuessing, kind, networkId, publicToken }) {
      mistakes.inc({ kind, entry_mode: entryMode })
      if (!isGuessing) return
      guessing.inc({ kind })
      log.warn({ kind, networkId, publicToken }, 'a network guesses at a value of a card')
    },
    decided(decidedBy, error) {
      decisions.inc({ decided_by: decidedBy, error: error ?? 'none' })
    },
    hsmFaulted(err) {
      faults.inc()
      log.error({ err }, 'the HSM gave no answer')
    },
    chipResultsLost(err) {
      log.error({ err }, 'the state of commands to a chip was not recorded')
    },
  }
}

/** A gauge of each key, measured on request. */
interface KeyFigure {
  readonly name: string
  readonly help: string
  readonly measure: () => Promise<readonly (readonly [keyName: string, value: number])[]>
}

/**
 * Creates the gauge. During a database outage it has no samples, and other metrics still have
 * theirs.
 */
const createKeyGauge = (registry: Registry, { help, measure, name }: KeyFigure): Gauge =>
  new Gauge({
    name,
    help,
    labelNames: ['key'],
    registers: [registry],
    async collect() {
      this.reset()
      for (const [key, value] of await measure().catch(() => [])) this.set({ key }, value)
    },
  })

/** Registers metrics of the use of the current keys and of the progress of re-encryptions. */
export function watchKeys(registry: Registry, { database }: KeyContext): void {
  const ofVersions = (measure: (row: DatedHsmKeyRow, now: Date) => number) => async () => {
    const now = new Date()
    const rows = currentVersions(await listHsmKeys(database))
    return rows.map((row) => [row.keyName, measure(row, now)] as const)
  }
  const ofRounds = (measure: (progress: RoundProgress) => number | null) => async () => {
    const now = new Date()
    const rows = await listReEncryptions(database, '', 0, reEncryptionsMost)
    return rows
      .filter(({ finishedAt }) => finishedAt === null)
      .map((row) => [row.keyName, measure(computeRoundProgress(row, now))] as const)
      .flatMap(([key, value]) => (value === null ? [] : [[key, value] as const]))
  }
  const figures: readonly KeyFigure[] = [
    {
      name: 'pinfold_key_uses',
      help: 'Uses of the key version that protects new data.',
      measure: ofVersions(({ uses }) => uses),
    },
    {
      name: 'pinfold_key_age_seconds',
      help: 'Age of that version.',
      measure: ofVersions(ageSeconds),
    },
    {
      name: 'pinfold_key_rotation_due',
      help: 'Whether a rotation is due by its age or uses (NIST SP 800-57, 5.3.6).',
      measure: ofVersions((row, now) => {
        if (!isInstallationKey(row.keyName)) return 0
        return rotationDue(row, keyCatalogue[row.keyName].cryptoperiod, now) === null ? 0 : 1
      }),
    },
    {
      name: 'pinfold_reencryption_share',
      help: 'Share of the cards that the round of a re-encryption has processed, from 0 to 1.',
      measure: ofRounds(({ shareOfCards }) => shareOfCards),
    },
    {
      name: 'pinfold_reencryption_left_seconds',
      help: 'Estimated remaining time of the round, at its present rate.',
      measure: ofRounds(({ secondsLeft }) => secondsLeft),
    },
  ]
  for (const figure of figures) createKeyGauge(registry, figure)
}

/** More than are ever stored. */
const reEncryptionsMost = 1_000

/** Registers metrics of the connections to a database server. */
export function watchPools(registry: Registry, databases: Databases): void {
  const pools = poolNames.map((pool) => ({ pool, database: databases[pool] }))
  // If there are too few to divide, all uses share the first pool.
  const isShared = pools.every(({ database }) => database === databases.clients)
  const shown = isShared ? [{ pool: 'shared', database: databases.clients }] : pools
  if (databases.clients.load === null) return
  new Gauge({
    name: 'pinfold_database_connections',
    help:
      'Connections to the database (busy, idle), and requests that wait for one (waiting), by ' +
      'pool.',
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

/** Registers metrics of the calls in flight and of the calls that wait. */
export function watchAdmissions(registry: Registry, admissions: Admissions): void {
  new Gauge({
    name: 'pinfold_calls_in_flight',
    help: 'Running and waiting calls, by the kind of caller, or answer. A list counts as eight.',
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
