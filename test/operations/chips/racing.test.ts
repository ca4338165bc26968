import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { chipMoney, issueChipCard, playChip } from '../../support/chip.ts'
import { ask, otherDigits, pinTry } from '../../support/network.ts'
import { openPostgres } from '../../support/postgres.ts'
import { type Answer, sql } from '../../support/service.ts'
import { onEachEngine, type Services } from '../authorizations/engines.ts'

const postgres = await openPostgres()
/** Each call of a cluster takes three to five times as long. */
const burst = postgres.isCluster ? 250 : 1_000
const called = burst.toLocaleString('en')

onEachEngine((engine) => {
  let opened: Services
  before(async () => {
    opened = await engine.open({ env: { CALL_WAIT_MS: '60000' } })
  })
  after(async () => {
    for (const service of opened.services) await service.close()
  })

  const askAll = (requests: readonly object[], isKeyed = false): Promise<Answer[]> =>
    Promise.all(
      requests.map((request, index) =>
        ask(
          opened.services[index % 2] ?? opened.service,
          request,
          isKeyed ? { headers: { 'idempotency-key': randomUUID() } } : {},
        ),
      ),
    )
  const countCodes = (answers: readonly Answer[]): Record<string, number> => {
    const counts: Record<string, number> = {}
    for (const { json, status, text } of answers) {
      assert.equal(status, 200, text)
      counts[json.responseCode] = (counts[json.responseCode] ?? 0) + 1
    }
    return counts
  }
  const chipsOf = (publicToken: string) =>
    sql(opened.database, 'select highest_atc, seen_atcs::text from chip where public_token = $1', [
      publicToken,
    ])

  for (const [title, hasPin, isKeyed] of [
    ['with a PIN', true, false],
    ['with a PIN under keys of their own', true, true],
    ['without a PIN', false, false],
    ['without a PIN under keys of their own', false, true],
  ] as const) {
    test(`of ${called} racing copies of one cryptogram ${title} one is approved`, async () => {
      const { publicToken, ...card } = await issueChipCard(opened.service)
      const chip = await playChip(opened.service, { publicToken })
      const copy = {
        publicToken,
        ...chipMoney,
        ...(hasPin && pinTry(opened.service, { publicToken, ...card })),
        chip: await chip.present({ atc: 7 }),
      }
      const answers = await askAll(
        Array.from({ length: burst }, () => copy),
        isKeyed,
      )
      assert.deepEqual(countCodes(answers), { '00': 1, 88: burst - 1 })
      const answered = answers.filter(({ json }) => json.chip)
      assert.deepEqual(countCodes(answered), { '00': 1 }, 'only the approval answers the chip')
      assert.deepEqual(await chipsOf(publicToken), [{ highest_atc: 7, seen_atcs: '1' }])
      const [spent] = await sql(
        opened.database,
        `select spent from try_counter where public_token = $1 and kind = 'pin'`,
        [publicToken],
      )
      assert.deepEqual(spent, { spent: hasPin ? 1 : 0 })
    })
  }

  test('racing cryptograms with counters of their own are all accepted once', async () => {
    const { publicToken } = await issueChipCard(opened.service)
    const chip = await playChip(opened.service, { publicToken })
    const requests: object[] = []
    for (let atc = 1; atc <= 16; atc += 1) {
      const request = { publicToken, ...chipMoney, chip: await chip.present({ atc }) }
      requests.push(request, request, request)
    }
    assert.deepEqual(countCodes(await askAll(requests)), { '00': 16, 88: 32 })
    assert.deepEqual(await chipsOf(publicToken), [
      { highest_atc: 16, seen_atcs: String(2 ** 16 - 1) },
    ])
  })

  test('racing copies of a repeat under one key all get the first answer', async () => {
    const { publicToken, ...card } = await issueChipCard(opened.service)
    const chip = await playChip(opened.service, { publicToken })
    const copy = {
      publicToken,
      ...chipMoney,
      ...pinTry(opened.service, { publicToken, ...card }),
      reference: 'R',
      chip: await chip.present({ atc: 7 }),
    }
    const headers = { 'idempotency-key': randomUUID() }
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        ask(opened.services[at % 2] ?? opened.service, copy, { headers }),
      ),
    )
    assert.deepEqual(countCodes(answers), { '00': 20 })
    assert.equal(new Set(answers.map(({ text }) => text)).size, 1)
  })

  test('the counter of a chip is that of all processes', async () => {
    const { publicToken, ...card } = await issueChipCard(opened.service)
    const chip = await playChip(opened.service, { publicToken })
    const [first, second] = opened.services
    const buy = async (atc: number, on = first) => {
      const request = { publicToken, ...chipMoney, chip: await chip.present({ atc }) }
      return (await ask(on, request)).json.responseCode
    }
    assert.equal(await buy(5), '00')
    assert.equal(await buy(5, second), '88')
    assert.equal(await buy(4, second), '00')
    assert.equal(await buy(4), '88')
    const wrong = {
      ...pinTry(first, { publicToken, ...card }, otherDigits(card.pin)),
      ...chipMoney,
      chip: await chip.present({ atc: 6 }),
    }
    assert.equal((await ask(second, wrong)).json.responseCode, '55', 'a decline uses it, too')
    assert.equal(await buy(6), '88')
  })
})
