import { setTimeout as wait } from 'node:timers/promises'
import { UsageError } from '../../src/cli/command.ts'
import type { Reached } from '../../src/cli/connection/connection.ts'
import type { Ask } from '../../src/cli/connection/requests.ts'
import { createProgress } from '../../src/cli/output.ts'
import type { ListedKey } from '../../src/operations/keys/list-keys.ts'

import type { KeyActRow } from '../../src/storage/keys/acts.ts'
import { type Command, formOf, nameOf, numberOf, targetOf } from './command.ts'
import { keyTable } from './key-table.ts'
import { readSecret } from './secret-input.ts'

/** What a command is answered with: for programs, and for people. */
export interface Told {
  readonly json: unknown
  readonly text: string
}

interface Kept {
  readonly key: string
  readonly version: number | null
  readonly keyCheckValue: string
}

/** @throws UsageError when there is no such command. */
export function refuseUnknownVerb({ verb }: Command): void {
  if (!Object.hasOwn(verbs, verb)) throw new UsageError(`There is no command ${verb}.`)
}

/** Runs a command. @throws UsageError; Error with what it is refused for. */
export function runCommand(service: Service, command: Command): Promise<Told> {
  const run = verbs[command.verb]
  if (!run) throw new UsageError('The command is not understood.')
  return run(service, command)
}

type Service = Pick<Reached, 'ask' | 'readAll'>

const verbs: Readonly<Record<string, (service: Service, command: Command) => Promise<Told>>> = {
  list: async ({ readAll }) => {
    const keys = await readAll<ListedKey>('/keys')
    return { json: keys, text: keyTable(keys) }
  },
  acts: async ({ readAll }) => {
    const acts = await readAll<KeyActRow>('/keys/acts')
    const lines = acts.map(
      ({ act, at, clientId, key }) => `${at}  ${key}  ${act}  ${clientId ?? ''}`,
    )
    return { json: acts, text: lines.join('\n') }
  },
  generate: async ({ ask }, command) => {
    const { exportable = false } = command.options
    const body = { ...targetOf(command), ...formOf(command), exportable }
    return toldKept(await ask<Kept>('POST', '/keys', body), 'is made')
  },
  import: ({ ask }, command) => {
    const { components, entry } = command.options
    if (entry !== undefined) return enterComponent(ask, command, entry)
    return components === undefined ? importBlock(ask, command) : openEntry(ask, command)
  },
  export: async ({ ask }, command) => {
    const { under, version, zone } = command.options
    const body = {
      key: nameOf(command),
      zoneMasterKey: needed(under, '--under'),
      ...(version !== undefined && { version: numberOf(version, '--version') }),
      ...(zone !== undefined && { clientId: zone }),
    }
    const json = await ask<{ keyBlock: string }>('POST', '/keys/export', body)
    return { json, text: json.keyBlock }
  },
  rotate,
  retire: ({ ask }, command) => retire(ask, command),
}

function needed(option: string | undefined, name: string): string {
  if (option === undefined) throw new UsageError(`${name} is missing.`)
  return option
}

const toldKept = (kept: Kept, what: string): Told => ({
  json: kept,
  text: `${kept.version === null ? kept.key : `${kept.key}/${kept.version}`} ${what}; its check value is ${kept.keyCheckValue}.`,
})

async function importBlock(ask: Ask, command: Command): Promise<Told> {
  const { 'check-value': keyCheckValue, under } = command.options
  const body = {
    ...targetOf(command),
    zoneMasterKey: needed(under, '--under'),
    keyBlock: await readSecret('Key block'),
    ...(keyCheckValue !== undefined && { keyCheckValue }),
  }
  return toldKept(await ask<Kept>('POST', '/keys/import', body), 'is taken in')
}

interface Entry {
  readonly entryId: string
  readonly componentCount: number
  readonly entered: readonly { readonly person: string }[]
  readonly key: Kept | null
}

async function openEntry(ask: Ask, command: Command): Promise<Told> {
  const { 'check-value': keyCheckValue, components } = command.options
  const json = await ask<Entry>('POST', '/component-entries', {
    ...targetOf(command),
    ...formOf(command),
    componentCount: numberOf(components, '--components'),
    keyCheckValue: needed(keyCheckValue, '--check-value'),
  })
  const text = `Entry ${json.entryId} waits for ${json.componentCount} components, each from another person.`
  return { json, text }
}

async function enterComponent(ask: Ask, { options }: Command, entryId: string): Promise<Told> {
  const person = needed(options.person, '--person')
  const keyCheckValue = needed(options['check-value'], '--check-value')
  const component = await readSecret(`Component of ${person}`)
  const path = `/component-entries/${encodeURIComponent(entryId)}/components`
  const json = await ask<Entry>('POST', path, { person, component, keyCheckValue })
  if (json.key) return { json, text: toldKept(json.key, 'is combined').text }
  return { json, text: `${json.entered.length} of ${json.componentCount} components are there.` }
}

async function rotate({ ask, readAll }: Service, command: Command): Promise<Told> {
  const key = nameOf(command)
  const { 'check-value': keyCheckValue, wait: isToWait } = command.options
  if (key === 'master-key') {
    const body = keyCheckValue === undefined ? {} : { keyCheckValue }
    const json = await ask<{ after: string; keyBlocks: number }>(
      'POST',
      '/keys/master-key/rotate',
      body,
    )
    const text = `${json.keyBlocks} key blocks are under the master key ${json.after}. The old one may leave the file.`
    return { json, text }
  }
  const path = `/keys/${encodeURIComponent(key)}/rotate`
  const json = await ask<{ version: number; activatesAt: string }>('POST', path)
  if (isToWait) return untilMoved(readAll, key, json.version)
  return { json, text: `${key}/${json.version} becomes active at ${json.activatesAt}.` }
}

/** Keys whose older versions stay for their cards or tokens have come far enough when they are active. */
async function untilMoved(
  readAll: Service['readAll'],
  key: string,
  version: number,
): Promise<Told> {
  const progress = createProgress()
  for (;;) {
    const keys = await readAll<ListedKey>('/keys')
    const row = keys.find((each) => each.key === key && each.version === version)
    const isMoving = row?.pass ? row.pass.finishedAt === null : false
    if (row?.state === 'active' && !isMoving && (row.pass || !movesByPass.has(key))) {
      progress.end()
      return { json: row, text: `${key}/${version} is active, and nothing is left to move.` }
    }
    progress.tell(progressOf(key, version, row))
    await wait(500)
  }
}

function progressOf(key: string, version: number, row: ListedKey | undefined): string {
  if (!row?.pass) return `${key}/${version} is ${row?.state ?? 'not there'}`
  const { holding, moved, round, walked } = row.pass
  return `${key}/${version}: round ${round}, ${walked} read and ${moved} moved, now in ${holding || 'no table'}`
}

const movesByPass = new Set(['pan', 'pan-fingerprint', 'pin-storage', 'personal-data'])

async function retire(ask: Ask, command: Command): Promise<Told> {
  const key = nameOf(command)
  const { delete: isToDelete, zone, 'zone-master': isZoneMaster } = command.options
  if (zone !== undefined || isZoneMaster) {
    await ask('POST', '/keys/zones/retire', { key, ...(zone !== undefined && { clientId: zone }) })
    return { json: null, text: `${key} is retired.` }
  }
  const version = numberOf(command.names[1], 'The version')
  const path = `/keys/${encodeURIComponent(key)}/versions/${version}`
  await (isToDelete ? ask('DELETE', path) : ask('POST', `${path}/retire`))
  return { json: null, text: `${key}/${version} is ${isToDelete ? 'forgotten' : 'retired'}.` }
}
