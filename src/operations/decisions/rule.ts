import { type ASTNode, Environment, type ParseResult } from '@marcbachmann/cel-js'
import { LRUCache } from 'lru-cache'

/**
 * Rules: CEL expressions over a request that stand in for a client's answer. They have no clock, no
 * input or output, no regular expressions, and a cost that is known before they run.
 */

/** The most characters of a rule. */
const ruleLengthMax = 4_000

/** The most steps that a rule may need. A step takes less than a microsecond. */
const costMax = 50_000

/** The most elements of a list of a request that a rule reads. */
const elementsMax = 50

/** The most elements of a list that a rule writes. */
const literalMax = 200

/**
 * Checks a rule: its syntax, its types against a request, and its cost.
 * @returns its fault with its position, such as `No such key: biling, at line 1, column 17`; null
 *   for a sound rule.
 */
export function checkRule(text: string): string | null {
  if (text.length > ruleLengthMax) return `exceeds the limit of ${ruleLengthMax} characters`
  try {
    compile(text)
    return null
  } catch (error) {
    if (error instanceof RuleFault) return error.message
    throw error
  }
}

/**
 * Applies a rule to a request in the format `pinfold`.
 * @param body the exact text that was sent.
 * @returns whether the rule approves.
 * @throws Error when the rule reads what the request does not have, overflows, or divides by zero.
 *   Its message names the place in the rule, and no value of the request.
 */
export function applyRule(rule: string, body: string): boolean {
  // CEL compares numbers of one kind only. All numbers of a request are integers.
  const request: unknown = JSON.parse(body, (_name, value: unknown) => {
    if (typeof value === 'number') return BigInt(value)
    if (Array.isArray(value) && value.length > elementsMax)
      throw new RangeError('The request has a list that is too long for a rule.')
    return value
  })
  const program = compiled.get(rule) ?? compile(rule)
  compiled.set(rule, program)
  try {
    return program({ request }) === true
  } catch (error) {
    throw new RuleFault(describeFault(error, rule))
  }
}

/** The fault of a rule, for its author and for operators. */
class RuleFault extends Error {}

const compiled = new LRUCache<string, ParseResult>({ max: 1_000 })

const money = { amount: 'int', currency: 'string' }

const environment = new Environment({
  limits: {
    maxAstNodes: 1_000,
    maxDepth: 32,
    maxListElements: literalMax,
    maxMapEntries: 0,
    maxCallArguments: 2,
  },
})
  .registerType('Check', { fields: { check: 'string', result: 'string' } })
  .registerType('Limit', {
    fields: {
      owner: 'string',
      control: 'string',
      maximumAmount: 'int',
      maximumCount: 'int',
      spentAmount: 'int',
      spentCount: 'int',
    },
  })
  .registerVariable({
    name: 'request',
    // The members of composePinfoldRequest.
    schema: {
      decisionId: 'string',
      purpose: 'string',
      simulated: 'bool',
      deadline: 'string',
      requestedAt: 'string',
      sequence: 'int',
      card: {
        publicToken: 'string',
        productId: 'int',
        customerReference: 'string',
        lastFour: 'string',
        metadata: 'map<string, string>',
      },
      authorizationId: 'string',
      paymentId: 'string',
      step: 'string',
      transactionType: 'string',
      amounts: { billing: money, transaction: money, cashback: money, hold: money },
      partialAllowed: 'bool',
      entryMode: 'string',
      cardPresent: 'bool',
      merchant: {
        id: 'string',
        terminalId: 'string',
        name: 'string',
        city: 'string',
        country: 'string',
        categoryCode: 'string',
      },
      network: { networkId: 'string', reference: 'string', transactionId: 'string' },
      checks: 'list<Check>',
      limits: 'list<Limit>',
    },
  })

/** Parses and checks a rule. @throws `RuleFault`. */
function compile(text: string): ParseResult {
  const program = parse(text)
  const cost = computeCost(program.ast)
  if (cost > costMax)
    throw new RuleFault(`needs up to ${Math.ceil(cost)} steps; the limit is ${costMax} steps`)
  const { error, type, valid } = program.check()
  if (!valid) throw new RuleFault(describeFault(error, text))
  if (type !== 'bool') throw new RuleFault(`must be true or false, but is of the type ${type}`)
  return program
}

function parse(text: string): ParseResult {
  try {
    return environment.parse(text)
  } catch (error) {
    throw new RuleFault(describeFault(error, text))
  }
}

interface LocatedFault {
  readonly summary?: string
  readonly range?: { readonly start: number }
}

function describeFault(error: unknown, text: string): string {
  const { range, summary = 'It cannot be evaluated' } = (error ?? {}) as LocatedFault
  return range ? `${summary}, ${describePlace(text, range.start)}` : summary
}

function describePlace(text: string, at: number): string {
  const lines = text.slice(0, at).split('\n')
  return `at line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`
}

/** Functions that need as many steps as their text or list is long, and no more. */
const functions: ReadonlySet<string> = new Set(['size', 'int', 'string'])

/** The same with a text or a list before the dot. */
const methods: ReadonlySet<string> = new Set(['size', 'startsWith', 'endsWith', 'lowerAscii'])

/** The members of a request, or of its members, that are lists. */
const listMembers: ReadonlySet<string> = new Set(['checks', 'limits'])

/** Their body runs once for each element of the list before the dot. */
const comprehensions: ReadonlySet<string> = new Set(['all', 'exists', 'exists_one', 'filter'])

/** Assumed for a text of a request. */
const textCost = 8

/** Of a text of the metadata, which is longer: it has up to 500 characters. */
const metadataCost = 32

/**
 * Computes the most steps that an expression can need. A list of a request has `elementsMax`
 * elements; a text counts by its length.
 * @throws `RuleFault` for a refused operation. `map`, `cel.bind`, `+` on lists, and a function that
 *   binds a name to elements of a written list could double a value again and again. `matches`
 *   needs a regular expression, and times need a clock to be of use.
 */
function computeCost(node: ASTNode): number {
  switch (node.op) {
    case 'value':
      return 1 + (typeof node.args === 'string' ? node.args.length / 16 : 0)
    case 'id':
      return 1
    case '.':
      return 1 + computeCost(node.args[0]) + (isMetadata(node.args[0]) ? metadataCost : 0)
    case '!_':
    case '-_':
      return 1 + computeCost(node.args)
    case 'list':
    case '?:':
    case '&&':
    case '||':
    case '==':
    case '!=':
    case '<':
    case '<=':
    case '>':
    case '>=':
    case '-':
    case '*':
    case '/':
    case '%':
      return sumCosts(node.args)
    case '+':
      if (node.args.some(isList)) throw refused('The operator + on lists', node, '+')
      return sumCosts(node.args)
    case 'in':
      return sumCosts(node.args) + countElements(node.args[1])
    case 'call':
      return computeCallCost(node)
    case 'rcall':
      return computeMethodCost(node)
    case '[]':
      throw refused('An index in brackets', node, '[')
    case '[?]':
      throw refused('An index in brackets', node, '[?')
    case '.?':
      throw refused('The operator .?', node, '.?')
    case 'map':
      throw refused('A map in braces', node)
    default:
      // A notation of a later release of the language: its cost is not known.
      throw refused('This notation', node)
  }
}

const sumCosts = (nodes: readonly ASTNode[]): number =>
  nodes.reduce((sum, node) => sum + computeCost(node), 1)

function computeCallCost(node: ASTNode & { readonly op: 'call' }): number {
  const [name, operands] = node.args
  if (name !== 'has' && !functions.has(name)) throw refused(`The function ${name}`, node)
  return sumCosts(operands) + textCost
}

function computeMethodCost(node: ASTNode & { readonly op: 'rcall' }): number {
  const [name, receiver, operands] = node.args
  if (comprehensions.has(name)) {
    if (!isListOfRequest(receiver)) {
      throw refused(`The function ${name} on anything but a list of the request`, node, name)
    }
    return computeCost(receiver) + elementsMax * sumCosts(operands)
  }
  const cost = computeCost(receiver) + sumCosts(operands) + textCost
  // The search may compare each character of one text with each of the other.
  if (name === 'contains') return cost + computeCost(receiver) * sumCosts(operands)
  if (methods.has(name)) return cost
  throw refused(`The function ${name}`, node, name)
}

/** Whether an expression is a member that is a list, or what `filter` leaves of one. */
function isListOfRequest(node: ASTNode): boolean {
  if (node.op === '.') return listMembers.has(node.args[1])
  return node.op === 'rcall' && node.args[0] === 'filter' && isListOfRequest(node.args[1])
}

const isMetadata = (node: ASTNode): boolean => node.op === '.' && node.args[1] === 'metadata'

/** Whether an expression can be a list. */
function isList(node: ASTNode): boolean {
  if (node.op === '?:') return node.args.some(isList)
  return node.op === 'list' || isListOfRequest(node)
}

/** Counts the elements that a list may have. */
const countElements = (node: ASTNode): number =>
  node.op === 'list' ? node.args.length : isListOfRequest(node) ? elementsMax : literalMax

/** @param sign the refused operator, if an operand is before it in the expression. */
function refused(what: string, node: ASTNode, sign?: string): RuleFault {
  const { input, start } = node
  const at = sign === undefined ? start : input.indexOf(sign, findFirstOperand(node).end)
  return new RuleFault(`${what} is not allowed, ${describePlace(input, at)}`)
}

function findFirstOperand(node: ASTNode): ASTNode {
  if (!Array.isArray(node.args)) return node
  const operand = node.args.slice(0, 2).find((each) => typeof each === 'object' && 'op' in each)
  return (operand as ASTNode | undefined) ?? node
}
