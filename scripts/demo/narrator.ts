import { styleText } from 'node:util'
import type { Credentials } from '../../src/sandbox/seed.ts'
import type { Answer, Call, Step } from './steps.ts'

const width = 88
const margin = '      '
const mask = '********'

// `styleText` colours text on a terminal only, and honours NO_COLOR.
const bold = (text: string): string => styleText('bold', text)
const dim = (text: string): string => styleText('dim', text)
const green = (text: string): string => styleText('green', text)
const red = (text: string): string => styleText('red', text)

const isJson = process.argv.includes('--json')
const print = (text: string): void => {
  if (!isJson) console.log(text)
}

/** Prints one line of JSON per step, for programs. */
export function printResult(
  number: number,
  { title }: Step,
  { as, method, path }: Call,
  { status }: Answer,
  fault: string | null,
): void {
  if (isJson) console.log(JSON.stringify({ number, title, as, method, path, status, fault }))
}
const indented = (text: string): string => text.replaceAll(/^/gm, margin)

/** The headers that are printed. */
const printedHeaders = ['location', 'idempotency-replayed', 'retry-after']

export const printStart = (baseUrl: string, isOwn: boolean): void =>
  print(`${bold('Pinfold demo')} on ${baseUrl}${isOwn ? ', a server started for it' : ''}`)

export const printScenario = (title: string): void => print(`\n${bold(title)}`)

/** Prints a token request, with the secret and the token masked. */
export function printToken({ clientId, scope }: Credentials, answered: object): void {
  print(`\n   -  Get an access token as ${clientId}`)
  print(indented(`${bold('POST')} /oauth/token`))
  print(dim(indented(`Authorization: Basic ${clientId}:${mask}`)))
  print(indented(`grant_type=client_credentials\nscope=${scope}`))
  print(indented(green('→ 200')))
  print(indented(formatJson({ ...answered, access_token: mask }, width)))
}

export function printStep(number: number, { note, title }: Step): void {
  print(`\n${String(number).padStart(3)}.  ${title}`)
  if (note) print(dim(indented(note)))
}

export function printCall({ as, body, headers = {}, method, path }: Call): void {
  const caller = as === 'client' ? '' : dim(`   as ${as}`)
  print(indented(`${bold(method)} ${path}${caller}`))
  for (const [name, value] of Object.entries(headers)) print(dim(indented(`${name}: ${value}`)))
  if (body) print(indented(formatJson(body, width)))
}

export function printAnswer({ body, headers, status }: Answer): void {
  const colour = status < 300 ? green : bold
  print(indented(colour(`→ ${status}`)))
  for (const name of printedHeaders) {
    const value = headers.get(name)
    if (value !== null) print(dim(indented(`${name}: ${value}`)))
  }
  if (body !== null) print(indented(formatJson(body, width)))
}

export const printFault = (fault: string): void =>
  print(red(indented(`✗ The answer differs from the specification: ${fault}`)))

export const printEnd = (steps: number): void =>
  print(green(`\nAll ${steps} answers match the specification.`))

/** Formats JSON for people: on one line if it fits, otherwise one line per member. */
function formatJson(value: unknown, width: number, indent = ''): string {
  const line = onOneLine(value)
  if (line.length + indent.length <= width || typeof value !== 'object' || value === null) {
    return line
  }
  const inner = `${indent}  `
  const isArray = Array.isArray(value)
  const members = isArray
    ? value.map((member) => formatJson(member, width, inner))
    : Object.entries(value).map(
        ([name, member]) => `${JSON.stringify(name)}: ${formatJson(member, width, inner)}`,
      )
  const [open, close] = isArray ? '[]' : '{}'
  return `${open}\n${inner}${members.join(`,\n${inner}`)}\n${indent}${close}`
}

function onOneLine(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(onOneLine).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(
    ([name, member]) => `${JSON.stringify(name)}: ${onOneLine(member)}`,
  )
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}
