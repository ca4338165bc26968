import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { Cvv2 } from '../../src/domain/cvv2.ts'
import { Pin } from '../../src/domain/pin.ts'
import { Secret } from '../../src/domain/secret.ts'

test('a secret prints as its mask in a string, in JSON and in a log, and is read by its name alone', () => {
  const secrets = [
    { secret: new Secret('{"pin":"4821"}'), mask: '****', clear: '{"pin":"4821"}' },
    { secret: new Secret('4821', '[key]'), mask: '[key]', clear: '4821' },
    { secret: new Cvv2('482'), mask: '****', clear: '482' },
  ]
  for (const { clear, mask, secret } of secrets) {
    assert.equal(`${secret}`, mask)
    assert.equal(JSON.stringify({ deep: { secret } }), `{"deep":{"secret":"${mask}"}}`)
    assert.equal(inspect({ deep: [secret] }), `{ deep: [ ${mask} ] }`)
    const raw = inspect({ secret, ...secret }, { customInspect: false, showHidden: true, depth: 9 })
    assert.doesNotMatch(raw, /482/)
    assert.deepEqual(Reflect.ownKeys(secret), [])
    assert.equal(secret.reveal(), clear)
  }
})

test('a CVV2 has three or four ASCII digits, and what has not is not repeated', () => {
  for (const digits of ['000', '4821']) assert.equal(new Cvv2(digits).reveal(), digits)
  for (const other of ['', '48', '48210', '48a', ' 482', '482\n', '४८२']) {
    assert.throws(() => new Cvv2(other), new RangeError('not a CVV2'))
  }
})

test('a PIN does not compile where a CVV2 belongs, nor a text', () => {
  // @ts-expect-error A PIN is none.
  const pin: Cvv2 = new Pin('4821')
  // @ts-expect-error Nor is a secret text.
  const text: Cvv2 = new Secret('482')
  assert.ok(!(pin instanceof Cvv2) && !(text instanceof Cvv2))
})
