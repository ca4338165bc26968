/** What a statement could have been written as by a slip, and which of these slips no test can find. */

export type Mutation = { readonly what: string; readonly mutated: string }

type Token = { readonly word: string; readonly start: number; readonly depth: number }

/** Every mutation of a statement, each by one slip. */
export const mutationsOf = (text: string): readonly Mutation[] => {
  const tokens = tokensOf(text)
  return [
    ...conjuncts(text, tokens),
    ...replaced(text, tokens, { '<': '<=', '<=': '<', '>': '>=', '>=': '>' }),
    ...without(text, /\bfor (?:no key )?update(?: of \w+)?/g),
    ...orders(text, tokens),
    ...exchanged(text, /\blimit (\$?\w+)/g, 'limit ($1)::bigint + 1000000', 'without the limit'),
    ...exchanged(text, /\+ 1\b/g, '+ 0', '+ 0 for + 1'),
  ]
}

/** Words, signs and brackets, each with how deep in brackets it stands; what is quoted is one token. */
const tokensOf = (text: string): readonly Token[] => {
  const tokens: Token[] = []
  let depth = 0
  for (const { 0: word, index } of text.matchAll(/'[^']*'|"[^"]*"|[<>=!]+|[()]|[\w$.]+/g)) {
    if (word === ')') depth -= 1
    tokens.push({ word, start: index, depth })
    if (word === '(') depth += 1
  }
  return tokens
}

/** Where a clause or a condition ends, at its own depth. */
const ends = new Set(
  'and or order group limit returning for union from where on set join do having'.split(' '),
)

/** From a token on: where the next one stands that ends it. */
const endOf = (text: string, tokens: readonly Token[], from: number, closing = ends): number => {
  const depth = tokens[from]?.depth ?? 0
  let isBetween = false
  for (const { depth: at, start, word } of tokens.slice(from + 1)) {
    if (at < depth) return start
    if (at > depth) continue
    if (word === 'between') isBetween = true
    else if (isBetween && word === 'and') isBetween = false
    else if (closing.has(word)) return start
  }
  return text.length
}

/** Each condition of a `where` or `on` that holds nobody back any more. Its parameters keep their types. */
const conjuncts = (text: string, tokens: readonly Token[]): Mutation[] =>
  tokens.flatMap(({ start, word }, index) => {
    const isOfBetween = word === 'and' && isBoundOfBetween(tokens, index)
    if (!['where', 'and', 'or'].includes(word) || isOfBetween) return []
    const end = endOf(text, tokens, index)
    const condition = text.slice(start + word.length, end).trim()
    const dropped = word === 'or' ? `((${condition}) and false)` : `((${condition}) or true)`
    const mutated = `${text.slice(0, start)}${word} ${dropped} ${text.slice(end)}`
    return [{ what: `without ${oneLine(condition)}`, mutated }]
  })

const isBoundOfBetween = (tokens: readonly Token[], index: number): boolean => {
  const depth = tokens[index]?.depth
  const before = tokens.slice(0, index).filter((each) => each.depth === depth)
  const last = before.findLast(({ word }) => word === 'between' || ends.has(word))
  return last?.word === 'between'
}

const afterOrder = new Set(['limit', 'returning', 'for'])

const orders = (text: string, tokens: readonly Token[]): Mutation[] =>
  tokens.flatMap(({ start, word }, index) => {
    if (word !== 'order') return []
    const end = endOf(text, tokens, index, afterOrder)
    const what = `without ${oneLine(text.slice(start, end))}`
    return [{ what, mutated: text.slice(0, start) + text.slice(end) }]
  })

const replaced = (
  text: string,
  tokens: readonly Token[],
  by: Readonly<Record<string, string>>,
): Mutation[] =>
  tokens.flatMap(({ start, word }) => {
    const other = by[word]
    if (!other) return []
    const around = oneLine(text.slice(Math.max(0, start - 30), start + 30))
    const mutated = text.slice(0, start) + other + text.slice(start + word.length)
    return [{ what: `${other} for ${word} in … ${around} …`, mutated }]
  })

const without = (text: string, pattern: RegExp): Mutation[] =>
  [...text.matchAll(pattern)].map(({ 0: found, index }) => ({
    what: `without ${found}`,
    mutated: text.slice(0, index) + text.slice(index + found.length),
  }))

/** Each place where a pattern stands, with something else there. */
const exchanged = (text: string, pattern: RegExp, by: string, what: string): Mutation[] =>
  [...text.matchAll(pattern)].map(({ 0: found, 1: group = '', index }) => ({
    what,
    mutated:
      text.slice(0, index) + by.replace('$1', () => group) + text.slice(index + found.length),
  }))

const oneLine = (sql: string): string => sql.replace(/\s+/g, ' ').trim()

/** Mutants of SQL that no test can find, each with its reason. */
type SqlEquivalent = { readonly name: string; readonly what: string; readonly reason: string }

const toTheMicrosecond = 'the instants that differ are one in a microsecond'
const ofItsClaim = 'the rows of a claim are those of its key, and are written together'

/** The same of several statements, which are made of the same parts. */
const ofEach = (names: readonly string[], what: string, reason: string): SqlEquivalent[] =>
  names.map((name) => ({ name, what, reason }))

const comparisons = ['match', 'mismatch', 'unresolved']
const keyed = comparisons.map((comparison) => `settle_${comparison}_and_store`)
const settlings = [
  ...comparisons.map((comparison) => `settle_${comparison}`),
  ...keyed,
  'settle_match_and_spend',
]

const sqlEquivalents: readonly SqlEquivalent[] = [
  ...ofEach(
    settlings,
    'without try_number = any(given_back ||',
    'an attempt that is not chosen is written as it is',
  ),
  ...ofEach(keyed, 'without client_id =', 'a claim is one client’s'),
  ...ofEach(
    ['settle_mismatch', 'settle_mismatch_and_store', 'report_lost_block'],
    '<= for < in … y_limit and not at - 30000000 <',
    toTheMicrosecond,
  ),
  ...ofEach(
    ['claim_and_spend_try', 'claim_with_answer'],
    '<= for < in … idempotency_record.created_at <',
    toTheMicrosecond,
  ),
  {
    name: 'settle_match_and_spend',
    what: 'without try_counter.kind = $5',
    reason: 'the other row was changed by this statement already, and is not changed twice',
  },
  {
    name: 'list_unreported_blocks',
    what: '<= for < in … and not at - 30000000 <',
    reason: toTheMicrosecond,
  },
  {
    name: 'prune_idempotency_records',
    what: '<= for < in … _record where created_at <',
    reason: toTheMicrosecond,
  },
  {
    name: 'prune_idempotency_records',
    what: "without created_at + interval '24 hours' < now()",
    reason: 'it says once more what the list says, for the planner alone',
  },
  {
    name: 'store_idempotent_answer',
    what: 'without key_hash = $2',
    reason: 'where one hash is known a claim has one row',
  },
  {
    name: 'store_idempotent_answer_under_several_hashes',
    what: 'without claim_id = $3',
    reason: ofItsClaim,
  },
  {
    name: 'store_idempotent_answer_under_several_hashes',
    what: 'without key_hash in (select',
    reason: ofItsClaim,
  },
  {
    name: 'store_idempotent_answer_under_several_hashes',
    what: 'without client_id = $1',
    reason: ofItsClaim,
  },
  {
    name: 'store_idempotent_answer_under_several_hashes',
    what: 'without (select count(*) from claimed) > 0',
    reason: ofItsClaim,
  },
  {
    name: 'store_idempotent_answer_under_several_hashes',
    what: '>= for > in … select count(*) from claimed)',
    reason: ofItsClaim,
  },
  {
    name: 'store_idempotent_answer',
    what: 'without client_id = $1',
    reason: 'a claim is one client’s',
  },
  {
    name: 'prune_idempotency_records',
    what: "without created_at < (select now() - interval '24 hours')",
    reason: 'the condition after it says the same once more: the list is for the planner',
  },
  {
    name: 'prune_idempotency_records',
    what: "<= for < in … ated_at + interval '24 hours' < now()",
    reason: toTheMicrosecond,
  },
  {
    name: 'claim_idempotency_key',
    what: '<= for < in … idempotency_record.created_at <',
    reason: toTheMicrosecond,
  },
  {
    name: 'find_idempotency_record',
    what: 'without the limit',
    reason: 'only the first row is read',
  },
]

/** Why a mutant changes nothing that can be seen; `what` is how the mutators describe it, or begins so. */
export const sqlEquivalentOf = (name: string, what: string): string | undefined =>
  sqlEquivalents.find((each) => each.name === name && what.startsWith(each.what))?.reason
