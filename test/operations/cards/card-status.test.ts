import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { openTestService, sql, strongPins, type TestService } from '../../support/service.ts'

/** What each status may become, as it is published. */
const moves: Readonly<Record<string, readonly string[]>> = {
  '02': ['00', '41', '43', '46', '83'],
  '00': ['62', '41', '43', '46', '83'],
  '62': ['00', '41', '43', '46', '83'],
  '41': [],
  '43': [],
  '46': [],
  '54': [],
  '83': [],
}
const names: Readonly<Record<string, string>> = {
  '02': 'Inactive',
  '00': 'Active',
  '62': 'Restricted',
  '41': 'Lost',
  '43': 'Stolen',
  '46': 'Closed',
  '54': 'Expired',
  '83': 'Destroyed',
}
const codes = Object.keys(moves)

let service: TestService

before(async () => {
  service = await openTestService()
})

/** A card in a status, got there by the paths that there are. */
const cardIn = async (code: string) => {
  const card = await service.createCard({ activateNow: code !== '02' })
  if (code === '54') {
    await sql(
      service.database,
      `update card set start_date = '2020-01-01', expiry_date = '2020-12-31' where public_token = $1`,
      [card.publicToken],
    )
  } else if (code !== '02' && code !== '00') {
    assert.equal((await move(card.publicToken, code)).status, 204)
  }
  return card
}

const move = (publicToken: string, cardStatusCode: string) =>
  service.call('PUT', `/cards/${publicToken}/status`, { body: { cardStatusCode } })

const status = async (publicToken: string) =>
  (await service.call('GET', `/cards/${publicToken}/status`)).json

for (const from of codes) {
  test(`a card in ${from} may become ${moves[from]?.join(', ') || 'nothing else'}`, async () => {
    for (const to of codes) {
      const { publicToken } = await cardIn(from)
      const answer = await move(publicToken, to)
      const isAllowed = to === from || moves[from]?.includes(to)
      const then = isAllowed ? to : from
      assert.deepEqual(await status(publicToken), {
        status: names[then],
        cardStatusCode: then,
        cardStatusDescription: names[then],
      })
      if (isAllowed) {
        assert.equal(answer.status, 204, `${from} to ${to}`)
        continue
      }
      assert.deepEqual([answer.status, answer.json.code], [409, 'card_status_conflict'])
      for (const allowed of moves[from] ?? []) assert.ok(answer.json.detail.includes(allowed))
    }
  })
}

const operationsOn = (token: string, pin: string) =>
  [
    ['Set PIN', 'POST', `/card-pin/${token}/pin`, { pin }, 204],
    ['Get current PIN', 'GET', `/card-pin/${token}/pin`, undefined, 200],
    ['Unblock PIN', 'POST', `/card-pin/${token}/pin/unblock`, undefined, 204],
    ['Unblock CVV', 'PUT', `/card-cvv/${token}/cvv/status`, { status: 'Unblocked' }, 204],
    ['Block CVV', 'PUT', `/card-cvv/${token}/cvv/status`, { status: 'Blocked' }, 204],
  ] as const

for (const code of codes) {
  const isFinal = moves[code]?.length === 0
  test(`on a card in ${code} PIN and CVV ${isFinal ? 'are closed' : 'can be changed and read'}`, async () => {
    const card = await cardIn(code)
    for (const [name, method, path, body, ok] of operationsOn(
      card.publicToken,
      strongPins(card)[0],
    )) {
      const answer = await service.call(method, path, { body })
      if (isFinal) assert.deepEqual([answer.status, answer.json.code], [409, 'card_closed'], name)
      else assert.equal(answer.status, ok, name)
    }
    for (const kind of ['pin', 'cvv']) {
      const path = `/card-${kind}/${card.publicToken}/${kind}/status`
      assert.equal((await service.call('GET', path)).status, 200, path)
    }
    assert.equal((await service.call('GET', `/cards/${card.publicToken}`)).status, 200)
  })
}

test('whatever the PIN and CVV status, PIN and CVV can be changed and read', async () => {
  const card = await service.createCard()
  const { publicToken } = card
  await sql(
    service.database,
    `update try_counter set spent = restored + try_limit where public_token = $1`,
    [publicToken],
  )
  for (const kind of ['pin', 'cvv']) {
    const { json } = await service.call('GET', `/card-${kind}/${publicToken}/${kind}/status`)
    const description = `The ${kind.toUpperCase()} is blocked: tries used up.`
    assert.deepEqual(json, { status: 'Blocked', description, remainingTries: 0 })
  }
  const path = `/card-pin/${publicToken}/pin`
  const [pin] = strongPins(card)
  assert.equal((await service.call('POST', path, { body: { pin } })).status, 204)
  assert.equal((await service.call('GET', path)).json.pin, pin)
  const unmoved = (await service.call('GET', `${path}/status`)).json
  assert.equal(unmoved.remainingTries, 0, 'setting a PIN restores no tries')
  await service.call('POST', `${path}/unblock`)
  assert.equal((await service.call('GET', `${path}/status`)).json.remainingTries, 3)
})

test('a code that is none is refused with the list of those that are', async () => {
  const { publicToken } = await service.createCard()
  for (const code of ['', '0', '99', 'Active']) {
    const { json, status: answered } = await move(publicToken, code)
    assert.equal(answered, 422)
    assert.equal(json.errors[0].pointer, '/cardStatusCode')
    for (const known of codes) assert.ok(json.errors[0].detail.includes(known))
  }
})
