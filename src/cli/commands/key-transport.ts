import * as cli from '../command.ts'
import { asAdministrator } from '../connection/connection.ts'
import type { ServiceConnection } from '../connection/requests.ts'
import { readSecret } from '../secret-input.ts'
import {
  checkValueOption,
  formOptions,
  givenForm,
  givenTarget,
  type KeptKey,
  keptOutcome,
  targetOptions,
} from './key-target.ts'

interface ComponentEntry {
  readonly entryId: string
  readonly componentCount: number
  readonly entered: readonly { readonly person: string }[]
  readonly key: KeptKey | null
}

const underOption: cli.Options = {
  under: { type: 'string', value: 'ZMK', help: 'the zone master key of the key block' },
}

export const importKeyCommand: cli.Command = {
  words: 'keys import',
  names: ['[NAME]'],
  summary: 'imports a key block, or opens the entry of a key in components',
  description:
    'With --under it reads a key block from standard input. With --components it opens the entry ' +
    'of a key in\ncomponents; with --entry one person enters a component, at the prompt or on ' +
    'standard input.\nIt prints no keys and accepts none on the command line. The keys of chips ' +
    'are chip-ac, chip-smc,\nchip-smi and chip-dynamic, with the usages E0, E1, E2 and E4.',
  options: {
    ...targetOptions,
    ...formOptions,
    ...underOption,
    ...checkValueOption,
    components: {
      type: 'string',
      value: 'N',
      help: 'the number of components, each from another person',
      excludes: ['under', 'entry'],
    },
    entry: {
      type: 'string',
      value: 'ID',
      help: 'the entry of the component',
      excludes: ['under'],
    },
    person: {
      type: 'string',
      value: 'NAME',
      help: 'the person who enters the component',
      needs: 'entry',
    },
  },
  example:
    'pinfold keys import zone-a --zone acme-network --formats ISO_FORMAT_0 --under zmk-acme < ' +
    'block.txt',
  run: (call) =>
    asAdministrator(call, async ({ ask }) => {
      const entry = cli.findText(call, 'entry')
      if (entry !== undefined) return enterComponent(ask, call, entry)
      if (cli.findText(call, 'components') !== undefined) return openEntry(ask, call)
      const body = cli.given({
        ...givenTarget(call),
        zoneMasterKey: cli.requireText(call, 'under'),
        keyBlock: await readSecret('Key block'),
        keyCheckValue: cli.findText(call, 'check-value'),
      })
      return keptOutcome(await ask<KeptKey>('POST', '/keys/import', body), 'is imported')
    }),
}

export const exportKeyCommand: cli.Command = {
  words: 'keys export',
  names: ['NAME'],
  summary: 'exports a key block for the other party of the zone',
  description:
    'A key leaves only if it was generated with --exportable. The first versions, which the ' +
    'first start\nmakes, do not.',
  options: {
    ...underOption,
    zone: { type: 'string', value: 'CLIENT', help: 'the network of the key' },
    version: { type: 'string', value: 'N', help: 'the version; by default the active one' },
    ...cli.reasonOption,
  },
  example: 'pinfold keys export zone-a --zone acme-network --under zmk-acme',
  run: (call) =>
    asAdministrator(call, async ({ ask }) => {
      const body = cli.given({
        key: call.names[0],
        zoneMasterKey: cli.requireText(call, 'under'),
        version: cli.parseNumber(call, 'version'),
        clientId: cli.findText(call, 'zone'),
        reason: cli.findText(call, 'reason'),
      })
      const json = await ask<{ keyBlock: string }>('POST', '/keys/export', body)
      return { json, text: json.keyBlock }
    }),
}

type Ask = ServiceConnection['ask']

async function openEntry(ask: Ask, call: cli.Call): Promise<cli.Outcome> {
  const json = await ask<ComponentEntry>('POST', '/component-entries', {
    ...givenTarget(call),
    ...givenForm(call),
    componentCount: cli.parseNumber(call, 'components'),
    keyCheckValue: cli.requireText(call, 'check-value'),
  })
  const text =
    `Entry ${json.entryId} waits for ${json.componentCount} components, ` +
    'each from another person.'
  return { json, text }
}

async function enterComponent(ask: Ask, call: cli.Call, entryId: string): Promise<cli.Outcome> {
  const person = cli.requireText(call, 'person')
  const keyCheckValue = cli.requireText(call, 'check-value')
  const component = await readSecret(`Component of ${person}`)
  const path = `/component-entries/${encodeURIComponent(entryId)}/components`
  const json = await ask<ComponentEntry>('POST', path, { person, component, keyCheckValue })
  if (json.key) return { json, text: keptOutcome(json.key, 'is combined').text }
  return { json, text: `${json.entered.length} of ${json.componentCount} components are entered.` }
}
