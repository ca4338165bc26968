import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { createPinfold, type Pinfold } from '../../../packages/sdk/client/client.ts'
import { declinerNames, retryNames } from '../../../src/console/screens/authorization.ts'
import { type DeclineReason, declineRules } from '../../../src/domain/decline-reason.ts'
import { type Browser, openBrowser } from '../../support/browser.ts'
import { ask, type IssuedCard, issueCard, pinTry } from '../../support/network.ts'
import { openServedService, type ServedService } from '../../support/served-service.ts'
import { connectSwitch, openLink, purchase, type Switch } from '../../support/switch.ts'
import { type Deciding, letClientDecide } from '../decisions/deciding.ts'
import { openReceiver, type Receiver } from '../webhooks/receiver.ts'
import { checkedReasons, decisionCauses, listCauses } from './declined.ts'

/** Every surface shows the same decline for each reason. */

/** The members of a decline; null for one that a surface does not have. */
interface Told {
  readonly responseCode: unknown
  readonly declineReason: unknown
  readonly declinedBy: unknown
  readonly control: unknown
  readonly advice: unknown
  readonly retry: unknown
}
/** Events have the reason; only reads of the authorization have advice and retry. */
type ToldByEvent = Omit<Told, 'advice' | 'retry'>

let service: ServedService
let causes: ReturnType<typeof listCauses>
let wire: Switch
let receiver: Receiver
let browser: Browser
let sdk: Pinfold

before(async () => {
  service = await openServedService({ REVEALS_PER_CARD_HOUR: '1000' })
  causes = listCauses(service)
  wire = await connectSwitch(await openLink(service))
  assert.equal(await wire.signOn(), '00')
  receiver = await openReceiver()
  await service.createWebhook(receiver.url, ['authorization.declined'])
  browser = openBrowser()
  const { people } = service.sandbox
  const signInUrl = people.find(({ role }) => role === 'support')?.signInUrl ?? ''
  assert.equal((await browser.visit(signInUrl)).status, 200)
  sdk = createPinfold(service.sandbox)
})

const toldByEvent = (members: Partial<Told>): ToldByEvent => ({
  responseCode: members.responseCode,
  declineReason: members.declineReason,
  declinedBy: members.declinedBy,
  control: members.control ?? null,
})

const told = (members: Partial<Told>): Told => ({
  ...toldByEvent(members),
  advice: members.advice,
  retry: members.retry,
})

/** A page of the console that explains an authorization. */
const toldByPage = async (path: string): Promise<Told> => {
  const { status, text } = await browser.visit(`${service.sandbox.privateUrl}/console${path}`)
  assert.equal(status, 200, text)
  const fact = (term: string) =>
    new RegExp(`<dt>${term}</dt>\\s*<dd>([^]*?)</dd>`).exec(text)?.[1] ?? ''
  const code = (term: string) => /<code>([^<]*)<\/code>/.exec(fact(term))?.[1] ?? null
  const codeOf = (names: Readonly<Record<string, string>>, words: string) =>
    Object.keys(names).find((name) => names[name] === words) ?? null
  return {
    responseCode: /<h2 id="say">[^<]*\((\w\w)\)/.exec(text)?.[1] ?? null,
    declineReason: code('Answer'),
    declinedBy: codeOf(declinerNames, fact('Declined by')),
    control: code('Control'),
    retry: codeOf(retryNames, fact('Retry')),
    advice: /“([^”]*)”/.exec(text)?.[1] ?? null,
  }
}

/** Waits for what comes a moment later. */
const untilFound = async <Found>(find: () => Promise<Found | undefined>): Promise<Found> => {
  for (let looks = 0; looks < 600; looks += 1) {
    const found = await find()
    if (found !== undefined) return found
    await wait(50)
  }
  throw new Error('Nothing was found within 30 seconds.')
}

interface DeclineEvent {
  readonly id: string
  readonly type: string
  readonly data: Partial<Told> & { readonly authorizationId: string }
}

let lastEvent: string | null = null

/** Reads events from where the last reading ended. */
const findEvent = (authorizationId: string): Promise<DeclineEvent> =>
  untilFound(async () => {
    const query = lastEvent === null ? '' : `?after=${lastEvent}`
    const events = (await service.call('GET', `/events${query}`)).json as DeclineEvent[]
    lastEvent = events.at(-1)?.id ?? lastEvent
    return events.find(
      ({ data, type }) =>
        type === 'authorization.declined' && data.authorizationId === authorizationId,
    )
  })

const findDelivery = (authorizationId: string) =>
  untilFound(async () =>
    receiver.received.find(({ message }) => message.data.authorizationId === authorizationId),
  )

/** Asserts that every surface shows the same decline. */
async function assertSame(card: IssuedCard, expected: Told): Promise<void> {
  const { publicToken } = card
  const [newest] = (await service.call('GET', `/cards/${publicToken}/authorizations`)).json
  const { authorizationId } = newest
  const path = `/cards/${publicToken}/authorizations/${authorizationId}`
  const asOperator = { as: 'admin', listener: 'private' } as const
  const expectedOfEvent = toldByEvent(expected)
  const event = await findEvent(authorizationId)
  const { message } = await findDelivery(authorizationId)
  const surfaces: Readonly<Record<string, unknown>> = {
    list: told(newest),
    read: told((await service.call('GET', `/authorizations/${authorizationId}`)).json),
    operator: told((await service.call('GET', `/${path}`, asOperator)).json),
    sdk: told(await sdk.authorizations.retrieve(authorizationId)),
    console: await toldByPage(path),
  }
  for (const [surface, actual] of Object.entries(surfaces)) {
    assert.deepEqual(actual, expected, surface)
  }
  assert.deepEqual(toldByEvent(event.data), expectedOfEvent)
  assert.deepEqual(toldByEvent(message.data), expectedOfEvent)
  assert.deepEqual(message.data, event.data)
}

/** The control that declines where one does. */
const controls: Partial<Readonly<Record<DeclineReason, string>>> = {
  merchant_category_not_allowed: 'merchantCategories',
  merchant_not_allowed: 'merchants',
  country_not_allowed: 'countries',
  channel_not_allowed: 'channels',
  invalid_amount: 'limits.day',
  amount_over_limit: 'limits.day',
  count_over_limit: 'limits.day',
}

const expect = (declineReason: DeclineReason, owner: 'card' | 'product' = 'card'): Told => {
  const { advice, declinedBy, responseCode, retry } = declineRules[declineReason]
  return {
    responseCode,
    declineReason,
    declinedBy: declinedBy === 'control' ? `${owner}_control` : declinedBy,
    control: controls[declineReason] ?? null,
    advice,
    retry,
  }
}

for (const reason of checkedReasons) {
  const cause = () => {
    const found = causes[reason]
    assert.ok(found, `${reason} has no cause here`)
    return found
  }
  const issue = async (): Promise<IssuedCard> => {
    const card = await issueCard(service, { activateNow: reason !== 'card_not_activated' })
    await cause().befall?.(card)
    return card
  }

  test(`${reason} reads the same to client, operator and webhook after a network's request`, async () => {
    const card = await issue()
    const { json } = await ask(service, await cause().request(card))
    const expected = expect(reason)
    assert.equal(json.responseCode, expected.responseCode)
    await assertSame(card, expected)
  })

  test(`${reason} reads the same after a message of ISO 8583`, async () => {
    const card = await issue()
    const { fields } = await wire.ask('0200', await cause().fields(card))
    const expected = expect(reason)
    assert.equal(fields['39'], expected.responseCode)
    assert.equal(fields['38'], undefined, 'no approval code')
    await assertSame(card, expected)
  })
}

test('a control of the product is named as such on every surface', async () => {
  const card = await issueCard(service, { cardProduct: 1001 })
  const body = { version: 0, countries: { blocked: ['FRA'] } }
  const options = { as: 'admin', listener: 'private', body } as const
  const changed = await service.call('PUT', '//products/1001/controls', options)
  assert.equal(changed.status, 200, changed.text)
  const { publicToken } = card
  const { json } = await ask(service, { publicToken, merchant: { country: 'FRA' } })
  const expected = expect('country_not_allowed', 'product')
  assert.equal(json.responseCode, expected.responseCode)
  await assertSame(card, expected)
})

suite('declines by a decision', () => {
  let deciding: Deciding
  before(async () => {
    deciding = await letClientDecide(service, { timeoutMs: 1_500 })
  })

  for (const [title, { answer, ...said }] of Object.entries(decisionCauses)) {
    const { declineReason, declinedBy, responseCode } = said
    const { advice, retry } = declineRules[declineReason]
    const expected = { responseCode, declineReason, declinedBy, control: null, advice, retry }

    test(`${title} of a client reads the same after a network's request`, async () => {
      deciding.answerBy(answer)
      const card = await issueCard(service)
      const { json } = await ask(service, pinTry(service, card))
      assert.equal(json.responseCode, responseCode)
      await assertSame(card, expected)
    })

    test(`${title} of a client reads the same after a message of ISO 8583`, async () => {
      deciding.answerBy(answer)
      const card = await issueCard(service)
      const { fields } = await wire.ask('0200', purchase(service, card))
      assert.equal(fields['39'], responseCode)
      assert.equal(fields['38'], undefined, 'no approval code')
      await assertSame(card, expected)
    })
  }
})
