import * as cli from '../command.ts'
import { line } from '../output.ts'

/** A stored key in the service's answer. */
export interface KeptKey {
  readonly key: string
  readonly version: number | null
  readonly keyCheckValue: string
}

export const ownerOptions: cli.Options = {
  zone: {
    type: 'string',
    value: 'CLIENT',
    help: 'a key of this network, for PIN blocks or MACs',
    pointer: '/clientId',
  },
  'zone-master': {
    type: 'boolean',
    help: 'a key that encrypts other keys for exchange',
    excludes: ['zone'],
  },
}

export const targetOptions: cli.Options = {
  ...ownerOptions,
  formats: {
    type: 'string',
    value: 'LIST',
    help: 'of PIN blocks: ISO_FORMAT_0,ISO_FORMAT_3',
    needs: 'zone',
    pointer: '/pinBlockFormats',
  },
  'mac-usage': {
    type: 'string',
    value: 'USAGE',
    help: 'the usage of a MAC key: M0, M1, M3 or M6',
    needs: 'zone',
    pointer: '/macUsage',
  },
}

export const formOptions: cli.Options = {
  algorithm: { type: 'string', value: 'NAME', help: 'AES or TDES', pointer: '/algorithm' },
  bytes: { type: 'string', value: 'N', help: '16, 24 or 32', pointer: '/lengthBytes' },
}

export const checkValueOption: cli.Options = {
  'check-value': {
    type: 'string',
    value: 'HEX',
    help: "the key's check value, three bytes or more",
    pointer: '/keyCheckValue',
  },
}

/** Where a key is stored, as the private listener requires it. */
export function givenTarget(call: cli.Call): Record<string, unknown> {
  const [key] = call.names
  if (key === undefined) throw new cli.UsageError('The name of the key is missing.')
  if (call.options['zone-master']) return { family: 'zone-master', key }
  const clientId = cli.findText(call, 'zone')
  if (clientId === undefined) return { family: 'installation', key }
  const macUsage = cli.findText(call, 'mac-usage')
  if (macUsage !== undefined) return { family: 'zone', key, clientId, macUsage }
  const pinBlockFormats = cli.parseList(call, 'formats')
  if (!pinBlockFormats) throw new cli.UsageError('A zone key needs --formats or --mac-usage.')
  return { family: 'zone', key, clientId, pinBlockFormats }
}

/** Algorithm and length, if given. */
export const givenForm = (call: cli.Call): Record<string, unknown> =>
  cli.given({
    algorithm: cli.findText(call, 'algorithm')?.toUpperCase(),
    lengthBytes: cli.parseNumber(call, 'bytes'),
  })

export const keptOutcome = (kept: KeptKey, what: string): cli.Outcome => {
  const name = kept.version === null ? kept.key : `${kept.key}/${kept.version}`
  return { json: kept, text: line`${name} ${what}; its check value is ${kept.keyCheckValue}.` }
}
