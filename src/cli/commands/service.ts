import { readConfig } from '../../service/config/config.ts'
import { type Command, refuseStart } from '../command.ts'
import { print } from '../output.ts'

export const startCommand: Command = {
  words: 'start',
  summary: 'runs the service until it is stopped',
  description:
    'Environment variables configure it (docs/reference/configuration.md); by default it is a ' +
    'sandbox on loopback.\nWith --json, one line states the addresses once it listens; log ' +
    'lines follow.',
  connection: [],
  example: 'LOG_LEVEL=warn pinfold start',
  async run({ options }) {
    const { serve } = await import('../../service/serve.ts')
    const config = readConfig()
    const { baseUrl, dataDir, privateUrl, processorPath, sandbox } = config
    const ready = { ready: true, baseUrl, privateUrl, processorPath, sandbox, dataDir }
    const service = await serve(config).catch(refuseStart)
    print(options.json ? JSON.stringify(ready) : service.welcome)
    return null
  },
}

export const migrateCommand: Command = {
  words: 'migrate',
  summary:
    "brings the database to this program's schema, as a start does, and lists the applied " +
    'migrations',
  description:
    'Forward only: an older version cannot start on the database after that. Stop its ' +
    'processes first, and\nmake a backup. No other command changes the schema.',
  connection: [],
  example: 'SANDBOX=false DATABASE_URL=postgres://… pinfold migrate',
  async run() {
    const config = readConfig()
    const { openMigrated } = await import('../../service/database.ts')
    const { createLog } = await import('../../service/log.ts')
    const { applied, databases } = await openMigrated(config, createLog('silent')).catch(
      refuseStart,
    )
    await databases.close()
    const lines = applied.map((fileName) => `Applied ${fileName}.`)
    const text = applied.length === 0 ? 'No migration was due.' : lines.join('\n')
    return { json: { applied }, text }
  },
}

export const prepareClusterCommand: Command = {
  words: 'cluster prepare',
  summary: 'distributes the tables over the nodes of a Citus cluster, and lists what it did',
  description:
    "DATABASE_URL names the coordinator. First brings the database to this program's schema, " +
    'as\nmigrate does. If the tables have rows, stop the processes first: the tables are ' +
    'locked until all\nare distributed. It is done completely or not at all, and a repeat does ' +
    'nothing.',
  connection: [],
  example: 'SANDBOX=false DATABASE_URL=postgres://… pinfold cluster prepare',
  async run() {
    const config = readConfig()
    const { prepareDatabase } = await import('../../service/database.ts')
    const { createLog } = await import('../../service/log.ts')
    const done = await prepareDatabase(config, createLog('silent')).catch(refuseStart)
    const lines = [
      ...done.applied.map((fileName) => `Applied ${fileName}.`),
      ...done.copied.map((table) => `Copied ${table} to every node.`),
      ...done.spread.map(({ column, tableName }) => `Spread ${tableName} by ${column}.`),
      ...done.cleared.map(
        (table) => `Removed the rows of ${table} that were still on the coordinator.`,
      ),
    ]
    const nodes = plural(done.nodes, 'node')
    const nothing = `No change was due: every table is in its place on ${nodes}.`
    const text =
      lines.length === 0
        ? nothing
        : [...lines, `Every table is in its place on ${nodes}.`].join('\n')
    return { json: done, text }
  },
}

const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`
