import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import {
  AuditFault,
  type AuditFaultCode,
  checkGrowth,
  type ErasureReport,
  type Finding,
  findMostBytes,
  type Growth,
  parseVerifierKeys,
  type ReadFile,
  type VerifierKey,
  verifyFolder,
  verifyReceipt,
} from '../../../packages/audit/audit.ts'
import { isUuid } from '../../domain/identifiers.ts'
import * as cli from '../command.ts'
import { readBody, TooLong } from '../connection/bounded-body.ts'
import { asAdministrator, asClient } from '../connection/connection.ts'
import type { ServiceConnection } from '../connection/requests.ts'
import { FileRefusal, listWithin, readNamedFile, readWithin, writeWithin } from '../files.ts'
import { createProgress, line, printBeside, sheet } from '../output.ts'
import { bytesPerMebibyte, exportLogs } from './audit-export.ts'

/** The default maximum size of an export, enough for a hundred million entries. */
const usualMebibytes = 65_536

/** The exit codes of a verification. */
const verdicts = { good: 0, found: 1, unchecked: 2 } as const

const keysOption: cli.Options = {
  keys: {
    type: 'string',
    value: 'FILE',
    help: 'verifier keys of log and witnesses, one per line, from /.well-known/audit-log-keys',
  },
}

const quorumOption: cli.Options = {
  quorum: {
    type: 'string',
    value: 'N',
    help: 'how many of the known witnesses must have cosigned; by default all',
  },
}

const exitCodes = 'Exit codes: 0 verified, 1 findings (one per line), 2 not verifiable.'

export const auditCommands: readonly cli.Command[] = [
  {
    words: 'audit export',
    names: ['FOLDER'],
    summary:
      'writes the audit log to a folder: the tree, the checkpoints, and the texts of entries',
    description: 'If the folder already has an export, its checkpoint is kept beside the new one.',
    options: {
      'most-mib': {
        type: 'string',
        value: 'N',
        help: `the limit of the export in MiB; by default ${usualMebibytes}`,
      },
    },
    example: 'pinfold audit export ./audit-2026',
    run: (call) =>
      asAdministrator(call, async (service) => {
        const progress = createProgress()
        const folder = resolve(call.names[0] ?? '.')
        const mostBytes = (cli.parseNumber(call, 'most-mib') ?? usualMebibytes) * bytesPerMebibyte
        const logs = await exportLogs(service, folder, mostBytes, progress.show).finally(
          progress.end,
        )
        const lines = logs.map(({ origin, size }) => line`${origin}: ${size} entries`)
        return { json: { folder, logs }, text: lines.join('\n') || 'There is no checkpoint yet.' }
      }),
  },
  {
    words: 'audit verify',
    names: ['FOLDER'],
    summary: 'verifies an export, without a server',
    description: exitCodes,
    options: {
      ...keysOption,
      since: {
        type: 'string',
        value: 'FILE',
        help: 'an earlier checkpoint, which the log must extend',
      },
      ...quorumOption,
      'accept-successor': {
        type: 'string',
        value: 'NAMES',
        help:
          'logs, separated by commas, whose successors can explain why they have fewer entries ' +
          'than were signed',
      },
    },
    connection: [],
    example: 'pinfold audit verify ./audit-2026 --keys audit-log-keys',
    run: (call) =>
      judged(async () => {
        const folder = resolve(call.names[0] ?? '.')
        const since = cli.findText(call, 'since')
        const progress = createProgress()
        const report = await verifyFolder(
          (path) => orFault(readWithin(folder, path, findMostBytes(path))),
          {
            keys: await givenKeys(call),
            remembered: since === undefined ? [] : [await readNamedFile(since)],
            list: (name) => orFault(listWithin(folder, name)),
            quorum: parseQuorum(call),
            acceptedSuccessors: cli.parseList(call, 'accept-successor'),
            onProgress: (origin, seen, size) =>
              progress.show(`${origin}: entry ${seen} of ${size}`),
          },
        ).finally(progress.end)
        const { erasures, findings, logs, notes } = report
        const lines = [
          ...findings.map(formatFinding),
          ...report.unchecked.map((each) => line`could not be verified: ${each}`),
          ...notes.map((each) => line`note: ${each}`),
          ...erasures.map(erasureLine),
          ...logs.map(({ checkpoint, erased, origin, size }) => {
            const names = checkpoint?.cosignedBy.map(({ name }) => name) ?? []
            const cosigned = names.length > 0 ? `, cosigned by ${names.join(', ')}` : ''
            return line`${origin}: ${size} entries, ${erased} of them erased${cosigned}`
          }),
        ]
        const entries = logs.reduce((sum, { size }) => sum + size, 0)
        const isGood = findings.length === 0 && report.unchecked.length === 0
        if (isGood) lines.push(`${entries} entries verified, no findings.`)
        const verdict = report.unchecked.length > 0 ? 'unchecked' : 'good'
        return {
          json: {
            findings,
            unchecked: report.unchecked,
            notes,
            erasures,
            logs: logs.map(({ checkpoint: _, ...log }) => log),
          },
          text: lines.join('\n'),
          exitCode: verdicts[findings.length > 0 ? 'found' : verdict],
        }
      }),
  },
  {
    words: 'audit receipt',
    names: ['RECEIPT'],
    summary: 'verifies a receipt: a file, or the id of an entry, whose receipt is fetched',
    description:
      `${exitCodes}\n` +
      'A file needs --keys and no server. For an entry, the default is the keys of the server.',
    options: {
      ...keysOption,
      ...quorumOption,
      output: { type: 'string', value: 'FILE', help: 'the file for the fetched receipt' },
    },
    example: 'pinfold audit receipt pin-shown.tlog-proof --keys audit-log-keys',
    run: (call) =>
      judged(async () => {
        const [name = ''] = call.names
        const isEntry = isUuid(name) && !existsSync(name)
        const given = await givenKeys(call)
        const fetched = isEntry ? await fetchReceipt(call, name) : null
        const file = fetched?.file ?? (await readNamedFile(name))
        if (!isEntry && !given) throw new cli.UsageError('--keys is missing.')
        const output = cli.findText(call, 'output')
        if (fetched && output !== undefined) await writeFile(output, file)
        const { checkpoint, entry, index } = await verifyReceipt(
          file,
          given ?? fetched?.keys ?? [],
          isEntry ? name.toLowerCase() : undefined,
          parseQuorum(call),
        )
        const { cosignedBy, origin, size, uncheckedBy } = checkpoint
        const witnesses = cosignedBy.map((each) => each.name)
        const place = { log: origin, index, size, witnesses, unchecked: uncheckedBy }
        return {
          json: { ...place, entry },
          text: sheet({ ...place, ...prefixMembers(place, entry) }),
          exitCode: verdicts[uncheckedBy.length > 0 ? 'unchecked' : 'good'],
        }
      }),
  },
  {
    words: 'audit monitor',
    names: ['URL'],
    summary: 'checks that a published log extends its state at the last check',
    description: `URL is the address of the tree: /audit of the private listener. ${exitCodes}`,
    options: {
      ...keysOption,
      ...quorumOption,
      state: { type: 'string', value: 'FILE', help: 'the file that stores the newest checkpoint' },
      every: { type: 'string', value: 'SECONDS', help: 'repeats the check until it finds a fault' },
    },
    connection: [],
    example:
      'pinfold audit monitor http://127.0.0.1:9090/audit --keys audit-log-keys --state seen ' +
      '--every 60',
    run: (call) =>
      judged(async () => {
        const [url = ''] = call.names
        if (!URL.canParse(url)) throw new cli.UsageError(`${url} is not a URL.`)
        cli.requireText(call, 'keys')
        const keys = (await givenKeys(call)) ?? []
        const everySeconds = cli.parseNumber(call, 'every')
        const seen = memoryIn(cli.findText(call, 'state'))
        const quorum = parseQuorum(call)
        const look = (note: string | null) => checkGrowth(fetchBelow(url), keys, note, quorum)
        return followGrowth(look, seen, everySeconds)
      }),
  },
]

/** Prefixes the members of an entry, so that none replaces a member of the receipt. */
const prefixMembers = (place: object, entry: Readonly<Record<string, unknown>>): object =>
  Object.fromEntries(
    Object.entries(entry).map(([name, value]) => [name in place ? `entry.${name}` : name, value]),
  )

/** A refused file is a fault of the folder. */
const orFault = <Result>(work: Promise<Result>): Promise<Result> =>
  work.catch((error: unknown) => {
    if (error instanceof FileRefusal) throw new AuditFault('malformed', error.message)
    throw error
  })

/** Faults of the verified data; all others are faults of the input. */
const foundCodes: readonly AuditFaultCode[] = [
  'malformed',
  'wrong_signature',
  'unverified',
  'not_included',
]

async function judged(work: () => Promise<cli.Outcome>): Promise<cli.Outcome> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof cli.UsageError) throw error
    const detail = error instanceof Error ? error.message : String(error)
    const code = error instanceof AuditFault ? error.code : 'unreachable'
    return foundCodes.some((each) => each === code)
      ? {
          json: { findings: [{ code, detail }] },
          text: line`${code}: ${detail}`,
          exitCode: verdicts.found,
        }
      : {
          json: { error: { code, detail } },
          text: line`could not be verified: ${detail}`,
          exitCode: verdicts.unchecked,
        }
  }
}

const formatFinding = ({ code, detail, origin, where }: Finding): string =>
  line`${code} ${where} of ${origin || 'the log'}: ${detail}`

/** @throws UsageError unless it is a number of witnesses. */
function parseQuorum(call: cli.Call): number | undefined {
  const quorum = cli.parseNumber(call, 'quorum')
  if (quorum === undefined || quorum >= 0) return quorum
  throw new cli.UsageError('--quorum must be 0 or more.')
}

/** The maximum number of ranges in a line; for more, the line has their number. */
const rangesMost = 5

function erasureLine({ erasure, index, log, of, origin, ranges, ...asked }: ErasureReport): string {
  const named = ranges
    .slice(0, rangesMost)
    .map(([from, to]) => (from === to ? from : `${from}-${to}`))
  const more = ranges.length > rangesMost ? ` and ${ranges.length - rangesMost} more ranges` : ''
  const by = asked.requestedBy === null ? 'nobody' : asked.requestedBy
  const what = `entries ${named.join(', ')}${more} of ${log} (${of})`
  const which = line`erasure ${erasure} by entry ${index} of ${origin}`
  return `${which}: ${line`${what}, requested by ${by}: ${asked.reason}`}`
}

/** @throws UsageError for a named file without keys. */
async function givenKeys(call: cli.Call): Promise<VerifierKey[] | undefined> {
  const path = cli.findText(call, 'keys')
  if (path === undefined) return undefined
  const keys = readKeys(await readNamedFile(path))
  if (keys.length === 0) throw new cli.UsageError(`${path} has no valid verifier keys.`)
  return keys
}

/** Parses the verifier keys of a file; none if one is malformed. */
function readKeys(text: string): VerifierKey[] {
  try {
    return parseVerifierKeys(text)
  } catch (error) {
    if (error instanceof AuditFault) return []
    throw error
  }
}

/** The most bytes of a receipt. */
const receiptBytes = 1_048_576

/** The time limit of a receipt. */
const patienceMs = 30_000

const fetchReceipt = (call: cli.Call, entry: string) =>
  asClient(call, async (service) => {
    const end = performance.now() + patienceMs
    for (;;) {
      const answer = await service.readBytes(`${service.base}/receipts/${entry}`, receiptBytes)
      if (!answer)
        throw new cli.Refused(404, { code: 'not_found', title: `The log has no entry ${entry}.` })
      const file = Buffer.from(answer.bytes).toString()
      if (answer.status === 200) {
        const keys = await read(service, '/.well-known/audit-log-keys')
        return { file, keys: parseVerifierKeys(keys) }
      }
      if (performance.now() > end) throw new cli.Unreachable('No checkpoint covers it yet.')
      await wait(1_000)
    }
  })

const read = async ({ readBytes }: ServiceConnection, path: string): Promise<string> =>
  Buffer.from((await readBytes(path, findMostBytes('keys')))?.bytes ?? []).toString()

/** Checks once, or periodically until there is a finding. */
async function followGrowth(
  look: (note: string | null) => Promise<Growth>,
  seen: ReturnType<typeof memoryIn>,
  everySeconds: number | undefined,
): Promise<cli.Outcome> {
  for (let isFirst = true; ; isFirst = false) {
    const looking = seen.read().then(look)
    const looked = await (everySeconds === undefined ? looking : looking.catch(unlessAway))
    const isGood = looked?.findings.length === 0
    if (isGood) await seen.write(looked.note)
    if (isGood && isFirst && everySeconds !== undefined) {
      printBeside(`${growthOutcome(looked).text}, no findings. Next check in ${everySeconds} s.`)
    }
    if (looked && (!isGood || everySeconds === undefined)) return growthOutcome(looked)
    await wait((everySeconds ?? 0) * 1_000)
  }
}

/** Stores the last result in a file, or in memory. */
function memoryIn(file: string | undefined) {
  let note: string | null = null
  return {
    async read() {
      return file !== undefined && existsSync(file) ? readNamedFile(file) : note
    },
    async write(newest: string) {
      note = newest
      if (file === undefined) return
      const bytes = Buffer.from(newest)
      await writeWithin(dirname(resolve(file)), basename(file), bytes, { isDurable: true })
    },
  }
}

function growthOutcome({ checkpoint: { origin, size }, findings }: Growth): cli.Outcome {
  return {
    json: { log: origin, size, findings },
    text: findings.map(formatFinding).join('\n') || line`${origin}: ${size} entries`,
    exitCode: verdicts[findings.length > 0 ? 'found' : 'good'],
  }
}

/** An unavailable log may be available at the next check. */
function unlessAway(error: unknown): null {
  if (!(error instanceof AuditFault) || error.code !== 'unreachable') throw error
  printBeside(error.message)
  return null
}

/** The time limit of one file. */
const fetchMs = 30_000

const fetchBelow =
  (url: string): ReadFile =>
  async (path) => {
    const signal = AbortSignal.timeout(fetchMs)
    const unreachable = (cause: unknown): never => {
      throw new AuditFault('unreachable', `no server answers at ${url}`, { cause })
    }
    const file = `${url.replace(/\/+$/, '')}/${path}`
    const answer = await fetch(file, { signal, redirect: 'error' }).catch(unreachable)
    if (answer.status === 404) return null
    if (answer.ok) {
      return readBody(answer.body, findMostBytes(path)).catch((error: unknown) => {
        if (error instanceof TooLong) throw new AuditFault('malformed', `${path} exceeds the limit`)
        return unreachable(error)
      })
    }
    throw new AuditFault('unreachable', `${url} answered ${answer.status}`)
  }
