import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { openPostgres } from '../../support/postgres.ts'
import { openServerDatabase, openTestService } from '../../support/service.ts'
import { newAdministrator, rootOf } from './administrators.ts'

const postgres = await openPostgres()

suite('on a PostgreSQL server', { skip: postgres.leftOut }, () => {
  test('credentials that change while they are confirmed are not confirmed, whichever comes first', async () => {
    const { database } = await openServerDatabase(postgres)
    const service = await openTestService({ database, env: { RATE_LIMIT: 'off' } })
    const maker = await rootOf(service, 'maker')
    const witness = await rootOf(service, 'witness')
    for (let round = 0; round < 15; round += 1) {
      const clientId = `one-${round}`
      await maker.call('POST', '/clients', newAdministrator(clientId))
      const confirm = () =>
        witness.call('POST', `/clients/${clientId}/confirm`, { credentialsVersion: 1 })
      const rotate = () => maker.call('POST', `/clients/${clientId}/rotate-secret`)
      const [one, other] = round % 2 === 0 ? [confirm, rotate] : [rotate, confirm]
      const answers = await Promise.all([one(), other()])
      for (const { status, text } of answers) assert.ok(status === 200 || status === 422, text)
      const { json } = await maker.call('GET', `/clients/${clientId}`)
      assert.deepEqual([json.confirmedBy, json.controlledBy], [[], ['maker']])
    }
  })
})
