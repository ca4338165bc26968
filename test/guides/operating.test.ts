import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { suite, test } from 'node:test'
import { readConfig } from '../../src/service/config/config.ts'
import { openDatabases } from '../../src/service/database.ts'
import { createLog } from '../../src/service/log.ts'
import { openPostgres } from '../support/postgres.ts'
import { openServerDatabase, openTestService } from '../support/service.ts'

const read = (path: string): Promise<string> =>
  readFile(new URL(`../../docs/${path}`, import.meta.url), 'utf8')

/** The metrics that a document names, of which a histogram's series are one. */
const metricsIn = (text: string): Set<string> =>
  new Set(
    [...text.matchAll(/pinfold_[a-z0-9_]*[a-z0-9]/g)]
      .map(([name]) => name.replace(/_(?:bucket|count|sum)$/, ''))
      .filter((name) => !/^pinfold_(?:nodejs|process)$/.test(name)),
  )

/**
 * There are these with several processes alone; `test/service/processes.test.ts` reads them there.
 */
const ofSeveral = new Set(['pinfold_processes', 'pinfold_process_ends_total'])

const postgres = await openPostgres()

suite('on a PostgreSQL server', { skip: postgres.leftOut }, () => {
  test('every metric that dashboard, alerts and reference name is there to be read', async () => {
    const { database } = await openServerDatabase(postgres)
    const service = await openTestService({ database })
    const { text } = await service.call('GET', '//metrics', { listener: 'private', token: null })
    for (const path of [
      'operating/grafana-dashboard.json',
      'operating/alerts.yml',
      'reference/monitoring.md',
    ]) {
      const names = [...metricsIn(await read(path))].filter((name) => !ofSeveral.has(name))
      assert.ok(names.length > 5, path)
      for (const name of names) assert.ok(text.includes(`# TYPE ${name} `), `${path}: ${name}`)
    }
  })

  test('the connections to the database server are counted by what they do', async () => {
    const { url } = await openServerDatabase(postgres)
    const config = readConfig({ DATABASE_URL: url, SANDBOX: 'true' })
    const databases = await openDatabases(config, createLog('silent'))
    const service = await openTestService({ databases })
    const { text } = await service.call('GET', '//metrics', { listener: 'private', token: null })
    assert.match(text, /^pinfold_database_connections\{pool="background",state="idle"\} [1-9]/m)
    for (const pool of ['clients', 'networks', 'background']) {
      const waiting = `pinfold_database_connections{pool="${pool}",state="waiting"} 0\n`
      assert.ok(text.includes(waiting), pool)
    }
    await service.close()
    await databases.close()
  })

  test('connections that are too few to divide are counted as one pool', async () => {
    const { database } = await openServerDatabase(postgres, 4)
    const service = await openTestService({ database })
    const { text } = await service.call('GET', '//metrics', { listener: 'private', token: null })
    assert.match(text, /^pinfold_database_connections\{pool="shared",state="idle"\} [1-9]/m)
  })
})
