/**
 * A webhook that fails for long is a finding in health, in the doctor and on the console's Home.
 */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { webhookFindings } from '../../../src/service/doctor/installation.ts'
import { sql } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { type DeliveryService, openDeliveryService } from './delivery-service.ts'
import { openReceiver } from './receiver.ts'

let service: DeliveryService
before(async () => {
  service = await openDeliveryService()
})

const checkOf = async () => {
  const { json } = await service.call('GET', '//health', { listener: 'private', token: null })
  return json.checks['webhooks:failing'][0] as {
    status: string
    output?: string
    observedValue: number
  }
}

const untilStatus = (status: string) => until(async () => (await checkOf()).status === status)

const verdictsOf = async () =>
  (await webhookFindings(service.database)).map(({ found, verdict }) => [verdict, found])

test('twenty failures in a row are a finding that names the webhook, until a delivery succeeds', async () => {
  const receiver = await openReceiver(() => 500)
  const { webhookId } = await service.createWebhook(receiver.url, ['card.created'])
  assert.equal((await checkOf()).status, 'pass')
  assert.deepEqual(await verdictsOf(), [['good', 'No webhook fails.']])
  for (let card = 0; card < 20; card += 1) await service.createCard()
  await untilStatus('warn')
  const { output = '' } = await checkOf()
  assert.match(
    output,
    new RegExp(`^The webhook ${webhookId} of demo-client has failed [0-9]+ times in a row\\.$`),
  )
  const [[verdict, found] = []] = await verdictsOf()
  assert.equal(verdict, 'warning')
  assert.match(found ?? '', new RegExp(`${webhookId} of demo-client \\([0-9]+ times in a row\\)`))
  receiver.answer = () => 204
  await service.createCard()
  await untilStatus('pass')
  assert.deepEqual(await verdictsOf(), [['good', 'No webhook fails.']])
})

test('five failures in a row are counted at once, and a finding after ten minutes, until it is disabled', async () => {
  const receiver = await openReceiver(() => 500)
  const { webhookId } = await service.createWebhook(receiver.url, ['card.created'])
  const queue = async (set: string) => {
    const text = `update delivery_queue set ${set} where webhook_id = $1 returning webhook_id`
    assert.equal((await sql(service.database, text, [webhookId])).length, 1)
  }
  await service.stopDelivery()
  await queue(
    `consecutive_failures = 5, failing = true, failing_since = now() - interval '9 minutes'`,
  )
  assert.deepEqual(await verdictsOf(), [['good', 'No webhook fails.']])
  await until(async () => (await checkOf()).observedValue === 1)
  assert.equal((await checkOf()).status, 'pass')
  await queue(`failing_since = now() - interval '11 minutes'`)
  assert.equal((await verdictsOf())[0]?.[0], 'warning')
  await untilStatus('warn')
  const body = { url: receiver.url, events: ['card.created'], status: 'Disabled' }
  const changed = await service.call('PUT', `/webhooks/${webhookId}`, { body })
  assert.equal(changed.status, 200, changed.text)
  assert.deepEqual(await verdictsOf(), [['good', 'No webhook fails.']])
  await untilStatus('pass')
})
