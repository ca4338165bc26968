import { generateKeyPairSync } from 'node:crypto'
import { listScreens } from '../../../src/console/screens.ts'
import { answerPing, putInForce } from '../../operations/decisions/endpoint-service.ts'
import { openReceiver } from '../../operations/webhooks/receiver.ts'
import { openBrowser } from '../../support/browser.ts'
import { openDecisionEndpoint } from '../../support/decision-endpoint.ts'
import { ask, issueCard } from '../../support/network.ts'
import { type Console, issueDeclinedCard, linkOf } from './console.ts'

/** Markup that does something wherever it is not shown as the text that it is. */
export const hostile = '<img src=x onerror=a()>'

/** What there is to see: something on every screen. */
export type World = {
  card: Awaited<ReturnType<typeof issueDeclinedCard>>
  /** Where each screen shows it, by the screen's path. */
  addresses: ReadonlyMap<string, string>
}

/** The texts that people choose themselves. */
export interface Writing {
  /** Up to 25 characters; also that of a merchant. */
  readonly reference: string
  readonly merchant: string
  /** Up to 100 characters. */
  readonly client: string
  /** Up to 50 characters. */
  readonly product: string
  readonly webhookUrl?: string
  /** After the question mark of the addresses that decide. */
  readonly query: string
}

/** The same text in each place. */
export const writeEverywhere = (text: string): Writing => ({
  reference: text,
  merchant: text,
  client: text,
  product: text,
  query: text,
})

/** @param writing null: what would stand there anyway */
export const openWorld = async (service: Console, writing: Writing | null): Promise<World> => {
  if (writing) {
    await administer(service, 'PATCH', '/products/1003', { productName: writing.product })
    await administer(service, 'PATCH', '/clients/demo-client', { clientName: writing.client })
  }
  const merchant = writing?.merchant ?? 'Corner Bakery'
  await administer(service, 'PATCH', '/products/1003', { cardTypes: ['Virtual', 'Physical'] })
  const receiver = await openReceiver(() => 500)
  const { webhookId } = await service.createWebhook(writing?.webhookUrl ?? receiver.url)
  const card = await issueDeclinedCard(
    service,
    writing?.reference ?? 'C-20481',
    { cardProduct: 1003, cardType: 'Physical', activateNow: true },
    { amount: 2_450, currency: 'USD', merchant: describeBakery(merchant) },
  )
  await openCeremony(service)
  await administer(service, 'POST', '/links', {
    linkName: 'console',
    networkId: 'demo-network',
    direction: 'dial',
    host: '127.0.0.1',
    port: 1,
    profile: 'sandbox',
  })
  const [found] = await administer(service, 'POST', '/cards/search', {
    authorizationReference: card.reference,
  })
  const payment = await payAndClear(service, card.publicToken, merchant)
  await useChip(service, card.publicToken, 'USD')
  await renewAndReplace(service, card.publicToken)
  await decideElsewhere(service, writing)
  const { approvalId } = await askForAdministrator(
    service,
    'second-admin',
    writing?.client ?? 'Second operator',
  )
  await openBrowser().visit(linkOf(service, 'auditor'))
  const [person] = await administer(service, 'GET', '/people')
  const params: Readonly<Record<string, string>> = {
    publicToken: card.publicToken,
    authorizationId: found.authorization.authorizationId,
    paymentId: payment.paymentId,
    webhookId,
    entry: card.disclosureId,
    approvalId,
    clientId: 'demo-client',
    linkName: 'console',
    personId: person.personId,
  }
  const addressOf = (path: string) =>
    path.replaceAll(/:(\w+)/g, (_, name: string) => {
      const value = params[name]
      if (value === undefined) throw new Error(`There is nothing to see at ${path}.`)
      return value
    })
  return { card, addresses: new Map(listScreens(true).map(({ path }) => [path, addressOf(path)])) }
}

/** What an administrator does by the interface. @returns the answer's body */
const administer = async (
  service: Console,
  method: string,
  path: string,
  body?: object,
  // biome-ignore lint/suspicious/noExplicitAny: whoever asks knows what is answered.
): Promise<any> => {
  const answer = await service.call(method, `/${path}`, {
    as: 'admin',
    listener: 'private',
    ...(body && { body }),
  })
  if (answer.status >= 300) throw new Error(`${path}: ${answer.text}`)
  return answer.json
}

const describeBakery = (name: string) => ({
  id: 'BAKERY',
  name,
  city: 'Madrid',
  country: 'ESP',
  categoryCode: '5462',
})

/** Pays at a merchant of a name, and clears a part of it after an increment and a reversal. */
const payAndClear = async (service: Console, publicToken: string, name: string) => {
  const simulate = async (path: string, members: object) => {
    const body = { publicToken, currency: 'USD', ...members }
    const { json, status, text } = await service.call('POST', `/simulator/${path}`, { body })
    if (status !== 200) throw new Error(`${path}: ${text}`)
    return json
  }
  const networkTransactionId = '123456789012345'
  const payment = await simulate('authorizations', {
    amount: 12_340,
    networkTransactionId,
    merchant: describeBakery(name),
  })
  await simulate('increments', { networkTransactionId, amount: 1_500 })
  await simulate('reversals', { networkTransactionId, amount: 340 })
  await simulate('clearings', { networkTransactionId, amount: 10_000, isFinal: false })
  return payment
}

/** Lets the chip of a card reject PINs until it compares none, and lets a command wait for it. */
const useChip = async (service: Console, publicToken: string, currency: string): Promise<void> => {
  await administer(service, 'PATCH', '/products/1003', { chip: { profile: 'visa-cvn18' } })
  const send = async (path: string, body: object) => {
    const { json, status, text } = await service.call('POST', path, { body })
    if (status >= 300) throw new Error(`${path}: ${text}`)
    return json
  }
  await send(`/simulator/cards/${publicToken}/chip`, { offlineTryLimit: 3 })
  for (let wrong = 0; wrong < 3; wrong += 1) {
    const chip = { chip: true, offlinePin: '000000' }
    await send('/simulator/authorizations', { publicToken, amount: 500, currency, ...chip })
  }
  await send(`/cards/${publicToken}/chip/commands`, { command: 'block_application' })
}

/** Lets a card wait for its next plastic, which was sent, and for its successor. */
const renewAndReplace = async (service: Console, publicToken: string): Promise<void> => {
  for (const [path, body] of [
    [`/sandbox/plastics/${publicToken}/0/deliver`, {}],
    [`/cards/${publicToken}/renew`, { renewStep: 'RenewWithSameExpiry' }],
    [`/sandbox/plastics/${publicToken}/1/ship`, {}],
    [`/cards/${publicToken}/replace`, { reason: 'Damaged' }],
  ] as const) {
    const { status, text } = await service.call('POST', path, { body })
    if (status >= 300) throw new Error(`${path}: ${text}`)
  }
}

/** Lets a key await both of its components. */
export const openCeremony = (service: Console): Promise<void> =>
  administer(service, 'POST', '/component-entries', {
    family: 'zone-master',
    key: 'zmk-console',
    algorithm: 'AES',
    lengthBytes: 32,
    componentCount: 2,
    keyCheckValue: '0000000000',
  })

/** Asks for a new administrator, whom another person has to approve. */
export const askForAdministrator = (service: Console, clientId: string, clientName = clientId) =>
  administer(service, 'POST', '/clients', {
    clientId,
    clientName,
    kind: 'admin',
    scopes: ['admin'],
    jwks: {
      keys: [
        generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' }),
      ],
    },
  })

/** A client that decides its authorizations: an endpoint in force that failed, and a shadow. */
async function decideElsewhere(service: Console, writing: Writing | null): Promise<void> {
  const endpoint = await openDecisionEndpoint(answerPing)
  const query = writing ? `?${writing.query}` : ''
  await putInForce(service, { url: `${endpoint.url}${query}` })
  await putInForce(service, {
    url: `${endpoint.url}${query}`,
    timeoutMs: 800,
    fallback: { onTimeout: 'rule', onError: 'decline', rule: 'request.amounts.hold.amount < 5000' },
  })
  await putInForce(service, { url: endpoint.url, mode: 'shadow', sample: 10 })
  const { publicToken } = await issueCard(service)
  for (const answer of [answerPing, answerPing, answerPing, () => 500]) {
    endpoint.answer = answer
    await ask(service, { publicToken, entryMode: 'ecommerce', amount: 1_999, currency: 'EUR' })
  }
}
