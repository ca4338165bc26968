import assert from 'node:assert/strict'
import { before, beforeEach, test } from 'node:test'
import { luhnCheckDigit } from '../../../src/domain/pan.ts'
import { entryModes } from '../../../src/operations/authorizations/authorization.ts'
import { product } from '../../support/builders.ts'
import { withoutIds } from '../../support/identifiers.ts'
import {
  ask,
  cvvTry,
  type IssuedCard,
  issueCard,
  otherDigits,
  pinTry,
} from '../../support/network.ts'
import { startProgram } from '../../support/process.ts'
import { type Answer, newCard, sql, type TestService } from '../../support/service.ts'
import { onEachEngine } from './engines.ts'
import { planBurst, send, withToken } from './killed.ts'

onEachEngine((engine) => {
  let service: TestService
  let card: IssuedCard
  before(async () => {
    service = await engine.openOne()
    await product(service.database, { productId: 3301, pinTryLimit: 15, cvvTryLimit: 15 })
  })
  beforeEach(async () => {
    card = await issueCard(service, { cardProduct: 3301 })
  })

  const list = (query = ''): Promise<Answer> =>
    service.call('GET', `/cards/${card.publicToken}/attempts${query}`)

  const tryBoth = async (count: number): Promise<void> => {
    for (let at = 0; at < count; at += 1) {
      await ask(service, { ...pinTry(service, card, otherDigits(card.pin)), reference: `P-${at}` })
      await ask(service, { ...cvvTry(card, otherDigits(card.cvv2)), reference: `C-${at}` })
    }
  }

  test('every try is listed with its result, what remained, how it came and the reference', async () => {
    await ask(service, {
      ...pinTry(service, card, otherDigits(card.pin)),
      entryMode: 'atm',
      reference: '512345678901',
    })
    await ask(service, {
      ...pinTry(service, card),
      cvv2: otherDigits(card.cvv2),
      entryMode: 'chip',
      reference: 'BOTH-1',
    })
    const { json } = await list()
    assert.ok(json.every(({ at }: { at: string }) => !Number.isNaN(Date.parse(at))))
    assert.deepEqual(
      json.map(({ at: _, ...attempt }: Record<string, unknown>) => attempt),
      [
        {
          kind: 'cvv',
          result: 'mismatch',
          remainingTries: 14,
          entryMode: 'chip',
          reference: 'BOTH-1',
        },
        {
          kind: 'pin',
          result: 'match',
          remainingTries: 15,
          entryMode: 'chip',
          reference: 'BOTH-1',
        },
        {
          kind: 'pin',
          result: 'mismatch',
          remainingTries: 14,
          entryMode: 'atm',
          reference: '512345678901',
        },
      ],
    )
  })

  test('every entry mode is on record as it was asked', async () => {
    for (const entryMode of entryModes) {
      await ask(service, { ...pinTry(service, card), entryMode })
    }
    const listed = (await list()).json.map((attempt: { entryMode: string }) => attempt.entryMode)
    assert.deepEqual(listed, [...entryModes].reverse())
  })

  test('pages of any size tell each try once, newest first, even where two share an instant', async () => {
    await tryBoth(6)
    await sql(
      service.database,
      `update authorization_request set requested_at = date_trunc('second', now()) where public_token = $1`,
      [card.publicToken],
    )
    const all: { at: string; reference: string }[] = (await list()).json
    assert.equal(new Set(all.map(({ reference }) => reference)).size, 12)
    assert.deepEqual(
      all.map(({ at }) => at),
      all
        .map(({ at }) => at)
        .sort()
        .reverse(),
    )
    for (const limit of [1, 5, 12]) assert.deepEqual(await readPages(limit), all)
  })

  /** Follows the links from page to page. */
  const readPages = async (limit: number): Promise<unknown[]> => {
    const attempts: unknown[] = []
    for (let query: string | null = `?limit=${limit}`; query !== null; ) {
      const { headers, json }: Answer = await list(query)
      assert.ok(json.length <= limit && json.length > 0)
      attempts.push(...json)
      const [, next] = /<[^>?]*(\?[^>]+)>; rel="next"/.exec(String(headers.link ?? '')) ?? []
      query = next ?? null
    }
    return attempts
  }

  test('a try made while pages are read moves nothing on the pages that follow', async () => {
    await tryBoth(2)
    const first = await list('?limit=2')
    const rest = (await list()).json.slice(2)
    await tryBoth(1)
    const [, cursor] = /cursor=([^&>]+)/.exec(String(first.headers.link)) ?? []
    assert.deepEqual((await list(`?limit=100&cursor=${cursor}`)).json, rest)
  })

  test('another client’s card has no attempts to see, and a forged cursor is refused', async () => {
    await tryBoth(1)
    const path = `/cards/${card.publicToken}/attempts`
    const other = await service.call('GET', path, { as: 'otherClient' })
    assert.deepEqual([other.status, other.json.code], [404, 'card_not_found'])
    const forged = Buffer.from('["2026-01-01T00:00:00Z","pin",1e99]').toString('base64url')
    for (const cursor of ['x', forged, '']) {
      const { status } = await list(`?cursor=${cursor}`)
      assert.ok(status === 400 || status === 422, `${cursor}: ${status}`)
    }
  })

  test('a tried PIN or CVV2 is in no column of any table', async () => {
    const wrong = otherDigits(card.pin)
    await ask(service, { ...pinTry(service, card, wrong), cvv2: otherDigits(card.cvv2) })
    const rows = await sql(
      service.database,
      `select row_to_json(request)::text as text from authorization_request as request where public_token = $1
       union all select row_to_json(event)::text from event where public_token = $1
       union all select row_to_json(try_counter)::text from try_counter where public_token = $1`,
      [card.publicToken],
    )
    const { pinBlock } = pinTry(service, card, wrong) as { pinBlock: { data: string } }
    for (const { text } of rows as { text: string }[]) {
      const values: unknown[] = []
      // A measured time may have the digits of a CVV2.
      JSON.parse(text, (name, value) => {
        if (name !== 'duration_ms') values.push(String(value))
        return value
      })
      for (const secret of [card.pan, card.pin, wrong, card.cvv2, pinBlock.data]) {
        assert.ok(!values.includes(secret))
        if (secret.length > 8) assert.ok(!text.includes(secret))
      }
    }
  })
})

// Every digit string is one that no counter, instant or id is likely to hold.
const account = '400000090734182'
const pan = account + luhnCheckDigit(account)
const secrets = [pan, '90734', 'f00dfeedf00dfeed', 'F00DFEEDF00DFEED']
const cvv2 = '9073'

test('no PAN, PIN block or CVV2 of a question is in the log, whatever became of the question', async () => {
  const program = await startProgram({ env: { LOG_LEVEL: 'trace', RATE_LIMIT: 'off' } })
  const network = await withToken(program)
  const token = await program.token()
  const made = await program.call('POST', '/cards', { token, body: newCard() })
  const { publicToken } = made.json
  const pinBlock = { format: 'ISO_FORMAT_0', key: 'zone-a', data: secrets[2] }
  const questions = [
    { pan, entryMode: 'chip', reference: 'R-1', pinBlock, cvv2 },
    { publicToken, entryMode: 'chip', reference: 'R-1', pinBlock, cvv2 },
    { publicToken, entryMode: 'chip', reference: 'R-1', cvv2 },
    { pan, entryMode: 'swipe', reference: pan, pinBlock: { ...pinBlock, more: pan }, cvv2 },
    { [pan]: pan, pan: [pan], pinBlock: pinBlock.data, cvv2: Number(cvv2) },
    {
      pan: `${pan}x`,
      entryMode: 'chip',
      reference: 'R-1',
      pinBlock: { ...pinBlock, data: `${pinBlock.data}g` },
    },
  ]
  const texts: string[] = []
  for (const [index, question] of questions.entries()) {
    const answer = await send(network, { key: `K-${index}`, reference: '', question, answer: null })
    assert.ok(answer && answer.status < 500, answer?.text)
    texts.push(answer.text)
  }
  const response = await fetch(`${program.privateUrl}/network/authorizations?pan=${pan}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${network.token}`, 'content-type': 'application/json' },
    body: `{"pan":"${pan}","cvv2":"${cvv2}"`,
  })
  texts.push(await response.text())
  const { json } = await program.call('GET', `/card-pin/${publicToken}/pin`, { token })
  const [burst] = planBurst(network, { publicToken, pin: json.pin }, 1)
  assert.ok(burst)
  await send(network, burst)
  const { data } = (burst.question as { pinBlock: { data: string } }).pinBlock
  await program.kill('SIGTERM')
  const log = withoutIds(program.stdout() + program.stderr()).replaceAll(/"pid":\d+/g, '')
  assert.match(log, /network\/authorizations/)
  for (const secret of [...secrets, data, data.toUpperCase()]) {
    assert.ok(!log.includes(secret), `the log holds ${secret}`)
    for (const text of texts) {
      assert.ok(!withoutIds(text).includes(secret), `an answer holds ${secret}`)
    }
  }
  assert.doesNotMatch(log, new RegExp(`"(cvv2|pin|data)":"|\\b${cvv2}\\b`))
})
