import { parseArgs } from 'node:util'
import { findNearestName } from '../domain/nearest-name.ts'
import { escapeLine } from '../domain/terminal-text.ts'
import { describeStartFailure } from '../service/config/start-failure.ts'

/** Words at the start of a line, with their colours on a terminal. */
export type Colours = Readonly<Record<string, 'green' | 'yellow' | 'red'>>

/** The outcome of a command, for programs and for people. */
export interface Outcome {
  readonly json: unknown
  readonly text: string
  /** Words at the start of lines, shown in a colour. */
  readonly colours?: Colours
  /** If not 0: the command succeeded but found faults. */
  readonly exitCode?: number
}

/** One option: an option of Node's `parseArgs` with a line of help. */
interface Option {
  readonly type: 'string' | 'boolean'
  /** The name of its value in the help: `--bin DIGITS`. */
  readonly value?: string
  readonly help: string
  /** The member of the request that it sets, as in the pointers of problems: `/cardProduct`. */
  readonly pointer?: string
  /** The option that this one depends on. */
  readonly needs?: string
  /** Options that cannot be given with it. */
  readonly excludes?: readonly string[]
}

export type Options = Readonly<Record<string, Option>>
/** The service and the credentials in the options, which precede the environment. */
export interface ConnectionOptions {
  readonly client?: string | undefined
  readonly 'jwk-file'?: string | undefined
  readonly url?: string | undefined
  readonly 'private-url'?: string | undefined
  readonly 'as-person'?: boolean | undefined
}

type OptionValues = ConnectionOptions & Readonly<Record<string, string | boolean | undefined>>

/** A parsed command line: the arguments and the options. */
export interface Call {
  readonly names: readonly string[]
  readonly options: OptionValues
}

/** A command. */
export interface Command {
  /** `products create`. */
  readonly words: string
  /**
   * The required arguments, in order: `PRODUCT`. One in brackets is optional, and the last one may
   * be given several times: `FILE…`.
   */
  readonly names?: readonly string[]
  /** Members of the request that arguments set, as in the pointers of problems: `/productId`. */
  readonly namePointers?: Readonly<Record<string, string>>
  readonly summary: string
  /** Further lines of its help. */
  readonly description?: string
  readonly options?: Options
  /** The connection options of the command; all of them unless given. */
  readonly connection?: readonly (keyof ConnectionOptions)[]
  readonly example: string
  /** @returns null after it has printed everything itself. */
  run(call: Call): Promise<Outcome | null>
}

/** Options of every command. */
const commonOptions: Options = {
  json: { type: 'boolean', help: 'answers for programs, on standard output' },
  help: { type: 'boolean', help: 'this text' },
}

/** Options of commands that call a service. */
const connectionOptions: Readonly<Record<keyof ConnectionOptions, Option>> = {
  url: { type: 'string', value: 'URL', help: 'the public listener of a remote service' },
  'private-url': { type: 'string', value: 'URL', help: 'its private listener' },
  client: { type: 'string', value: 'ID', help: "the client that calls; by default the sandbox's" },
  'jwk-file': { type: 'string', value: 'FILE', help: "the client's private key (JWK)" },
  'as-person': {
    type: 'boolean',
    help: 'call as the person who ran pinfold sign-in, instead of a client',
    excludes: ['client', 'jwk-file'],
  },
}

/** Options of commands that call the public listener, as a client. */
export const clientConnection = ['url', 'client', 'jwk-file'] as const

/** Lists the shared options of a command: only those that have an effect. */
export const listSharedOptions = ({ connection = connectionNames }: Command): Options => ({
  ...commonOptions,
  ...Object.fromEntries(connection.map((name) => [name, connectionOptions[name]])),
})

const connectionNames = ['url', 'private-url', 'client', 'jwk-file', 'as-person'] as const

/** @throws UsageError for unknown options, options without effect, and a wrong number of names. */
export function parseCall(command: Command, words: readonly string[]): Call {
  const known = listOptions(command)
  const { positionals: names, values } = parseOptions(known, words)
  const options = values as OptionValues
  if (options.help) return { names, options }
  checkTogether(known, options)
  const due = command.names ?? []
  const least = due.filter((name) => !name.startsWith('[')).length
  if (names.length < least) throw new UsageError(`${due[names.length]} is missing.`)
  const isMany = due.at(-1)?.endsWith('…')
  if (names.length > due.length && !isMany) {
    const set = command.options?.set
    const hint = set === undefined ? '' : ` Use --set ${set.value}.`
    throw new UsageError(`${names[due.length]} is an extra argument.${hint}`)
  }
  return { names, options }
}

/** Lists every option that a command accepts. */
export const listOptions = (command: Command): Options => ({
  ...command.options,
  ...listSharedOptions(command),
})

function parseOptions(options: Options, words: readonly string[]) {
  const known = Object.entries(options).map(([name, { type }]) => [name, { type }] as const)
  const config = {
    args: [...words],
    options: Object.fromEntries(known),
    allowPositionals: true,
  }
  for (const token of parseArgs({ ...config, strict: false, tokens: true }).tokens) {
    if (token.kind === 'option' && !Object.hasOwn(options, token.name)) {
      throw new UsageError(describeUnknownOption(token.rawName, Object.keys(options)))
    }
  }
  try {
    return parseArgs(config)
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : 'The command is not valid.')
  }
}

function describeUnknownOption(typed: string, known: readonly string[]): string {
  const nearest = findNearestName(typed.replace(/^-+/, ''), known)
  const hint = nearest === null ? '' : ` Did you mean --${nearest}?`
  return `Unknown option ${typed}.${hint}`
}

/** @throws UsageError for an option without effect beside the others. */
function checkTogether(known: Options, values: OptionValues): void {
  for (const [name, { excludes = [], needs }] of Object.entries(known)) {
    if (values[name] === undefined) continue
    if (needs !== undefined && values[needs] === undefined) {
      throw new UsageError(`--${name} has no effect without --${needs}.`)
    }
    const other = excludes.find((each) => values[each] !== undefined)
    if (other !== undefined) throw new UsageError(`--${name} cannot be given with --${other}.`)
  }
}

/** Returns the text of an option, if given. */
export const findText = ({ options }: Call, name: string): string | undefined => {
  const value = options[name]
  return typeof value === 'string' ? value : undefined
}

/** @throws MissingOptions when it was not given. */
export function requireText(call: Call, name: string): string {
  requireOptions(call, [name])
  return findText(call, name) ?? ''
}

/** @throws MissingOptions with the names of all that were not given. */
export function requireOptions(call: Call, names: readonly string[]): void {
  const missing = names.filter((name) => findText(call, name) === undefined)
  if (missing.length > 0) throw new MissingOptions(missing)
}

/** @throws UsageError unless it is a number. */
export function parseNumber(call: Call, name: string): number | undefined {
  const text = findText(call, name)
  if (text === undefined || /^-?[0-9]{1,12}$/.test(text)) {
    return text === undefined ? undefined : Number(text)
  }
  throw new UsageError(`--${name} must be a whole number.`)
}

/** The option of every list. */
export const limitOption: Options = {
  limit: { type: 'string', value: 'N', help: 'the maximum number of entries; by default all' },
}

/** The option of every act that another person may have to approve. */
export const reasonOption: Options = {
  reason: {
    type: 'string',
    value: 'TEXT',
    help: 'the reason, for an approver and the audit log',
    pointer: '/reason',
  },
}

/** Returns the maximum number of entries of a list. @throws UsageError unless it is 1 or more. */
export function parseLimit(call: Call): number | undefined {
  const limit = parseNumber(call, 'limit')
  if (limit !== undefined && limit < 1) throw new UsageError('--limit must be 1 or more.')
  return limit
}

/** @throws UsageError unless it is yes or no. */
export function parseYesNo(call: Call, name: string): boolean | undefined {
  const text = findText(call, name)
  if (text === undefined || text === 'yes' || text === 'no') {
    return text === undefined ? undefined : text === 'yes'
  }
  throw new UsageError(`--${name} must be yes or no.`)
}

/** Splits an option at its commas. */
export const parseList = (call: Call, name: string): string[] | undefined =>
  findText(call, name)
    ?.split(',')
    .filter((each) => each !== '')

/** Omits members that were not given. */
export const given = (members: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))

/** The exit codes. */
export const exitCodes = {
  done: 0,
  refused: 1,
  notUnderstood: 2,
  unreachable: 3,
  waiting: 4,
} as const

/** A malformed command. */
export class UsageError extends Error {}

/** A command without options that it requires. */
export class MissingOptions extends UsageError {
  constructor(names: readonly string[]) {
    const options = names.map((name) => `--${name}`)
    super(`${options.join(', ')} ${options.length === 1 ? 'is' : 'are'} missing.`)
  }
}

/** No server answers, and the service could not be opened. */
export class Unreachable extends Error {}

/** @throws Unreachable when an operator can repair the failure to start. */
export function refuseStart(error: unknown): never {
  const reason = describeStartFailure(error)
  throw typeof reason === 'string' ? new Unreachable(reason, { cause: error }) : error
}

/** The request waits for another person's approval. */
export class Waiting extends Error {
  readonly approval: { readonly approvalId: string }

  constructor(approval: { readonly approvalId: string }) {
    super(
      `It waits for the approval of another person: pinfold approvals show ${approval.approvalId}`,
    )
    this.approval = approval
  }
}

/** The displayed members of a refusal's problem document (RFC 9457). */
interface ProblemDocument {
  readonly code?: string
  readonly title?: string
  readonly detail?: string
  readonly errors?: readonly { readonly pointer: string; readonly detail: string }[]
}

/** The service's refusal. */
export class Refused extends Error {
  readonly status: number
  readonly problem: ProblemDocument

  constructor(status: number, problem: ProblemDocument) {
    super(composeRefusal(problem, status))
    this.status = status
    this.problem = problem
  }
}

function composeRefusal(
  { detail, errors = [], title }: ProblemDocument,
  status: number,
  nameMember = (pointer: string) => pointer,
): string {
  // A detail that repeats the only fault is given once, after the title.
  if (title && detail && errors.length === 1 && errors[0]?.detail === detail) {
    const reason = detail.charAt(0).toLowerCase() + detail.slice(1)
    return escapeLine(`${title.replace(/\.$/, '')}: ${reason}`)
  }
  const faults = errors.map(({ detail: fault, pointer }) => `${nameMember(pointer)} ${fault}`)
  const outcome = [title, detail].filter(Boolean).join(' ')
  return [outcome || `The service answered ${status}.`, ...faults]
    .map((each) => escapeLine(String(each)))
    .join('\n  ')
}

/** Describes a refusal in terms of the command that was typed. */
export function describeRefusal(
  { problem, status }: Refused,
  command: Command,
  words: readonly string[],
): string {
  const isTyped = (option: string) =>
    words.some((word) => word === option || word.startsWith(`${option}=`))
  const options = Object.entries(listOptions(command)).flatMap(([name, { pointer }]) =>
    pointer === undefined ? [] : [[pointer, `--${name}`] as const],
  )
  const named = [...Object.entries(command.namePointers ?? {}), ...options]
  return composeRefusal(problem, status, (pointer) => {
    const found = named.find(([of]) => pointer === of || pointer.startsWith(`${of}/`))
    // A member of a file is named as in the file.
    const isOfFile = found?.[1].startsWith('--') && isTyped('--file') && !isTyped(found[1])
    return found && !isOfFile ? found[1] : pointer
  })
}
