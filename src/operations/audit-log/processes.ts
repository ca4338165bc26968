import { insertAct, type NewAct } from '../../storage/acts/acts.ts'
import type { Database } from '../../storage/engine/database.ts'
import { examineDatabase } from '../../storage/engine/installation.ts'

/** A starting process of this program. */
interface StartingProcess {
  readonly processId: string
  /** The versions of the program and of Node. */
  readonly version: string
  readonly node: string
  readonly host: string
  readonly hsm: 'software' | 'pkcs11'
  readonly database: 'embedded' | 'server'
  /** Settings that are weaker than the default, each with its state: `RATE_LIMIT`, `is off`. */
  readonly weakened: readonly { readonly variable: string; readonly found: string }[]
}

/**
 * Records that a process starts, with its version, its platform and each setting that weakens it. A
 * killed process records no stop: its next start records that it ended.
 */
export async function recordProcessStart(
  database: Database,
  { processId, weakened, ...details }: StartingProcess,
): Promise<void> {
  const facts = await examineDatabase(database)
  // A server that is not durable may lose acknowledged data when it ends, including entries.
  const undurable = [
    ['fsync', facts.fsync],
    ['full_page_writes', facts.fullPageWrites],
    ['synchronous_commit', facts.synchronousCommit],
  ] as const
  const found = [
    ...weakened,
    ...undurable
      .filter(([, value]) => value === 'off')
      .map(([name]) => ({ variable: `database ${name}`, found: 'is off' })),
  ]
  const schema = facts.newestMigration
  const acts = [
    composeAct('process.started', 'process', processId, {
      ...details,
      databaseVersion: facts.versionNumber,
      ...(schema !== null && { schema }),
    }),
    ...found.map(({ found, variable }) =>
      composeAct('setting.weakened', 'setting', variable, { process: processId, found }),
    ),
  ]
  await database.transaction(async (connection) => {
    for (const act of acts) await insertAct(connection, act)
  })
}

/** Records that a process was asked to stop, and has stopped. */
export async function recordProcessStop(database: Database, processId: string): Promise<void> {
  const act = composeAct('process.stopped', 'process', processId, {})
  await database.transaction((connection) => insertAct(connection, act))
}

const composeAct = (
  act: string,
  subjectKind: NewAct['subjectKind'],
  subject: string,
  details: object,
): NewAct => ({
  act,
  subjectKind,
  subject,
  details: JSON.stringify(details),
  clientId: null,
  requestId: null,
})
