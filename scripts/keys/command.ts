import { parseArgs } from 'node:util'
import { UsageError } from '../../src/cli/command.ts'

const options = {
  algorithm: { type: 'string' },
  bytes: { type: 'string' },
  'check-value': { type: 'string' },
  client: { type: 'string' },
  components: { type: 'string' },
  delete: { type: 'boolean' },
  entry: { type: 'string' },
  exportable: { type: 'boolean' },
  formats: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
  json: { type: 'boolean' },
  'jwk-file': { type: 'string' },
  'private-url': { type: 'string' },
  url: { type: 'string' },
  person: { type: 'string' },
  under: { type: 'string' },
  version: { type: 'string' },
  wait: { type: 'boolean' },
  zone: { type: 'string' },
  'zone-master': { type: 'boolean' },
} as const

export type Options = ReturnType<typeof parse>['values']

/** A command as it was typed. */
export interface Command {
  readonly verb: string
  /** The key's name and whatever follows it. */
  readonly names: readonly string[]
  readonly options: Options
}

const parse = (words: readonly string[]) =>
  parseArgs({ args: [...words], options, allowPositionals: true })

/** @throws UsageError when an option is unknown. */
export function parseCommand(words: readonly string[]): Command {
  try {
    const { positionals, values } = parse(words)
    const [verb = 'help', ...names] = positionals
    return { verb: values.help ? 'help' : verb, names, options: values }
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : 'The command is not understood.')
  }
}

/** @throws UsageError when the name is missing. */
export function nameOf({ names: [name] }: Command): string {
  if (name === undefined) throw new UsageError('The name of the key is missing.')
  return name
}

/** @throws UsageError unless it is a whole number. */
export function numberOf(text: string | undefined, what: string): number {
  if (text !== undefined && /^[1-9][0-9]{0,4}$/.test(text)) return Number(text)
  throw new UsageError(`${what} must be a whole number.`)
}

/** Where a key is kept, as the private listener takes it. */
export function targetOf(command: Command): Record<string, unknown> {
  const { formats, zone, 'zone-master': isZoneMaster } = command.options
  const key = nameOf(command)
  if (isZoneMaster) return { family: 'zone-master', key }
  if (zone === undefined) return { family: 'installation', key }
  if (formats === undefined) throw new UsageError('A zone key needs its --formats.')
  return { family: 'zone', key, clientId: zone, pinBlockFormats: formats.split(',') }
}

/** Algorithm and length, if they were given. */
export function formOf({ options: { algorithm, bytes } }: Command): Record<string, unknown> {
  if (algorithm === undefined && bytes === undefined) return {}
  return { algorithm: algorithm?.toUpperCase(), lengthBytes: numberOf(bytes, '--bytes') }
}
