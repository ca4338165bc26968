import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { before, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { inspect } from 'node:util'
import { parseVerifierKeys } from '../../../../packages/audit/audit.ts'
import {
  CallFailed,
  CardAlreadyReplaced,
  CardClosed,
  CardNotFound,
  type CreateCard,
  createPinfold,
  DecisionAnswered,
  DecisionVersionConflict,
  type Delivery,
  DeliveryConflict,
  InsufficientScope,
  type Pinfold,
  PinNotRevealable,
  Problem,
  problemClasses,
  ValidationFailed,
  VirtualChipUnusable,
  WeakPin,
} from '../../../../packages/sdk/client/client.ts'
import { fetchKeys, requestCardData, sealPin } from '../../../../packages/sdk/device/device.ts'
import { createSigner } from '../../../../src/operations/audit-log/sign.ts'
import { answerPing } from '../../../operations/decisions/endpoint-service.ts'
import { enterAll } from '../../../support/audit.ts'
import { openDecisionEndpoint } from '../../../support/decision-endpoint.ts'
import { openServedService, type ServedService } from '../../../support/served-service.ts'
import { strongPins } from '../../../support/service.ts'
import { createRecorder, type Recorder } from './recorder.ts'

type Document = {
  info: { version: string }
  paths: Record<string, Record<string, { operationId: string }>>
}

let service: ServedService
let recorder: Recorder
let pinfold: Pinfold
let document: Document
before(async () => {
  service = await openServedService()
  recorder = createRecorder()
  pinfold = createPinfold({ ...service.sandbox, fetch: recorder.fetch })
  const file = new URL('../../../../api/public.openapi.json', import.meta.url)
  document = JSON.parse(await readFile(file, 'utf8'))
})

const ana: CreateCard = {
  cardType: 'Virtual',
  cardProduct: 1001,
  cardHolder: { firstName: 'Ana', lastName: 'Lim', dateOfBirth: '1990-04-17' },
  address: { addressLine1: 'Calle Mayor 1', postCode: '28013', country: 'ESP' },
}

/** The operation that a request is, by the document. */
const operationOf = (method: string, path: string): string | undefined => {
  const found = Object.entries(document.paths).find(
    ([template, methods]) =>
      methods[method.toLowerCase()] &&
      new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
  )
  return found?.[1][method.toLowerCase()]?.operationId
}

/** A delivery of an event of this type, once it is there. */
const deliveryOf = async (webhookId: string, type: string): Promise<Delivery> => {
  for (;;) {
    for await (const delivery of pinfold.webhooks.listDeliveries(webhookId)) {
      if (delivery.type === type) return delivery
    }
    await pause(20)
  }
}

test('every operation of the document has its method, which the service understands', async () => {
  const [product] = (await pinfold.products.list({ currencyCode: 'EUR' }).page()).items
  assert.ok(product)
  const { maskedPan, publicToken } = await pinfold.cards.create({
    ...ana,
    cardProduct: product.productId,
  })
  assert.equal((await pinfold.cards.retrieve(publicToken)).embossName, 'ANA LIM')
  const [newest] = (await pinfold.cards.list({ limit: 1 }).page()).items
  assert.equal(newest?.publicToken, publicToken)

  const [pin] = strongPins({ maskedPan })
  await pinfold.pins.set(publicToken, { pin })
  assert.equal((await pinfold.pins.reveal(publicToken)).pin, pin)
  const tried = await pinfold.simulator.authorize({ publicToken, pin: '9999' })
  assert.equal(tried.responseCode, '55')
  assert.equal((await pinfold.pins.retrieveStatus(publicToken)).remainingTries, 2)
  assert.equal((await pinfold.pins.unblock(publicToken)).remainingTries, 3)
  const [attempt] = (await pinfold.cards.listAttempts(publicToken).page()).items
  assert.equal(attempt?.result, 'mismatch')
  const [inLine] = (await pinfold.cards.listHistory(publicToken).page()).items
  assert.deepEqual([inLine?.publicToken, inLine?.plastics.length], [publicToken, 1])
  const [declined] = (await pinfold.authorizations.listByCard(publicToken).page()).items
  assert.equal(declined?.declineReason, 'wrong_pin')
  assert.deepEqual((await pinfold.authorizations.list({ limit: 1 }).page()).items, [declined])
  assert.deepEqual(await pinfold.authorizations.retrieve(declined.authorizationId), declined)

  const money = { amount: 1_000, currency: 'EUR' }
  const { paymentId } = await pinfold.simulator.authorize({ publicToken, ...money })
  assert.ok(paymentId)
  const of = { publicToken, paymentId }
  assert.equal((await pinfold.simulator.increment({ ...of, ...money })).approved, true)
  assert.equal((await pinfold.simulator.reverse({ ...of, ...money })).effect, 'release')
  assert.equal((await pinfold.simulator.advise({ ...of, ...money })).effect, 'replace')
  assert.equal((await pinfold.simulator.clear({ ...of, ...money })).effect, 'clearFinal')
  assert.equal((await pinfold.simulator.refund({ ...of, ...money })).effect, 'refund')
  const [payment] = (await pinfold.payments.listByCard(publicToken).page()).items
  assert.equal(payment?.state, 'cleared')
  assert.deepEqual((await pinfold.payments.list({ limit: 1 }).page()).items, [payment])
  const { messages, ...read } = await pinfold.payments.retrieve(paymentId)
  assert.deepEqual(read, payment)
  assert.equal(messages.length, 5)

  assert.equal((await pinfold.cvvs.block(publicToken)).status, 'Blocked')
  assert.equal((await pinfold.cvvs.unblock(publicToken, { updatedBy: 'Bo' })).remainingTries, 3)
  assert.equal((await pinfold.cvvs.retrieveStatus(publicToken)).status, 'Unblocked')
  const { version } = await pinfold.controls.retrieve(publicToken)
  const controls = { version, channels: { blocked: ['magstripe'] } } as const
  assert.deepEqual(await pinfold.controls.replace(publicToken, controls), { version: 1 })
  const swipe = { entryMode: 'magstripe' } as const
  assert.equal((await pinfold.controls.explain(publicToken, swipe)).approved, false)
  const period = { from: '2026-01-01T00:00:00Z', to: new Date().toISOString() }
  const tested = await pinfold.controls.backTest(publicToken, { ...period, singleUse: true })
  assert.equal(tested.currency, 'EUR')
  const noted = await pinfold.cards.change(publicToken, { metadata: { costCentre: '4711' } })
  assert.deepEqual(noted.metadata, { costCentre: '4711' })
  const moved = await pinfold.cards.changeStatus(publicToken, { cardStatusCode: '62' })
  assert.deepEqual(moved, await pinfold.cards.retrieveStatus(publicToken))
  assert.equal(moved.status, 'Restricted')

  const { publicToken: online } = await pinfold.cards.create(ana)
  assert.equal((await pinfold.cards.convert(online)).publicToken, online)
  const plastic = await pinfold.cards.create({ ...ana, cardType: 'Physical' })
  const { publicToken: chipCard } = plastic
  await pinfold.cards.renew(chipCard, { renewStep: 'RenewWithSameExpiry' })
  await pinfold.cards.cancelRenewal(chipCard, { notReceived: true })
  const { publicToken: damaged } = await pinfold.cards.create({ ...ana, cardType: 'Physical' })
  const successor = await pinfold.cards.replace(damaged, { reason: 'Damaged' })
  assert.equal(successor.replacementFor, damaged)
  await assert.rejects(pinfold.cards.replace(damaged), (error) => {
    assert.ok(error instanceof CardAlreadyReplaced)
    assert.equal(error.replacedBy, successor.publicToken)
    return true
  })
  await pinfold.cards.completeReplacement(damaged)
  await pinfold.cards.changeStatus(chipCard, { cardStatusCode: '00' })
  const { chips, virtualChips } = pinfold
  assert.equal((await virtualChips.make(chipCard)).atc, 0)
  const block = { command: 'block_application' } as const
  const { commandNumber } = await chips.command(chipCard, block)
  const begun = await virtualChips.startTransaction(chipCard, { amount: 100, currency: 'EUR' })
  assert.equal(begun.decision, 'online')
  const expiring = { productId: product.productId, expiringBefore: '2026-12-31', dryRun: true }
  const { jobId } = await pinfold.renewals.request(expiring)
  assert.equal((await pinfold.renewals.retrieve(jobId)).dryRun, true)
  await pinfold.sandboxPlastics.ship(chipCard, 0)
  await pinfold.sandboxPlastics.deliver(chipCard, 0)
  await pinfold.sandboxPlastics.return(chipCard, 0)
  await assert.rejects(pinfold.sandboxPlastics.ship(chipCard, 0), DeliveryConflict)
  await assert.rejects(virtualChips.answer(publicToken, { approved: false }), VirtualChipUnusable)
  assert.equal((await virtualChips.retrieve(chipCard)).atc, 1)
  assert.equal((await chips.retrieve(chipCard)).commands[0]?.commandNumber, commandNumber)

  const url = 'http://127.0.0.1:9/never'
  const webhook = await pinfold.webhooks.create({ url, events: ['pin.blocked'] })
  assert.match(webhook.secret ?? '', /^whsec_/)
  const { webhookId } = webhook
  const [listed] = (await pinfold.webhooks.list().page()).items
  assert.deepEqual(listed, await pinfold.webhooks.retrieve(webhookId))
  const changed = await pinfold.webhooks.update(webhookId, { url, events: ['*'] })
  assert.deepEqual(changed.events, ['*'])
  assert.match((await pinfold.webhooks.rotateSecret(webhookId)).secret ?? '', /^whsec_/)
  const { eventId } = await pinfold.webhooks.ping(webhookId)
  assert.equal((await deliveryOf(webhookId, 'webhook.ping')).eventId, eventId)
  assert.ok((await pinfold.webhooks.replay(webhookId, { since: '2026-01-01T00:00:00Z' })).since)
  const { deliveryId } = await deliveryOf(webhookId, 'card.created')
  await pinfold.webhooks.resend(webhookId, deliveryId)
  await pinfold.webhooks.delete(webhookId)

  const { decisionEndpoint, decisions } = pinfold
  const { url: decideUrl } = await openDecisionEndpoint(answerPing)
  assert.match((await decisionEndpoint.set({ url: decideUrl })).secret ?? '', /^whsec_/)
  assert.equal((await decisionEndpoint.activate()).enforced?.version, 1)
  const { publicToken: payer } = await pinfold.cards.create(ana)
  const purchase = { publicToken: payer, amount: 100, currency: 'EUR' } as const
  const asked = await pinfold.simulator.authorize({ ...purchase, entryMode: 'ecommerce' })
  const [decided] = (await decisions.list({ publicToken: payer }).page()).items
  const decisionId = decided?.decisionId ?? ''
  assert.equal(decided?.authorizationId, asked.authorizationId)
  assert.equal((await decisions.retrieve(decisionId)).request.simulated, true)
  assert.equal((await decisions.replay(decisionId)).replay.decision, 'approve')
  await assert.rejects(decisions.answer(decisionId, { decision: 'decline' }), DecisionAnswered)
  const stopping = new AbortController()
  const stream = decisions.stream({ signal: stopping.signal })[Symbol.asyncIterator]()
  const reading = assert.rejects(stream.next(), { name: 'AbortError' })
  setTimeout(() => stopping.abort(), 200)
  await reading
  await decisionEndpoint.set({ url: decideUrl, timeoutMs: 2_000 })
  await decisionEndpoint.activate()
  assert.equal((await decisionEndpoint.rollback()).enforced?.version, 1)
  assert.equal((await decisionEndpoint.retrieve()).draft?.version, 2)
  assert.match((await decisionEndpoint.rotateSecret()).secret ?? '', /^whsec_/)
  const { productId } = product
  await decisionEndpoint.set({ url: decideUrl }, { productId })
  assert.equal((await decisionEndpoint.retrieve({ productId })).productId, productId)
  await decisionEndpoint.remove({ productId })
  await assert.rejects(decisionEndpoint.rollback({ productId }), DecisionVersionConflict)
  await decisionEndpoint.remove()

  const keys = await fetchKeys(service.sandbox.baseUrl)
  const request = await requestCardData(keys, publicToken)
  const sealed = await pinfold.cardData.relay(publicToken, request.body)
  const card = await request.open(sealed)
  assert.equal(card.pan.slice(-4), newest.maskedPan.slice(-4))
  const [event] = (await pinfold.events.list({ limit: 1 }).page()).items
  assert.equal(event?.type, 'card.created')

  await enterAll(service.database)
  assert.equal(await createSigner(service.audit)(), 'signed')
  const logKeys = await fetch(`${service.sandbox.baseUrl}/.well-known/audit-log-keys`)
  const receipt = await pinfold.receipt(event.id, await parseVerifierKeys(await logKeys.text()))
  assert.equal(receipt.entry.card, publicToken)

  const called = new Set(recorder.sent.map(({ method, path }) => operationOf(method, path)))
  const operations = Object.values(document.paths).flatMap((methods) =>
    Object.values(methods).map(({ operationId }) => operationId),
  )
  assert.deepEqual(
    operations.filter((operation) => !called.has(operation)),
    [],
  )
})

test('a PIN that was sealed on the device is set as it came', async () => {
  const { maskedPan, publicToken } = await pinfold.cards.create(ana)
  const [pin] = strongPins({ maskedPan })
  const sealed = await sealPin(await fetchKeys(service.sandbox.baseUrl), publicToken, pin)
  await pinfold.pins.set(publicToken, sealed)
  assert.equal((await pinfold.pins.reveal(publicToken)).pin, pin)
})

test('each call says the version of the interface that the types are of', async () => {
  await pinfold.products.list().page()
  assert.equal(recorder.sent.at(-1)?.headers.get('api-version'), document.info.version)
})

test('a service with another segment for its processor is called by that', async () => {
  const options = { ...service.sandbox, processorPath: 'thredd', fetch: recorder.fetch }
  await assert.rejects(createPinfold(options).products.list().page(), { code: 'not_found' })
  assert.equal(recorder.sent.at(-1)?.path, '/thr/thredd/products')
})

test('a list is read as far as it is wanted, page by page', async () => {
  const made: string[] = []
  for (let count = 0; count < 5; count += 1) {
    const card = await pinfold.cards.create({ ...ana, customerReference: 'five' })
    made.unshift(card.publicToken)
  }
  const read: string[] = []
  const query = { customerReference: 'five', limit: 2 }
  for await (const { publicToken } of pinfold.cards.list(query)) read.push(publicToken)
  assert.deepEqual(read, made)
  const first = await pinfold.cards.list(query).page()
  assert.ok(first.next)
  const second = await pinfold.cards.list({ ...query, cursor: first.next }).page()
  assert.deepEqual(
    second.items.map(({ publicToken }) => publicToken),
    made.slice(2, 4),
  )
  const calls = recorder.sent.length
  for await (const _card of pinfold.cards.list(query)) break
  assert.equal(recorder.sent.length, calls + 1)
})

test('a refusal is thrown as the class of its code, with all that the service says', async () => {
  const { publicToken } = await pinfold.cards.create(ana)
  await assert.rejects(pinfold.pins.set(publicToken, { pin: '1234' }), (error) => {
    assert.ok(error instanceof WeakPin && error instanceof Problem)
    assert.equal(error.code, 'weak_pin')
    assert.equal(error.status, 422)
    assert.ok(error.requestId && error.title && error.detail)
    return true
  })
  await assert.rejects(pinfold.cards.create({ ...ana, cardProduct: 0 }), (error) => {
    assert.ok(error instanceof ValidationFailed)
    assert.equal(error.errors[0]?.pointer, '/cardProduct')
    return true
  })
  await assert.rejects(pinfold.cards.retrieve('1000000000'), CardNotFound)
  await pinfold.cards.changeStatus(publicToken, { cardStatusCode: '41' })
  await assert.rejects(pinfold.pins.unblock(publicToken), CardClosed)
})

test('a change that was made is told as made, also when the status could not be read', async () => {
  const { publicToken } = await pinfold.cards.create(ana)
  const writer = createPinfold({ ...service.sandbox, scope: 'pin.write' })
  await assert.rejects(writer.pins.unblock(publicToken), (error) => {
    assert.ok(error instanceof CallFailed)
    assert.equal(error.code, 'status_unknown')
    assert.ok(error.cause instanceof InsufficientScope)
    return true
  })
})

test('every code that the document names has a class', async () => {
  const text = JSON.stringify(document)
  const codes = new Set([...text.matchAll(/"code":"([a-z_]+)"/g)].map(([, code = '']) => code))
  assert.deepEqual(
    [...codes].filter((code) => !Object.hasOwn(problemClasses, code)),
    [],
  )
  assert.equal(new PinNotRevealable({ code: 'x', status: 409, title: '' }).name, 'PinNotRevealable')
})

test('a reference in a path stays one segment, whatever it holds', async () => {
  await assert.rejects(pinfold.cards.retrieve('../products?x=#'), CardNotFound)
  assert.equal(recorder.sent.at(-1)?.path, '/thr/processor/cards/..%2Fproducts%3Fx%3D%23')
  for (const token of ['', '.', '..', undefined as unknown as string]) {
    await assert.rejects(async () => pinfold.cards.retrieve(token), { code: 'invalid_argument' })
  }
})

test('no secret is seen in a client, a revealed PIN or an error', async () => {
  const { clientSecret } = service.sandbox
  const { maskedPan, publicToken } = await pinfold.cards.create(ana)
  const [pin] = strongPins({ maskedPan })
  await pinfold.pins.set(publicToken, { pin })
  const revealed = await pinfold.pins.reveal(publicToken)
  const stranger = createPinfold({ ...service.sandbox, clientSecret: `${clientSecret}x` })
  const refused = await stranger.products
    .list()
    .page()
    .catch((error: unknown) => error)
  const weak = await pinfold.pins.set(publicToken, { pin: '1111' }).catch((error: unknown) => error)
  const seen = [pinfold, stranger, refused, weak, revealed, `${revealed}`, { ...revealed }]
  const text = inspect(seen, { depth: 9, showHidden: true }) + JSON.stringify([...seen, revealed])
  assert.match(text, /invalid_client/)
  assert.ok(!text.includes(clientSecret))
  // Not the digits of a port or of a token.
  for (const digits of [pin, '1111']) {
    assert.doesNotMatch(text, new RegExp(`(?<![\\w-])${digits}(?![\\w-])`))
  }
})
