import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, beforeEach, test } from 'node:test'
import { parseChipData } from '../../../src/domain/chip-data.ts'
import {
  type ChipProfileName,
  chipProfiles,
  composeCryptogramData,
} from '../../../src/domain/chip-profile.ts'
import { usualChip } from '../../../src/domain/product-chip.ts'
import { product } from '../../support/builders.ts'
import { isNightly } from '../../support/cases.ts'
import {
  chipMoney,
  issueChipCard,
  type PlayedChip,
  type Presented,
  playChip,
} from '../../support/chip.ts'
import { ask, cvvTry, type IssuedCard, otherDigits, pinTry } from '../../support/network.ts'
import { type Answer, openTestService, sql, type TestService } from '../../support/service.ts'

let service: TestService
let card: IssuedCard
let chip: PlayedChip
before(async () => {
  service = await openTestService()
})
after(() => service.close())
beforeEach(async () => {
  card = await issueChipCard(service)
  chip = await playChip(service, card)
})

const buy = async (presented: Presented, members: object = {}): Promise<Answer> => {
  const { publicToken } = card
  return ask(service, {
    publicToken,
    ...chipMoney,
    ...members,
    chip: await chip.present(presented),
  })
}

/** The recorded authorization of an answer, as its client reads it. */
const recordOf = async ({ json }: Answer) => {
  const path = `/cards/${json.publicToken}/authorizations`
  const { json: records } = await service.call('GET', path)
  return records[0]
}
const reasonOf = async (answer: Answer) => (await recordOf(answer)).declineReason
const checkOf = async (answer: Answer, name: string) =>
  (await recordOf(answer)).checks.find(({ check }: { check: string }) => check === name)

const triesOf = async (publicToken: string) => {
  const [row] = await sql<{ spent: number }>(
    service.database,
    `select spent from try_counter where public_token = $1 and kind = 'pin'`,
    [publicToken],
  )
  return row?.spent
}

/**
 * The end of tag 91 for an approval and for a wrong PIN: the response code in characters, the bits of
 * M/Chip (as the published vectors of Mastercard have them), or the card status update.
 */
const toldDecisions: Readonly<Record<ChipProfileName, readonly [string, string]>> = {
  'visa-cvn10': ['3030', '3535'],
  'visa-cvn18': ['00800000', '00000000'],
  'visa-cvn22': ['00800000', '00000000'],
  'mastercard-16': ['0010', '0000'],
  'mastercard-20': ['0010', '0000'],
  'mastercard-17': ['0010', '0000'],
  'mastercard-21': ['0010', '0000'],
  cpa: ['00800000', '00000000'],
}

for (const [at, name] of (Object.keys(chipProfiles) as ChipProfileName[]).entries()) {
  test(`a right cryptogram is approved and answered: ${name}`, async () => {
    const productId = 3201 + at
    await product(service.database, {
      productId,
      chip: { profile: name, ...usualChip },
    })
    card = await issueChipCard(service, { cardProduct: productId })
    chip = await playChip(service, card, name)
    const answer = await buy({ atc: 1 }, pinTry(service, card))
    assert.deepEqual([answer.status, answer.json.responseCode], [200, '00'], answer.text)
    const parsed = parseChipData(Buffer.from(answer.json.chip.data, 'hex'))
    assert.ok('tags' in parsed)
    const { method } = chipProfiles[name].answer
    const [approval, decline] = toldDecisions[name]
    assert.deepEqual(
      [...parsed.tags].map(([tag, value]) => [tag, value.length]),
      [['91', method === 1 ? 10 : 8]],
    )
    assert.ok(answer.json.chip.data.endsWith(approval), 'its chip reads an approval')
    const declined = await buy({ atc: 2 }, pinTry(service, card, otherDigits(card.pin)))
    assert.equal(declined.json.responseCode, '55')
    assert.ok(declined.json.chip.data.startsWith('91'), 'a decline is answered, too')
    assert.ok(declined.json.chip.data.endsWith(decline), 'its chip reads a decline')
  })
}

test('a wrong cryptogram costs no PIN try and compares no PIN', async () => {
  for (let count = 0; count < 5; count += 1) {
    const changed = { '9F26': randomBytes(8).toString('hex') }
    const answer = await buy({ atc: 1, changed }, pinTry(service, card, otherDigits(card.pin)))
    assert.deepEqual(
      [answer.json.responseCode, answer.json.pin.result, answer.json.pin.remainingTries],
      ['88', 'not_checked', 3],
    )
    assert.equal(answer.json.chip, undefined)
    assert.equal(await reasonOf(answer), 'wrong_cryptogram')
  }
  assert.equal(await triesOf(card.publicToken), 0)
  const right = await buy({ atc: 1 }, pinTry(service, card))
  assert.equal(right.json.responseCode, '00', 'and moves no counter')
})

test('each transaction counter is accepted once, within the window', async () => {
  const codes = async (atcs: readonly number[]) => {
    const answers: string[] = []
    for (const atc of atcs) answers.push((await buy({ atc })).json.responseCode)
    return answers
  }
  assert.deepEqual(await codes([100, 100]), ['00', '88'], 'an equal one is a replay')
  assert.deepEqual(await codes([99, 99, 84]), ['00', '88', '00'], 'a lower one counts once')
  assert.deepEqual(await codes([83]), ['88'], 'but not below the window')
  assert.deepEqual(await codes([150, 134, 99]), ['00', '00', '88'])
  const replayed = await buy({ atc: 150 })
  assert.equal(await reasonOf(replayed), 'cryptogram_replayed')
  assert.equal(replayed.json.chip, undefined)
  const { findings, result } = await checkOf(await buy({ atc: 251 }), 'cryptogram')
  assert.deepEqual([result, findings], ['passed', ['atc_jump']])
  assert.deepEqual(await codes([65_535, 0, 65_534, 65_535]), ['00', '88', '00', '88'])
})

test('a repeat under its key gets the first answer, not that of a replay', async () => {
  const headers = { 'idempotency-key': 'first' }
  const body = {
    publicToken: card.publicToken,
    ...chipMoney,
    ...pinTry(service, card),
    reference: 'R-1',
    chip: await chip.present({ atc: 5 }),
  }
  const first = await ask(service, body, { headers })
  const again = await ask(service, body, { headers })
  assert.equal(first.json.responseCode, '00')
  assert.deepEqual(again.json, first.json)
  assert.equal(again.headers['idempotency-replayed'], 'true')
  const other = await ask(service, body, { headers: { 'idempotency-key': 'second' } })
  assert.equal(other.json.responseCode, '88')
  const { pin: _, ...unpinned } = { ...body, pin: null }
  assert.equal((await ask(service, unpinned)).json.responseCode, '88')
})

test('a counter is used with a decline, too, and where no try is spent', async () => {
  await service.call('PUT', `/cards/${card.publicToken}/status`, {
    body: { cardStatusCode: '62' },
  })
  const declined = await buy({ atc: 3 })
  assert.equal(declined.json.responseCode, '62')
  assert.ok(declined.json.chip, 'the chip is answered')
  await service.call('PUT', `/cards/${card.publicToken}/status`, {
    body: { cardStatusCode: '00' },
  })
  assert.equal((await buy({ atc: 3 })).json.responseCode, '88')
})

test('a chip that declines itself is verified, declined, answered and counted', async () => {
  const report = { kind: 'decline' } as const
  const kinds = [
    ['chip and terminal say so', { report }],
    ['with a reason', { report, changed: { '9F27': '01' } }],
    ['the terminal does not say', { report, changed: { '9F27': null } }],
  ] as const
  for (const [at, [title, presented]] of kinds.entries()) {
    const atc = at + 1
    const wrongPin = pinTry(service, card, otherDigits(card.pin))
    const declined = await buy({ atc, ...presented }, wrongPin)
    assert.equal(declined.json.responseCode, '57', title)
    assert.ok(declined.json.chip, 'commands can reach the chip')
    assert.equal(declined.json.pin.result, 'not_checked')
    const { checks, declineReason, declinedBy } = await recordOf(declined)
    assert.deepEqual([declineReason, declinedBy], ['chip_declined', 'chip'], title)
    assert.deepEqual(checks.at(-1).findings, ['chip_declined'])
    assert.equal(await reasonOf(await buy({ atc, ...presented })), 'cryptogram_replayed')
  }
  const changed = { '9F26': randomBytes(8).toString('hex') }
  const wrong = await buy({ atc: 4, report, changed })
  assert.equal(await reasonOf(wrong), 'wrong_cryptogram')
  assert.equal(await triesOf(card.publicToken), 0)
  assert.equal((await buy({ atc: 4 })).json.responseCode, '00', 'and moves no counter')
})

test('each chip of a card has its own counter', async () => {
  const renewed = await playChip(service, card, 'visa-cvn18', '02')
  assert.equal((await buy({ atc: 9 })).json.responseCode, '00')
  chip = renewed
  assert.equal((await buy({ atc: 9 })).json.responseCode, '00')
})

test('chip data that are missing, unreadable or of another profile decline alike', async () => {
  const { publicToken } = card
  const good = Buffer.from((await chip.present({ atc: 1 })).data, 'hex')
  const other = await playChip(service, card, 'cpa')
  const declines: [string, object, string][] = [
    ['missing', {}, 'chip_data_missing'],
    ['cut off', { chip: { data: good.subarray(0, -1).toString('hex') } }, 'invalid_chip_data'],
    ['a repeated tag', { chip: { data: `${good.toString('hex')}9c0100` } }, 'invalid_chip_data'],
    ['another profile', { chip: await other.present({ atc: 1 }) }, 'invalid_chip_data'],
    [
      'an offline approval',
      { chip: await chip.present({ atc: 1, report: { kind: 'approval' } }) },
      'invalid_chip_data',
    ],
    [
      'an offline approval that the terminal sends as a request',
      {
        chip: await chip.present({
          atc: 1,
          report: { kind: 'approval' },
          changed: { '9F27': '80' },
        }),
      },
      'invalid_chip_data',
    ],
    [
      'an offline approval of which the terminal does not say what it is',
      {
        chip: await chip.present({
          atc: 1,
          report: { kind: 'approval' },
          changed: { '9F27': null },
        }),
      },
      'invalid_chip_data',
    ],
    [
      'a decline of the chip that the terminal sends as a request',
      {
        chip: await chip.present({
          atc: 1,
          report: { kind: 'decline' },
          changed: { '9F27': '80' },
        }),
      },
      'invalid_chip_data',
    ],
    [
      'an unknown key',
      { chip: await chip.present({ atc: 1, changed: { '9F10': '06771203a00000' } }) },
      'wrong_cryptogram',
    ],
    [
      'another entry mode',
      { entryMode: 'ecommerce', chip: await chip.present({ atc: 1 }) },
      'invalid_chip_data',
    ],
  ]
  const answers = new Set<string>()
  for (const [title, members, reason] of declines) {
    const request = {
      publicToken,
      ...chipMoney,
      ...pinTry(service, card),
      reference: 'R',
      ...members,
    }
    const answer = await ask(service, request)
    assert.equal(await reasonOf(answer), reason, title)
    answers.add(answer.text)
  }
  assert.equal(answers.size, 1, 'to the byte')
  assert.equal(await triesOf(publicToken), 0)
})

const mutations = isNightly ? 10_000 : 2_000

test(`${mutations.toLocaleString('en')} mutated messages are declined, and cost no try`, async (t) => {
  const seed = Number(process.env.CHIP_SEED ?? randomBytes(4).readUInt32BE())
  t.diagnostic(`CHIP_SEED=${seed}`)
  const draw = createGenerator(seed)
  const { publicToken } = card
  const pin = pinTry(service, card)
  const profile = chipProfiles['visa-cvn18']
  /** What the cryptogram proves, and the chip that made it; null if it cannot be read. */
  const listProven = (bytes: Buffer): string | null => {
    const parsed = parseChipData(bytes)
    const data = 'tags' in parsed && composeCryptogramData(profile, parsed.tags)
    if (!data) return null
    const others = ['9F26', '9F36', '9F37', '5F34'].map((tag) => parsed.tags.get(tag) ?? [])
    return [data, ...others].map((value) => Buffer.from(value).toString('hex')).join()
  }
  let atc = 0
  const answerMutated = async () => {
    atc += 1
    const good = Buffer.from((await chip.present({ atc })).data, 'hex')
    const data = mutate(good, draw)
    const isProven = listProven(data) === listProven(good)
    const sent = { publicToken, ...pin, ...chipMoney, chip: { data: data.toString('hex') } }
    const { json, status } = await ask(service, sent)
    if (isProven) return
    const { responseCode, chip: answered, pin: compared } = json
    assert.deepEqual(
      [status, responseCode, answered, compared?.result],
      [200, '88', undefined, 'not_checked'],
      `CHIP_SEED=${seed}: ${data.toString('hex')}`,
    )
  }
  for (let count = 0; count < mutations; count += 100) {
    await Promise.all(Array.from({ length: 100 }, answerMutated))
  }
  const status = await service.call('GET', `/card-pin/${publicToken}/pin/status`)
  assert.equal(status.json.remainingTries, 3)
})

type Draw = (below: number) => number

/** Draws numbers that a seed repeats (Mulberry32). */
function createGenerator(seed: number): Draw {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

/** Flips bits, cuts off, inserts or doubles a part. */
function mutate(good: Buffer, draw: Draw): Buffer {
  const place = draw(good.length)
  const bits = 1 + draw(255)
  const changed = Buffer.from(good)
  changed[place] = (changed[place] ?? 0) ^ bits
  const kind = draw(6)
  if (kind < 3) return changed
  if (kind === 3) return good.subarray(0, Math.max(1, place))
  if (kind === 4)
    return Buffer.concat([good.subarray(0, place), Buffer.of(bits), good.subarray(place)])
  return Buffer.concat([good, good.subarray(place)]).subarray(0, 255)
}

test('data that differ from the message are recorded, or decline as the product says', async () => {
  const others = [
    [{ amount: 1_001 }, {}],
    [{}, { transactionType: 'cash' }],
    [{}, { merchant: { country: 'PRT' } }],
  ] as const
  for (const [at, [presented, members]] of others.entries()) {
    const recorded = await buy({ atc: at + 1, ...presented }, members)
    assert.equal(recorded.json.responseCode, '00')
    assert.deepEqual((await checkOf(recorded, 'chip')).findings, ['data_disagreement'])
  }
  for (const [at, country] of ['ESP', 'XKK'].entries()) {
    const agreeing = await buy({ atc: at + 10 }, { merchant: { country } })
    assert.equal((await checkOf(agreeing, 'chip')).findings, undefined, country)
  }
  await product(service.database, {
    productId: 3220,
    chip: { profile: 'visa-cvn18', ...usualChip, disagreement: 'decline' },
  })
  card = await issueChipCard(service, { cardProduct: 3220 })
  chip = await playChip(service, card)
  const declined = await buy({ atc: 1, amount: 1_001 })
  assert.equal(declined.json.responseCode, '88')
  assert.equal(await reasonOf(declined), 'chip_data_disagrees')
  const abroad = await buy({ atc: 2 }, { merchant: { country: 'PRT' } })
  assert.equal(await reasonOf(abroad), 'chip_data_disagrees')
  const agreeing = await buy({ atc: 3 }, { merchant: { country: 'ESP' } })
  assert.equal(agreeing.json.responseCode, '00')
})

test('a cryptogram never approves more than the chip saw, whatever the product says', async () => {
  const more = { amount: chipMoney.amount - 1 }
  for (const members of [{}, { transactionType: 'cash' }]) {
    const declined = await buy({ atc: 1 + Object.keys(members).length, ...more }, members)
    assert.equal(declined.json.responseCode, '88')
    assert.equal(await reasonOf(declined), 'chip_data_disagrees')
  }
  const { publicToken } = card
  const dear = { ...(await chip.present({ atc: 3 })) }
  const inOtherMoney = { publicToken, amount: 1, currency: 'USD', chip: dear }
  assert.equal((await ask(service, inOtherMoney)).json.responseCode, '57', 'not of this card')
  const billed = { ...inOtherMoney, billingAmount: 1, billingCurrency: 'EUR' }
  assert.equal((await ask(service, billed)).json.responseCode, '88')
})

test('an amount and a currency of the chip are digits, and no other notation', async () => {
  for (const [at, made] of [{ '9F02': '0000000001E3' }, { '5F2A': 'F978' }].entries()) {
    const declined = await buy({ atc: at + 1, made })
    assert.equal(await reasonOf(declined), 'chip_data_disagrees')
  }
})

test('the sequence number of a card outside the chip data names its chip', async () => {
  const { publicToken } = card
  const pay = async (atc: number, members: object, changed = {}) => {
    const { data } = await chip.present({ atc, changed })
    const body = { publicToken, ...chipMoney, chip: { data, ...members } }
    return (await ask(service, body)).json.responseCode
  }
  const without = { '5F34': null }
  assert.equal(await pay(1, {}, without), '88', 'that of the chip is 01')
  assert.equal(await pay(1, { panSequenceNumber: '01' }, without), '00')
  assert.equal(await pay(2, { panSequenceNumber: '02' }), '00', 'the chip data come first')
})

test('chip data of an odd number of digits are refused', async () => {
  const { publicToken } = card
  const { data } = await chip.present({ atc: 1 })
  const refused = await ask(service, { publicToken, ...chipMoney, chip: { data: `${data}A` } })
  assert.equal(refused.status, 422)
})

test('a PIN that only the terminal says the chip took is a disagreement', async () => {
  const pay = async (atc: number, verification: string) => {
    const answer = await buy({ atc, made: { '9F34': verification } })
    return [answer.json.responseCode, (await checkOf(answer, 'chip')).findings]
  }
  assert.deepEqual(await pay(1, '1F0000'), ['00', undefined], 'no method')
  assert.deepEqual(await pay(2, '410301'), ['00', undefined], 'a PIN that the chip refused')
  assert.deepEqual(await pay(3, '420302'), ['00', undefined], 'a PIN that the issuer compares')
  for (const [at, method] of ['41', '43', '44', '45', '01'].entries()) {
    assert.deepEqual(await pay(4 + at, `${method}0302`), ['00', ['data_disagreement']], method)
  }
})

test('no more cash is paid out than the chip made its cryptogram for', async () => {
  const pay = async (atc: number, cashbackAmount: number, seen: string) => {
    const made = { '9C': '09', '9F03': seen.padStart(12, '0') }
    const answer = await buy({ atc, made }, { transactionType: 'cashback', cashbackAmount })
    return [answer.json.responseCode, (await checkOf(answer, 'chip')).findings]
  }
  assert.deepEqual(await pay(1, 500, '500'), ['00', undefined])
  assert.deepEqual(await pay(2, 501, '500'), ['88', ['data_disagreement']])
  assert.deepEqual(await pay(3, 900, '0'), ['88', ['data_disagreement']])
  assert.deepEqual(await pay(4, 100, '1E2'), ['88', ['data_disagreement']], 'no decimal digits')
  assert.deepEqual(await pay(5, 499, '500'), ['00', ['data_disagreement']], 'less is recorded')
})

test('a wrong cryptogram counts as a guess, also with other data or of a frozen card', async () => {
  const changed = { '9F26': '0000000000000000' }
  const countGuesses = async () => {
    const [row] = await sql<{ guesses: number }>(
      service.database,
      `select coalesce(sum(cardinality(given_at)), 0)::integer as guesses from card_mistake
       where public_token = $1`,
      [card.publicToken],
    )
    return row?.guesses
  }
  const other = await buy({ atc: 1, amount: 1, changed })
  assert.equal(await reasonOf(other), 'wrong_cryptogram')
  assert.deepEqual((await checkOf(other, 'chip')).findings, ['data_disagreement'])
  assert.equal(await countGuesses(), 1)
  const path = `/cards/${card.publicToken}/status`
  await service.call('PUT', path, { body: { cardStatusCode: '62' } })
  const frozen = await buy({ atc: 1, changed })
  assert.equal(frozen.json.responseCode, '62')
  assert.equal(await countGuesses(), 2)
  await service.call('PUT', path, { body: { cardStatusCode: '00' } })
  const expired = await buy({ atc: 1, changed }, { expiryDate: '2040-01' })
  assert.equal(expired.json.responseCode, '54')
  const [{ kinds } = { kinds: '' }] = await sql<{ kinds: string }>(
    service.database,
    `select string_agg(kind || ' ' || cardinality(given_at), ',') as kinds from card_mistake
     where public_token = $1`,
    [card.publicToken],
  )
  assert.equal(kinds, 'cryptogram 3', 'a wrong expiry does not hide it')
})

test('missing chip data are recorded where the product allows them', async () => {
  await product(service.database, {
    productId: 3221,
    chip: { profile: 'visa-cvn18', ...usualChip, missingData: 'record' },
  })
  card = await issueChipCard(service, { cardProduct: 3221 })
  const { publicToken } = card
  const answer = await ask(service, { publicToken, ...chipMoney, ...pinTry(service, card) })
  assert.equal(answer.json.responseCode, '00')
  assert.deepEqual((await checkOf(answer, 'chip')).findings, ['data_missing'])
})

test('a card without a chip ignores chip data, and other entries need none', async () => {
  const { publicToken } = await service.createCard()
  const chipOf = await playChip(service, { publicToken })
  const virtual = await ask(service, { publicToken, chip: await chipOf.present({ atc: 1 }) })
  assert.deepEqual([virtual.json.responseCode, virtual.json.chip], ['00', undefined])
  const remote = await ask(service, { ...cvvTry(card), ...chipMoney })
  assert.equal(remote.json.responseCode, '00')
})

test('a PIN that is blocked in the chip declines, unless the PIN is checked online', async () => {
  const tvr = '0000200000'
  const report = {
    isOfflinePinPerformed: true,
    isOfflinePinFailed: true,
    isOfflinePinBlocked: true,
  }
  const declined = await buy({ atc: 1, tvr, report })
  assert.equal(declined.json.responseCode, '75')
  assert.ok(declined.json.chip, 'the chip is answered, so that commands reach it')
  assert.equal(await reasonOf(declined), 'chip_pin_blocked')
  const { findings } = await checkOf(declined, 'offline_pin')
  assert.deepEqual(findings, ['offline_pin_failed', 'offline_pin_blocked'])
  const online = await buy({ atc: 2, tvr, report }, pinTry(service, card))
  assert.equal(online.json.responseCode, '00')
  const [row] = await sql(
    service.database,
    'select remaining_offline_tries from chip where public_token = $1',
    [card.publicToken],
  )
  assert.deepEqual(row, { remaining_offline_tries: 0 })
})

test('the PIN in a chip no longer counts as blocked once the chip does not say so', async () => {
  // Several at once share statements.
  const cards = await Promise.all([1, 2, 3].map(() => issueChipCard(service)))
  const chips = await Promise.all(cards.map((each) => playChip(service, each)))
  const buyWithAll = (atc: number, isPinBlocked: boolean, withPin: boolean) =>
    Promise.all(
      cards.map(async (each, at) => {
        const report = { isOfflinePinPerformed: true, isOfflinePinBlocked: isPinBlocked }
        const { publicToken } = each
        const members = withPin ? pinTry(service, each) : {}
        const presented = await chips[at]?.present({ atc, report })
        await ask(service, { publicToken, ...chipMoney, ...members, chip: presented })
        const path = `/card-pin/${publicToken}/pin/status`
        return (await service.call('GET', path)).json.remainingOfflineTries
      }),
    )
  for (const [at, withPin] of [true, false].entries()) {
    assert.deepEqual(await buyWithAll(2 * at + 1, true, withPin), [0, 0, 0])
    const none = [undefined, undefined, undefined]
    assert.deepEqual(await buyWithAll(2 * at + 2, false, withPin), none, 'Visa reports no number')
  }
})

test('wrong cryptograms are counted by how the card was presented', async () => {
  const count = async () => {
    const { text } = await service.call('GET', '//metrics', { listener: 'private', token: null })
    const lines = text.split('\n')
    const names = [
      'card_guessing_total{kind="cryptogram"}',
      'card_mistakes_total{kind="cryptogram",entry_mode="chip"}',
    ]
    return names.map((name) =>
      Number(lines.find((line) => line.startsWith(`pinfold_${name} `))?.split(' ')[1] ?? 0),
    )
  }
  const [guessing = 0, wrong = 0] = await count()
  const changed = { '9F26': '0011223344556677' }
  for (let guesses = 0; guesses < 12; guesses += 1) await buy({ atc: 1, changed })
  assert.deepEqual(await count(), [guessing + 1, wrong + 12])
})
