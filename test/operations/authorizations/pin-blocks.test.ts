import assert from 'node:assert/strict'
import { before, beforeEach, test } from 'node:test'
import { encipherAesEcb } from '../../../src/crypto/aes.ts'
import { encipherTdesEcb } from '../../../src/crypto/tdes.ts'
import { readPinBlock } from '../../reference/pin-blocks.ts'
import {
  addNetwork,
  addZoneKey,
  ask,
  type IssuedCard,
  issueCard,
  type NamedBlock,
  otherDigits,
  pinBlock,
  type TestNetwork,
  zoneKeyValue,
} from '../../support/network.ts'
import type { Answer, CallOptions, TestService } from '../../support/service.ts'
import { onEachEngine } from './engines.ts'
import { attemptsOf, counterOf } from './tried.ts'
import { type WatchedHsm, watchHsm } from './watched-hsm.ts'

const formats = ['ISO_FORMAT_0', 'ISO_FORMAT_1', 'ISO_FORMAT_3', 'ISO_FORMAT_4'] as const

onEachEngine((engine) => {
  let service: TestService
  let hsm: WatchedHsm
  let card: IssuedCard
  let other: TestNetwork
  let otherKey: Buffer
  before(async () => {
    service = await engine.openOne()
    hsm = watchHsm([service])
    other = await addNetwork(service)
    otherKey = await addZoneKey(service, other.clientId, 'zone-n', {
      algorithm: 'TDES',
      formats: ['ISO_FORMAT_0', 'ISO_FORMAT_3'],
    })
  })
  beforeEach(async () => {
    card = await issueCard(service)
  })

  const present = (block: NamedBlock | undefined, options: CallOptions = {}): Promise<Answer> =>
    ask(
      service,
      {
        publicToken: card.publicToken,
        entryMode: 'atm',
        reference: 'R-1',
        ...(block && { pinBlock: block }),
      },
      options,
    )

  const clearTdes = (hex: string, pan = card.pan): string =>
    encipherTdesEcb(zoneKeyValue(service, 'zone-a'), xorPan(hex, pan)).toString('hex')

  /** A clear PIN field combined with the PAN field. */
  const xorPan = (hex: string, pan: string): Buffer => {
    const panField = Buffer.from(`0000${pan.slice(3, 15)}`, 'hex')
    return Buffer.from(Buffer.from(hex, 'hex').map((byte, at) => byte ^ (panField[at] ?? 0)))
  }

  test('a block with half a byte more than it may have is none, however right the others are', async () => {
    const block = pinBlock(service, card)
    const answer = await present({ ...block, data: `${block.data}0` })
    assert.deepEqual([answer.json.responseCode, answer.json.pin.result], ['86', 'not_checked'])
    assert.equal((await present(block)).json.responseCode, '00')
  })

  for (const format of formats) {
    test(`the right PIN in a block of ${format} is approved, and a wrong one is 55`, async () => {
      const wrong = await present(
        pinBlock(service, { ...card, pin: otherDigits(card.pin) }, format),
      )
      assert.deepEqual(
        [wrong.json.responseCode, wrong.json.pin],
        ['55', { result: 'mismatch', remainingTries: 2 }],
      )
      const block = pinBlock(service, card, format)
      const right = await present({ ...block, data: block.data.toUpperCase() })
      assert.deepEqual(right.json, {
        approved: true,
        responseCode: '00',
        publicToken: card.publicToken,
        reference: 'R-1',
        pin: { result: 'match', remainingTries: 3 },
        cvv: { result: 'not_checked', remainingTries: 3 },
      })
    })
  }

  /** Enciphered under a key that the named one is not; drawn again if it can be read by chance. */
  const underOtherKey = (format: (typeof formats)[number]): NamedBlock => {
    const value = format === 'ISO_FORMAT_4' ? Buffer.alloc(32, 7) : otherKey
    for (;;) {
      const block = pinBlock(service, card, format, { value, name: nameOf(format) })
      if (!isReadable(block, format)) return block
    }
  }
  const nameOf = (format: string) => (format === 'ISO_FORMAT_4' ? 'zone-b' : 'zone-a')
  const isReadable = (block: NamedBlock, format: (typeof formats)[number]): boolean => {
    const number = Number(format.at(-1)) as 0 | 1 | 3 | 4
    const key = zoneKeyValue(service, nameOf(format))
    try {
      readPinBlock(Buffer.from(block.data, 'hex'), { format: number, pan: card.pan, key })
      return true
    } catch {
      return false
    }
  }

  /** One of every kind of block that cannot be used. */
  const badBlocks = (): Record<string, NamedBlock | undefined> => {
    const good = pinBlock(service, card)
    const good4 = pinBlock(service, card, 'ISO_FORMAT_4')
    const tdes = (data: string, format = 'ISO_FORMAT_0') => ({ format, key: 'zone-a', data })
    const digit = Number(card.pan[14])
    // Turns a fill of A into one that is none.
    const other = card.pan.slice(0, 14) + (digit < 8 ? digit ^ 2 : digit ^ 8) + card.pan.slice(15)
    const aesField = Buffer.from(`44${card.pin}bbbbbbbbbb0123456789abcdef`, 'hex')
    return {
      'no block at a cash machine': undefined,
      'no data': tdes(''),
      'an odd number of digits': tdes(good.data.slice(1)),
      'one byte too few': tdes(good.data.slice(2)),
      'one byte too many': tdes(`${good.data}00`),
      'two blocks': tdes(good.data + good.data),
      'format 4 with one byte too few': { ...good4, data: good4.data.slice(2) },
      'format 4 with half a block': { ...good4, data: good4.data.slice(16) },
      'a key nobody has': { ...good, key: 'zone-z' },
      'another network’s key, by its name': { ...good, key: 'zone-n' },
      ...Object.fromEntries(
        formats.map((format) => [`${format} under another key`, underOtherKey(format)]),
      ),
      'format 4 under a key for TDES': { ...good4, key: 'zone-a' },
      'format 4 that says format 0': { ...good4, format: 'ISO_FORMAT_0' },
      'format 0 under a key for AES': { ...good, key: 'zone-b' },
      'format 0 that says format 4': { ...good, format: 'ISO_FORMAT_4' },
      'format 3 that says format 0': tdes(pinBlock(service, card, 'ISO_FORMAT_3').data),
      'format 0 that says format 3': tdes(good.data, 'ISO_FORMAT_3'),
      'a fill that is not F': tdes(clearTdes(`04${card.pin}fffffffffe`)),
      'a fill of digits in format 3': tdes(clearTdes(`34${card.pin}aaaaaaaaa9`), 'ISO_FORMAT_3'),
      'three digits': tdes(clearTdes('03123fffffffffff')),
      'thirteen digits': tdes(clearTdes('0d1234567890123f')),
      'a digit that is none': tdes(clearTdes('04123affffffffff')),
      'another PAN, under the fill': pinBlock(service, { ...card, pan: other }),
      'another PAN, in format 3': tdes(clearTdes(`34${card.pin}aaaaaaaaaa`, other), 'ISO_FORMAT_3'),
      'another PAN, in format 4': pinBlock(service, { ...card, pan: other }, 'ISO_FORMAT_4'),
      'a fill of format 4 that is not A': {
        ...good4,
        data: encipherAesEcb(zoneKeyValue(service, 'zone-b'), aesField).toString('hex'),
      },
    }
  }

  /** All that an answer shows, but for when it was given and under which id. */
  const shown = ({ headers, status, text }: Answer): string => {
    const { date: _, 'x-request-id': __, ...rest } = headers
    return JSON.stringify({ status, rest, text })
  }

  test('every kind of bad PIN block is 86, spends nothing, and looks like every other to the byte', async () => {
    const kinds = Object.entries(badBlocks())
    const answers = await Promise.all(kinds.map(([, block]) => present(block)))
    const [reference] = answers
    assert.ok(reference)
    assert.deepEqual(reference.json, {
      approved: false,
      responseCode: '86',
      publicToken: card.publicToken,
      reference: 'R-1',
      pin: { result: 'not_checked', remainingTries: 3 },
      cvv: { result: 'not_checked', remainingTries: 3 },
    })
    for (const [at, answer] of answers.entries()) {
      assert.equal(shown(answer), shown(reference), kinds[at]?.[0])
    }
    assert.equal((await counterOf(service.database, card.publicToken)).spent, 0)
    assert.deepEqual(await attemptsOf(service.database, card.publicToken), [])
    assert.equal(hsm.countOf('pin', card.publicToken), 0)
  })

  test('an authorization deciphers its PIN block once, whether the PIN matches or not', async () => {
    for (const pin of [card.pin, otherDigits(card.pin)]) {
      hsm.deciphered.length = 0
      await present(pinBlock(service, { ...card, pin }))
      assert.deepEqual(hsm.deciphered, [card.publicToken])
    }
    assert.equal(hsm.countOf('pin', card.publicToken), 2)
  })

  test('a bad PIN block looks the same on a card whose PIN is blocked', async () => {
    for (let tries = 0; tries < 3; tries += 1) {
      await present(pinBlock(service, { ...card, pin: otherDigits(card.pin) }))
    }
    assert.equal((await present(pinBlock(service, card))).json.responseCode, '75')
    const answers = await Promise.all(Object.values(badBlocks()).map((block) => present(block)))
    assert.deepEqual([...new Set(answers.map(({ json }) => json.responseCode))], ['86'])
    assert.equal(new Set(answers.map(shown)).size, 1)
  })

  test('a zone key serves its own network only, in the formats that it lists', async () => {
    const under = { name: 'zone-n', value: otherKey }
    const asked = (format: (typeof formats)[number], options: CallOptions) =>
      present(pinBlock(service, card, format, under), options)
    const own = { token: other.token }
    assert.equal((await asked('ISO_FORMAT_0', own)).json.responseCode, '00')
    assert.equal((await asked('ISO_FORMAT_3', own)).json.responseCode, '00')
    assert.equal((await asked('ISO_FORMAT_1', own)).json.responseCode, '86')
    assert.equal((await asked('ISO_FORMAT_0', {})).json.responseCode, '86')
    const demo = await present(pinBlock(service, card), own)
    assert.equal(demo.json.responseCode, '86')
  })

  for (const format of ['ISO_FORMAT_0', 'ISO_FORMAT_3'] as const) {
    test(`${format} under another PAN that reads as another PIN is a wrong PIN, and costs a try`, async () => {
      // Only the last two of four PIN digits lie over the PAN: a change there gives another digit.
      const digit = Number(card.pin[3])
      const changed = Array.from({ length: 10 }, (_, to) => to).find((to) => {
        const read = digit ^ Number(card.pan[4]) ^ to
        return to !== Number(card.pan[4]) && read <= 9
      })
      assert.ok(changed !== undefined)
      const pan = card.pan.slice(0, 4) + changed + card.pan.slice(5)
      const answer = await present(pinBlock(service, { pan, pin: card.pin }, format))
      assert.deepEqual(
        [answer.json.responseCode, answer.json.pin],
        ['55', { result: 'mismatch', remainingTries: 2 }],
      )
    })
  }

  test('a malformed PIN block is refused, and its digits are not repeated', async () => {
    const good = pinBlock(service, card)
    for (const bad of [
      { ...good, data: 'zz' },
      { ...good, data: '0'.repeat(66) },
      { ...good, format: 'ISO_FORMAT_2' },
      { ...good, more: 1 },
      { format: good.format, key: good.key },
    ]) {
      const answer = await present(bad as NamedBlock)
      assert.deepEqual([answer.status, answer.json.code], [422, 'validation_failed'])
      assert.ok(!answer.text.includes(good.data))
    }
  })
})
