import { readConfig } from '../../config.ts'
import { describeStartFailure } from '../../service/start-failure.ts'
import { Unreachable } from '../cli-error.ts'
import type { Command } from '../command.ts'

export const migrateCommand: Command = {
  words: 'migrate',
  summary:
    "brings the database to this program's schema, as a start does, and says what it applied",
  description:
    'Forward only: an older version cannot start on the database after that. Stop its processes first, and\nmake a backup. No other command changes the schema.',
  example: 'SANDBOX=false DATABASE_URL=postgres://… pinfold migrate',
  async run() {
    const config = readConfig()
    const { openMigrated } = await import('../../service/open-database.ts')
    const { createLog } = await import('../../service/log.ts')
    const { applied, databases } = await openMigrated(config, createLog('silent')).catch(refuse)
    await databases.close()
    const lines = applied.map((fileName) => `Applied ${fileName}.`)
    const text = applied.length === 0 ? 'There was nothing to apply.' : lines.join('\n')
    return { json: { applied }, text }
  },
}

function refuse(error: unknown): never {
  const reason = describeStartFailure(error)
  throw typeof reason === 'string' ? new Unreachable(reason, { cause: error }) : error
}
