import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, beforeEach, test } from 'node:test'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { authorizingObserver } from '../../../src/service/metrics.ts'
import { expireMistakes } from '../../../src/storage/authorizations/mistakes.ts'
import { parsePublicToken } from '../../support/identifiers.ts'
import {
  addNetwork,
  ask,
  type IssuedCard,
  issueCard,
  otherDigits,
  pinTry,
} from '../../support/network.ts'
import {
  type Answer,
  type CallOptions,
  openTestService,
  sql,
  type TestService,
} from '../../support/service.ts'
import { onEachEngine, type Services } from './engines.ts'
import { counterOf } from './tried.ts'
import { hsmAway, watchHsm } from './watched-hsm.ts'

onEachEngine((engine) => {
  let opened: Services
  let card: IssuedCard
  before(async () => {
    opened = await engine.open()
  })
  beforeEach(async () => {
    card = await issueCard(opened.service)
  })

  const guess = (expiryDate: string, on: 0 | 1 = 0, options: CallOptions = {}): Promise<Answer> =>
    ask(
      opened.services[on],
      { ...pinTry(opened.service, card), reference: 'R', expiryDate },
      options,
    )
  const guessAtOnce = (count: number, year = 2060) =>
    Promise.all(
      Array.from({ length: count }, (_, at) => guess(`${year + at}-01`, at % 2 === 0 ? 0 : 1)),
    )

  const totalOf = async ({ call }: TestService, metric: string): Promise<number> => {
    const { text } = await call('GET', '//metrics', { listener: 'private', token: null })
    const lines = text.split('\n').filter((line) => line.startsWith(metric))
    assert.ok(!text.includes(card.publicToken), 'no card is named in a metric')
    return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
  }
  /** What both processes have counted since, together. */
  const counting = async () => {
    const read = async () => {
      const both = await Promise.all(
        opened.services.map(async (service) => [
          await totalOf(service, 'pinfold_card_mistakes_total{kind="expiry"'),
          await totalOf(service, 'pinfold_card_guessing_total{kind="expiry"'),
        ]),
      )
      return [0, 1].map((at) => both.reduce((sum, counts) => sum + (counts[at] ?? 0), 0))
    }
    const [wrong = 0, guessing = 0] = await read()
    return async () => {
      const [wrongNow = 0, guessingNow = 0] = await read()
      return { wrong: wrongNow - wrong, guessing: guessingNow - guessing }
    }
  }

  const letHoursPass = (hours: number) =>
    sql(
      opened.database,
      `update card_mistake set reported_at = reported_at - $1::bigint, given_at = array(
         select given - $1::bigint from unnest(given_at) with ordinality as each (given, place)
         order by place
       )`,
      [hours * 3_600_000_000],
    )

  test('each wrong expiry is counted; the eleventh of one card by one network in a day is reported, once', async () => {
    const counted = await counting()
    const mistakes = await guessAtOnce(10)
    assert.deepEqual([...new Set(mistakes.map(({ json }) => json.responseCode))], ['54'])
    assert.deepEqual(await counted(), { wrong: 10, guessing: 0 })
    await guessAtOnce(30)
    assert.deepEqual(await counted(), { wrong: 40, guessing: 1 })
  })

  test('the day slides: what is older counts no more, and guessing that goes on is reported each day', async () => {
    const counted = await counting()
    await guessAtOnce(9)
    await letHoursPass(23)
    await guessAtOnce(1)
    await letHoursPass(2)
    await guessAtOnce(9)
    assert.deepEqual(await counted(), { wrong: 19, guessing: 0 })
    await guessAtOnce(1)
    assert.deepEqual(await counted(), { wrong: 20, guessing: 1 })
    await letHoursPass(25)
    await guessAtOnce(11)
    assert.deepEqual(await counted(), { wrong: 31, guessing: 2 })
  })

  test('it costs no try and blocks no card: the right expiry is approved after any number of guesses', async () => {
    await guessAtOnce(25)
    assert.equal((await guess(card.expiry)).json.responseCode, '00')
    assert.equal((await counterOf(opened.database, card.publicToken)).remaining, 3)
  })

  test('a repeat, a right expiry, a card that is closed and another network count nothing for it', async () => {
    const counted = await counting()
    const headers = { 'idempotency-key': randomUUID() }
    for (let time = 0; time < 12; time += 1) await guess('2060-01', 0, { headers })
    for (let time = 0; time < 12; time += 1) await guess(card.expiry)
    assert.deepEqual(await counted(), { wrong: 1, guessing: 0 })
    const { token } = await addNetwork(opened.service)
    const elsewhere = { publicToken: card.publicToken, reference: 'R', expiryDate: '2060-01' }
    for (let time = 0; time < 10; time += 1) await ask(opened.service, elsewhere, { token })
    await guessAtOnce(9)
    assert.deepEqual(await counted(), { wrong: 20, guessing: 0 })
    await opened.service.call('PUT', `/cards/${card.publicToken}/status`, {
      body: { cardStatusCode: '46' },
    })
    await guess('2060-01')
    assert.deepEqual(await counted(), { wrong: 20, guessing: 0 })
  })

  test('counts are deleted when their day is over, a few at a time', async () => {
    await sql(opened.database, 'delete from card_mistake')
    for (let network = 0; network < 12; network += 1) {
      await sql(opened.database, `select count_mistake($1, $2, 'expiry', 10, 86400000000)`, [
        card.publicToken,
        `network-${network}`,
      ])
    }
    const passDay = () =>
      sql(opened.database, 'update card_mistake set forget_on_day = forget_on_day - 1')
    assert.equal(await expireMistakes(opened.database, 100), 0)
    await passDay()
    assert.equal(await expireMistakes(opened.database, 100), 0)
    await passDay()
    assert.equal(await expireMistakes(opened.database, 10), 10)
    assert.equal(await expireMistakes(opened.database, 10), 2)
  })
})

test('what is reported names the network and the public token, as a warning, and nothing else of the card', () => {
  const lines: string[] = []
  const log = pino({ base: null, timestamp: false }, { write: (line) => lines.push(line) })
  const observer = authorizingObserver(new Registry(), log)
  const publicToken = parsePublicToken('4820117360')
  const wrong = {
    kind: 'expiry',
    networkId: 'network',
    publicToken,
    entryMode: 'ecommerce',
  } as const
  observer.mistakeCounted({ ...wrong, isGuessing: false })
  observer.mistakeCounted({ ...wrong, isGuessing: true })
  assert.deepEqual(
    lines.map((line) => JSON.parse(line)),
    [
      {
        level: 40,
        kind: 'expiry',
        networkId: 'network',
        publicToken: '4820117360',
        msg: 'a network guesses at a value of a card',
      },
    ],
  )
})

let service: TestService
before(async () => {
  service = await openTestService()
})

test('authorizations and checks are counted by what they came to, and a repeat is not', async () => {
  const card = await issueCard(service)
  const headers = { 'idempotency-key': 'counted-once' }
  await ask(service, pinTry(service, card))
  const wrong = { reference: 'R', ...pinTry(service, card, otherDigits(card.pin)) }
  await ask(service, wrong, { headers })
  await ask(service, wrong, { headers })
  const { text } = await service.call('GET', '//metrics', { listener: 'private', token: null })
  assert.match(text, /^pinfold_authorizations_total\{response_code="00"\} 1$/m)
  assert.match(text, /^pinfold_authorizations_total\{response_code="55"\} 1$/m)
  assert.match(text, /^pinfold_checks_total\{kind="pin",result="match"\} 1$/m)
  assert.match(text, /^pinfold_checks_total\{kind="pin",result="mismatch"\} 1$/m)
  assert.ok(!text.includes(card.publicToken), 'no card is named in a metric')
})

test('a check that the HSM gave no answer to is counted as its fault', async () => {
  const card = await issueCard(service)
  const hsm = watchHsm([service])
  hsm.before = () => {
    throw hsmAway()
  }
  assert.equal((await ask(service, pinTry(service, card))).json.responseCode, '96')
  hsm.before = () => {}
  const { text } = await service.call('GET', '//metrics', { listener: 'private', token: null })
  assert.match(text, /^pinfold_hsm_faults_total 1$/m)
})
