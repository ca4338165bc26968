import assert from 'node:assert/strict'
import { test } from 'node:test'
import { composePinfoldRequest } from '../../../src/operations/decisions/compose-request.ts'
import { applyRule, checkRule } from '../../../src/operations/decisions/rule.ts'
import { someRequest } from './requests.ts'

const card = { ...someRequest().facts.card, metadata: { tier: 'gold' } }
const body = composePinfoldRequest(someRequest({ card }))
const deposit = composePinfoldRequest(
  someRequest({ merchant: {}, amounts: {}, limits: [] }, { hold: null }),
)

const results: readonly (readonly [rule: string, approves: boolean])[] = [
  ['true', true],
  ['request.amounts.billing.amount <= 1250', true],
  ['request.amounts.hold.amount < 1250', false],
  ['request.amounts.billing.amount <= 5000 && request.amounts.billing.currency == "EUR"', true],
  ['request.merchant.categoryCode in ["5411", "5812"]', true],
  ['has(request.merchant) && request.merchant.categoryCode.startsWith("54")', true],
  ['has(request.paymentId) || request.step == "authorization"', true],
  ['request.checks.exists(c, c.check == "pin" && c.result == "passed")', false],
  ['request.checks.all(c, c.result != "failed")', true],
  ['request.checks.filter(c, c.result == "passed").size() == 1', true],
  ['request.limits.exists(l, has(l.maximumAmount) && l.spentAmount * 2 > l.maximumAmount)', false],
  ['request.limits.exists_one(l, l.control == "limits.day")', true],
  ['!request.simulated && request.cardPresent ? request.sequence > 6 : false', true],
  ['request.merchant.name.contains("Shop") && size(request.merchant.name) < 20', true],
  ['has(request.card.metadata) && request.card.metadata.tier == "gold"', true],
  ['has(request.card.metadata.none) || "none" in request.card.metadata', false],
  ['-request.sequence % 4 == -3 && request.sequence / 2 == 3', true],
]

test('a rule is true or false for exactly the request that was sent', () => {
  for (const [rule, approves] of results) {
    assert.equal(checkRule(rule), null, rule)
    assert.equal(applyRule(rule, body), approves, rule)
  }
})

const faults: readonly (readonly [rule: string, fault: string])[] = [
  ['', 'Unexpected token: EOF, at line 1, column 1'],
  ['request.amounts.biling.amount < 5', 'No such key: biling, at line 1, column 17'],
  ['request.step == "a"\n  && request.nothing', 'No such key: nothing, at line 2, column 14'],
  ['request.checks.exists(c, c.chek == "")', 'No such key: chek, at line 1, column 28'],
  ['amounts.billing.amount < 5', 'Unknown variable: amounts, at line 1, column 1'],
  ['request.sequence == "7"', 'no such overload: int == string, at line 1, column 1'],
  ['request.sequence == 7.5', 'no such overload: int == double, at line 1, column 1'],
  ['request.sequence + 1', 'must be true or false, but is of the type int'],
  ['request', 'must be true or false, but is of the type $request'],
  ['true &&', 'Unexpected token: EOF, at line 1, column 8'],
  ['"a', 'Unterminated string, at line 1, column 1'],
]

test('the fault of a rule says what is wrong, and where', () => {
  for (const [rule, fault] of faults) assert.equal(checkRule(rule), fault, rule)
})

const failing: readonly (readonly [rule: string, request: string])[] = [
  ['request.merchant.categoryCode == "5411"', deposit],
  ['request.amounts.billing.amount < 5000', deposit],
  ['request.sequence / (request.sequence - 7) > 0', body],
  ['request.sequence * 9223372036854775807 > 0', body],
  ['int(request.entryMode) > 0', body],
]

test('a rule that reads what is not there, overflows or divides by zero decides nothing', () => {
  for (const [rule, request] of failing) {
    assert.equal(checkRule(rule), null, rule)
    assert.throws(() => applyRule(rule, request), rule)
  }
})

const misplaced: readonly (readonly [rule: string, fault: string])[] = [
  [
    'request.merchant.name.matches("a")',
    'The function matches is not allowed, at line 1, column 23',
  ],
  [
    'true && (request.checks)[0].check == ""',
    'An index in brackets is not allowed, at line 1, column 25',
  ],
  [
    'size(request.checks + request.checks) > 2',
    'The operator + on lists is not allowed, at line 1, column 21',
  ],
  ['true && nothing(1)', 'The function nothing is not allowed, at line 1, column 9'],
  [
    'true && [1].all(a, a > 0)',
    'The function all on anything but a list of the request is not allowed, at line 1, column 13',
  ],
]

test('a rule with something that is not allowed is told what it is, and where', () => {
  for (const [rule, fault] of misplaced) assert.equal(checkRule(rule), fault, rule)
})

const notAllowed: readonly string[] = [
  'request.merchant.name.matches("^(a+)+$")',
  'timestamp(request.deadline) > timestamp("2026-01-01T00:00:00Z")',
  'duration("1h") > duration("5m")',
  '["a"].map(x, x + x).size() > 0',
  '["a"].map(x, true, x + x).size() > 0',
  'cel.bind(a, "x", a + a) == ""',
  'request.checks[0].check == ""',
  '{"a": 1}.a == 1',
  'dyn(1) == dyn("a")',
  '"a,b".split(",").size() == 2',
  '["a"].join("") == "a"',
  'type(1) == int',
  'bytes("a") == b"a"',
  'nothing(1)',
  '[[1, 2]].all(a, a.size() > 0)',
  '(true ? [1] : [2]).exists(a, a > 0)',
  'request.checks.filter(c, true).all(c, [c].exists_one(d, true))',
  '[request.checks].filter(c, true).size() > 0',
  '(true ? request.checks : request.checks) + request.checks == request.checks',
  'size([1] + [2]) > 0',
  '1 in request.limits.filter(l, true) + request.limits',
]

test('a rule has no regular expression, no clock, and nothing that makes values larger', () => {
  for (const rule of notAllowed) {
    assert.match(checkRule(rule) ?? '', /not allowed|Exceeded/, rule)
  }
})

/** Binds a value again and again, each time to the former one many times over. */
const growing = (seed: string, levels: number, times: number): string => {
  const names = 'abcdefghijkl'.split('')
  const bind = (at: number): string => {
    const sum = Array.from({ length: times }, () => names[at]).join('+')
    return at === levels
      ? `size(${names[at]}) > 0`
      : `[${sum}].all(${names[at + 1]}, ${bind(at + 1)})`
  }
  return `[${seed}].all(a, ${bind(0)})`
}

test('a rule cannot make a value grow, not even one that was registered before', () => {
  for (const seed of ['[1,2,3,4,5,6,7,8,9,10]', '"0123456789"']) {
    const rule = growing(seed, 7, 6)
    assert.match(checkRule(rule) ?? '', /not allowed/)
    const startedMs = performance.now()
    assert.throws(() => applyRule(rule, body), /not allowed/)
    assert.ok(performance.now() - startedMs < 10_000, 'nothing was run')
  }
})

const hundred = `[${Array.from({ length: 100 }, (_, at) => at).join()}]`
const nested = (depth: number): string =>
  depth === 0 ? 'true' : `request.checks.all(c${depth}, ${nested(depth - 1)})`

const bombs: readonly string[] = [
  nested(3),
  nested(12),
  `${hundred}.all(a, ${hundred}.all(b, a + b < ${hundred}.size()))`,
  `[${hundred}].all(a, a.all(b, a.all(c, b < c)))`,
  `${hundred}.filter(a, a > 0).all(a, ${hundred}.filter(b, b in ${hundred}).size() > 0)`,
  Array.from({ length: 600 }, () => '"a".contains("b")').join(' || '),
  Array.from({ length: 1_300 }, () => '1')
    .join('+')
    .concat(' > 0'),
  `${'('.repeat(200)}true${')'.repeat(200)}`,
  `${'!'.repeat(3_000)}true`,
  `[${Array.from({ length: 201 }, () => '1').join()}].size() > 0`,
  'x'.repeat(4_001),
]

test('a rule that could run for long is refused before it runs', () => {
  const startedMs = performance.now()
  for (const rule of bombs) {
    assert.match(
      checkRule(rule) ?? '',
      /steps|Exceeded|exceeds|not allowed/,
      `${rule.slice(0, 80)}: ${checkRule(rule)}`,
    )
  }
  assert.ok(performance.now() - startedMs < 20_000, 'nothing was run')
})

test('the most expensive rules that are allowed end within half a second', () => {
  const facts = {
    checks: Array.from({ length: 50 }, () => ({ check: 'card', result: 'passed' })),
  }
  const request = composePinfoldRequest(someRequest(facts))
  const list = Array.from({ length: 190 }, (_, at) => `"no-${at}"`).join()
  const expensive = [
    'request.checks.all(c, request.checks.exists(d, !(d.check != c.check && d.result == "a")))',
    'request.checks.all(c, request.checks.all(d, d.check == c.check))',
    `request.checks.all(c, !(c.check in [${list}]))`,
    `!"${'a'.repeat(1_900)}".contains("${'a'.repeat(1_000)}b")`,
  ]
  for (const rule of expensive) {
    assert.equal(checkRule(rule), null, rule)
    assert.equal(applyRule(rule, request), true)
    const startedMs = performance.now()
    for (let run = 0; run < 10; run += 1) applyRule(rule, request)
    const eachMs = (performance.now() - startedMs) / 10
    assert.ok(eachMs < 500, `${eachMs} ms: ${rule}`)
  }
})

test('a request with more than a rule may read is not judged by it', () => {
  const checks = Array.from({ length: 51 }, () => ({ check: 'card', result: 'passed' }))
  assert.throws(() => applyRule('true', composePinfoldRequest(someRequest({ checks }))), /too long/)
})
