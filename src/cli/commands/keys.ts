import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { text as readAll } from 'node:stream/consumers'
import { setTimeout as wait } from 'node:timers/promises'
import {
  type Call,
  type Command,
  given,
  listOf,
  neededOf,
  numberOf,
  type Options,
  type Outcome,
  textOf,
  UsageError,
} from '../command.ts'
import { asAdministrator } from '../connection/connection.ts'
import type { Reached } from '../connection/requests.ts'
import { createProgress, table } from '../output.ts'

/** A key as the private listener lists it. */
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
  /** How far re-encryption under it has come. */
  readonly reEncryption: {
    readonly round: number
    readonly examined: number
    readonly reEncrypted: number
    readonly columnName: string
    readonly finishedAt: string | null
  } | null
}

interface KeptKey {
  readonly key: string
  readonly version: number | null
  readonly keyCheckValue: string
}

interface ComponentEntry {
  readonly entryId: string
  readonly componentCount: number
  readonly entered: readonly { readonly person: string }[]
  readonly key: KeptKey | null
}

interface KeyAct {
  readonly at: string
  readonly key: string
  readonly act: string
  readonly clientId: string | null
}

const ownerOptions: Options = {
  zone: { type: 'string', value: 'CLIENT', help: 'a key of this network, for its PIN blocks' },
  'zone-master': { type: 'boolean', help: 'a key that other keys are exchanged under' },
}
const targetOptions: Options = {
  ...ownerOptions,
  formats: { type: 'string', value: 'LIST', help: 'of PIN blocks: ISO_FORMAT_0,ISO_FORMAT_3' },
}
const formOptions: Options = {
  algorithm: { type: 'string', value: 'NAME', help: 'AES or TDES' },
  bytes: { type: 'string', value: 'N', help: '16, 24 or 32' },
}
const checkValueOption: Options = {
  'check-value': {
    type: 'string',
    value: 'HEX',
    help: "the key's check value, three bytes or more",
  },
}
const underOption: Options = {
  under: { type: 'string', value: 'ZMK', help: 'the zone master key of the key block' },
}

export const keyCommands: readonly Command[] = [
  {
    words: 'keys list',
    summary: 'every key: use, state, check value, how far a rotation is',
    example: 'pinfold keys list',
    run: (call) =>
      asAdministrator(call, async (service) => {
        const keys = await service.readAll<Key>('/keys')
        return {
          json: keys,
          text: table(
            ['KEY', 'USE', 'STATE', 'CHECK VALUE', 'SINCE', 'RE-ENCRYPTED'],
            keys.map((key) => [
              `${key.clientId ? `${key.clientId} ` : ''}${key.key}${key.version === null ? '' : `/${key.version}`}`,
              `${key.keyUsage} ${key.algorithm} ${key.modeOfUse} ${key.exportability}`,
              key.current ? `${key.state}, in use` : key.state,
              `${key.keyCheckValue} (${key.checkMethod})`,
              (key.retiredAt ?? key.activatedAt ?? key.createdAt ?? '').slice(0, 19),
              key.reEncryption && progressOf(key.reEncryption),
            ]),
          ),
        }
      }),
  },
  {
    words: 'keys acts',
    summary: 'what was done to keys lately, when and by whom',
    example: 'pinfold keys acts',
    run: (call) =>
      asAdministrator(call, async (service) => {
        const acts = await service.readAll<KeyAct>('/keys/acts')
        const lines = acts.map(
          ({ act, at, clientId, key }) => `${at}  ${key}  ${act}  ${clientId ?? ''}`,
        )
        return { json: acts, text: lines.join('\n') }
      }),
  },
  {
    words: 'keys generate',
    names: ['NAME'],
    summary: 'a new version, pending until it is rotated to',
    options: {
      ...targetOptions,
      ...formOptions,
      exportable: { type: 'boolean', help: 'lets it leave under a zone master key' },
    },
    example: 'pinfold keys generate zmk-acme --zone-master --algorithm AES --bytes 32',
    run: (call) =>
      asAdministrator(call, async ({ ask }) => {
        const { exportable = false } = call.options
        const body = { ...targetOf(call), ...formOf(call), exportable }
        return keptOutcome(await ask<KeptKey>('POST', '/keys', body), 'is made')
      }),
  },
  {
    words: 'keys rotate',
    names: ['NAME'],
    summary: 'to the pending version, or to a new one',
    description: 'master-key puts every key under another key of the master key file.',
    options: {
      ...checkValueOption,
      wait: { type: 'boolean', help: 'until everything is re-encrypted under the new version' },
    },
    example: 'pinfold keys rotate pin-storage --wait',
    run: (call) => asAdministrator(call, (service) => rotate(service, call)),
  },
  {
    words: 'keys import',
    names: ['[NAME]'],
    summary: 'a key block, or a key that several people bring in components',
    description:
      'With --under a key block, read from standard input. With --components it opens the entry of a key that\nso many people bring; with --entry one of them gives a component, asked for or read from standard input.\nNo key is ever printed, and none is taken from the command line.',
    options: {
      ...targetOptions,
      ...formOptions,
      ...underOption,
      ...checkValueOption,
      components: { type: 'string', value: 'N', help: 'how many people bring one' },
      entry: { type: 'string', value: 'ID', help: 'the entry that a component is for' },
      person: { type: 'string', value: 'NAME', help: 'who gives the component' },
    },
    example:
      'pinfold keys import zone-a --zone acme-network --formats ISO_FORMAT_0 --under zmk-acme < block.txt',
    run: (call) =>
      asAdministrator(call, ({ ask }) => {
        const entry = textOf(call, 'entry')
        if (entry !== undefined) return enterComponent(ask, call, entry)
        return textOf(call, 'components') === undefined
          ? importBlock(ask, call)
          : openEntry(ask, call)
      }),
  },
  {
    words: 'keys export',
    names: ['NAME'],
    summary: 'a key block, for the other side of the zone',
    options: {
      ...underOption,
      zone: { type: 'string', value: 'CLIENT', help: 'the network whose key it is' },
      version: { type: 'string', value: 'N', help: 'the one in use unless given' },
    },
    example: 'pinfold keys export zone-a --zone acme-network --under zmk-acme',
    run: (call) =>
      asAdministrator(call, async ({ ask }) => {
        const body = given({
          key: call.names[0],
          zoneMasterKey: neededOf(call, 'under'),
          version: numberOf(call, 'version'),
          clientId: textOf(call, 'zone'),
        })
        const json = await ask<{ keyBlock: string }>('POST', '/keys/export', body)
        return { json, text: json.keyBlock }
      }),
  },
  {
    words: 'keys retire',
    names: ['NAME', '[VERSION]'],
    summary: 'a version with nothing under it, or a key of a zone',
    options: {
      ...ownerOptions,
      delete: { type: 'boolean', help: 'forgets a version that was retired long enough ago' },
    },
    example: 'pinfold keys retire cvk 1',
    run: (call) => asAdministrator(call, ({ ask }) => retire(ask, call)),
  },
]

type Ask = Reached['ask']

/** Where a key is kept, as the private listener takes it. */
function targetOf(call: Call): Record<string, unknown> {
  const [key] = call.names
  if (key === undefined) throw new UsageError('The name of the key is missing.')
  if (call.options['zone-master']) return { family: 'zone-master', key }
  const clientId = textOf(call, 'zone')
  if (clientId === undefined) return { family: 'installation', key }
  const pinBlockFormats = listOf(call, 'formats')
  if (!pinBlockFormats) throw new UsageError('A zone key needs its --formats.')
  return { family: 'zone', key, clientId, pinBlockFormats }
}

/** Algorithm and length, if they were given. */
const formOf = (call: Call): Record<string, unknown> =>
  given({
    algorithm: textOf(call, 'algorithm')?.toUpperCase(),
    lengthBytes: numberOf(call, 'bytes'),
  })

const keptOutcome = (kept: KeptKey, what: string): Outcome => ({
  json: kept,
  text: `${kept.version === null ? kept.key : `${kept.key}/${kept.version}`} ${what}; its check value is ${kept.keyCheckValue}.`,
})

async function importBlock(ask: Ask, call: Call): Promise<Outcome> {
  const body = given({
    ...targetOf(call),
    zoneMasterKey: neededOf(call, 'under'),
    keyBlock: await readSecret('Key block'),
    keyCheckValue: textOf(call, 'check-value'),
  })
  return keptOutcome(await ask<KeptKey>('POST', '/keys/import', body), 'is taken in')
}

async function openEntry(ask: Ask, call: Call): Promise<Outcome> {
  const json = await ask<ComponentEntry>('POST', '/component-entries', {
    ...targetOf(call),
    ...formOf(call),
    componentCount: numberOf(call, 'components'),
    keyCheckValue: neededOf(call, 'check-value'),
  })
  const text = `Entry ${json.entryId} waits for ${json.componentCount} components, each from another person.`
  return { json, text }
}

async function enterComponent(ask: Ask, call: Call, entryId: string): Promise<Outcome> {
  const person = neededOf(call, 'person')
  const keyCheckValue = neededOf(call, 'check-value')
  const component = await readSecret(`Component of ${person}`)
  const path = `/component-entries/${encodeURIComponent(entryId)}/components`
  const json = await ask<ComponentEntry>('POST', path, { person, component, keyCheckValue })
  if (json.key) return { json, text: keptOutcome(json.key, 'is combined').text }
  return { json, text: `${json.entered.length} of ${json.componentCount} components are there.` }
}

async function rotate({ ask, readAll }: Reached, call: Call): Promise<Outcome> {
  const [key = ''] = call.names
  if (key === 'master-key') {
    const body = given({ keyCheckValue: textOf(call, 'check-value') })
    const path = '/keys/master-key/rotate'
    const json = await ask<{ after: string; keyBlocks: number }>('POST', path, body)
    const text = `${json.keyBlocks} key blocks are under the master key ${json.after}. The old one may leave the file.`
    return { json, text }
  }
  const path = `/keys/${encodeURIComponent(key)}/rotate`
  const json = await ask<{ version: number; activatesAt: string }>('POST', path)
  if (call.options.wait) return untilReEncrypted(readAll, key, json.version)
  return { json, text: `${key}/${json.version} becomes active at ${json.activatesAt}.` }
}

/** Keys whose cards or records are re-encrypted; the older versions of others stay for theirs. */
const reencryptingKeys = new Set(['pan', 'pan-fingerprint', 'pin-storage', 'personal-data'])

async function untilReEncrypted(
  readKeys: Reached['readAll'],
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
      return { json: row, text: `${key}/${version} is active, and nothing is left to move.` }
    }
    progress.show(
      current
        ? `${key}/${version}: round ${current.round}, ${current.examined} read and ${current.reEncrypted} re-encrypted, now in ${current.columnName || 'no table'}`
        : `${key}/${version} is ${row?.state ?? 'not there'}`,
    )
    await wait(500)
  }
}

async function retire(ask: Ask, call: Call): Promise<Outcome> {
  const [key = '', version = ''] = call.names
  const clientId = textOf(call, 'zone')
  if (clientId !== undefined || call.options['zone-master']) {
    await ask('POST', '/keys/zones/retire', given({ key, clientId }))
    return { json: null, text: `${key} is retired.` }
  }
  if (!/^[1-9][0-9]{0,4}$/.test(version)) {
    throw new UsageError('The version must be a whole number.')
  }
  const isToDelete = call.options.delete === true
  const path = `/keys/${encodeURIComponent(key)}/versions/${version}`
  await (isToDelete ? ask('DELETE', path) : ask('POST', `${path}/retire`))
  return { json: null, text: `${key}/${version} is ${isToDelete ? 'forgotten' : 'retired'}.` }
}

const progressOf = ({
  columnName,
  examined,
  finishedAt,
  reEncrypted,
}: NonNullable<Key['reEncryption']>): string =>
  finishedAt ? `all (${reEncrypted})` : `${reEncrypted} of ${examined} read, in ${columnName}`

/** What nobody may read over a shoulder or in a shell's history: asked for unseen, or piped in. */
async function readSecret(question: string): Promise<string> {
  if (!process.stdin.isTTY) return (await readAll(process.stdin)).replaceAll(/\s/g, '')
  process.stderr.write(`${question}: `)
  const unseen = new Writable({ write: (_chunk, _encoding, done) => done() })
  const reader = createInterface({ input: process.stdin, output: unseen, terminal: true })
  const text = await new Promise<string>((resolve) => reader.question('', resolve))
  reader.close()
  process.stderr.write('\n')
  return text.replaceAll(/[\s-]/g, '')
}
