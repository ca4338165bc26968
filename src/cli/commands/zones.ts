import {
  type Command,
  findText,
  given,
  limitOption,
  parseLimit,
  reasonOption,
  requireText,
} from '../command.ts'
import { asAdministrator } from '../connection/connection.ts'
import { readJsonFile } from '../files.ts'
import { sheet, table } from '../output.ts'
import { withSecretNote } from './clients.ts'

interface Zone {
  readonly clientId: string
  readonly clientName: string
  readonly active: boolean
  readonly keys: readonly {
    readonly key: string
    readonly keyCheckValue: string
    readonly retiredAt: string | null
  }[]
}

interface Act {
  readonly at: string
  readonly act: string
  readonly subjectKind: string
  readonly subject: string
  readonly clientId: string
}

export const zoneCommands: readonly Command[] = [
  {
    words: 'zones list',
    summary: 'lists card networks with their keys and check values',
    options: limitOption,
    example: 'pinfold zones list',
    run: (call) =>
      asAdministrator(call, async ({ readAll }) => {
        const zones = await readAll<Zone>('/zones', parseLimit(call))
        return { json: zones, text: zoneTable(zones) }
      }),
  },
  {
    words: 'zones create',
    names: ['NETWORK'],
    namePointers: { '/clientId': 'NETWORK' },
    summary: 'registers a card network; its secret is shown only now',
    description: 'Import its keys with pinfold keys import NAME --zone NETWORK.',
    options: {
      name: { type: 'string', value: 'TEXT', help: 'the name for display', pointer: '/clientName' },
      'public-jwk': {
        type: 'string',
        value: 'FILE',
        help: 'its public key, instead of a secret',
        pointer: '/jwks',
      },
      ...reasonOption,
    },
    example: "pinfold zones create net-one --name 'Net One'",
    run: (call) =>
      asAdministrator(call, async ({ ask }) => {
        const file = findText(call, 'public-jwk')
        const zone = await ask<Zone & { readonly clientSecret?: string }>(
          'POST',
          '/zones',
          given({
            clientId: call.names[0],
            clientName: requireText(call, 'name'),
            jwks: file === undefined ? undefined : await readJsonFile(file),
            reason: findText(call, 'reason'),
          }),
        )
        return { json: zone, text: withSecretNote(sheet(zone), zone.clientSecret) }
      }),
  },
  {
    words: 'zones retire',
    names: ['NETWORK'],
    summary: 'disables a network and retires all of its keys',
    options: reasonOption,
    example: "pinfold zones retire net-one --reason 'The contract has ended'",
    run: (call) =>
      asAdministrator(call, async ({ ask }) => {
        const path = `/zones/${encodeURIComponent(call.names[0] ?? '')}/retire`
        const zone = await ask<Zone>('POST', path, given({ reason: findText(call, 'reason') }))
        return { json: zone, text: zoneTable([zone]) }
      }),
  },
  {
    words: 'acts',
    summary: 'lists the acts of operators on products, clients and zones, newest first',
    description: 'pinfold keys acts lists the acts on keys.',
    options: limitOption,
    example: 'pinfold acts --json',
    run: (call) =>
      asAdministrator(call, async ({ readAll }) => {
        const acts = await readAll<Act>('/acts', parseLimit(call))
        const rows = acts.map(({ act, at, clientId, subject, subjectKind }) => [
          at.slice(0, 19),
          `${subjectKind} ${subject}`,
          act,
          clientId,
        ])
        return { json: acts, text: table(['AT', 'WHAT', 'ACT', 'BY'], rows) }
      }),
  },
]

const zoneTable = (zones: readonly Zone[]): string =>
  table(
    ['NETWORK', 'NAME', 'ACTIVE', 'KEYS'],
    zones.map(({ active, clientId, clientName, keys }) => [
      clientId,
      clientName,
      active,
      keys
        .map(({ key, keyCheckValue, retiredAt }) =>
          retiredAt ? `${key} (retired)` : `${key} ${keyCheckValue}`,
        )
        .join('; '),
    ]),
  )
