import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { onEachEngine } from '../../operations/authorizations/engines.ts'
import { issueCard, otherDigits } from '../../support/network.ts'
import type { TestService } from '../../support/service.ts'
import { makeTrack } from '../../support/stripes.ts'
import {
  cardNotPresent,
  connectSwitch,
  nextTrace,
  openLink,
  purchase,
  type Switch,
  type TestLink,
} from '../../support/switch.ts'

onEachEngine((engine) => {
  let service: TestService
  let link: TestLink
  let wire: Switch
  before(async () => {
    service = await engine.openOne()
    link = await openLink(service)
    wire = await connectSwitch(link)
    assert.equal(await wire.signOn(), '00')
  })

  const triesOf = async (card: { publicToken: string }, kind = 'pin'): Promise<number> =>
    (await service.call('GET', `/card-${kind}/${card.publicToken}/${kind}/status`)).json
      .remainingTries

  test('a purchase with the right PIN is approved, with its key fields as they came', async () => {
    const card = await issueCard(service)
    const asked = purchase(service, card)
    const { fields, mti } = await wire.ask('0200', asked)
    assert.equal(mti, '0210')
    assert.equal(fields['39'], '00')
    assert.match(fields['38'] ?? '', /^[0-9A-Z]{6}$/)
    for (const key of ['2', '3', '4', '32', '37', '41', '42', '49']) {
      assert.equal(fields[key], asked[key], `field ${key}`)
    }
    for (const secret of ['14', '35', '52']) assert.equal(fields[secret], undefined)
    assert.equal(await triesOf(card), 3)
  })

  test('wrong PINs answer 55, 55, 55 and then 75', async () => {
    const card = await issueCard(service)
    const codes = []
    for (let tried = 0; tried < 4; tried += 1) {
      const asked = purchase(service, card, { pin: otherDigits(card.pin) })
      codes.push((await wire.ask('0100', asked)).fields['39'])
    }
    assert.deepEqual(codes, ['55', '55', '55', '75'])
    assert.equal(await triesOf(card), 0)
  })

  test('a CVV2 that is wrong answers N7 and costs a try, and a right one is approved', async () => {
    const card = await issueCard(service)
    const wrong = await wire.ask('0100', cardNotPresent(service, card, otherDigits(card.cvv2)))
    assert.equal(wrong.fields['39'], 'N7')
    assert.equal(wrong.fields['48'], '8701N')
    assert.equal(await triesOf(card, 'cvv'), 2)
    const right = await wire.ask('0100', cardNotPresent(service, card, card.cvv2))
    assert.equal(right.fields['39'], '00')
    assert.equal(right.fields['48'], '8701M')
    // A match gives back what was spent before it.
    assert.equal(await triesOf(card, 'cvv'), 3)
  })

  test('a repeat gets the same answer and moves nothing', async () => {
    const card = await issueCard(service)
    const asked = {
      ...purchase(service, card, { pin: otherDigits(card.pin) }),
      7: '1122170000',
      11: nextTrace(),
    }
    const first = await wire.ask('0100', asked)
    const again = await wire.ask('0101', asked)
    assert.deepEqual(again, first)
    assert.equal(first.mti, '0110')
    assert.equal(await triesOf(card), 2)
    const approved = { ...purchase(service, card), 7: '1122170000', 11: nextTrace() }
    const [one, two] = [await wire.ask('0200', approved), await wire.ask('0201', approved)]
    assert.equal(one.fields['39'], '00')
    assert.deepEqual(one, two)
  })

  test('another PIN under the same key answers 94, and nothing is compared', async () => {
    const card = await issueCard(service)
    const key = { 7: '1122170001', 11: nextTrace(), 37: 'SAMEKEY00001' }
    const wrong = purchase(service, card, { pin: otherDigits(card.pin), ...key })
    assert.equal((await wire.ask('0100', wrong)).fields['39'], '55')
    const right = purchase(service, card, key)
    assert.equal((await wire.ask('0101', right)).fields['39'], '94')
    assert.equal((await wire.ask('0100', right)).fields['39'], '94')
    assert.equal(await triesOf(card), 2)
  })

  test('a reversal finds its original and gives no try back', async () => {
    const card = await issueCard(service)
    const asked: Record<string, string> = {
      ...purchase(service, card, { pin: otherDigits(card.pin) }),
      7: '1122170002',
      11: nextTrace(),
    }
    assert.equal((await wire.ask('0200', asked)).fields['39'], '55')
    const { 52: _, 53: __, ...numbers } = asked
    const elements = `0200${asked['11']}${asked['7']}${'123456'.padStart(11, '0')}${'0'.repeat(11)}`
    const reversal = { ...numbers, 7: '1122170003', 11: nextTrace(), 90: elements }
    const answer = await wire.ask('0400', reversal)
    assert.deepEqual([answer.mti, answer.fields['39']], ['0410', '00'])
    const advice = await wire.ask('0420', { ...reversal, 11: nextTrace() })
    assert.deepEqual([advice.mti, advice.fields['39']], ['0430', '00'])
    assert.equal(await triesOf(card), 2)
  })

  test('a reversal whose elements are zeros is matched by PAN, reference, terminal and merchant', async () => {
    const card = await issueCard(service)
    const asked = purchase(service, card)
    assert.equal((await wire.ask('0100', asked)).fields['39'], '00')
    const { 52: _, 53: __, ...numbers } = asked
    assert.equal((await wire.ask('0400', { ...numbers, 90: '0'.repeat(42) })).fields['39'], '00')
    assert.equal((await wire.ask('0400', numbers)).fields['39'], '00')
    const other = { ...numbers, 41: 'TERM0002' }
    assert.equal((await wire.ask('0400', other)).fields['39'], '25')
  })

  test('a reversal before its original answers 25, and the original then 94 with nothing compared', async () => {
    const card = await issueCard(service)
    const asked = purchase(service, card, { pin: otherDigits(card.pin) })
    const { 52: _, 53: __, ...numbers } = asked
    assert.equal((await wire.ask('0400', numbers)).fields['39'], '25')
    assert.equal((await wire.ask('0100', asked)).fields['39'], '94')
    assert.equal((await wire.ask('0101', asked)).fields['39'], '94')
    assert.equal(await triesOf(card), 3)
    // As an advice it is accepted, and leaves the same mark.
    const next = purchase(service, card, { pin: otherDigits(card.pin) })
    const { 52: ___, 53: ____, ...nextNumbers } = next
    assert.equal((await wire.ask('0420', nextNumbers)).fields['39'], '00')
    assert.equal((await wire.ask('0100', next)).fields['39'], '94')
    assert.equal(await triesOf(card), 3)
  })

  test('an advice is on record once and moves no try', async () => {
    const card = await issueCard(service)
    const asked: Record<string, string> = {
      ...purchase(service, card, { pin: otherDigits(card.pin) }),
      7: '1122170004',
      11: nextTrace(),
      39: '00',
    }
    for (const mti of ['0120', '0121', '0120']) {
      const answer = await wire.ask(mti, asked)
      assert.deepEqual([answer.mti, answer.fields['39']], ['0130', '00'])
    }
    assert.equal(await triesOf(card), 3)
    const reversal = { ...asked, 7: '1122170005', 11: nextTrace() }
    assert.equal((await wire.ask('0420', reversal)).fields['39'], '00')
    assert.equal(
      (await wire.ask('0420', { ...reversal, 2: '4000009999999991' })).fields['39'],
      '00',
    )
    const listed = await advicesOf(link.linkName)
    const { receivedAt, ...advice } = listed.json[1]
    assert.deepEqual(advice, {
      linkName: link.linkName,
      networkId: 'demo-network',
      messageType: '0120',
      publicToken: card.publicToken,
      trace: asked['11'],
      transmittedAt: '1122170004',
      reference: asked['37'],
      amount: '000000001000',
      currency: '978',
      responseCode: '00',
      isMatched: false,
    })
    assert(Math.abs(Date.parse(receivedAt) - Date.now()) < 600_000, receivedAt)
    const own = listed.json.filter(
      ({ reference }: { reference: string }) => reference === asked['37'],
    )
    assert.deepEqual(
      own.map(({ isMatched, messageType }: Record<string, unknown>) => [messageType, isMatched]),
      [
        ['0420', false],
        ['0120', false],
      ],
    )
  })

  test('an advice is recorded without the digits of its card number', async () => {
    const own = await openLink(service)
    const other = await connectSwitch(own)
    assert.equal(await other.signOn(), '00')
    const card = await issueCard(service)
    const said = purchase(service, card, { 11: '004712', 37: card.pan.slice(0, 12) })
    assert.equal((await other.ask('0220', said)).fields['39'], '00')
    const [advice] = (await advicesOf(own.linkName)).json
    assert.equal(advice.reference, 'trace-004712')
  })

  const advicesOf = (linkName: string, query = '') =>
    service.call('GET', `//links/${linkName}/advices${query}`, { as: 'admin', listener: 'private' })

  test('the advices of a link are listed page by page, each once', async () => {
    const own = await openLink(service)
    const other = await connectSwitch(own)
    assert.equal(await other.signOn(), '00')
    const card = await issueCard(service)
    for (let sent = 0; sent < 5; sent += 1) {
      const said = purchase(service, card, { 37: `ADVICE00000${sent}` })
      assert.equal((await other.ask('0220', said)).fields['39'], '00')
    }
    const listed: { reference: string; receivedAt: string }[] = []
    let query = '?limit=2'
    while (query) {
      const page = await advicesOf(own.linkName, query)
      assert.equal(page.status, 200, page.text)
      assert(page.json.length <= 2)
      listed.push(...page.json)
      const [, cursor] = /cursor=([^&>]+)/.exec(String(page.headers.link ?? '')) ?? []
      query = cursor ? `?limit=2&cursor=${cursor}` : ''
    }
    assert.deepEqual(
      listed.map(({ reference }) => reference).sort(),
      [0, 1, 2, 3, 4].map((number) => `ADVICE00000${number}`),
    )
    // Two of one instant (the embedded database's clock has milliseconds) stand in any order.
    const instants = listed.map(({ receivedAt }) => receivedAt)
    assert.deepEqual(instants, [...instants].sort().reverse())
    assert.equal((await advicesOf('no-such-link')).status, 404)
    assert.equal((await advicesOf(own.linkName, '?cursor=W10')).status, 422)
    other.close()
  })

  test('a reversal that names a trace number alone is not taken for that of another card', async () => {
    const [card, otherCard] = [await issueCard(service), await issueCard(service)]
    const trace = nextTrace()
    assert.equal(
      (await wire.ask('0200', purchase(service, otherCard, { 11: trace }))).fields['39'],
      '00',
    )
    const asked = purchase(service, card, { pin: otherDigits(card.pin), 11: trace })
    const { 52: _, 53: __, ...numbers } = asked
    const elements = `0200${trace}${'0'.repeat(32)}`
    const reversal: Record<string, string> = { ...numbers, 11: nextTrace(), 90: elements }
    assert.equal((await wire.ask('0400', reversal)).fields['39'], '25')
    assert.equal((await wire.ask('0200', { ...asked, 7: '1122170006' })).fields['39'], '94')
    // Without a PAN it is all that there is.
    const { 2: ___, ...unnamed } = reversal
    assert.equal((await wire.ask('0400', { ...unnamed, 11: nextTrace() })).fields['39'], '00')
    assert.equal(await triesOf(card), 3)
  })

  test('what is objected to a card is answered as on the JSON route', async () => {
    const card = await issueCard(service)
    const codeOf = async (fields: Record<string, string>) =>
      (await wire.ask('0100', fields)).fields['39']
    assert.equal(await codeOf(purchase(service, card, { 2: '4000009999999991' })), '14')
    assert.equal(await codeOf(purchase(service, card, { 2: '1234567890123456' })), '14')
    assert.equal(await codeOf(purchase(service, card, { 14: '2901' })), '54')
    assert.equal(await codeOf(purchase(service, card, { 53: '2001010900000000' })), '86')
    assert.equal(await codeOf(purchase(service, card, { 53: '2001040100000000' })), '86')
    const { 52: _, ...withoutBlock } = purchase(service, card)
    assert.equal(await codeOf({ ...withoutBlock, 3: '010000', 18: '6011' }), '86')
    const { 2: pan = '', 14: _expiry, ...onTrack } = purchase(service, card)
    assert.equal(
      await codeOf({ ...onTrack, 35: await makeTrack(service, card, '201', '999') }),
      '00',
    )
    assert.equal(await codeOf({ ...onTrack, 35: `${pan}=29012011234567890` }), '54')
    assert.equal(await triesOf(card), 3)
  })

  test('before sign-on nothing is authorized, and echo is answered', async () => {
    const other = await connectSwitch(link)
    const card = await issueCard(service)
    const asked = purchase(service, card, { pin: otherDigits(card.pin) })
    assert.equal((await other.ask('0800', { 70: '301' })).fields['39'], '00')
    assert.equal((await other.ask('0100', asked)).fields['39'], '91')
    assert.equal(await triesOf(card), 3)
    assert.equal(await other.signOn(), '00')
    assert.equal((await other.ask('0100', asked)).fields['39'], '55')
    assert.equal((await other.ask('0800', { 70: '002' })).fields['39'], '00')
    assert.equal((await other.ask('0100', purchase(service, card))).fields['39'], '91')
    other.close()
  })

  test('a message of another version, and one that nobody knows, is answered 12', async () => {
    assert.equal((await wire.ask('1100', {})).fields['39'], '12')
    assert.equal((await wire.ask('0600', {})).fields['39'], '12')
    assert.equal((await wire.ask('0800', { 70: '999' })).fields['39'], '12')
    const metrics = await service.call('GET', '//metrics', { listener: 'private', token: null })
    // Whoever sends types that there are not makes no labels.
    assert.doesNotMatch(metrics.text, /type="(1100|0600)"/)
    assert.match(metrics.text, new RegExp(`link="${link.linkName}",type="other",outcome="12"} 2`))
  })

  test('an unforeseen fault is answered 96, and the link continues', async () => {
    const card = await issueCard(service)
    const { database } = service
    const { change } = database
    Object.assign(database, {
      change: async () => {
        throw new Error('unforeseen')
      },
    })
    try {
      const asked = purchase(service, card, { pin: otherDigits(card.pin) })
      assert.equal((await wire.ask('0100', asked)).fields['39'], '96')
    } finally {
      Object.assign(database, { change })
    }
    assert.equal((await wire.ask('0100', purchase(service, card))).fields['39'], '00')
    assert.equal(await triesOf(card), 3)
  })
})
