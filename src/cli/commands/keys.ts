import { setTimeout as wait } from 'node:timers/promises'
import { formatShare } from '../../domain/share.ts'
import {
  type Call,
  type Command,
  findText,
  given,
  limitOption,
  type Outcome,
  parseLimit,
  reasonOption,
  UsageError,
} from '../command.ts'
import { asAdministrator } from '../connection/connection.ts'
import type { ServiceConnection } from '../connection/requests.ts'
import { createProgress, line, table } from '../output.ts'
import {
  checkValueOption,
  formOptions,
  givenForm,
  givenTarget,
  type KeptKey,
  keptOutcome,
  ownerOptions,
  targetOptions,
} from './key-target.ts'
import { exportKeyCommand, importKeyCommand } from './key-transport.ts'

/** A key in a list of the private listener. */
interface Key {
  readonly clientId: string | null
  readonly key: string
  readonly version: number | null
  readonly keyUsage: string
  readonly algorithm: string
  readonly modeOfUse: string
  readonly exportability: string
  readonly state: string
  readonly current: boolean
  readonly keyCheckValue: string
  readonly checkMethod: string
  readonly createdAt: string | null
  readonly activatedAt: string | null
  readonly retiredAt: string | null
  /** The progress of its re-encryption. */
  readonly reEncryption: {
    readonly round: number
    readonly examined: number
    readonly reEncrypted: number
    readonly columnName: string
    readonly finishedAt: string | null
    readonly shareOfCards: number
    readonly secondsLeft: number | null
  } | null
}

interface KeyAct {
  readonly at: string
  readonly key: string
  readonly act: string
  readonly clientId: string | null
  readonly reason: string | null
}

export const keyCommands: readonly Command[] = [
  {
    words: 'keys list',
    summary: 'lists every key: use, state, check value, progress of a rotation',
    options: limitOption,
    example: 'pinfold keys list',
    run: (call) =>
      asAdministrator(call, async (service) => {
        const keys = await service.readAll<Key>('/keys', parseLimit(call))
        const rows = table(
          ['KEY', 'USE', 'STATE', 'CHECK VALUE', 'SINCE', 'RE-ENCRYPTED'],
          keys.map(({ reEncryption: progress, ...key }) => [
            [key.clientId, key.version === null ? key.key : `${key.key}/${key.version}`]
              .filter(Boolean)
              .join(' '),
            `${key.keyUsage} ${key.algorithm} ${key.modeOfUse} ${key.exportability}`,
            key.current ? `${key.state}, in use` : key.state,
            `${key.keyCheckValue} (${key.checkMethod})`,
            (key.retiredAt ?? key.activatedAt ?? key.createdAt ?? '').slice(0, 19),
            progress &&
              (progress.finishedAt ? `all (${progress.reEncrypted})` : progressText(progress)),
          ]),
        )
        const hint = describeChipVersions(keys)
        return { json: keys, text: hint === null ? rows : `${rows}\n\n${hint}` }
      }),
  },
  {
    words: 'keys acts',
    summary: 'lists the recent acts on keys: time, actor and reason',
    options: limitOption,
    example: 'pinfold keys acts',
    run: (call) =>
      asAdministrator(call, async (service) => {
        const acts = await service.readAll<KeyAct>('/keys/acts', parseLimit(call))
        const lines = acts.map(({ act, at, clientId, key, reason }) =>
          line`${at}  ${key}  ${act}  ${clientId ?? ''}  ${reason ?? ''}`.trimEnd(),
        )
        return { json: acts, text: lines.join('\n') }
      }),
  },
  {
    words: 'keys generate',
    names: ['NAME'],
    summary: 'generates a version, which is pending until a rotation',
    description:
      'The keys of chips are chip-ac, chip-smc, chip-smi and chip-dynamic: generate and rotate ' +
      'all four.\nWith --exportable, they can be sent to the producer of the cards.',
    options: {
      ...targetOptions,
      ...formOptions,
      exportable: { type: 'boolean', help: 'allows its export under a zone master key' },
    },
    example: 'pinfold keys generate zmk-acme --zone-master --algorithm AES --bytes 32',
    run: (call) =>
      asAdministrator(call, async ({ ask }) => {
        const { exportable = false } = call.options
        const body = { ...givenTarget(call), ...givenForm(call), exportable }
        return keptOutcome(await ask<KeptKey>('POST', '/keys', body), 'is made')
      }),
  },
  {
    words: 'keys rotate',
    names: ['NAME'],
    summary: 'rotates to the pending version, or to a new one',
    description:
      'master-key wraps every key under another key of the master key file. Only this rotation ' +
      'takes a\nreason.',
    options: {
      ...checkValueOption,
      wait: { type: 'boolean', help: 'until everything is re-encrypted under the new version' },
      ...reasonOption,
    },
    example: 'pinfold keys rotate pin-storage --wait',
    run: (call) => asAdministrator(call, (service) => rotate(service, call)),
  },
  importKeyCommand,
  exportKeyCommand,
  {
    words: 'keys retire',
    names: ['NAME', '[VERSION]'],
    summary: 'retires a version that protects no data, or a zone key',
    options: { ...ownerOptions, ...reasonOption },
    example: "pinfold keys retire cvk 1 --reason 'The yearly rotation'",
    run: (call) => asAdministrator(call, ({ ask }) => retire(ask, call)),
  },
  {
    words: 'keys delete',
    names: ['NAME', 'VERSION'],
    summary: 'deletes a retired version, or a pending one before its rotation',
    description: 'A retired version can be deleted after a waiting time. Its number is not reused.',
    options: reasonOption,
    example: 'pinfold keys delete cvk 1',
    run: (call) =>
      asAdministrator(call, async ({ ask }) => {
        await ask('POST', `${versionPath(call, 'delete')}/delete`, givenReason(call))
        return { json: null, text: `${call.names.join('/')} is deleted.` }
      }),
  },
]

type Ask = ServiceConnection['ask']

const givenReason = (call: Call): object => given({ reason: findText(call, 'reason') })

async function rotate({ ask, readAll }: ServiceConnection, call: Call): Promise<Outcome> {
  const [key = ''] = call.names
  if (key === 'master-key') {
    const body = {
      ...given({ keyCheckValue: findText(call, 'check-value') }),
      ...givenReason(call),
    }
    const path = '/keys/master-key/rotate'
    const json = await ask<{ after: string; keyBlocks: number }>('POST', path, body)
    const text =
      `${json.keyBlocks} key blocks are wrapped under the master key ${json.after}. The old ` +
      'key can be removed from the file.'
    return { json, text }
  }
  for (const name of ['check-value', 'reason']) {
    if (call.options[name] === undefined) continue
    throw new UsageError(`--${name} is for the key master-key only.`)
  }
  const path = `/keys/${encodeURIComponent(key)}/rotate`
  const json = await ask<{ version: number; activatesAt: string }>('POST', path)
  if (call.options.wait) return untilReEncrypted(readAll, key, json.version)
  const text = line`${key}/${json.version} becomes active at ${json.activatesAt}.`
  const hint = isOfChips(key) ? describeChipVersions(await readAll<Key>('/keys')) : null
  return { json, text: hint === null ? text : `${text} ${hint}` }
}

const isOfChips = (key: string): boolean => key.startsWith('chip-')

/** Says which keys of chips are behind; null if their newest versions have the same number. */
function describeChipVersions(keys: readonly Key[]): string | null {
  const newest = new Map<string, number>()
  for (const { key, state, version } of keys) {
    if (!isOfChips(key) || state === 'retired') continue
    newest.set(key, Math.max(version ?? 0, newest.get(key) ?? 0))
  }
  const highest = Math.max(...newest.values())
  const behind = [...newest].filter(([, version]) => version < highest)
  if (behind.length === 0) return null
  const references = behind.map(([key, version]) => `${key}/${version}`)
  return (
    `A chip uses the same version of the four keys of chips. Behind version ${highest}: ` +
    `${references.join(', ')}. Rotate or import them, too (docs/reference/keys.md).`
  )
}

/**
 * Keys whose cards or records are re-encrypted; old versions of other keys stay for their cards.
 */
const reencryptingKeys = new Set(['pan', 'pan-fingerprint', 'pin-storage', 'personal-data'])

async function untilReEncrypted(
  readKeys: ServiceConnection['readAll'],
  key: string,
  version: number,
): Promise<Outcome> {
  const progress = createProgress()
  for (;;) {
    const keys = await readKeys<Key>('/keys')
    const row = keys.find((each) => each.key === key && each.version === version)
    const current = row?.reEncryption ?? null
    const isFinished = current ? current.finishedAt !== null : !reencryptingKeys.has(key)
    if (row?.state === 'active' && isFinished) {
      progress.end()
      return { json: row, text: `${key}/${version} is active. ${findNextStep(key)}` }
    }
    progress.show(
      current
        ? `${key}/${version}: ${progressText(current)}`
        : `${key}/${version} is ${row?.state ?? 'not there'}`,
    )
    await wait(500)
  }
}

/** Returns the state of things once a version is active, and the next step. */
function findNextStep(key: string): string {
  if (reencryptingKeys.has(key)) return 'All data is re-encrypted.'
  if (!isOfChips(key)) return 'What was made under an older version stays valid.'
  return (
    'Chips keep their version. Rotate the other three keys of chips, too. Then make new cards ' +
    'with its derivation key index.'
  )
}

/** Formats the progress of a re-encryption and the remaining time. */
function progressText(progress: NonNullable<Key['reEncryption']>): string {
  const { columnName, examined, reEncrypted, round, secondsLeft, shareOfCards } = progress
  const share = `${formatShare(shareOfCards, 1)} of the cards`
  const left = secondsLeft === null ? '' : `, ${Math.ceil(secondsLeft / 60)} min left`
  const rows = `${reEncrypted} of ${examined} read, in ${columnName || 'no table'}`
  return `round ${round}: ${share}${left}; ${rows}`
}

async function retire(ask: Ask, call: Call): Promise<Outcome> {
  const [key = ''] = call.names
  const clientId = findText(call, 'zone')
  if (clientId !== undefined || call.options['zone-master']) {
    await ask('POST', '/keys/zones/retire', { ...given({ key, clientId }), ...givenReason(call) })
    return { json: null, text: `${key} is retired.` }
  }
  await ask('POST', `${versionPath(call, 'retire')}/retire`, givenReason(call))
  return { json: null, text: `${call.names.join('/')} is retired.` }
}

/** @throws `UsageError` if the version is no number. */
function versionPath({ names: [key = '', version = ''] }: Call, act: string): string {
  if (/^[1-9][0-9]{0,4}$/.test(version)) {
    return `/keys/${encodeURIComponent(key)}/versions/${version}`
  }
  throw new UsageError(`Give the version as a whole number: pinfold keys ${act} cvk 1`)
}
